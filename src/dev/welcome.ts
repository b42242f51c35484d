import { OWNER } from "./sample/add.ts";
import { SHOWN_PARTNER } from "./sample/find.ts";
import type { MadeProgram } from "./sample/play.ts";

interface Program {
  id: string;
  name: string;
  owner_email: string;
}

interface Sampled {
  /** The program that was created with the sample in this run. */
  made?: MadeProgram | null;
  hasSample?: boolean;
}

type Operator = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** Returns a newcomer's first steps. The first run creates a program and shows its API key, which is shown only once. */
export async function welcome(url: string, admin_token: string | undefined, sampled: Sampled = {}): Promise<string> {
  if (!admin_token) {
    return [
      line("Base URL", url),
      "",
      "There is no ADMIN_TOKEN in .dev.vars, so /admin is closed and no program can be created here.",
    ].join("\n");
  }
  const operator = operatorAt(url, admin_token);
  const { data, total } = await operator<{ data: Program[]; total: number }>("GET", "/admin/programs?per_page=100");
  const known = data.at(-1);
  const { program, api_key } =
    known && sampled.made
      ? { program: known, api_key: sampled.made.api_key }
      : known
        ? { program: known, api_key: null }
        : await operator<{ program: Program; api_key: string }>("POST", "/admin/programs", OWNER);
  const others = total > 1 ? ` and ${total - 1} more` : "";
  return [
    ...(await links(url, program, sampled.hasSample ?? false, operator)),
    "",
    line("Base URL", url),
    line("Program", api_key ? program.id : `${program.id} (${program.name})${others}`),
    ...(api_key ? [line("API key", `${api_key}   (shown only now; for servers only)`)] : []),
    line("Script tag", `<script src="${url}/service.js" data-program="${program.id}" defer></script>`),
    "",
    "Each sign-in link works once, within 15 minutes. npm start prints new ones.",
    ...(sampled.hasSample ? ["The program has a year of sample data. To remove it: npm run sample:remove"] : []),
    ...(api_key
      ? ["Next, in a second terminal: npm run demo plays a sale step by step. By hand: src/docs/start.md"]
      : [
          "The API key was shown when the program was created. To replace it, with the ADMIN_TOKEN of .dev.vars:",
          `  curl -X POST ${url}/admin/programs/${program.id}/api-key -H "Authorization: Bearer $ADMIN_TOKEN"`,
        ]),
    "Ctrl+C stops the service.",
  ].join("\n");
}

/** Returns a function that calls the operator's endpoints. It throws if a call does not succeed. */
export function operatorAt(url: string, admin_token: string): Operator {
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${admin_token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };
}

/** Returns a one-time link that signs this address in. */
export async function signInLink(operator: Operator, email: string): Promise<string> {
  return (await operator<{ url: string }>("POST", "/admin/sign-in-links", { email })).url;
}

/** The pages to look at. */
async function links(url: string, program: Program, hasSample: boolean, operator: Operator): Promise<string[]> {
  const portal = hasSample ? await signInLink(operator, SHOWN_PARTNER.email) : null;
  return [
    line("Dashboard", await signInLink(operator, program.owner_email)),
    ...(portal ? [line("Portal", `${portal}   (of ${SHOWN_PARTNER.name}, a sample partner)`)] : []),
    line("E-mails", `${url}/dev/mails`),
    line("Docs", `${url}/docs`),
  ];
}

/** Returns a labeled line. */
export function line(label: string, text: string): string {
  return `  ${label.padEnd(12)}${text}`;
}
