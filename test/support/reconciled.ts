/** A paying program whose ledger the reconciler checks, and the differences that it found. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Transfers } from "../../src/providers/connect.ts";
import { sendA } from "./ledger.ts";
import { openMailbox, type Mailbox } from "./mailbox.ts";
import { clientOf, makePayingProgram, playOutside, type PaidProgram } from "./payouts.ts";
import { programContext, type TestProgram } from "./program.ts";
import { chargeRefunded, disputeEvent } from "./provider-a-changes.ts";
import { sessionCompleted } from "./provider-a.ts";
import { decide, generate, rowsOf, type Row } from "./decisions.ts";
import { reconcileRound } from "./reconcile.ts";

/** A program that pays partners by a played vendor, and its owner's e-mails. */
export interface Reconciled extends PaidProgram {
  /** The slug of its partner. */
  slug: string;
  mailbox: Mailbox;
  transfers: Transfers;
}

export async function makeReconciled(): Promise<Reconciled> {
  const world = await makePayingProgram();
  const { slug } = (await world.program.api<{ slug: string }>("GET", `/api/v1/partners/${world.partner_id}`)).body;
  playOutside(world.vendor);
  return { ...world, slug, mailbox: openMailbox(), transfers: clientOf(world.vendor) };
}

/** Runs a statement that changes rows. */
export async function run(sql: string, ...values: unknown[]): Promise<void> {
  const { meta } = await env.DB.prepare(sql)
    .bind(...values)
    .run();
  expect([sql, meta.changes > 0]).toEqual([sql, true]);
}

export async function one<T>(sql: string, ...values: unknown[]): Promise<T> {
  return (await env.DB.prepare(sql)
    .bind(...values)
    .first<T>())!;
}

/** A sale of 10,000, which earns 2,000; gives its commission. */
export async function sell(program: TestProgram, ref: string, payment_intent: string): Promise<Row> {
  const before = new Set((await rowsOf(program)).map(({ id }) => id));
  await sendA(program, sessionCompleted({ ref, amount: 10_000, payment_intent }));
  return (await rowsOf(program)).find(({ id }) => !before.has(id))!;
}

let story = 0;

/** Commissions and payouts in every state. */
export async function liveThroughEverything(
  at: Reconciled,
): Promise<{ paid: string; canceled: string; waiting: string; pending: Row }> {
  story += 1;
  const intent = (name: string) => `pi_${story}_${at.program.id.slice(-12)}_${name}`;
  const refund = (name: string, refunded: number) =>
    sendA(at.program, chargeRefunded({ payment_intent: intent(name), amount: 10_000, refunded }));
  const sale = await sell(at.program, at.slug, intent("paid"));
  await decide(at.program, sale.id, "approved");
  const [paid] = await generate(at.program);
  expect((await at.program.api("POST", `/api/v1/payouts/${paid!.id}/pay`, {})).status).toBe(200);
  // A clawback that is forgiven, and one that waits.
  await refund("paid", 10_000);
  const ofSale = (await rowsOf(at.program)).filter(({ payment_id }) => payment_id === sale.payment_id);
  const clawback = ofSale.find(({ kind }) => kind === "clawback")!;
  await decide(at.program, clawback.id, "rejected");
  await decide(at.program, (await sell(at.program, at.slug, intent("canceled"))).id, "approved");
  const [canceled] = await generate(at.program);
  await refund("canceled", 2_500);
  await at.program.api("POST", `/api/v1/payouts/${canceled!.id}/cancel`);
  await decide(at.program, (await sell(at.program, at.slug, intent("waiting"))).id, "approved");
  const [waiting] = await generate(at.program);
  await refund("waiting", 5_000);
  await decide(at.program, (await sell(at.program, at.slug, intent("rejected"))).id, "rejected");
  await decide(at.program, (await sell(at.program, at.slug, intent("approved"))).id, "approved");
  await sell(at.program, at.slug, intent("disputed"));
  await sendA(
    at.program,
    disputeEvent("charge.dispute.created", { payment_intent: intent("disputed"), amount: 10_000 }),
  );
  const pending = await sell(at.program, at.slug, intent("pending"));
  await at.program.api("POST", "/api/v1/commissions", { partner_id: at.partner_id, amount_cents: -300, note: "less" });
  return { paid: paid!.id, canceled: canceled!.id, waiting: waiting!.id, pending };
}

/** A whole round at an instant. */
export const round = (at: Reconciled, now: number, fromStart = false) =>
  reconcileRound(programContext(at.program, now), at.transfers, fromStart);

interface Event {
  payload: { check: string; subject: string; expected: Record<string, unknown>; found: Record<string, unknown> };
}

/** The differences that were reported, newest first. */
export async function failures({ program }: Reconciled): Promise<Event["payload"][]> {
  const { body } = await program.api<{ data: Event[] }>(
    "GET",
    "/api/v1/events?type=reconciliation.failed&per_page=100",
  );
  return body.data.map(({ payload }) => payload);
}

export async function status({ program }: Reconciled) {
  const { body } = await program.api<{ reconciled_at: string | null; differences: number }>(
    "GET",
    "/api/v1/integrations/status",
  );
  return { reconciled_at: body.reconciled_at, differences: body.differences };
}
