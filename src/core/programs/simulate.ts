import { desc, eq, sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { flows, partners, payments } from "../../db/schema.ts";
import { paymentsCompared, type Condition, type RefKind } from "../../domain/condition.ts";
import type { CountedPayment } from "../../domain/customer.ts";
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
import type { Line } from "../../domain/lines.ts";
import { NOTHING, type Cents, type Percent } from "../../domain/money.ts";
import { chosenRule, earnedBy } from "../../domain/payment.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
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
import { simulated, sumUp, type Earned, type SimulatedPayment, type Simulation } from "./simulation.ts";

/** The simulator's input for a flow: the fields of a new flow, or the changed fields of an existing one. */
export interface SimulatedFlow {
  name?: string | undefined;
  event?: FlowEvent | undefined;
  /** Required for a new flow. */
  action_type?: FlowActionType | undefined;
  action_value?: number | undefined;
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
  /** Further new flows beside a new one; among equal priorities each is tried after those before it. */
  further?: readonly SimulatedFlow[] | undefined;
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

/** A new flow before its fields. */
const NEW_FLOW = {
  ...{ id: "new", name: "new flow", event: "transaction_completed" as FlowEvent, conditions: [] as Condition[] },
  ...{ priority: 0, active: true, hold_days: null, starts_at: null, ends_at: null, currency: null },
  base: "payment" as FlowBase,
};

/** The most payments that are decided again for a change from an earlier time on. */
const MOST_APPLIED = 100;
/** The most payments of customers that a simulation compares: a flow that compares many is tried on fewer payments. */
const MOST_COUNTED = 30_000;

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
    selectPartner(caller, input.partner_id ?? ""),
    selectGroups(caller),
  );
  const { apply_from: from = "" } = appliedFrom(ctx, apply_from, true);
  const rules = ((): ChangedRule[] => {
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
      return [{ source: "partner", partner_id, rules, group, applied }];
    }
    if (group_id !== undefined) {
      const group = all.find(({ id }) => id === group_id);
      if (!group) throw notFound("group");
      return [{ source: "group", rules: { ...group, commission_pct: commission_pct ?? null } }];
    }
    if (default_commission_pct === undefined) {
      return changedFlows(ctx, current, input).map((flow) => ({ source: "flow", flow }));
    }
    return [{ source: "program", rules: { ...ctx.program, default_commission_pct } }];
  })();
  const { previewed, more } = await previewApplied(ctx, rules, from, Math.min(input.last, MOST_APPLIED));
  const result = previewed.map(({ compared, decision }): SimulatedPayment => {
    if (!decision) return simulated(compared);
    const { record, state } = decision;
    const earnedAs = (rule: Earned["rule"], amount_cents: Cents, base_cents: Cents): Earned => {
      return { rule, amount_cents, base_cents, currency: state.currency };
    };
    const { old_amount_cents, old_flow_id: flow_id, old_rate } = compared;
    // The settling decides the amount: if it differs, the rule does too.
    const before = earnedAs({ flow_id, rate: old_rate }, old_amount_cents, old_amount_cents);
    const amount_cents = record.amount_cents ?? NOTHING;
    return simulated(compared, { before, after: earnedAs(record, amount_cents, amount_cents) });
  });
  return sumUp(ctx, result, more);
}

/**
 * Simulates the earnings of the program's last payments with a flow added or changed (FLOW-6), under the other rules of
 * their own time. Decides by the same function as the ledger. Read-only. A payment that the flow does not affect, or of
 * an erased customer, keeps its earnings; one without a commission earns 0 either way.
 */
