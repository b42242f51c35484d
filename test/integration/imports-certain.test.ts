/** An import only binds and fills in certain data, and reports its actual changes. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { countsOf, programWith, sendImport, type ImportReply } from "../support/imports.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { customerEventB } from "../support/provider-b.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";

const CUSTOMERS = { kind: "customers" };
const PARTNERS = { kind: "partners" };

/** Customers and their bound partners: `cus_1 ann`. */
async function bindingsOf(program: TestProgram): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `select s.subject || ' ' || f.ref_key as bound from facts f
      join fact_subjects s on s.program_id = f.program_id and s.provider = f.provider and s.fact_id = f.fact_id
      where f.program_id = ? and f.fact_id like 'import:%' order by 1`,
  )
    .bind(program.id)
    .all<{ bound: string }>();
  return results.map(({ bound }) => bound);
}

/** The partners in the owner's view, without random and time-dependent values, and every code with its holder. */
async function partnersOf(program: TestProgram) {
  const { results } = await env.DB.prepare(
    `select email, slug, status, first_name, last_name, commission_pct, payout_method, payout_email,
        (select json_group_array(slug_key) from (select slug_key from partner_slugs s where s.partner_id = p.id order by 1)) as codes
      from partners p where program_id = ? order by lower(email)`,
  )
    .bind(program.id)
    .all();
  return results;
}

const reported = ({ problems }: ImportReply) =>
  problems.map(({ line, column, message }) => `${line} ${column}: ${message}`);

