import * as z from "zod";
import { mulDivHalfUp, negate, NOTHING, sumWithin, type Cents } from "../../domain/money.ts";
import type { KeptBy } from "../../domain/fact.ts";
import type { AdjustmentFact, CodeFact, PaymentFact, WebhookFormat } from "../provider.ts";
import { checkHeader, verifySignature } from "../signature.ts";
import { adjustedLines, signedTotal, total, totals, transactionLines } from "./lines.ts";
import {
  aliasesOf,
  attributionsOf,
  bag,
  carriedCodes,
  carriedRefs,
  codeUseOf,
  currency,
  factsOf,
  factsOr,
  field,
  id,
  ignore,
  ignoreAll,
  instant,
  optionalAddress,
  optionalText,
  parseWith,
  reader,
  refIn,
  typesRead,
  type Reader,
} from "../wire.ts";

const SCHEME = { separator: ";", timestamp_key: "ts", signature_key: "h1", joiner: ":" };

/** Provider B sends Paddle Billing's notification formats (IN-9). */
export const webhooks: WebhookFormat = {
  signature_headers: ["Provider-B-Signature", "Paddle-Signature"],
  whyRefused: (input) => checkHeader(SCHEME, input),
  verify: (input) => verifySignature(SCHEME, input),
  parse: (body) => parseWith(envelope, READERS, body),
  claims_programs: true,
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

/** Names of the live environment in events that state their environment. */
const LIVE = ["live", "production"];

const envelope = z
  .object({
    event_id: id,
    event_type: id,
    occurred_at: instant,
    notification_id: bag,
    environment: bag,
  })
  .transform(({ event_id, event_type, occurred_at, notification_id, environment }) => ({
    event_id,
    event_type,
    occurred_at,
    // The simulator sends any content to the live address, even real ids; only its event ids identify it.
    test:
      event_id.startsWith("ntfsimevt_") ||
      (typeof notification_id === "string" && notification_id.startsWith("ntfsimntf_")) ||
      (typeof environment === "string" && !LIVE.includes(environment.toLowerCase())),
  }));

/**
 * Totals of a transaction. Older shapes have fewer; `credit` is the amount that the customer's balance paid. If items
 * of several tax rates are prorated, the tax may be more than the total, or negative (developer.paddle.com,
 * `transaction_cannot_be_revised_with_tax_higher_than_grand_total_or_negative_tax`).
 */
const transactionTotals = z.object({
  total: signedTotal,
  tax: signedTotal,
  credit: total.nullish(),
  grand_total: signedTotal.nullish(),
  grand_total_tax: signedTotal.nullish(),
});
type TransactionSums = z.output<typeof transactionTotals>;

/** The amount charged, with tax: the customer's balance was charged before, in another transaction. */
function amountCharged(sums: TransactionSums): Cents {
  return sums.grand_total ?? sumWithin([sums.total, negate(sums.credit ?? NOTHING)]);
}

/** The tax in the amount charged, or null. Transactions before January 2026 repeat the whole tax here. */
function taxStated(sums: TransactionSums): Cents | null {
  const { tax, grand_total_tax } = sums;
  if (grand_total_tax === null || grand_total_tax === undefined) return null;
  const credit = sums.credit ?? sumWithin([sums.total, negate(amountCharged(sums))]);
  return grand_total_tax === tax && credit > 0 ? null : grand_total_tax;
}

/** The money that moved, net and gross (PAY-1), 0 unless positive. An unstated tax is a proportional part. */
function moneyOf(sums: TransactionSums): Pick<PaymentFact, "base_cents" | "gross_cents" | "lines_cents"> {
  const gross_cents = sumWithin([amountCharged(sums)], NOTHING);
  const { total: whole, tax } = sums;
  const part = whole > 0 && tax > 0 ? mulDivHalfUp(tax, gross_cents, whole) : NOTHING;
  const base_cents = sumWithin([gross_cents, negate(taxStated(sums) ?? part)], NOTHING, gross_cents);
  const net = sumWithin([whole, negate(tax)]);
  return { base_cents, gross_cents, ...(net > 0 && net !== base_cents ? { lines_cents: net } : {}) };
}

const optionalId = id.nullish().transform((value) => value ?? null);

const transaction = z.object({
  id,
  currency_code: currency,
  customer_id: optionalId,
  subscription_id: optionalId,
  discount_id: optionalId,
  custom_data: bag,
  items: bag,
  details: z.object({ totals: transactionTotals, line_items: bag }),
});

/** A subscription copies the custom data of its first transaction, and its transactions copy the subscription's. */
export const KEPT_BY: KeptBy = new Map([["metadata", "subscription"]]);

const transactionReader = reader(["data"], transaction, (data, { occurred_at }) => {
  const { customer_id, subscription_id } = data;
  const refs = carriedRefs(["metadata", refIn(data.custom_data)]);
  const carried = carriedCodes([data.discount_id]);
  const whose = { customer_id, subscription_id, payment: [data.id] };
  return factsOf(
    {
      kind: "payment",
      occurred_at,
      key: data.id,
      source: "transaction",
      aliases: [data.id],
      paid: true,
      currency: data.currency_code,
      ...moneyOf(data.details.totals),
      ...transactionLines(data.details.line_items, data.items),
      ref: refs[0]?.ref ?? null,
      refs,
      ...carried,
      // The vendor's notifications never contain an e-mail address.
      customer_email: null,
      customer_id,
      subscription_id,
    },
    ...attributionsOf(refs, whose, occurred_at, KEPT_BY),
    codeUseOf(carried.codes ?? [], whose, occurred_at),
  );
});

/**
 * Whether an action takes money from the payment or gives it back. A credit does neither: it goes to the customer's
 * balance, or lowers an invoice before it is paid, and reduces the totals of the transaction that it pays (`amountCharged`).
 * A chargeback warning moves money: the vendor refunds the disputed amount at once so that the chargeback is never
 * filed, and its reversal returns it (developer.paddle.com, "Refund or credit a transaction", Chargebacks; the balance
 * report names both as movements).
 */
const DIRECTIONS = {
  refund: "deduct",
  credit: null,
  chargeback: "deduct",
  chargeback_warning: "deduct",
  credit_reverse: null,
  chargeback_reverse: "reverse",
  chargeback_warning_reverse: "reverse",
} as const;

/** The order of an adjustment's stages; it may end at each. */
const STAGES = ["pending_approval", "approved", "rejected", "reversed"] as const;

const adjustment = z.object({
  id,
  transaction_id: id,
  action: z.enum(Object.keys(DIRECTIONS) as (keyof typeof DIRECTIONS)[]),
  status: z.enum(STAGES),
  totals,
  items: bag,
});

/** PAY-8: created and updated are both read, only approved ones count, the newest `occurred_at` wins. */
const adjustmentReader = reader(["data"], adjustment, (data, { occurred_at }) => {
  const direction = DIRECTIONS[data.action];
  const isDispute = data.action === "chargeback" || data.action === "chargeback_warning";
  if (direction === null) return { facts: [], ignored: "counted_by_later_totals" };
  return factsOf({
    kind: "adjustment",
    occurred_at,
    adjustment_id: data.id,
    aliases: aliasesOf(data.transaction_id),
    mode: "single",
    amount_cents: sumWithin([data.totals.total, negate(data.totals.tax)], NOTHING, data.totals.total),
    net_of_tax: true,
    direction,
    ...(direction === "deduct" ? { reversal: reversalOf(isDispute, data.status) } : {}),
    ...adjustedLines(data.items),
    stage: STAGES.indexOf(data.status),
    effective: data.status === "approved",
    // A requested chargeback whose money is still there. An approved one is gone until reversed, never lost.
    ...(isDispute && data.status === "pending_approval" ? { open: true as const } : {}),
  });
});

/** The vendor reverses disputes; a reversed refund moved no money, either way. */
function reversalOf(isDispute: boolean, status: (typeof STAGES)[number]): NonNullable<AdjustmentFact["reversal"]> {
  if (!isDispute) return "never";
  return status === "reversed" ? "done" : "possible";
}

const subscription = z.object({
  id,
  customer_id: optionalId,
  custom_data: bag,
  discount: z.object({ id }).nullish(),
});

const subscriptionReader = reader(["data"], subscription, (data, { event_type, occurred_at }) => {
  const ref = refIn(data.custom_data);
  const whose = { subscription_id: data.id, customer_id: data.customer_id };
  return factsOr(
    "no_ref",
    event_type === "subscription.canceled" ? { kind: "cancellation", occurred_at, subscription_id: data.id } : null,
    ref === null ? null : { kind: "attribution", occurred_at, ref, ...whose, kept_by: "subscription" },
    codeUseOf(carriedCodes([data.discount?.id]).codes ?? [], { ...whose, payment: null }, occurred_at),
  );
});

const customer = z.object({ id, email: optionalAddress, custom_data: bag });

const customerReader = reader(["data"], customer, (data, { occurred_at }) => {
  const ref = refIn(data.custom_data);
  const whose = { subscription_id: null, customer_id: data.id, kept_by: "customer" as const };
  return factsOr(
    "no_address",
    data.email === null ? null : { kind: "customer", occurred_at, customer_id: data.id, email: data.email },
    ref === null ? null : { kind: "attribution", occurred_at, ref, ...whose },
  );
});

export const discount = z.object({ id, code: optionalText });

/** The code of a discount; the owner alone applies one without a code. */
export function namesOfDiscount({ id: code_id, code }: z.output<typeof discount>, occurred_at: string): CodeFact[] {
  return code === null ? [] : [{ kind: "code", occurred_at, code_id, name: code, parents: [] }];
}

const discountReader = reader(["data"], discount, (data, { occurred_at }) =>
  factsOr("no_code", ...namesOfDiscount(data, occurred_at)),
);

const READERS: ReadonlyMap<string, Reader> = new Map([
  ["discount.created", discountReader],
  ["discount.updated", discountReader],
  ["discount.imported", discountReader],
  ["customer.created", customerReader],
  ["customer.updated", customerReader],
  ["customer.imported", customerReader],
  ["transaction.completed", transactionReader],
  // Money has arrived but the totals may still change; `transaction.completed` follows and is final.
  ["transaction.paid", ignore("counted_when_completed")],
  ["transaction.payment_failed", ignore("payment_failed")],
  // A tax number given later: the returned tax arrives as an adjustment and changes no net amount.
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
  ...ignoreAll("nothing_paid_yet", [
    ...["transaction.billed", "transaction.canceled", "transaction.created", "transaction.past_due"],
    ...["transaction.ready", "transaction.updated"],
  ]),
]);

export const READ_TYPES = typesRead(READERS);
