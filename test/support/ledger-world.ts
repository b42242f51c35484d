/**
 * Random worlds for the laws of the ledger: purchases of a program's customers, as the vendors report them, and programs
 * that differ in their ids only.
 */
import * as fc from "fast-check";
import { partners, partnerSlugs, flows } from "../../src/db/schema.ts";
import { searchText, slugKey, type PartnerStatus } from "../../src/domain/partner.ts";
import type { Condition, FlowActionType } from "../../src/domain/flow.ts";
import type { ProviderName } from "../../src/domain/provider-name.ts";
import type { ProviderEvent } from "../../src/providers/provider.ts";
import { vendorNamed, type ListedVendor } from "../../src/providers/registry.ts";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import {
  chargeRefunded,
  disputeClosed,
  disputeEvent,
  invoicePaid,
  invoicePaymentPaid,
  refundFailed,
} from "./provider-a.ts";
import { sessionAsyncSucceeded, sessionCompleted, sessionSetup, subscriptionDeleted } from "./provider-a.ts";
import { adjustmentCreated, adjustmentUpdated, subscriptionCanceled, transactionCompleted } from "./provider-b.ts";
import { unplain } from "./plain.ts";
import { makeProgram, testContext, type ProgramFields, type TestProgram } from "./program.ts";

export interface WorldEvent {
  provider: ProviderName;
  event: ProviderEvent;
}

export interface WorldFlow {
  action_type: FlowActionType;
  action_value: number;
  conditions: Condition[];
  priority: number;
  active: boolean;
}

/** The partners of every world: two active (one with a rate of its own), one invited, one deactivated. */
export const WORLD_PARTNERS: { slug: string; status: PartnerStatus; commission_pct: number | null }[] = [
  { slug: "ann", status: "active", commission_pct: null },
  { slug: "Bob", status: "active", commission_pct: 33.3333 },
  { slug: "ivy", status: "invited", commission_pct: null },
  { slug: "dan", status: "deactivated", commission_pct: 50 },
];

const T0 = 1_780_000_000;
const CURRENCIES = ["usd", "jpy", "kwd"] as const;

const ref = fc.constantFrom("ann", "ANN", "bob", "ivy", "dan", "nobody", null);
const amounts = fc.record({
  net: fc.oneof(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 2_000_000 }), fc.constant(0)),
  tax: fc.integer({ min: 0, max: 3_000 }),
});

/** The purchases of each listed provider: a new provider does not compile without its own. */
const KINDS = {
  provider_a: ["session", "subscription", "async", "api_invoice", "setup_then_pay", "renewals", "joined"],
  provider_b: ["transaction"],
} as const satisfies Record<ListedVendor, readonly [string, ...string[]]>;

/** One purchase and everything that follows from it, as vendor events in the order of their times. */
const story = fc.record({
  kind: fc.constantFrom(...Object.values(KINDS).flat()),
  ref,
  amounts,
  currency: fc.constantFrom(...CURRENCIES),
  email: fc.constantFrom("buyer@example.com", "ann@partners.example", null),
  refunds: fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 3 }),
  dispute: fc.constantFrom("none", "lost", "won", "reinstated"),
  refundFails: fc.boolean(),
  cancels: fc.boolean(),
  start: fc.integer({ min: 0, max: 40 }),
});

export type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

export const world = fc.record({
  stories: fc.array(story, { minLength: 1, maxLength: 4 }),
  flows: fc.array(
    fc.record({
      action_type: fc.constantFrom<FlowActionType>("percentage", "flat"),
      action_value: fc.integer({ min: 0, max: 100 }),
      priority: fc.integer({ min: 0, max: 2 }),
      active: fc.boolean(),
      conditions: fc.array(
        fc.constantFrom<Condition>(
          { field: "txn_amount_cents", op: "gt", value: 400 },
          { field: "txn_amount_cents", op: "lt", value: 900_000 },
          { field: "customer_email", op: "contains", value: "BUYER" },
          { field: "customer_email", op: "neq", value: "buyer@example.com" },
          { field: "partner_slug", op: "eq", value: "bob" },
          { field: "provider", op: "eq", value: "provider_b" },
        ),
        { maxLength: 2 },
      ),
    }),
    { maxLength: 3 },
  ),
});

