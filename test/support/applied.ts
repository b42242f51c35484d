/** Payments of some time ago, and changes that apply to them. */
import { expect } from "vitest";
import { ledgerOf, sendA } from "./ledger.ts";
import type { TestProgram } from "./program.ts";
import { sessionCompleted } from "./provider-a.ts";

export const MINUTE = 60_000;
/** A time in the past. */
export const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE).toISOString();
export const seconds = (time: string) => Math.floor(Date.parse(time) / 1_000);
export const flow = { name: "all", action_type: "flat", action_value: 700 } as const;

/** A change through the API that is carried out. */
export async function change(
  program: TestProgram,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ id: string }> {
  const { status, body: reply } = await program.api<{ id: string }>(method, `/api/v1${path}`, body);
  expect([path, status]).toEqual([path, method === "POST" && path === "/flows" ? 201 : 200]);
  return reply;
}

/** A payment of 100.00, this many minutes ago. */
export const pay = (program: TestProgram, ref: string, minutes: number, id = `cs_${ref}_${minutes}`) =>
  sendA(program, sessionCompleted({ ref, id, amount: 10_000, created: seconds(ago(minutes)) }));

/** The commission amounts, the oldest payment first. */
export async function rowsOf(program: TestProgram) {
  const { commissions } = await ledgerOf(program);
  return commissions
    .toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
    .map(({ kind, status, amount_cents }) => [kind, status, amount_cents]);
}

export const amounts = async (program: TestProgram) => (await rowsOf(program)).map(([, , amount]) => amount);
