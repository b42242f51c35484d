import { call, makePartner, makeProgram, type Reply, type TestProgram } from "./program.ts";

export interface ImportReply {
  kind: string;
  product: string;
  dry_run: boolean;
  data_param: string | null;
  lines: number;
  added: number;
  completed: number;
  unchanged: number;
  left_out: number;
  refused: number;
  columns: { column: string; taken_as: string | null; unread: number }[];
  problems: { line: number; column: string | null; outcome: string; message: string }[];
  notes: { line: number; column: string; message: string }[];
  error?: { code: string; details?: { path: string; message: string }[] };
}

/** `POST /api/v1/imports` with a file as text or as its bytes. */
export function sendImport(
  program: Pick<TestProgram, "api_key">,
  query: Record<string, string>,
  file: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Reply<ImportReply>> {
  return call<ImportReply>(`/api/v1/imports?${new URLSearchParams(query).toString()}`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.api_key}`, "content-type": "text/csv", ...headers },
    body: file as BodyInit,
  });
}

/** A program with partners of these slugs, each with an address made of its slug. */
export async function programWith(...slugs: string[]): Promise<TestProgram> {
  const program = await makeProgram();
  for (const slug of slugs) await makePartner(program, { slug, email: `${slug}@partners.example` });
  return program;
}

export interface Listed {
  id: string;
  email: string;
  slug: string;
  status: string;
  first_name: string | null;
  last_name: string | null;
  commission_pct: number | null;
  payout_method: string | null;
  payout_email: string | null;
  created_at: string;
}

/** The program's partners, by their addresses. */
export async function partnersOf(program: TestProgram): Promise<Listed[]> {
  const { body } = await program.api<{ data: Listed[] }>("GET", "/api/v1/partners?per_page=100");
  return body.data.toSorted((a, b) => a.email.localeCompare(b.email));
}

/** The number of the program's events of a type. */
export async function eventsOf(program: TestProgram, type: string): Promise<number> {
  return (await program.api<{ total: number }>("GET", `/api/v1/events?type=${type}`)).body.total;
}

export function countsOf({ added, completed, unchanged, left_out, refused }: ImportReply): number[] {
  return [added, completed, unchanged, left_out, refused];
}

/**
 * Files of partners as the products write or take them: the names of columns are those of their documentation (src/docs/migrate.md,
 * "Coming from another product"), each with the same three partners.
 */
export const PARTNER_FILES: Record<string, string> = {
  rewardful: `first_name,last_name,email,paypal_email,wise_email,token
Adam,Jones,adam@old.example,adam@pay.example,,adam
Zoë,"Miller, Jr.",zoe@old.example,,zoe@wise.example,zoe-m
Max,,max@old.example,,,MAX_1
`,
  firstpromoter: `email,first_name,last_name,cust_id,ref_id,status,note
adam@old.example,Adam,Jones,17,adam,approved,
zoe@old.example,Zoë,"Miller, Jr.",18,zoe-m,pending,"likes
long notes"
max@old.example,Max,,19,MAX_1,denied,
`,
  affonso: `Name;Email;Tracking Parameter;PayPal Email
Adam Jones;adam@old.example;adam;adam@pay.example
Zoë Miller, Jr.;zoe@old.example;zoe-m;
Max;max@old.example;MAX_1;
`,
  leaddyno: `email,first_name,last_name,affiliate_code,paypal_email,parent_affiliate,affiliate_type
adam@old.example,Adam,Jones,adam,adam@pay.example,,gold
zoe@old.example,Zoë,"Miller, Jr.",zoe-m,,adam@old.example,gold
max@old.example,Max,,MAX_1,,,
`,
  post_affiliate_pro: `[[AFFILIATES]]
!USERID;!REFID;!DATEINSERTED;!DATEAPPROVED;!USERNAME;!FIRSTNAME;!LASTNAME;!RSTATUS
11111111;adam;"2012-12-24 00:00:01";"2012-12-24 00:00:01";adam@old.example;Adam;Jones;A
5a5a7670;zoe-m;"2012-12-24 00:00:01";;zoe@old.example;Zoë;Miller, Jr.;P
4f37f8fe;MAX_1;"2012-12-24 00:00:01";;max@old.example;Max;;D

[[PAYOUTOPTIONS]]
!USERID;!FIELD;!VALUE
11111111;pp_email;adam@pay.example
`,
  tapfiliate: `Firstname,Lastname,Email,Referral code
Adam,Jones,adam@old.example,https://shop.example/?ref=adam
Zoë,"Miller, Jr.",zoe@old.example,zoe-m
Max,,max@old.example,MAX_1
`,
  dub: `ID,Name,Email,Country,Status,Enrolled at,Payouts enabled at,Code
pn_1,Adam Jones,adam@old.example,US,approved,2026-01-05T10:00:00.000Z,,adam
pn_2,"Zoë Miller, Jr.",zoe@old.example,DE,invited,2026-01-05T10:00:00.000Z,,zoe-m
pn_3,Max,max@old.example,FR,banned,2026-01-05T10:00:00.000Z,,MAX_1
`,
};