/** The events of all stories in the order of their times, as parsed from the vendors' shapes. */
export function eventsOf(stories: readonly Story[]): WorldEvent[] {
  return stories
    .flatMap((each, index) => eventsOfStory(each, `${index}`))
    .map(({ provider, event }): WorldEvent => {
      const parsed = vendorNamed(provider)!.parse(JSON.parse(JSON.stringify(event)));
      if (!parsed.ok) throw new Error(`a maker made an event that does not parse: ${JSON.stringify(parsed.details)}`);
      return { provider, event: parsed.event };
    })
    .toSorted((a, b) => (a.event.occurred_at < b.event.occurred_at ? -1 : 1));
}

type Sent = { provider: ProviderName; event: object };

function eventsOfStory(plan: Story, n: string): Sent[] {
  let clock = T0 + plan.start * 1_800;
  const at = () => (clock += 60);
  const gross = plan.amounts.net + plan.amounts.tax;
  const money = { amount: gross, tax: plan.amounts.tax, currency: plan.currency };
  const who = { email: plan.email, customer: `cus_${n}` };
  const pay = { payment_intent: `pi_${n}`, charge: `ch_${n}` };
  const a = (event: object): Sent => ({ provider: "provider_a", event });
  const b = (event: object): Sent => ({ provider: "provider_b", event });
  const sent: Sent[] = [];
  const subscription = `sub_${n}`;
  const invoice = { subscription, ...who, ...money };

  switch (plan.kind) {
    case "session":
      sent.push(
        a(
          sessionCompleted({
            id: `cs_${n}`,
            ref: plan.ref,
            ...money,
            ...who,
            payment_intent: pay.payment_intent,
            created: at(),
          }),
        ),
      );
      break;
    case "async":
      sent.push(
        a(
          sessionCompleted({
            id: `cs_${n}`,
            ref: plan.ref,
            ...money,
            ...who,
            payment_intent: pay.payment_intent,
            payment_status: "unpaid",
            created: at(),
          }),
        ),
      );
      sent.push(
        a(
          sessionAsyncSucceeded({
            id: `cs_${n}`,
            ref: plan.ref,
            ...money,
            ...who,
            payment_intent: pay.payment_intent,
            created: at(),
          }),
        ),
      );
      break;
    case "subscription":
      sent.push(a(invoicePaid({ id: `in_${n}`, ...invoice, created: at() })));
      sent.push(
        a(
          sessionCompleted({
            id: `cs_${n}`,
            ref: plan.ref,
            invoice: `in_${n}`,
            subscription,
            ...money,
            ...who,
            created: at(),
          }),
        ),
      );
      sent.push(
        a(
          invoicePaymentPaid({
            invoice: `in_${n}`,
            payment_intent: pay.payment_intent,
            charge: pay.charge,
            created: at(),
          }),
        ),
      );
      break;
    case "api_invoice":
      sent.push(
        a(
          invoicePaid({
            id: `in_${n}`,
            ref: plan.ref,
            ...invoice,
            ...pay,
            shape: "old",
            amount_paid: Math.ceil(gross / 2),
            created: at(),
          }),
        ),
      );
      break;
    case "setup_then_pay":
      sent.push(a(sessionSetup({ id: `cs_${n}`, ref: plan.ref, customer: who.customer, created: at() })));
      sent.push(
        a(
          sessionCompleted({
            id: `cs_${n}p`,
            ref: null,
            ...money,
            ...who,
            payment_intent: pay.payment_intent,
            created: at(),
          }),
        ),
      );
      break;
    case "renewals":
      sent.push(
        a(
          sessionCompleted({
            id: `cs_${n}`,
            ref: plan.ref,
            invoice: `in_${n}`,
            subscription,
            ...money,
            ...who,
            created: at(),
          }),
        ),
      );
      sent.push(a(invoicePaid({ id: `in_${n}`, ...invoice, created: at() })));
      sent.push(a(invoicePaid({ id: `in_${n}r1`, ...invoice, ...pay, shape: "old", created: at() })));
      sent.push(a(invoicePaid({ id: `in_${n}r2`, ...invoice, ref: "bob", created: at() })));
      break;
    // A session and an invoice that only a later event identifies as one payment.
    case "joined":
      sent.push(
        a(
          sessionCompleted({
            id: `cs_${n}`,
            ref: plan.ref,
            ...money,
            ...who,
            payment_intent: pay.payment_intent,
            created: at(),
          }),
        ),
      );
      sent.push(a(invoicePaid({ id: `in_${n}`, ...invoice, subscription: null, created: at() })));
      sent.push(a(invoicePaymentPaid({ invoice: `in_${n}`, payment_intent: pay.payment_intent, created: at() })));
      break;
    case "transaction":
      sent.push(
        b(
          transactionCompleted({
            id: `txn_${n}`,
            ref: plan.ref,
            ...money,
            currency: plan.currency.toUpperCase(),
            customer: who.customer,
            subscription,
            occurred_at: iso(at() * 1_000),
          }),
        ),
      );
      break;
    default:
      plan.kind satisfies never;
  }

  let refunded = 0;
  for (const [i, percent] of plan.refunds.entries()) {
    const part = Math.floor((gross * percent) / 100 / plan.refunds.length);
    if (plan.kind === "transaction") {
      const adjustment = {
        id: `adj_${n}${i}`,
        transaction: `txn_${n}`,
        amount: part,
        tax: Math.floor(part / 10),
        currency: plan.currency.toUpperCase(),
      };
      sent.push(
        b(
          adjustmentCreated({
            ...adjustment,
            status: i === 0 ? "pending_approval" : "approved",
            occurred_at: iso(at() * 1_000),
          }),
        ),
      );
      if (i === 0)
        sent.push(
          b(
            adjustmentUpdated({
              ...adjustment,
              status: percent > 60 ? "rejected" : "approved",
              occurred_at: iso(at() * 1_000),
            }),
          ),
        );
      if (i === 2)
        sent.push(
          b(
            adjustmentCreated({
              ...adjustment,
              id: `adj_${n}back`,
              action: "chargeback_reverse",
              occurred_at: iso(at() * 1_000),
            }),
          ),
        );
    } else {
      refunded = Math.min(gross, refunded + part);
      sent.push(a(chargeRefunded({ ...pay, amount: gross, refunded, currency: plan.currency, created: at() })));
    }
  }
  if (plan.kind !== "transaction") {
    if (plan.refundFails && refunded > 0) {
      const failed = { id: `re_${n}`, ...pay, amount: Math.ceil(refunded / 2), currency: plan.currency };
      sent.push(a(refundFailed({ ...failed, created: at() })));
    }
    const dispute = { id: `dp_${n}`, ...pay, amount: Math.ceil(gross / 3), currency: plan.currency };
    if (plan.dispute !== "none")
      sent.push(a(disputeClosed({ ...dispute, status: plan.dispute === "won" ? "won" : "lost", created: at() })));
    if (plan.dispute === "reinstated")
      sent.push(a(disputeEvent("charge.dispute.funds_reinstated", { ...dispute, status: "won", created: at() })));
  }
  if (plan.cancels) {
    sent.push(
      plan.kind === "transaction"
        ? b(subscriptionCanceled({ id: subscription, occurred_at: iso(at() * 1_000) }))
        : a(subscriptionDeleted({ id: subscription, created: at() })),
    );
  }
  return sent;
}

/** A new program with the world's partners and flows; two of them differ in ids only. */
export async function makeWorldProgram(
  worldFlows: readonly WorldFlow[],
  fields: ProgramFields = {},
): Promise<TestProgram> {
  const program = await makeProgram(fields);
  const { db } = testContext();
  const now = T0 * 1_000;
  const rows = WORLD_PARTNERS.map((partner, i) => {
    const row = {
      ...partner,
      id: newId("partner", now + i),
      program_id: program.id,
      email: `${partner.slug.toLowerCase()}@partners.example`,
      first_name: null,
      last_name: null,
      created_at: iso(now),
      updated_at: iso(now),
    };
    return { ...row, search_text: searchText(row) };
  });
  for (const row of rows) {
    await db.insert(partners).values(unplain<typeof partners.$inferInsert>(row));
    await db.insert(partnerSlugs).values({ program_id: program.id, slug_key: slugKey(row.slug), partner_id: row.id });
  }
  for (const [i, flow] of worldFlows.entries()) {
    const stamp = iso(now + i);
    await db.insert(flows).values({
      ...flow,
      id: newId("flow", now + i),
      program_id: program.id,
      name: `flow ${i}`,
      created_at: stamp,
      updated_at: stamp,
    });
  }
  return program;
}
