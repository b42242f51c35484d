import { and, asc, desc, eq, sql, type SQL } from "drizzle-orm";
import { flows } from "../../db/schema.ts";
import type { EventPayloads } from "../../domain/event.ts";
import { paymentsCompared, type Condition } from "../../domain/condition.ts";
import { currencyOfFlow, flowProblem, givenConditions, MAX_FLOWS, storedConditions } from "../../domain/flow.ts";
import { invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import type { InputOf } from "../../resources/field.ts";
import type { FLOW } from "../../resources/flow.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { readConditionNames, warnOfUnknown, type Warning } from "../kernel/condition-names.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Flow } from "../kernel/rows.ts";
import { requireScope } from "../kernel/scopes.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";
import { restartSettling } from "../ledger/concerned-payments.ts";
import { appliedFrom, applyFrom, settleApplied, type ApplyFrom } from "../ledger/apply-from.ts";

export type FlowInput = Omit<InputOf<Flow, typeof FLOW>, "conditions"> & { conditions?: Condition[] | undefined };

/** A flow, with remarks about the conditions that were just saved. */
export interface SavedFlow extends Flow {
  warnings: Warning[];
}

type GivenFields = Partial<Omit<Flow, "conditions"> & { conditions: Condition[] }>;

export type FlowPatch = { [K in keyof FlowInput]?: FlowInput[K] | undefined };

/**
 * Adds a rule, from now on or since `apply_from`. @throws `validation_failed` for a senseless action or future time, or
 * past the limit
 */
export async function createFlow(caller: Caller, input: FlowInput & ApplyFrom): Promise<SavedFlow> {
  return addFlows(caller, [input], input, ([saved]) => saved!);
}

/** Adds several rules in one transaction. Among equal priorities the first is tried first (FLOW-18). */
export function createFlows(caller: Caller, inputs: readonly FlowInput[], from: ApplyFrom): Promise<SavedFlow[]> {
  return addFlows(caller, inputs, from, (saved) => saved);
}

/** `resultOf` makes the verb's result, which also answers a repeated request. */
async function addFlows<Result>(
  caller: Caller,
  inputs: readonly FlowInput[],
  { apply_from }: ApplyFrom,
  resultOf: (saved: SavedFlow[]) => Result,
): Promise<Result> {
  const { ctx, result } = await untilWon(async () => {
    const [ctx, [held]] = await prove(caller, countFlows(caller));
    requireHolds(ctx, held);
    if ((held?.flows ?? 0) + inputs.length > MAX_FLOWS) throw tooManyFlows();
    const from = appliedFrom(ctx, apply_from, true);
    if (inputs.some(({ hold_days = null }) => hold_days !== null)) requireScope(ctx, "payouts");
    const ids = inputs.map(() => newId("flow", ctx.now)).toSorted();
    const made = inputs.map((input, i) => newFlow(ctx, ids[i]!, input));
    for (const flow of made) refuseSenseless(flow);
    const all = made.flatMap(givenConditions);
    const names = await readConditionNames(ctx, all);
    const result = resultOf(made.map((flow) => ({ ...flow, warnings: warnOfUnknown(names, givenConditions(flow)) })));
    await commit(ctx, {
      writes: [
        ...made.map((flow) => ({ statement: ctx.db.insert(flows).values(flow) })),
        // The limit also holds for concurrent requests: the loser reads again, and then finds it reached.
        refuseWhere(ctx, sql`(select count(*) from flows where program_id = ${ctx.program.id}) > ${MAX_FLOWS}`),
        ...comparePayments(ctx, all),
        ...made.flatMap((flow) => applyFrom(ctx, { source: "flow", flow }, from)),
      ],
      occurrences: made.map((flow) => ({ type: "flow.created", payload: { ...payloadOf(flow), ...from } })),
      result,
    });
    return { ctx, result };
  });
  await settleApplied(ctx, { apply_from });
  return result;
}

function newFlow(ctx: ProgramCtx, id: string, input: FlowInput): Flow {
  const stamp = iso(ctx.now);
  const event = input.event ?? "transaction_completed";
  return {
    ...{ id, program_id: ctx.program.id, name: input.name, event },
    ...{ action_type: input.action_type, action_value: input.action_value },
    conditions: storedConditions(event, input.conditions ?? []),
    priority: input.priority ?? 0,
    active: input.active ?? true,
    hold_days: input.hold_days ?? null,
    starts_at: input.starts_at ?? null,
    ends_at: input.ends_at ?? null,
    currency: currencyOfFlow(input, ctx.program.currency),
    base: input.base ?? "payment",
    ...{ created_at: stamp, updated_at: stamp },
  };
}

/** Lists all flows of the program in the order of their evaluation, including inactive ones. */
export async function listFlows(ctx: Reader): Promise<Flow[]> {
  const [rows] = await ctx.read(selectFlows(ctx));
  return rows;
}

/** Selects the flows in the order of `listFlows`. */
export function selectFlows(ctx: Reader) {
  return ctx.db
    .select()
    .from(flows)
    .where(sql`${flows.program_id} = ${ctx.programId}`)
    .orderBy(desc(flows.priority), asc(flows.created_at), asc(flows.id));
}

export async function getFlow(ctx: Reader, id: string): Promise<Flow> {
  const [[flow]] = await ctx.read(selectFlow(ctx, id));
  if (!flow) throw notFound("flow");
  return flow;
}