describe("a customer is bound (IMP-4)", () => {
  it("only where every code and address of the line leads to one and the same partner", async () => {
    const program = await programWith("ann", "bob");
    const file = [
      "customer_id,partner_code,partner_email",
      "cus_1,gone,bob@partners.example",
      'cus_2,"gone,bob",',
      "cus_3,bob,gone@partners.example",
      "cus_4,ann,bob@partners.example",
      'cus_5,"ann;bob",',
      "cus_6,gone,",
      "cus_7,,gone@partners.example",
      "cus_8,b.ob,bob@partners.example",
      "cus_9,bob,not an address",
      "cus_10,BOB,Bob@partners.example",
      'cus_11,";,",',
    ].join("\n");
    for (const dry_run of ["true", "false"]) {
      const { body } = await sendImport(program, { ...CUSTOMERS, dry_run }, file);
      expect(countsOf(body)).toEqual([1, 0, 0, 0, 10]);
      expect(reported(body)).toEqual([
        "2 partner_code: There is no partner gone. Import the partners first.",
        "3 partner_code: There is no partner gone. Import the partners first.",
        "4 partner_email: There is no partner gone@partners.example. Import the partners first.",
        "5 partner_code: This line names two partners.",
        "6 partner_code: This line names two partners.",
        "7 partner_code: There is no such partner. Import the partners first.",
        "8 partner_email: There is no such partner. Import the partners first.",
        "9 partner_code: “b.ob” cannot be a slug, which is 1 to 64 letters, digits, - or _.",
        "10 partner_email: This must be an e-mail address.",
        "12 partner_code: It does not name a partner.",
      ]);
    }
    expect(await bindingsOf(program)).toEqual(["cus_10 bob"]);
  });

  it("never to the partner's own address, whatever says that she is the partner", async () => {
    const program = await programWith("ann", "bob");
    const { id } = await makePartner(program, { slug: "cid", email: "cid@partners.example" });
    await program.api("PATCH", `/api/v1/partners/${id}`, { payout_method: "wallet", payout_email: "cid@pay.example" });
    await sendA(program, sessionCompleted({ id: "cs_1", customer: "cus_4", email: "bob@partners.example" }));
    await sendB(program, customerEventB({ id: "ctm_6", email: "bob@partners.example" }));
    const file = [
      "customer_id,customer_email,partner_code",
      "cus_1,bob@partners.example,bob",
      "cus_2,Bob+shop@partners.example,bob",
      "cus_3,CID@pay.example,cid",
      "cus_4,,bob",
      ",CID@partners.example,cid",
      "cus_5,bob@partners.example,ann",
      "ctm_6,,bob",
    ].join("\n");
    const { body } = await sendImport(program, CUSTOMERS, file);
    expect(reported(body)).toEqual([
      "2 customer_id: This customer is the partner.",
      "3 customer_id: This customer is the partner.",
      "4 customer_id: This customer is the partner.",
      "5 customer_id: This customer is the partner.",
      "6 customer_email: This customer is the partner.",
      "8 customer_id: This customer is the partner.",
    ]);
    expect(await bindingsOf(program)).toEqual(["cus_5 ann"]);
  });

  it("not by Rewardful's email where its token leads to nobody, for that address may be the customer's", async () => {
    const program = await programWith("bob");
    const file = "stripe_customer_id,email,token\ncus_1,bob@partners.example,gone\ncus_2,bob@partners.example,\n";
    const { body } = await sendImport(program, { ...CUSTOMERS, product: "rewardful" }, file);
    expect(reported(body)).toEqual(["2 token: There is no partner gone. Import the partners first."]);
    expect(await bindingsOf(program)).toEqual(["cus_2 bob"]);
  });

  it("not where another line says something else of her, in any order", async () => {
    const lines = [
      "cus_1,ann",
      "cus_1,bob",
      "cus_2,ann",
      "cus_2,gone",
      "cus_3,ann",
      "cus_3,ann",
      "cus_4,b.ob",
      "cus_4,bob",
    ];
    for (const order of [lines, lines.toReversed()]) {
      const program = await programWith("ann", "bob");
      const { body } = await sendImport(program, CUSTOMERS, ["customer_id,partner_code", ...order].join("\n"));
      expect(countsOf(body)).toEqual([1, 0, 0, 0, 7]);
      expect(await bindingsOf(program)).toEqual(["cus_3 ann"]);
    }
  });

  it("not by an id with an address that is another partner's, by another line or an import before", async () => {
    const lines = [
      ",kim@x.example,ann",
      "cus_1,KIM@x.example,bob",
      "cus_2,kim@x.example,ann",
      "cus_3,lea@x.example,bob",
    ];
    for (const order of [lines, lines.toReversed()]) {
      const program = await programWith("ann", "bob");
      const file = (all: string[]) => ["customer_id,customer_email,partner_code", ...all].join("\n");
      const { body } = await sendImport(program, CUSTOMERS, file(order));
      expect(countsOf(body)).toEqual([2, 0, 0, 0, 2]);
      expect(await bindingsOf(program)).toEqual(["cus_2 ann", "cus_3 bob"]);
      const counts = [];
      for (const line of lines) {
        const { body: alone } = await sendImport(program, CUSTOMERS, file([line]));
        counts.push(countsOf(alone));
      }
      expect(counts).toEqual([
        [1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 0, 0],
      ]);
    }
  });

  it("not where lines of an id and of its address differ, and each says which", async () => {
    const program = await programWith("ann", "bob");
    const file = [
      "customer_id,customer_email,partner_code",
      "cus_1,,bob",
      "cus_1,kim@x.example,bob",
      ",kim@x.example,ann",
      ",lea@x.example,gone",
      "cus_2,lea@x.example,bob",
    ].join("\n");
    const { body } = await sendImport(program, CUSTOMERS, file);
    expect(reported(body)).toEqual([
      "2 customer_id: Line 4 contradicts this line about the customer.",
      "3 customer_id: Line 4 contradicts this line about the customer.",
      "4 customer_email: Line 2 contradicts this line about the customer.",
      "5 partner_code: There is no such partner. Import the partners first.",
      "6 customer_id: Line 5 contradicts this line about the customer.",
    ]);
    expect(await bindingsOf(program)).toEqual([]);
  });

  it("not by an id of the other provider than the file's", async () => {
    const program = await programWith("ann");
    const file = "customer_id,partner_code\ncus_1,ann\nctm_2,ann\nours-3,ann\n";
    const { body } = await sendImport(program, { ...CUSTOMERS, provider: "provider_b" }, file);
    expect(reported(body)).toEqual([
      "2 customer_id: This is an id of another provider.",
      "4 customer_id: This is not a customer id of Paddle, which begins with ctm_.",
    ]);
    expect(await bindingsOf(program)).toEqual(["ctm_2 ann"]);
  });
});

