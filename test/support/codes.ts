/** An owner who gives promotion codes to partners, and the providers' reports of codes. */
import type { CodeInput } from "../../src/core/partners/codes.ts";
import { createCode, deleteCode } from "../../src/core/partners/codes.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { testContext, type TestProgram } from "./program.ts";

export * from "./code-events.ts";

/** The owner gives a code to a partner at a time (ms). */
export function giveCode(program: TestProgram, partner_id: string, input: CodeInput, now = Date.now()) {
  return createCode(forProgram(testContext(now), program.program), partner_id, input);
}

/** The owner takes a code away at a time (ms). */
export function takeCode(program: TestProgram, id: string, now = Date.now()) {
  return deleteCode(forProgram(testContext(now), program.program), id);
}
