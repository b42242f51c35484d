import * as z from "zod";
import type { ProgramRates } from "../../core/payouts/exchange-rates.ts";
import type { Asked } from "../../core/payouts/ask-details.ts";
import type { LeftOut } from "../../core/payouts/exports.ts";
import type { FileResults, LineResult } from "../../core/payouts/results.ts";
import type { Generation } from "../../core/payouts/generate.ts";
import type { BulkReport, BulkResult } from "../../core/commissions/bulk.ts";
import type { JournalEntry, PartnerBalance } from "../../core/ledger/journal.ts";
import type { Reconciling, ShownDifference } from "../../core/reconcile/now.ts";
import type { SimulatedPayment, Simulation } from "../../core/programs/simulation.ts";
import type {
  ClaimView,
  CommissionView,
  PaymentView,
  PayoutExportView,
  PayoutView,
  viewClaimData,
  viewClaimWithPayments,
  viewCommissionData,
  viewPaymentWithTrace,
} from "../../core/kernel/views.ts";
import { COMMISSION_STATUSES } from "../../domain/commission.ts";
import { CONDITION_FIELDS, CONDITION_OPS } from "../../domain/condition.ts";
import { SKIPS, type FlowTrace } from "../../domain/flow.ts";
import { shownValue } from "../../resources/flow.ts";
import { RATE_SOURCES } from "../../domain/exchange.ts";
import { JOURNAL_ACCOUNTS } from "../../domain/journal.ts";
import { PAYOUT_METHODS } from "../../domain/partner.ts";
import { OUTCOMES } from "../../domain/payment.ts";
import { SKIP_REASONS } from "../../domain/payout.ts";
import { LEFT_OUT_REASONS, RESULT_OUTCOMES } from "../../domain/payout-export.ts";
import { CHECKS, type Checked } from "../../domain/reconciliation.ts";
import { CANDIDATE_SOURCES, REF_SOURCES } from "../../domain/reference.ts";
import { CLAIM } from "../../resources/claim.ts";
import { COMMISSION, rateSchema } from "../../resources/commission.ts";
import { pick, readShape } from "../../resources/field.ts";
import { bag, cents, currencyCode, exchangeRate, idOf, timestamp } from "../../resources/output.ts";
import { PAYMENT } from "../../resources/payment.ts";
import { PAYOUT } from "../../resources/payout.ts";
import { PAYOUT_EXPORT } from "../../resources/payout-export.ts";
import { listOf, once, shows } from "./fields.ts";

const reconciling = once(() =>
  shows<Reconciling>()({
    checked: shows<Checked>()({
      commissions: z.int().min(0),
      payments: z.int().min(0),
      partners: z.int().min(0),
      payouts: z.int().min(0),
      transfers: z.int().min(0),
    }),
    differences: z
      .array(
        shows<ShownDifference>()({
          program_id: idOf("program"),
          check: z.enum(CHECKS),
          subject: z.string().describe("The commission, payment, partner, payout or program."),
          expected: bag.describe("Amounts in smallest units, by name."),
          found: bag,
          found_at: timestamp,
        }),
      )
      .describe("The differences in the programs that this call checked, at most 100."),
    repaired: z.array(idOf("partner")).describe("Partners whose balances were recomputed."),
    next: z.string().nullable().describe("Send it as `next` to go on; null when everything has been checked."),
  }),
);

const commission = once(() => shows<CommissionView>()(readShape(COMMISSION)));

const commissionData = once(() =>
  shows<ReturnType<typeof viewCommissionData>>()({
    id: idOf("commission"),
    partner_id: idOf("partner"),
    amount: cents,
    revenue: cents,
    status: z.enum(COMMISSION_STATUSES),
    currency: currencyCode,
    hold_until: timestamp.nullable(),
  }),
);

const refused = once(() =>
  z.strictObject({ code: z.enum(["not_found", "invalid_transition", "flagged"]), message: z.string() }),
);

const bulkReport = {
  matched: z.int().min(0).describe("How many commissions were selected."),
  changed: z.int().min(0),
  skipped: z
    .int()
    .min(0)
    .describe("How many were left unchanged: flagged, in a payout, or with a status that does not allow it."),
  remaining: z.int().min(0).describe("With `filter`, how many were not reached in this call; send it again to go on."),
} satisfies { [K in keyof BulkReport]: z.ZodType<BulkReport[K]> };

