/**
 * Programs on one account of provider B: one secret, and addresses that may receive events of any of them. The common
 * rules of providers whose events claim programs are a loop of `test/integration/inbound-program.test.ts`.
 */
import type { Bindings } from "../../src/env.ts";
import { SECRET_B, type Reply, type TestProgram } from "./program.ts";
import * as b from "./provider-b.ts";
import { uniqueId } from "./vendor.ts";
import { callWith } from "./watched-database.ts";

export interface Answer {
  received?: boolean;
  outcome?: string;
  error?: { code: string };
}

/** Sends an event as the vendor does, to the address of a program, or to the address without a program. */
export async function sendTo(
  at: TestProgram | null,
  event: b.EventB,
  { secret = SECRET_B, bindings = {} }: { secret?: string; bindings?: Partial<Bindings> } = {},
): Promise<Reply<Answer>> {
  const body = b.bodyOfB(event);
  return callWith<Answer>(bindings, `/webhooks/provider_b${at ? `?program_id=${at.id}` : ""}`, {
    method: "POST",
    headers: { "content-type": "application/json", "Provider-B-Signature": await b.signB(body, secret) },
    body,
  });
}

const MINUTE = 60_000;

/**
 * A customer's story at one program: a subscription, its renewal, refunds of both, the end. Only the checkout's events
 * name the program: refunds, as the vendor sends them, carry no custom data.
 */
export function storyOf(program: TestProgram, ref: string): b.EventB[] {
  const began = Date.now() - 30 * MINUTE;
  const at = (minute: number) => new Date(began + minute * MINUTE).toISOString();
  const [first, renewal, subscription, customer] = ["txn_", "txn_", "sub_", "ctm_"].map(uniqueId);
  const ids = { subscription: subscription!, customer: customer! };
  const [refund, chargeback] = [uniqueId("adj_"), uniqueId("adj_")];
  const refunded = { id: refund, transaction: first!, amount: 2_500 };
  return [
    b.transactionCompleted({ id: first!, ref, program: program.id, amount: 10_000, ...ids, occurred_at: at(0) }),
    b.adjustmentCreated({ ...refunded, occurred_at: at(1) }),
    b.adjustmentUpdated({ ...refunded, occurred_at: at(2) }),
    b.transactionCompleted({ id: renewal!, program: program.id, amount: 5_000, ...ids, occurred_at: at(3) }),
    b.adjustmentCreated({
      ...{ id: chargeback, transaction: renewal!, subscription: subscription!, amount: 1_000 },
      ...{ action: "chargeback", status: "approved", occurred_at: at(4) },
    }),
    b.subscriptionCanceled({ id: subscription!, customer: customer!, occurred_at: at(5) }),
  ];
}

interface Page<T> {
  data: T[];
}

/** A program's earnings and their sources, without the parts that differ between two programs with one story. */
export async function ledgerSeen({ api }: TestProgram) {
  const list = async (path: string) =>
    (await api<Page<Record<string, unknown>>>("GET", `/api/v1/${path}?per_page=100`)).body.data;
  const of = (row: Record<string, unknown>, fields: string) =>
    Object.fromEntries(fields.split(" ").map((field) => [field, row[field]]));
  const sorted = (rows: Record<string, unknown>[]) =>
    rows.toSorted((a, z) => (JSON.stringify(a) < JSON.stringify(z) ? -1 : 1));
  const [payments, commissions] = [await list("payments"), await list("commissions")];
  return {
    payments: sorted(payments.map((row) => of(row, "provider_transaction_id outcome txn_amount_cents adjusted_cents"))),
    commissions: sorted(
      commissions.map((row) => of(row, "provider_transaction_id kind amount_cents status flagged review_reason")),
    ),
  };
}

/** Sends a story to a program of another account: it does not claim a program there, and accounts do not share events. */
export async function sendAlone(
  lone: TestProgram,
  story: readonly b.EventB[],
  ref: string,
  secret: string,
): Promise<void> {
  for (const event of story) {
    const { custom_data: said, ...data } = event.data;
    const own = { ...data, custom_data: said === null ? null : { service_ref: ref } };
    await sendTo(
      lone,
      { ...event, event_id: `${event.event_id}_lone`, data: said === undefined ? data : own },
      { secret },
    );
  }
}
