/** The erasure of a program's customer. */
import { expect } from "vitest";
import type { Bindings } from "../../src/env.ts";
import type { Reply, TestProgram } from "./program.ts";
import { callApiWith } from "./watched-database.ts";

type Erased = Record<"payments" | "commissions" | "provider_events", number>;

/** Erases a customer by address, in a deployment with these bindings. */
export function tryToErase(
  program: TestProgram,
  email: string,
  bindings: Partial<Bindings> = {},
): Promise<Reply<{ erased: Erased }>> {
  return callApiWith(bindings, program, "POST", "/api/v1/customers/erase", { email });
}

/** Gives the erased counts. */
export async function erase(...given: Parameters<typeof tryToErase>): Promise<Erased> {
  const { status, body } = await tryToErase(...given);
  expect(status).toBe(200);
  return body.erased;
}
