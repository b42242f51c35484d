/** Claims: a partner's own, and the decisions on them. */
import { createClaim, type ClaimInput } from "../../src/core/claims/claims.ts";
import { programContext, type TestProgram } from "./program.ts";

/** A new claim of a partner, as the portal's form makes it; its id. */
export async function makeClaim(program: TestProgram, partner_id: string, input: ClaimInput): Promise<string> {
  const made = await createClaim(programContext(program), partner_id, input);
  if ("theirs" in made) throw new Error(`the sale is the partner's already: ${made.theirs}`);
  return made.claim.id;
}
