/** Approved sales, decisions on their commissions, and payouts that take them. */
import { expect } from "vitest";
import { sendA } from "./ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "./program.ts";
import { chargeRefunded } from "./provider-a-changes.ts";
import { sessionCompleted } from "./provider-a.ts";

export interface Row {
  id: string;
  kind: string;
  status: string;
  amount_cents: number;
  partner_id: string;
  payment_id: string;
  payout_id: string | null;
}

/** The program's commissions, newest first. */
export async function rowsOf(program: TestProgram): Promise<Row[]> {
  return (await program.api<{ data: Row[] }>("GET", "/api/v1/commissions?per_page=100")).body.data;
}

/** Gives a commission a status by the API. */
export async function decide(program: TestProgram, id: string, status: string): Promise<void> {
  expect((await program.api("PATCH", `/api/v1/commissions/${id}`, { status })).status).toBe(200);
}

/** The payouts of a generation, with amounts. */
export async function generate(
  program: TestProgram,
  period: object = {},
): Promise<{ id: string; amount_cents: number }[]> {
  return (
    await program.api<{ payouts: { id: string; amount_cents: number }[] }>("POST", "/api/v1/payouts/generate", period)
  ).body.payouts;
}

/** An approved sale of 10,000 that earns 2,000. */
export async function approvedSale() {
  const program = await makeProgram();
  const partner = await makePartner(program);
  const payment_intent = `pi_${partner.slug}`;
  await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000, payment_intent }));
  const [sale] = await rowsOf(program);
  await decide(program, sale!.id, "approved");
  const refund = (refunded: number) => sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded }));
  return { program, partner, sale: sale!, refund };
}

/** Another approved sale, which earns 4,000. */
export async function nextSale(program: TestProgram, ref: string): Promise<void> {
  await sendA(program, sessionCompleted({ ref, amount: 20_000 }));
  const pending = (await rowsOf(program)).find(({ status }) => status === "pending");
  await decide(program, pending!.id, "approved");
}
