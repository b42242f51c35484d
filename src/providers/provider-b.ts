import * as z from "zod";
import type { Provider } from "./provider.ts";
import { verifySignature } from "./signature.ts";
import {
  aliasesOf,
  amount,
  bag,
  currency,
  factsOf,
  factsOr,
  field,
  id,
  ignore,
  instant,
  parseWith,
  reader,
  refIn,
} from "./wire.ts";

const SCHEME = { separator: ";", timestamp_key: "ts", signature_key: "h1", joiner: ":" };

/** Provider B speaks Paddle Billing's notification formats (contract §1, §5). */
export const providerB: Provider = {
  name: "provider_b",
  signature_headers: ["Provider-B-Signature", "Paddle-Signature"],
  verify: (input) => verifySignature(SCHEME, input),
  parse: (body) => parseWith(envelope, READERS, body),
  claimedOwner(body) {
    const data = field(body, "data");
    const type = field(body, "event_type");
    const own = claimedId(field(data, "id"));
    const isOf = (entity: string) => typeof type === "string" && type.startsWith(`${entity}.`);
    return {
      program_id: claimedId(field(field(data, "custom_data"), "service_program")),
      transaction_id: claimedId(field(data, "transaction_id")) ?? (isOf("transaction") ? own : null),
      subscription_id: claimedId(field(data, "subscription_id")) ?? (isOf("subscription") ? own : null),
    };
  },
};

function claimedId(value: unknown): string | null {
  return id.safeParse(value).data ?? null;
}

const envelope = z.object({ event_id: id, event_type: id, occurred_at: instant });

/** Totals are texts of whole numbers in the currency's lowest unit; numbers are taken as well. */
const total = z
  .union(
    [
      z
        .string()
        .regex(/^[0-9]+$/)
        .transform(Number),
      z.number(),
    ],
    {
      error: "expected a whole number of the lowest unit, 0 or more",
    },
  )
  .pipe(amount);

/** Tax included and tax; what remains without it is never negative. */
const totals = z
  .object({ total, tax: total })
  .refine((sums) => sums.tax <= sums.total, { path: ["tax"], message: "the tax is more than the total" });

const optionalId = id.nullish().transform((value) => value ?? null);

const transaction = z.object({
  id,
  currency_code: currency,
  customer_id: optionalId,
  subscription_id: optionalId,
  custom_data: bag,
  details: z.object({ totals }),
});

const transactionReader = reader(["data"], transaction, (data, { occurred_at }) => {
  const { customer_id, subscription_id } = data;
  const ref = refIn(data.custom_data);
  return factsOf(
    {
      kind: "payment",
      occurred_at,
      key: data.id,
      source: "transaction",
      aliases: [data.id],
      paid: true,
      currency: data.currency_code,
      base_cents: data.details.totals.total - data.details.totals.tax,
      gross_cents: data.details.totals.total,
      ref,
      // The vendor's notifications carry no e-mail anywhere.
      customer_email: null,
      customer_id,
      subscription_id,
    },
    ref === null || (subscription_id === null && customer_id === null)
      ? null
      : { kind: "attribution", occurred_at, ref, subscription_id, customer_id },
  );
});

/**
 * Whether an action takes money from the payment or gives it back. A warning of a chargeback is no mere warning: the
 * vendor refunds the disputed amount at once so that the chargeback is never filed, and its reversal returns it
 * (developer.paddle.com, "Refund or credit a transaction", Chargebacks; the balance report names both as movements).
 */
const DIRECTIONS = {
  refund: "deduct",
  credit: "deduct",
  chargeback: "deduct",
  chargeback_warning: "deduct",
  credit_reverse: "reverse",
  chargeback_reverse: "reverse",
  chargeback_warning_reverse: "reverse",
} as const;

/** In the order in which an adjustment goes through them; it may end at each. */
const STAGES = ["pending_approval", "approved", "rejected", "reversed"] as const;

const adjustment = z.object({
  id,
  transaction_id: id,
  action: z.enum(Object.keys(DIRECTIONS) as (keyof typeof DIRECTIONS)[]),
  status: z.enum(STAGES),
  totals,
});

/** Contract §5: created and updated are both read, only approved ones count, the newest `occurred_at` wins. */
const adjustmentReader = reader(["data"], adjustment, (data, { occurred_at }) =>
  factsOf({
    kind: "adjustment",
    occurred_at,
    adjustment_id: data.id,
    aliases: aliasesOf(data.transaction_id),
    mode: "single",
    amount_cents: data.totals.total - data.totals.tax,
    net_of_tax: true,
    direction: DIRECTIONS[data.action],
    stage: STAGES.indexOf(data.status),
    effective: data.status === "approved",
  }),
);

const subscription = z.object({ id, customer_id: optionalId, custom_data: bag });

const subscriptionReader = reader(["data"], subscription, (data, { event_type, occurred_at }) => {
  const ref = refIn(data.custom_data);
  return factsOr(
    "no_ref",
    event_type === "subscription.canceled" ? { kind: "cancellation", occurred_at, subscription_id: data.id } : null,
    ref === null
      ? null
      : { kind: "attribution", occurred_at, ref, subscription_id: data.id, customer_id: data.customer_id },
  );
});

const READERS = new Map([
  ["transaction.completed", transactionReader],
  // Money has arrived but the totals may still change; `transaction.completed` follows and is final.
  ["transaction.paid", ignore("counted_when_completed")],
  ["transaction.payment_failed", ignore("payment_failed")],
  // A tax number given later: the tax given back arrives as an adjustment and changes no net amount.
  ["transaction.revised", ignore("counted_by_adjustment")],
  ["adjustment.created", adjustmentReader],
  ["adjustment.updated", adjustmentReader],
  ["subscription.created", subscriptionReader],
  ["subscription.imported", subscriptionReader],
  ["subscription.trialing", subscriptionReader],
  ["subscription.activated", subscriptionReader],
  ["subscription.updated", subscriptionReader],
  ["subscription.past_due", subscriptionReader],
  ["subscription.paused", subscriptionReader],
  ["subscription.resumed", subscriptionReader],
  ["subscription.canceled", subscriptionReader],
]);