const bulkResult = once(() =>
  z.discriminatedUnion("ok", [
    shows<Extract<BulkResult, { ok: true }>>()({
      id: z.string(),
      ok: z.literal(true),
      status: z.enum(COMMISSION_STATUSES),
    }),
    shows<Extract<BulkResult, { ok: false }>>()({ id: z.string(), ok: z.literal(false), error: refused() }),
  ]),
);

const payment = once(() => shows<PaymentView>()(readShape(PAYMENT)));

const flowTrace = once(() =>
  shows<FlowTrace>()({
    flow_id: idOf("flow"),
    name: z.string(),
    priority: z.number(),
    matched: z.boolean(),
    base: z
      .exactOptional(z.literal("matching_items"))
      .describe("Present if only the lines count that its conditions on `product_id` match."),
    skipped: z.exactOptional(z.enum(SKIPS)).describe("Why its conditions were not compared; absent if they were."),
    conditions: z.array(
      shows<FlowTrace["conditions"][number]>()({
        field: z.enum(CONDITION_FIELDS),
        op: z.enum(CONDITION_OPS),
        value: shownValue(),
        saw: z.union([z.number(), z.string(), z.boolean()]).nullable(),
        held: z.boolean(),
      }),
    ),
  }),
);

type PaymentWithTrace = ReturnType<typeof viewPaymentWithTrace>;

const paymentWithTrace = once(() =>
  shows<PaymentWithTrace>()({
    ...readShape(PAYMENT),
    trace: shows<PaymentWithTrace["trace"]>()({
      outcome: z.enum(OUTCOMES).nullable(),
      ref: z.string().nullable(),
      ref_source: z.enum(REF_SOURCES).nullable(),
      candidates: z
        .array(
          shows<PaymentWithTrace["trace"]["candidates"][number]>()({
            ref: z.string(),
            source: z.enum(CANDIDATE_SOURCES),
            partner_id: idOf("partner").nullable().describe("The partner it leads to; null if it leads to none."),
          }),
        )
        .describe("The references in the order tried; the first that leads to a partner counts."),
      partner_id: idOf("partner").nullable(),
      partner_slug: z.string().nullable(),
      group_id: idOf("group").nullable(),
      group_slug: z.string().nullable(),
      flows: z.array(flowTrace()).describe("The flows in the order tried, with the values that their conditions saw."),
      flow_id: idOf("flow").nullable(),
      rate: rateSchema().nullable(),
      hold: z
        .strictObject({ source: z.enum(["flow", "group", "program"]), days: z.int() })
        .nullable()
        .describe("The hold of the commission, and whose days it has; null without one."),
      txn_amount_cents: cents,
      adjusted_cents: cents,
      lines: z
        .array(
          shows<NonNullable<PaymentWithTrace["trace"]["lines"]>[number]>()({
            products: z.array(z.string()).describe("The provider's ids of the product and its price."),
            amount_cents: cents.describe(
              "Net of tax, after discounts; negative for an unused period. Smallest units of the currency.",
            ),
            returned_cents: z
              .exactOptional(cents)
              .describe("What refunds of this line returned; absent if nothing. Smallest units of the currency."),
          }),
        )
        .nullable()
        .describe("What was bought; null if the products are unknown."),
      base_cents: cents
        .nullable()
        .describe("What the matching lines come to, if the flow counts only these. Smallest units of the currency."),
      amount_cents: cents.nullable(),
      arithmetic: z.string().nullable(),
      later_flows: z
        .exactOptional(z.array(z.strictObject({ flow_id: idOf("flow"), name: z.string(), created_at: timestamp })))
        .describe(
          "Active flows that were added or switched on after the payment: they do not decide it, unless applied with `apply_from`. Absent in a claim.",
        ),
    }),
    commissions: z.array(commission()),
  }),
);

const claimData = once(() =>
  shows<ReturnType<typeof viewClaimData>>()(
    pick(readShape(CLAIM), ["id", "program_id", "partner_id", "status", "payment_id", "created_at", "decided_at"]),
  ),
);

const claim = once(() => shows<ClaimView>()(readShape(CLAIM)));

