import { desc, eq, sql, type SQL } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { flows, partners, payments } from "../../db/schema.ts";
import { paymentsCompared, type Condition, type RefKind } from "../../domain/condition.ts";
import { historyOf, type CountedPayment } from "../../domain/customer.ts";
import {
  currencyOfFlow,
  eventOf,
  flowProblem,
  givenConditions,
  MAX_FLOWS,
  storedConditions,
  type Flow,
  type FlowActionType,
  type FlowBase,
  type FlowEvent,
} from "../../domain/flow.ts";
import { productsOf, type Counted, type Line } from "../../domain/lines.ts";
import { addUp, NOTHING, type Cents, type Percent } from "../../domain/money.ts";
import { chooseRate, amountEarned, isSameRule, matchingOf } from "../../domain/payment.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { selectCounted } from "../ledger/counted-payments.ts";
import {
  APPLIED_COLUMNS,
  appliedFrom,
  COMPARED,
  previewApplied,
  type ApplyFrom,
  type ChangedRule,
  type Compared,
} from "../ledger/apply-from.ts";
import { selectGroups } from "../kernel/group-rows.ts";
import { parseRules, selectNewestRules, rulesOf, seenOf } from "../ledger/rules.ts";
import { COUNTED_PAYMENT } from "../ledger/state.ts";

/** The simulator's input for a flow: the fields of a new flow, or the changed fields of an existing one. */
export interface SimulatedFlow {
  name?: string | undefined;
  event?: FlowEvent | undefined;
  action_type: FlowActionType;
  action_value: number;
  conditions?: Condition[] | undefined;
  priority?: number | undefined;
  active?: boolean | undefined;
  hold_days?: number | null | undefined;
  starts_at?: string | null | undefined;
  ends_at?: string | null | undefined;
  currency?: string | null | undefined;
  base?: FlowBase | undefined;
}

export interface SimulationInput extends ApplyFrom {
  /** The flow to add; with `flow_id`, the changes of that flow. */
  flow?: SimulatedFlow | undefined;
  flow_id?: string | undefined;
  /**
   * A rate instead of a flow: a partner's or a group's (null: the next one in the order), or the program's. With both
   * ids, the partner moves to the group.
   */
  partner_id?: string | undefined;
  group_id?: string | undefined;
  commission_pct?: Percent | null | undefined;
  default_commission_pct?: Percent | undefined;
  /** The number of newest payments, 1 to 1,000. */
  last: number;
}

export interface SimulatedPayment extends Compared {
  new_amount_cents: Cents;
  new_flow_id: string | null;
}

export interface Simulation {
  payments: SimulatedPayment[];
  /** A sum for each currency that occurs. */
  sums: { currency: string; payments: number; old_amount_cents: Cents; new_amount_cents: Cents }[];
  /** Whether the change concerns further payments. */
  more: boolean;
}

const NEW_FLOW_ID = "new";

/** The most payments that are decided again for a change from an earlier time on. */
const MOST_APPLIED = 100;

/**
 * Simulates a change of a flow or a rate for the payments since `apply_from` (FLOW-6), as far as they are among the 100
 * newest: the ledger itself decides them. @throws `not_found` for another program's flow, partner or group.
 */
async function simulateApplied(caller: Caller, input: SimulationInput, apply_from: number): Promise<Simulation> {
  const [ctx, current, [partner], all] = await prove(
    caller,
    caller.db
      .select()
      .from(flows)
      .where(sql`${flows.program_id} = ${caller.programId}`),
    caller.db
      .select()
      .from(partners)
      .where(sql`${partners.id} = ${input.partner_id ?? ""} and ${partners.program_id} = ${caller.programId}`),
    selectGroups(caller),
  );
  const { apply_from: from = "" } = appliedFrom(ctx, apply_from, true);
  const rule = ((): ChangedRule => {
    const { partner_id, group_id, commission_pct, default_commission_pct } = input;
    if (partner_id !== undefined) {
      if (!partner) throw notFound("partner");
      const applied = APPLIED_COLUMNS.filter((column) => input[column] !== undefined);
      const rules = {
        ...partner,
        commission_pct: commission_pct === undefined ? partner.commission_pct : commission_pct,
        group_id: group_id ?? partner.group_id,
      };
      const group = all.find(({ id }) => id === rules.group_id);
      if (!group) throw notFound("group");
      return { source: "partner", partner_id, rules, group, applied };
    }
    if (group_id !== undefined) {
      const group = all.find(({ id }) => id === group_id);
      if (!group) throw notFound("group");
      return { source: "group", rules: { ...group, commission_pct: commission_pct ?? null } };
    }
    if (default_commission_pct === undefined) return { source: "flow", flow: changedFlow(ctx, current, input) };
    return { source: "program", rules: { ...ctx.program, default_commission_pct } };
  })();
  const { previewed, more } = await previewApplied(ctx, rule, from, Math.min(input.last, MOST_APPLIED));
  const result = previewed.map(({ compared, decision }): SimulatedPayment => {
    const { amount_cents = null, flow_id = null } = decision?.record ?? {};
    return { ...compared, new_amount_cents: amount_cents ?? NOTHING, new_flow_id: flow_id };
  });
  return { payments: result, sums: sumsOf(result), more };
}