describe("of two addresses to be paid at", () => {
  const FILE = [
    "first_name,email,wise_email,paypal_email,token",
    "Ann,ann@old.example,,ann@pay.example,ann",
    "Bob,bob@old.example,bob@wise.example,,bob",
    "Cid,cid@old.example,cid@wise.example,cid@pay.example,cid",
    "Dan,dan@old.example,Dan@pay.example,dan@pay.example,dan",
    "Eve,eve@old.example,,,eve",
    "Fay,fay@old.example,fay@wise.example,,fay",
  ].join("\n");

  it.each(["rewardful", "other"])(
    "each line's own is taken from a file of %s, and the report says which",
    async (product) => {
      const program = await makeProgram();
      await makePartner(program, { email: "fay@old.example", slug: "fay", payout_method: "crypto" });
      const { body } = await sendImport(program, { ...PARTNERS, product }, FILE);
      expect([countsOf(body), body.problems]).toEqual([[5, 1, 0, 0, 0], []]);
      expect(
        (await partnersOf(program)).map(({ payout_method, payout_email }) => [payout_method, payout_email]),
      ).toEqual([
        ["wallet", "ann@pay.example"],
        ["wallet", "bob@wise.example"],
        ["wallet", "cid@pay.example"],
        ["wallet", "dan@pay.example"],
        [null, null],
        ["crypto", null],
      ]);
      expect(body.notes).toEqual([
        { line: 3, column: "wise_email", message: "Payouts go to the address in wise_email." },
        {
          line: 4,
          column: "paypal_email",
          message: "Payouts go to the address in paypal_email, not to that in wise_email.",
        },
      ]);
    },
  );
});

describe("imports at once report what each of them did", () => {
  const sums = (replies: Reply<ImportReply>[]) => {
    for (const { status, body } of replies) expect({ status, body }).toMatchObject({ status: 200 });
    return replies.map(({ body }) => countsOf(body)).reduce((sum, counts) => sum.map((n, i) => n + (counts[i] ?? 0)));
  };

  it("of partners", async () => {
    const program = await makeProgram();
    const file = ["email,code", ...Array.from({ length: 300 }, (_, i) => `p${i}@race.example,p${i}`)].join("\n");
    const replies = await Promise.all([1, 2, 3].map(() => sendImport(program, PARTNERS, file)));
    expect(await partnersOf(program)).toHaveLength(300);
    expect(sums(replies)).toEqual([300, 0, 600, 0, 0]);
  });

  it("of partners who want the same codes", async () => {
    const program = await makeProgram();
    const file = (who: string) =>
      ["email,code", ...Array.from({ length: 100 }, (_, i) => `${who}${i}@race.example,p${i}`)].join("\n");
    const replies = await Promise.all(["a", "b", "c"].map((who) => sendImport(program, PARTNERS, file(who))));
    expect(await partnersOf(program)).toHaveLength(100);
    expect(sums(replies)).toEqual([100, 0, 0, 0, 200]);
    expect(replies.flatMap(({ body }) => reported(body))).toHaveLength(200);
  });

  it("of customers", async () => {
    const program = await programWith("ann", "bob");
    const ids = Array.from({ length: 300 }, (_, i) => `cus_${i}`);
    const file = (slug: string) => ["customer_id,partner_code", ...ids.map((id) => `${id},${slug}`)].join("\n");
    const replies = await Promise.all(["ann", "ann", "bob"].map((slug) => sendImport(program, CUSTOMERS, file(slug))));
    expect(await bindingsOf(program)).toHaveLength(300);
    const [added = 0, completed, unchanged = 0, left_out = 0, refused] = sums(replies);
    expect([added, completed, refused, unchanged + left_out]).toEqual([300, 0, 0, 600]);
  });

  it("of a customer bound meanwhile by a server whose clock is ahead", async () => {
    const program = await programWith("ann", "bob");
    const file = (slug: string) => `customer_id,partner_code\ncus_1,${slug}`;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2_000 });
    const { body: first } = await sendImport(program, CUSTOMERS, file("ann"));
    vi.setSystemTime(Date.now() - 1_000);
    const replies = [];
    for (const slug of ["ann", "bob"]) replies.push(await sendImport(program, CUSTOMERS, file(slug)));
    vi.useRealTimers();
    expect(countsOf(first)).toEqual([1, 0, 0, 0, 0]);
    expect(sums(replies)).toEqual([0, 0, 1, 1, 0]);
    expect(await bindingsOf(program)).toEqual(["cus_1 ann"]);
  });
});