function selectFlow(ctx: Reader, id: string) {
  return ctx.db.select().from(flows).where(owned(ctx, id));
}

/**
 * Changes a flow, for payments from now on or since `apply_from`; `conditions` replaces the whole array. The resulting
 * flow is validated, not the patch alone.
 * @throws {StaleChange} if the stored values differ from `shown`, the values of the submitted form (PAGE-30).
 */
export async function updateFlow(
  caller: Caller,
  id: string,
  { apply_from, ...patch }: FlowPatch & ApplyFrom,
  shown?: Shown,
): Promise<SavedFlow> {
  const all = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as GivenFields;
  const { ctx, saved } = await untilWon(async () => {
    const [ctx, [before], [held]] = await prove(caller, selectFlow(caller, id), countFlows(caller));
    if (!before) throw notFound("flow");
    const always = apply_from === undefined ? [] : Object.keys(all);
    const given = pickChanged(asGiven(before), all, {
      shown,
      together: [["event", "action_type", "action_value"]],
      always,
    });
    const from = appliedFrom(ctx, apply_from, true);
    if (given.hold_days !== undefined) requireScope(ctx, "payouts");
    if (Object.keys(given).length === 0 && apply_from === undefined) return { ctx, saved: { ...before, warnings: [] } };
    requireHolds(ctx, held);
    const { event = before.event, conditions = givenConditions(before) } = given;
    const asked = { ...before, ...given, conditions };
    const currency = currencyOfFlow(asked, ctx.program.currency);
    const changed = { ...given, event, currency, conditions: storedConditions(event, conditions) };
    const flow: Flow = { ...before, ...changed, updated_at: nextStamp(before.updated_at, ctx.now) };
    refuseSenseless(flow);
    const names = await readConditionNames(ctx, givenConditions(flow));
    const saved = { ...flow, warnings: warnOfUnknown(names, givenConditions(flow)) };
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(flows)
            .set({ ...changed, updated_at: flow.updated_at })
            .where(and(owned(ctx, id), eq(flows.updated_at, before.updated_at))),
          expect: 1,
        },
        ...comparePayments(ctx, givenConditions(flow)),
        ...applyFrom(ctx, { source: "flow", flow }, from),
      ],
      occurrences: [
        {
          type: "flow.updated",
          changes: changesOf("flow", asGiven(before), asGiven(flow)),
          payload: { ...payloadOf(flow), ...from },
        },
      ],
      result: saved,
    });
    return { ctx, saved };
  });
  await settleApplied(ctx, { apply_from });
  return saved;
}

/** Deletes a flow permanently; commissions keep their recorded rule. */
export async function deleteFlow(caller: Caller, id: string): Promise<Flow> {
  return untilWon(async () => {
    const [ctx, [flow], [held]] = await prove(caller, selectFlow(caller, id), countFlows(caller));
    if (!flow) throw notFound("flow");
    requireHolds(ctx, held);
    await commit(ctx, {
      writes: [{ statement: ctx.db.delete(flows).where(owned(ctx, id)), expect: 1 }],
      occurrences: [{ type: "flow.deleted", payload: payloadOf(flow) }],
      result: flow,
    });
    return flow;
  });
}

/** Has settlings read as many of a customer's payments as flows compare; those that run by now read again. */
function comparePayments(ctx: ProgramCtx, conditions: readonly Condition[]): Write[] {
  const most = paymentsCompared(conditions);
  if (most <= ctx.program.payments_compared) return [];
  const { id } = ctx.program;
  return [
    {
      statement: ctx.db.run(sql`update programs set payments_compared = ${most}
        where id = ${id} and payments_compared < ${most}`),
    },
    { statement: restartSettling(ctx) },
  ];
}

function countFlows(ctx: Reader) {
  return ctx.db
    .select({ flows: sql<number>`count(*)`, holding: sql<number>`count(${flows.hold_days})` })
    .from(flows)
    .where(sql`${flows.program_id} = ${ctx.programId}`);
}

/**
 * Requires the scope `payouts` while a flow has days on hold: after a change of the flows another flow may decide, with
 * fewer days (ACCESS-13). @throws `forbidden`
 */
function requireHolds(ctx: ProgramCtx, held: { holding: number } | undefined): void {
  if ((held?.holding ?? 0) > 0) requireScope(ctx, "payouts");
}

/** A flow with only the conditions that the owner gave. */
export function asGiven(flow: Flow): Flow {
  return { ...flow, conditions: givenConditions(flow) };
}

function refuseSenseless(flow: Flow): void {
  const problem = flowProblem({ ...flow, conditions: givenConditions(flow) });
  if (problem !== null) throw invalidField(problem.path, problem.message);
}

function tooManyFlows() {
  return invalidField("flows", `A program has at most ${MAX_FLOWS} flows.`);
}

export function payloadOf(flow: Flow): EventPayloads["flow.created"] {
  const { id: flow_id, name, event, action_type, action_value, priority, active } = flow;
  const { starts_at, ends_at, currency, hold_days, base } = flow;
  return {
    ...{ flow_id, name, event, action_type, action_value, conditions: givenConditions(flow), priority, active },
    ...{ starts_at, ends_at, currency, hold_days, base },
  };
}

function owned(ctx: Reader, id: string): SQL | undefined {
  return and(eq(flows.id, id), sql`${flows.program_id} = ${ctx.programId}`);
}