const claimWithPayments = once(() =>
  shows<ReturnType<typeof viewClaimWithPayments>>()({
    ...readShape(CLAIM),
    payments: z.array(paymentWithTrace()).describe("The payments that fit the claim."),
  }),
);

const payout = once(() => shows<PayoutView>()(readShape(PAYOUT)));
const payoutExport = once(() => shows<PayoutExportView>()(readShape(PAYOUT_EXPORT)));

const sum = once(() => ({
  partner_id: idOf("partner"),
  currency: currencyCode,
  amount_cents: cents,
  commission_count: z.int(),
}));

const generation = once(() =>
  shows<Omit<Generation, "chunks" | "reasons" | "payouts"> & { payouts: unknown }>()({
    dry_run: z.boolean(),
    payout_currency: currencyCode.nullable().describe("The currency of the payouts; null: as earned."),
    period_start: timestamp.nullable(),
    period_end: timestamp,
    due_at: timestamp,
    payouts: z
      .union([
        z.array(payout()),
        z.array(
          z.strictObject({
            ...{ ...sum(), method: z.enum(PAYOUT_METHODS).nullable() },
            held_until: timestamp.nullable().describe("The end of the partner's hold; null without one."),
            source_amounts: PAYOUT.source_amounts.read(),
          }),
        ),
      ])
      .describe("The payouts made, or with `dry_run` what they would be; the first 500."),
    skipped: z
      .array(shows<Generation["skipped"][number]>()({ ...sum(), reason: z.enum(SKIP_REASONS) }))
      .describe("What is carried forward, and why; the first 500."),
    totals: z.array(
      shows<Generation["totals"][number]>()({
        currency: currencyCode,
        payouts: z.int(),
        amount_cents: cents,
        skipped: z.int(),
        skipped_cents: cents,
      }),
    ),
    without_details: shows<Generation["without_details"]>()({
      partners: z.int(),
      payouts: z.int(),
      partner_ids: z.array(idOf("partner")),
    }),
  }),
);

const exchangeRates = once(() =>
  shows<ProgramRates>()({
    base: currencyCode.nullable().describe("The currency of which the rates give the value; null before you set any."),
    rates: z.record(z.string(), exchangeRate).describe("What one `base` is worth in each currency, by ISO 4217 code."),
    rated_at: timestamp.nullable().describe("When you set them. Older than 35 days they do not count."),
    payout_currency: currencyCode.nullable().describe("The program's setting; null: payouts are as earned."),
    in_force: z
      .array(
        shows<ProgramRates["in_force"][number]>()({
          currency: currencyCode,
          rate: exchangeRate.describe("What one unit is worth in the payout currency."),
          rate_source: z.enum(RATE_SOURCES).describe("Yours, or at which the provider converted your payments."),
          rate_at: timestamp.describe("When you set it, or the provider used it."),
        }),
      )
      .describe("The rates with which payouts would be converted now; empty without a payout currency."),
  }),
);

const simulatedSums = {
  currency: currencyCode,
  payments: z.int(),
  old_amount_cents: cents,
  new_amount_cents: cents,
};

const simulation = once(() =>
  shows<Simulation>()({
    payments: z.array(
      shows<SimulatedPayment>()({
        payment_id: idOf("payment"),
        outcome: z.enum(OUTCOMES).nullable(),
        partner_id: idOf("partner").nullable(),
        currency: currencyCode,
        txn_amount_cents: cents,
        adjusted_cents: cents,
        old_amount_cents: cents,
        new_amount_cents: cents,
        old_flow_id: z.string().nullable(),
        new_flow_id: z.string().nullable().describe("`new` for a flow that does not exist yet."),
        old_rate: rateSchema().nullable().describe("The rate that decided it; null if it earns nothing."),
        new_rate: rateSchema().nullable().describe("The rate that would have decided it."),
        new_currency: currencyCode.describe("Differs from `currency` for leads only: their flow sets it."),
        rule_changed: z.boolean().describe("Whether another rule decides it, even with the same amount."),
        created_at: timestamp,
      }),
    ),
    sums: z.array(shows<Simulation["sums"][number]>()(simulatedSums)),
    partners: z
      .array(
        shows<Simulation["partners"][number]>()({
          partner_id: idOf("partner"),
          slug: z.string(),
          first_name: z.string().nullable(),
          last_name: z.string().nullable(),
          ...simulatedSums,
        }),
      )
      .describe("The partners who earn another amount, by currency; the 20 largest differences, in major units."),
    partner_count: z.int().describe("How many such differences there are."),
    changed_count: z.int().describe("How many of the payments another rule decides."),
    from: timestamp.nullable().describe("When the first of the payments was made."),
    to: timestamp.nullable().describe("When the last of the payments was made."),
    more: z.boolean().describe("Whether the change concerns more payments than are shown."),
  }),
);

