/** The result of a simulation (FLOW-6): payments before and after, with sums by currency and by partner. */
import { sql } from "drizzle-orm";
import { isOneOf } from "../../db/client.ts";
import { partners } from "../../db/schema.ts";
import { decimalAmount } from "../../domain/currency.ts";
import type { Rate } from "../../domain/commission.ts";
import { addUp, NOTHING, subtract, type Cents } from "../../domain/money.ts";
import { isSameRule, type PaymentDecision } from "../../domain/payment.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Partner } from "../kernel/rows.ts";
import type { Compared } from "../ledger/apply-from.ts";

/** The most partners that a simulation lists. */
const MOST_PARTNERS = 20;

export interface SimulatedPayment extends Compared {
  new_amount_cents: Cents;
  /** Differs from `currency` for a lead only, whose flow sets it. */
  new_currency: string;
  new_flow_id: string | null;
  new_rate: Rate | null;
  /** Whether another rule decides it, with the same amount too. */
  rule_changed: boolean;
}

/** The earnings of a payment under a rule. */
export interface Earned {
  rule: Pick<PaymentDecision, "flow_id" | "rate">;
  currency: string;
  amount_cents: Cents;
  /** The amount that the rule counts. */
  base_cents: Cents;
}

interface Amounts {
  currency: string;
  payments: number;
  old_amount_cents: Cents;
  new_amount_cents: Cents;
}

type Named = Pick<Partner, "slug" | "first_name" | "last_name">;

/** A partner who earns another amount in a currency. */
export interface PartnerChange extends Amounts, Named {
  partner_id: string;
}

export interface Simulation {
  payments: SimulatedPayment[];
  /** A sum for each currency that occurs. */
  sums: Amounts[];
  /** The partners who earn another amount, the largest difference first; at most 20 of `partner_count`. */
  partners: PartnerChange[];
  partner_count: number;
  /** The number of payments that another rule decides. */
  changed_count: number;
  /** When the first and the last of the payments were made; null without one. */
  from: string | null;
  to: string | null;
  /** Whether the change concerns further payments. */
  more: boolean;
}

/** The payment as it is, or as the rule `after` decides it if that differs from `before`. */
export function simulated(compared: Compared, change?: { before: Earned; after: Earned }): SimulatedPayment {
  const { old_amount_cents, currency, old_flow_id, old_rate } = compared;
  const as = { new_amount_cents: old_amount_cents, new_currency: currency, new_flow_id: old_flow_id };
  const isSame =
    change === undefined ||
    (isSameRule(change.before.rule, change.after.rule) && change.before.base_cents === change.after.base_cents);
  if (isSame) return { ...compared, ...as, new_rate: old_rate, rule_changed: false };
  const { rule, ...after } = change.after;
  return {
    ...compared,
    new_amount_cents: after.amount_cents,
    new_currency: after.currency,
    new_flow_id: rule.flow_id,
    new_rate: rule.rate,
    rule_changed: true,
  };
}

/** Sums up simulated payments. Reads the names of the partners that it lists. */
export async function sumUp(ctx: ProgramCtx, payments: SimulatedPayment[], more: boolean): Promise<Simulation> {
  const changes = changesByPartner(payments);
  const listed = changes.slice(0, MOST_PARTNERS);
  const names = await readNames(ctx, listed);
  const times = payments.map(({ created_at }) => created_at).toSorted();
  return {
    payments,
    sums: sumsOf(payments),
    partners: listed.map((change) => ({ ...change, ...(names.get(change.partner_id) ?? NAMELESS) })),
    partner_count: changes.length,
    changed_count: payments.filter((row) => row.rule_changed).length,
    from: times[0] ?? null,
    to: times.at(-1) ?? null,
    more,
  };
}

const NAMELESS: Named = { slug: "", first_name: null, last_name: null };

function sumsOf(rows: readonly SimulatedPayment[]): Amounts[] {
  const each = rows.flatMap(({ currency, new_currency, old_amount_cents, new_amount_cents }) =>
    currency === new_currency
      ? [{ currency, old_amount_cents, new_amount_cents }]
      : [
          { currency, old_amount_cents, new_amount_cents: NOTHING },
          { currency: new_currency, old_amount_cents: NOTHING, new_amount_cents },
        ],
  );
  return [...Map.groupBy(each, (row) => row.currency)].map(([currency, group]) => ({
    currency,
    payments: group.length,
    old_amount_cents: addUp(group.map((row) => row.old_amount_cents)),
    new_amount_cents: addUp(group.map((row) => row.new_amount_cents)),
  }));
}

/** The partners' sums of the payments whose amount differs, the largest difference in major units first. */
function changesByPartner(rows: readonly SimulatedPayment[]): (Amounts & { partner_id: string })[] {
  const isChanged = (row: SimulatedPayment) =>
    row.old_amount_cents !== row.new_amount_cents || row.currency !== row.new_currency;
  const changed = rows.filter(isChanged);
  const size = ({ currency, old_amount_cents, new_amount_cents }: Amounts) => {
    const difference = decimalAmount(subtract(new_amount_cents, old_amount_cents), currency);
    return Math.abs(Number(difference));
  };
  return [...Map.groupBy(changed, (row) => row.partner_id)]
    .flatMap(([partner_id, own]) =>
      partner_id === null ? [] : sumsOf(own).map((amounts) => ({ partner_id, ...amounts })),
    )
    .filter((one) => one.old_amount_cents !== one.new_amount_cents)
    .toSorted((a, b) => size(b) - size(a) || (a.partner_id < b.partner_id ? -1 : 1));
}

async function readNames(ctx: ProgramCtx, changes: readonly { partner_id: string }[]): Promise<Map<string, Named>> {
  if (changes.length === 0) return new Map();
  const ids = changes.map(({ partner_id }) => partner_id);
  const { id, slug, first_name, last_name } = partners;
  const [rows] = await ctx.read(
    ctx.db
      .select({ id, slug, first_name, last_name })
      .from(partners)
      .where(sql`${isOneOf(partners.id, ids)} and ${partners.program_id} = ${ctx.programId}`),
  );
  return new Map(rows.map(({ id: key, ...name }) => [key, name]));
}
