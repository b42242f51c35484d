/** Claims, the sales they are about, and the decisions on them. */
import { createClaim, type ClaimInput } from "../../src/core/claims/claims.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "./program.ts";
import { ledgerOf, sendA } from "./ledger.ts";
import { sessionCompleted } from "./provider-a.ts";
import { uniqueId } from "./vendor.ts";

/** A new claim of a partner, as the portal's form makes it; its id. */
export async function makeClaim(program: TestProgram, partner_id: string, input: ClaimInput): Promise<string> {
  const made = await createClaim(programContext(program), partner_id, input);
  if ("theirs" in made) throw new Error(`the sale is the partner's already: ${made.theirs}`);
  return made.claim.id;
}

export interface ClaimBody {
  id: string;
  status: string;
  payment_id: string | null;
  note: string | null;
  payments: { id: string; outcome: string; trace: { outcome: string }; commissions: unknown[] }[];
  error?: { code: string; message: string; details?: { path: string }[] };
}

/** A program and its partner jane. */
interface Scene {
  program: TestProgram;
  jane: Awaited<ReturnType<typeof makePartner>>;
}

export async function makeScene(fields = {}): Promise<Scene> {
  const program = await makeProgram(fields);
  return { program, jane: await makePartner(program, { slug: "jane" }) };
}

export const getClaim = async (program: TestProgram, id: string) =>
  (await program.api<ClaimBody>("GET", `/api/v1/claims/${id}`)).body;
export const grant = (program: TestProgram, id: string, body?: object) =>
  program.api<ClaimBody>("POST", `/api/v1/claims/${id}/grant`, body);
export const decline = (program: TestProgram, id: string, body?: object) =>
  program.api<ClaimBody>("POST", `/api/v1/claims/${id}/decline`, body);

/** Makes an unattributed sale to a customer with an id; returns its order id. */
export async function soldByNobody(program: TestProgram, fields = {}): Promise<string> {
  const session = sessionCompleted({ ref: null, customer: uniqueId("cus_"), amount: 10_000, ...fields });
  await sendA(program, session);
  return session.data.object.id;
}

export const commissionsOf = async (program: TestProgram) =>
  (await ledgerOf(program)).commissions.map(({ partner_id, amount_cents, status }) => {
    return { partner_id, amount_cents, status };
  });
