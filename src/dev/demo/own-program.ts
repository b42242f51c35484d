/** The newcomer's own program, and a key of it for the time of the demo. */
import { operatorAt, signInLink } from "../welcome.ts";
import { Visitor } from "../visitor.ts";
import { call, expectStatus } from "./client.ts";

export interface OwnProgram {
  name: string;
  owner_email: string;
  api_key: string;
}

const KEY = "npm run demo";
const KEYS = "/dashboard/settings/keys";

/** Creates a key in the program that `npm start` created, on the page for it. Null if the service has no program. */
export async function openOwnProgram(url: string, admin_token: string): Promise<OwnProgram | null> {
  const operator = operatorAt(url, admin_token);
  const { data } = await operator<{ data: Omit<OwnProgram, "api_key">[] }>("GET", "/admin/programs?per_page=100");
  const program = data.at(-1);
  if (!program) return null;
  const owner = new Visitor((path, init) => fetch(new URL(path, url), { ...init, redirect: "manual" }));
  await owner.signIn(await signInLink(operator, program.owner_email));
  await owner.open(KEYS);
  await owner.submit(KEYS, { name: KEY, scopes: ["read", "write", "payouts", "keys"] });
  const api_key = /sk_[\w-]{40,}/.exec(owner.html)?.[0];
  if (api_key === undefined) throw new Error("The demo could not create an API key.");
  return { ...program, api_key };
}

/** Deletes the keys of this demo and of one that was interrupted. */
export async function deleteKeys(url: string, bearer: string): Promise<void> {
  const keys = `${url}/api/v1/api-keys`;
  const list = await call<{ data: { id: string; name: string; last4: string }[] }>(keys, { bearer });
  const own = expectStatus(list, 200).data.filter(({ name }) => name === KEY);
  // The key that makes the calls goes last.
  for (const { id } of own.toSorted((a, b) => Number(bearer.endsWith(a.last4)) - Number(bearer.endsWith(b.last4)))) {
    expectStatus(await call(`${keys}/${id}`, { method: "DELETE", bearer }), 200);
  }
}