/**
 * Simulates the earnings of the program's last payments with a flow added or changed (FLOW-6), under the other rules of
 * their own time. Decides by the same function as the ledger. Read-only. A payment that the flow does not affect, or of
 * an erased customer, keeps its earnings; one without a commission earns 0 either way.
 */
export async function simulateFlow(caller: Caller, input: SimulationInput): Promise<Simulation> {
  if (input.apply_from !== undefined) return simulateApplied(caller, input, input.apply_from);
  const most = sql`max((select payments_compared from programs where id = ${caller.programId}),
    ${paymentsCompared(input.flow?.conditions ?? [])})`;
  const [ctx, rows, current, kept, all] = await prove(
    caller,
    caller.db
      .select({
        compared: COMPARED,
        provider: payments.provider,
        customer_email: payments.customer_email,
        partner_slug: sql<string | null>`${payments.decision} ->> '$.partner_slug'`,
        ref_kind: sql<RefKind | null>`${payments.decision} ->> '$.ref_kind'`,
        lines: sql<string | null>`${payments.decision} ->> '$.lines'`,
        customer_id: payments.customer_id,
        provider_transaction_id: payments.provider_transaction_id,
        counted: countedWith(caller, most),
        event: payments.event,
        made: { occurred_at: payments.created_at, rules_seen: payments.rules_seen, erased_at: payments.erased_at },
        status: partners.status,
        ...{ commission_pct: partners.commission_pct, group_id: partners.group_id },
      })
      .from(payments)
      .leftJoin(partners, eq(partners.id, payments.partner_id))
      .where(sql`${payments.program_id} = ${caller.programId}`)
      .orderBy(desc(payments.id))
      // One more row than needed shows whether there are more.
      .limit(atMost(input.last + 1)),
    caller.db
      .select()
      .from(flows)
      .where(sql`${flows.program_id} = ${caller.programId}`),
    selectNewestRules(caller, input.last),
    selectGroups(caller),
  );
  const changed = changedFlow(ctx, current, input);
  const past = Map.groupBy(parseRules(kept), ({ partner_id }) => partner_id);
  const result = rows.slice(0, input.last).map(({ compared, made, status, ...row }): SimulatedPayment => {
    const { partner_id: id, txn_amount_cents, adjusted_cents } = compared;
    const as = { ...compared, new_amount_cents: compared.old_amount_cents, new_flow_id: compared.old_flow_id };
    if (!canEarn(compared) || made.erased_at !== null || id === null || status === null) return as;
    // A decision contains the slug by which flows knew the partner then.
    const slug = row.partner_slug ?? "";
    const known = {
      ...{ flows: current, settings: ctx.program, groups: all },
      partners: [{ id, status, commission_pct: row.commission_pct, slug, group_id: row.group_id ?? "" }],
      past: [...(past.get("") ?? []), ...(past.get(id) ?? [])],
    };
    const rules = rulesOf(known, { occurred_at: made.occurred_at, seen: seenOf(made) });
    const { occurred_at } = made;
    const counted = JSON.parse(row.counted) as CountedPayment[];
    const lines = row.lines === null ? null : (JSON.parse(row.lines) as Line[]);
    const subject = {
      product_id: lines && productsOf(lines),
      ...{ ...row, ...made, currency: compared.currency, txn_amount_cents, partner_slug: slug },
      ...{ ref_source: row.ref_kind ?? "link", partner_group: rules.ofPartner(id).group?.slug ?? null },
      ...historyOf({ ...row, occurred_at }, counted, counted.length),
    };
    const chosenBy = (by: readonly Flow[]) => chooseRate(by, rules.ofPartner(id), rules.program, subject);
    const chosen = chosenBy([...rules.flows.filter((flow) => flow.id !== changed.id), changed]);
    const before = chosenBy(rules.flows);
    const whole = { base_cents: txn_amount_cents, adjusted_cents };
    const countedBy = ({ flows: tried }: typeof chosen) => matchingOf(tried, lines, whole) ?? whole;
    if (isSameRule(chosen, before) && countedBy(chosen).base_cents === countedBy(before).base_cents) return as;
    const new_amount_cents = earnedBy(chosen, row.event, countedBy(chosen));
    return { ...compared, new_amount_cents, new_flow_id: chosen.flow_id };
  });
  return { payments: result, sums: sumsOf(result), more: rows.length > input.last };
}