describe("a file of partners", () => {
  const LINES = [
    "ann@old.example,,Ann,,",
    "ann@old.example,ann,,,",
    "ann@old.example,ann-yt,Anna,,ann@pay.example",
    "bob@old.example,both,Bob,,",
    "cid@old.example,both,Cid,,",
    "cid@old.example,cid,Cid,,",
    "dan@old.example,taken,Dan,,",
    "dan@old.example,dan,Dan,,",
    "eve@old.example,eve,Eve,10,",
    "eve@old.example,eve-2,Eve,20,",
    "fay@old.example,fay,Fay,,a@pay.example",
    "fay@old.example,fay-2,Fay,,b@pay.example",
    "there@old.example,there-2,,,t@pay.example",
  ];
  const rotated = (by: number) => [...LINES.slice(by), ...LINES.slice(0, by)];

  it("makes the same partners in any order of its lines, and nothing the second time (IMP-2)", async () => {
    const orders = [LINES, LINES.toReversed(), rotated(3), rotated(8).toReversed()];
    const results = await Promise.all(
      orders.map(async (lines) => {
        const program = await makeProgram();
        await makePartner(program, { email: "holder@old.example", slug: "taken" });
        await makePartner(program, { email: "There@old.example", slug: "there" });
        const file = ["email,code,first_name,commission rate,paypal_email", ...lines].join("\n");
        const first = await sendImport(program, PARTNERS, file);
        const made = await partnersOf(program);
        const again = await sendImport(program, PARTNERS, file);
        expect(countsOf(again.body).slice(0, 2)).toEqual([0, 0]);
        expect(again.body.refused).toBe(first.body.refused);
        expect(await partnersOf(program)).toEqual(made);
        return { made, added: first.body.added, refused: first.body.refused };
      }),
    );
    for (const result of results) expect(result).toEqual(results[0]);
    expect(
      results[0]?.made.map(({ email, slug, codes }) => `${String(email)} ${String(slug)} ${String(codes)}`),
    ).toEqual([
      'ann@old.example ann ["ann","ann-yt"]',
      'cid@old.example cid ["cid"]',
      'dan@old.example dan ["dan"]',
      'holder@old.example taken ["taken"]',
      'There@old.example there ["there","there-2"]',
    ]);
    expect(results[0]).toMatchObject({ added: 3, refused: 7 });
  });

  it("whose lines differ about one partner shows which", async () => {
    const program = await makeProgram();
    const file = [
      "email,code,commission rate,status,paypal_email",
      "eve@old.example,eve,10,,",
      "eve@old.example,eve-2,20,,",
      "fay@old.example,fay,,active,",
      "fay@old.example,fay-2,,denied,",
      "gus@old.example,gus,,,a@pay.example",
      "gus@old.example,gus-2,,,",
      "gus@old.example,gus-3,,,b@pay.example",
    ].join("\n");
    const { body } = await sendImport(program, PARTNERS, file);
    expect(reported(body)).toEqual([
      "2 commission rate: Lines 2 and 3 differ in this for the same partner.",
      "3 commission rate: Lines 2 and 3 differ in this for the same partner.",
      "4 status: Lines 4 and 5 differ in this for the same partner.",
      "5 status: Lines 4 and 5 differ in this for the same partner.",
      "6 paypal_email: Lines 6 and 8 differ in this for the same partner.",
      "7 paypal_email: Lines 6 and 8 differ in this for the same partner.",
      "8 paypal_email: Lines 6 and 8 differ in this for the same partner.",
    ]);
    expect(await partnersOf(program)).toEqual([]);
  });
});