export async function simulateFlow(caller: Caller, input: SimulationInput): Promise<Simulation> {
  if (input.apply_from !== undefined) return simulateApplied(caller, input, input.apply_from);
  const most = sql`max((select payments_compared from programs where id = ${caller.programId}),
    ${paymentsCompared([input.flow ?? {}, ...(input.further ?? [])].flatMap(({ conditions = [] }) => conditions))})`;
  const last = sql`min(${literal(input.last)}, ${literal(MOST_COUNTED)} / max(1, ${most}))`;
  const [ctx, rows, current, kept, all] = await prove(
    caller,
    caller.db
      .select({
        compared: COMPARED,
        last,
        provider: payments.provider,
        customer_email: payments.customer_email,
        ref_kind: sql<RefKind | null>`${payments.decision} ->> '$.ref_kind'`,
        lines: sql<string | null>`${payments.decision} ->> '$.lines'`,
        customer_id: payments.customer_id,
        provider_transaction_id: payments.provider_transaction_id,
        counted: countedWith(caller, most),
        event: payments.event,
        made: { rules_seen: payments.rules_seen, erased_at: payments.erased_at },
        status: partners.status,
        ...{ commission_pct: partners.commission_pct, group_id: partners.group_id, slug: partners.slug },
      })
      .from(payments)
      .leftJoin(partners, eq(partners.id, payments.partner_id))
      .where(sql`${payments.program_id} = ${caller.programId}`)
      .orderBy(desc(payments.id))
      // One more row than needed shows whether there are more.
      .limit(atMost(sql`${last} + 1`)),
    caller.db
      .select()
      .from(flows)
      .where(sql`${flows.program_id} = ${caller.programId}`),
    selectNewestRules(caller, input.last),
    selectGroups(caller),
  );
  const changed = changedFlows(ctx, current, input);
  const past = Map.groupBy(parseRules(kept), ({ partner_id }) => partner_id);
  const looked = rows.slice(0, Number(rows[0]?.last ?? 0));
  const result = looked.map(({ compared, made, status, slug, group_id, ...row }): SimulatedPayment => {
    const { partner_id: id, adjusted_cents, created_at: occurred_at } = compared;
    if (!canEarn(compared) || made.erased_at !== null || id === null || status === null) return simulated(compared);
    const partner = { id, status, commission_pct: row.commission_pct, slug: slug ?? "", group_id: group_id ?? "" };
    const known = {
      ...{ flows: current, settings: ctx.program, groups: all, partners: [partner] },
      past: [...(past.get("") ?? []), ...(past.get(id) ?? [])],
    };
    const rules = rulesOf(known, { occurred_at, seen: seenOf(made) });
    const counted = JSON.parse(row.counted) as CountedPayment[];
    const state = {
      ...row,
      ...{ occurred_at, currency: compared.currency, base_cents: compared.txn_amount_cents },
      lines: row.lines === null ? null : (JSON.parse(row.lines) as Line[]),
    };
    const by = (tried: readonly Flow[]): Earned => {
      const payment = { ...row, counted, payments_compared: counted.length };
      const rule = chosenRule({ ...rules, flows: tried }, id, payment, state, { ref_kind: row.ref_kind ?? "link" });
      const { amount_cents, base_cents = state.base_cents } = earnedBy(rule, state, adjusted_cents);
      return {
        rule,
        amount_cents: amount_cents ?? NOTHING,
        base_cents,
        currency: rule.lead_currency ?? state.currency,
      };
    };
    const after = by([...rules.flows.filter(({ id: own }) => !changed.some((flow) => flow.id === own)), ...changed]);
    return simulated(compared, { before: by(rules.flows), after });
  });
  return sumUp(ctx, result, rows.length > looked.length);
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

/** The changed flow and the further new ones. @throws `validation_failed` if one is senseless */
function changedFlows(ctx: ProgramCtx, current: Flow[], { further = [], ...input }: SimulationInput): Flow[] {
  const flows = [changedFlow(ctx, current, input)];
  for (const [i, flow] of further.entries()) {
    flows.push({ ...changedFlow(ctx, [...current, ...flows], { flow }), id: `${NEW_FLOW.id}_${i + 2}` });
  }
  return flows;
}

/** The flow after the change, as POST or PATCH would store it. @throws `validation_failed` if it is senseless */
function changedFlow(
  ctx: ProgramCtx,
  current: Flow[],
  { flow = {}, flow_id }: Pick<SimulationInput, "flow" | "flow_id">,
): Flow {
  const existing = current.find(({ id }) => id === flow_id);
  if (flow_id !== undefined && !existing) throw notFound("flow");
  if (!existing && current.length >= MAX_FLOWS) {
    throw new AppError("validation_failed", `A program has at most ${MAX_FLOWS} flows.`);
  }
  const stored = existing
    ? { ...existing, event: eventOf(existing), conditions: givenConditions(existing) }
    : { ...NEW_FLOW, created_at: iso(ctx.now) };
  const given = Object.entries(flow).filter(([, value]) => value !== undefined);
  // Without a change, the existing flow is simulated as it is, switched on.
  const {
    action_type,
    action_value,
    event,
    ...asked
  }: typeof stored & Partial<Pick<Flow, "action_type" | "action_value">> = {
    ...stored,
    ...(given.length === 0 ? { active: true } : Object.fromEntries(given)),
  };
  if (action_type === undefined) throw invalidField("flow.action_type", "A new flow needs this.");
  if (action_value === undefined) throw invalidField("flow.action_value", "A new flow needs this.");
  const currency = currencyOfFlow({ ...asked, action_type }, ctx.program.currency);
  const changed = { ...asked, action_type, action_value, currency };
  const problem = flowProblem({ ...changed, event });
  if (problem !== null) throw invalidField(`flow.${problem.path}`, problem.message);
  return { ...changed, conditions: storedConditions(event, asked.conditions) };
}