function earnedBy({ rate }: Pick<ReturnType<typeof chooseRate>, "rate">, event: FlowEvent, counted: Counted): Cents {
  return rate ? amountEarned(rate, event, counted) : NOTHING;
}

/** Whether a flow can decide the payment; also one whose matching lines came to 0 (LINE-5). */
function canEarn({ outcome, txn_amount_cents }: Compared): boolean {
  return outcome === "commission" || outcome === "no_flow" || (outcome === "zero_amount" && txn_amount_cents > 0);
}

/** SQL for the first counted payments of the customer of each payment, without it: JSON of `CountedPayment`s. */
function countedWith(caller: Reader, most: SQL): SQL<string> {
  const counted = selectCounted({
    program_id: sql`${caller.programId}`,
    ids: sql`json_array(${payments.customer_id})`,
    emails: sql`json_array(lower(${payments.customer_email}))`,
    isSameProvider: sql`(p.provider = ${payments.provider} or ${OWNER_PROVIDER.name} in (p.provider, ${payments.provider}))`,
    ...{ without: sql`json_array(${payments.id})`, most },
  });
  return sql`(select json_group_array(json(${COUNTED_PAYMENT})) from payments q where q.id in (${counted}))`;
}

/** @throws `validation_failed` if the resulting flow is senseless. */
function changedFlow(ctx: ProgramCtx, current: Flow[], input: SimulationInput): Flow {
  const { flow, flow_id } = input;
  const existing = flow_id === undefined ? undefined : current.find(({ id }) => id === flow_id);
  if (flow_id !== undefined && !existing) throw notFound("flow");
  // Without `flow`, the existing flow is simulated as it is, switched on.
  if (!flow && existing) return { ...existing, active: true };
  if (!flow) throw notFound("flow");
  if (!existing && current.length >= MAX_FLOWS) {
    throw new AppError("validation_failed", `A program has at most ${MAX_FLOWS} flows.`);
  }
  const event = flow.event ?? (existing ? eventOf(existing) : "transaction_completed");
  const conditions = flow.conditions ?? (existing ? givenConditions(existing) : []);
  const { starts_at = existing?.starts_at ?? null, ends_at = existing?.ends_at ?? null } = flow;
  const asked = { ...flow, conditions, currency: flow.currency ?? existing?.currency };
  const currency = currencyOfFlow(asked, ctx.program.currency);
  const base = flow.base ?? existing?.base ?? "payment";
  const problem = flowProblem({ ...asked, event, starts_at, ends_at, currency, base });
  if (problem !== null) throw invalidField(`flow.${problem.path}`, problem.message);
  return {
    id: existing?.id ?? NEW_FLOW_ID,
    created_at: existing?.created_at ?? new Date(ctx.now).toISOString(),
    name: flow.name ?? existing?.name ?? "new flow",
    action_type: flow.action_type,
    action_value: flow.action_value,
    conditions: storedConditions(event, conditions),
    priority: flow.priority ?? existing?.priority ?? 0,
    active: flow.active ?? existing?.active ?? true,
    hold_days: flow.hold_days ?? existing?.hold_days ?? null,
    ...{ starts_at, ends_at, currency, base },
  };
}

function sumsOf(rows: SimulatedPayment[]): Simulation["sums"] {
  return [...Map.groupBy(rows, (row) => row.currency)].map(([currency, group]) => ({
    currency,
    payments: group.length,
    old_amount_cents: addUp(group.map((row) => row.old_amount_cents)),
    new_amount_cents: addUp(group.map((row) => row.new_amount_cents)),
  }));
}
