import { desc, eq, sql } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { flows, partners, payments } from "../../db/schema.ts";
import { amountFor } from "../../domain/commission.ts";
import { MAX_FLOWS, type Condition, type Flow, type FlowActionType } from "../../domain/flow.ts";
import { addUp, NOTHING, type Cents, type Sum } from "../../domain/money.ts";
import { chooseRate, type Outcome } from "../../domain/payment.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { prove, type Caller, type Reader } from "../kernel/context.ts";

/** A flow as the simulator takes it: the fields of a new flow. */
export interface SimulatedFlow {
  name?: string | undefined;
  action_type: FlowActionType;
  action_value: number;
  conditions?: Condition[] | undefined;
  priority?: number | undefined;
  active?: boolean | undefined;
}

export interface SimulationInput {
  /** The flow to add; with `flow_id` what that flow is changed to. */
  flow?: SimulatedFlow | undefined;
  flow_id?: string | undefined;
  /** How many of the newest payments, 1 to 1,000. */
  last: number;
}

export interface SimulatedPayment {
  payment_id: string;
  outcome: Outcome | null;
  partner_id: string | null;
  currency: string;
  txn_amount_cents: Cents;
  adjusted_cents: Cents;
  old_amount_cents: Cents;
  new_amount_cents: Cents;
  old_flow_id: string | null;
  new_flow_id: string | null;
}

export interface Simulation {
  payments: SimulatedPayment[];
  /** A sum for each currency that occurs. */
  sums: { currency: string; payments: number; old_amount_cents: Sum; new_amount_cents: Sum }[];
}

/** The id a flow that does not exist yet has in the reply. */
const NEW_FLOW_ID = "new";

/**
 * What the program's last payments would have earned with a flow added or changed (FLOW-6). Decides by the
 * same function as the ledger and writes nothing; a payment without a commission earns 0 either way.
 */
export async function simulateFlow(caller: Caller, input: SimulationInput): Promise<Simulation> {
  const [ctx, rows, current] = await prove(
    caller,
    caller.db
      .select({
        payment_id: payments.id,
        outcome: payments.outcome,
        partner_id: payments.partner_id,
        provider: payments.provider,
        currency: payments.currency,
        txn_amount_cents: payments.txn_amount_cents,
        adjusted_cents: payments.adjusted_cents,
        customer_email: payments.customer_email,
        decision: payments.decision,
        commission_pct: partners.commission_pct,
      })
      .from(payments)
      .leftJoin(partners, eq(partners.id, payments.partner_id))
      .where(sql`${payments.program_id} = ${caller.programId}`)
      .orderBy(desc(payments.id))
      .limit(atMost(input.last)),
    caller.db
      .select()
      .from(flows)
      .where(sql`${flows.program_id} = ${caller.programId}`),
  );
  const candidates = withChange(ctx, current, input);
  const result = rows.map((row): SimulatedPayment => {
    const { decision } = row;
    const earns = row.outcome === "commission" && decision !== null;
    const { rate, flow_id } = chooseRate(candidates, row, ctx.program, {
      txn_amount_cents: row.txn_amount_cents,
      customer_email: row.customer_email,
      partner_slug: decision?.partner_slug ?? "",
      provider: row.provider,
    });
    return {
      payment_id: row.payment_id,
      outcome: row.outcome,
      partner_id: row.partner_id,
      currency: row.currency,
      txn_amount_cents: row.txn_amount_cents,
      adjusted_cents: row.adjusted_cents,
      old_amount_cents: decision?.amount_cents ?? NOTHING,
      new_amount_cents: earns ? amountFor(rate, row.txn_amount_cents, row.adjusted_cents) : NOTHING,
      old_flow_id: decision?.flow_id ?? null,
      new_flow_id: earns ? flow_id : null,
    };
  });
  return { payments: result, sums: sumsOf(result) };
}

function withChange(ctx: Reader, current: Flow[], input: SimulationInput): Flow[] {
  const { flow, flow_id } = input;
  const existing = flow_id === undefined ? undefined : current.find(({ id }) => id === flow_id);
  if (flow_id !== undefined && !existing) throw notFound("flow");
  // Without `flow`, the existing flow as it is, switched on.
  if (!flow) return current.map((candidate) => (candidate === existing ? { ...candidate, active: true } : candidate));
  if (!existing && current.length >= MAX_FLOWS) {
    throw new AppError("validation_failed", `A program has at most ${MAX_FLOWS} flows.`);
  }
  const changed: Flow = {
    id: existing?.id ?? NEW_FLOW_ID,
    created_at: existing?.created_at ?? new Date(ctx.now).toISOString(),
    name: flow.name ?? existing?.name ?? "new flow",
    action_type: flow.action_type,
    action_value: flow.action_value,
    conditions: flow.conditions ?? existing?.conditions ?? [],
    priority: flow.priority ?? existing?.priority ?? 0,
    active: flow.active ?? true,
  };
  return [...current.filter((candidate) => candidate !== existing), changed];
}

function sumsOf(rows: SimulatedPayment[]): Simulation["sums"] {
  return [...Map.groupBy(rows, (row) => row.currency)].map(([currency, group]) => ({
    currency,
    payments: group.length,
    old_amount_cents: addUp(group.map((row) => row.old_amount_cents)),
    new_amount_cents: addUp(group.map((row) => row.new_amount_cents)),
  }));
}