const balance = once(() =>
  shows<PartnerBalance>()({
    currency: currencyCode,
    pending_cents: cents,
    payable_cents: cents.describe(
      "Approved and in no payout; negative if more was paid than is earned by now. Smallest units of the currency.",
    ),
    in_payout_cents: cents,
    paid_cents: cents,
    forgiven_cents: cents.describe(
      "Clawbacks that the owner rejected: paid, and not taken back. Smallest units of the currency.",
    ),
  }),
);

const entry = once(() =>
  shows<JournalEntry>()({
    id: idOf("entry"),
    partner_id: idOf("partner"),
    commission_id: idOf("commission"),
    payout_id: idOf("payout").nullable(),
    currency: currencyCode,
    from_account: z.enum(JOURNAL_ACCOUNTS),
    to_account: z.enum(JOURNAL_ACCOUNTS),
    amount_cents: cents.min(1),
    posted_at: timestamp,
    event_id: idOf("event")
      .nullable()
      .describe("The audit event of the change that posted it. Null for entries posted before this field existed."),
  }),
);

const results = once(() =>
  shows<FileResults>()({
    dry_run: z.boolean(),
    counts: z.record(z.enum(RESULT_OUTCOMES), z.int()).describe("How many lines have each outcome."),
    lines: z
      .array(
        shows<LineResult>()({
          line: z.int().describe("Its number in the file; the header of a CSV is 1."),
          payout_id: idOf("payout").nullable().describe("Null for a payout that is not in this file of payouts."),
          said: z.string().describe("The status as the result file has it."),
          outcome: z
            .enum(RESULT_OUTCOMES)
            .describe(
              "The new status of the payout, `unchanged`, or `problem`: nothing was changed, `message` says why.",
            ),
          message: z.string().nullable(),
        }),
      )
      .describe("In the order of the file; one for each payout that a status of the whole file covers."),
    remaining: z
      .int()
      .describe("How many payouts whose money came back were not reached in this call; send the file again to go on."),
  }),
);

/** The replies of the routes of commissions, payments and payouts, by schema name. */
export const moneyReplies = once(() => ({
  Commission: commission(),
  CommissionData: commissionData(),
  CommissionList: listOf(commission()),
  BalanceList: z.strictObject({ data: z.array(balance()) }),
  Reconciling: reconciling(),
  EntryList: listOf(entry()),
  BulkResults: z.strictObject({
    data: z.array(bulkResult()).describe("With `ids`, a result for each, in the order given; empty with `filter`."),
    ...bulkReport,
  }),
  Payment: payment(),
  PaymentList: listOf(payment()),
  PaymentWithTrace: paymentWithTrace(),
  Claim: claim(),
  ClaimData: claimData(),
  ClaimList: listOf(claim()),
  ClaimWithPayments: claimWithPayments(),
  Payout: payout(),
  PayoutList: listOf(payout()),
  PayoutWithCommissions: z.strictObject({ ...readShape(PAYOUT), commissions: z.array(commission()) }),
  PayoutGeneration: generation(),
  PayoutDetailsAsked: shows<Asked>()({
    asked: z.int().min(0),
    asked_recently: z.int().min(0),
    not_active: z.int().min(0),
    has_details: z.int().min(0),
    remaining: z.int().min(0).describe("How many were not reached in this call; send it again to go on."),
  }),
  PayoutExport: payoutExport(),
  PayoutExportList: listOf(payoutExport()),
  PayoutExportMade: z.strictObject({
    ...readShape(PAYOUT_EXPORT),
    left_out: z
      .array(shows<LeftOut>()({ payout_id: idOf("payout"), reason: z.enum(LEFT_OUT_REASONS) }))
      .describe("Pending payouts of the method and currency that the file cannot contain; the first 500."),
  }),
  PayoutResults: results(),
  ExchangeRates: exchangeRates(),
  Simulation: simulation(),
}));
