/** A program with one partner, and the erasure of one of its customers. */
import { expect } from "vitest";
import { makePartner, makeProgram, type TestProgram } from "./program.ts";

export async function programOfJane(): Promise<TestProgram> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  return program;
}

/** Erases a customer by address; gives the erased counts. */
export async function erase(program: TestProgram, email: string): Promise<Record<string, number>> {
  const reply = await program.api<{ erased: Record<string, number> }>("POST", "/api/v1/customers/erase", { email });
  expect(reply.status).toBe(200);
  return reply.body.erased;
}
