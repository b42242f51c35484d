/** Rates and flows applied from an earlier time (FLOW-11): the change as a fact, and its payments. */
import { desc, sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { selectRows, textOf, whole } from "../../db/rows.ts";
import { payments, programs } from "../../db/schema.ts";
import { paymentsCompared } from "../../domain/condition.ts";
import type { Rate } from "../../domain/commission.ts";
import { givenConditions, type Flow } from "../../domain/flow.ts";
import type { Cents } from "../../domain/money.ts";
import type { Decision } from "../../domain/payment.ts";
import {
  RULE_COLUMNS,
  type GroupRules,
  type PartnerRules,
  type ProgramRules,
  type RuleSource,
} from "../../domain/rules.ts";
import { invalidField } from "../../lib/errors.ts";
import { pick } from "../../resources/field.ts";
import { firstIdAt, ID_PREFIXES } from "../../lib/id.ts";
import { DAY, iso, utcDay } from "../../lib/time.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { forProgram, type BaseCtx, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import type { Payment, Program } from "../kernel/rows.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { requireScope } from "../kernel/scopes.ts";
import { PAYMENT_KEY } from "./facts.ts";
import { decideAs, settleUnsettled } from "./settle.ts";
import type { LedgerState } from "./state.ts";
import { restartSettling, unsettle } from "./concerned-payments.ts";

/** An optional input of a rate or flow change: the time (ms) from which it applies. */
export interface ApplyFrom {
  apply_from?: number | undefined;
}

/** The columns of a partner that can apply from an earlier time, each without the other. */
export const APPLIED_COLUMNS = ["commission_pct", "group_id"] as const;
export type AppliedColumn = (typeof APPLIED_COLUMNS)[number];

/** A rule after a change. `group` is the one of the partner after the change. */
export type ChangedRule =
  | { source: "flow"; flow: Flow }
  | { source: "partner"; partner_id: string; rules: PartnerRules; applied: readonly AppliedColumn[]; group: GroupRules }
  | { source: "group"; rules: GroupRules }
  | { source: "program"; rules: ProgramRules };

/** Payments that are marked in one transaction; those of the change's own are settled while its caller waits. */
const MARKED_AT_ONCE = 50;
const PROGRAMS_AT_ONCE = 20;
/** A payment's id has the time of its first report; it completes, for example by transfer, within this time. */
const COMPLETED_WITHIN = 60 * DAY;
/** Sorts after every id of a payment. */
const AFTER_ALL_IDS = `${ID_PREFIXES.payment}_~`;

/**
 * The time from which a change applies, as it is stored, and in its event; empty if it applies from now on. `isRule`
 * shows whether the change contains such a rule. @throws `validation_failed` for a time in the future and for a change
 * without a rule.
 */
export function appliedFrom(
  { now }: Pick<BaseCtx, "now">,
  apply_from: number | undefined,
  isRule: boolean,
): { apply_from?: string } {
  if (apply_from === undefined) return {};
  if (!isRule) throw invalidField("apply_from", "Send the rate that this applies to in the same request.");
  if (apply_from > now) throw invalidField("apply_from", "This must not be in the future.");
  return { apply_from: iso(apply_from) };
}

/**
 * Part of the transaction of a change, after it; no writes if it applies from now on. The current rule decides every
 * payment made since `apply_from`, whenever the payment was reported and whatever the rule was in between, until the
 * next change. A commission that is paid or in a payout gets a difference beside it (LAW-4). Marks the newest of these
 * payments as unsettled; `settleApplied` settles them next, and a job marks the others. @throws `forbidden` for a key
 * without `payouts` (ACCESS-13)
 */
export function applyFrom(ctx: ProgramCtx, rule: ChangedRule, { apply_from }: { apply_from?: string }): Write[] {
  if (apply_from === undefined) return [];
  // It changes approved commissions, and paid ones get an approved difference.
  requireScope(ctx, "payouts");
  const partner_id = rule.source === "partner" ? rule.partner_id : "";
  const owner = sql`program_id = ${ctx.program.id} and partner_id = ${partner_id}`;
  const own = sql`program_id = ${ctx.program.id} and seq = (select max(seq) from past_rules where ${owner})`;
  return [
    {
      statement: ctx.db.run(sql`insert into past_rules (program_id, partner_id, valid_until, rules, applies_from)
        values (${ctx.program.id}, ${partner_id}, ${iso(ctx.now)}, ${JSON.stringify(appliedOf(rule))}, ${apply_from})`),
    },
    {
      statement: ctx.db.run(sql`insert into rule_applications
          (seq, program_id, partner_id, source, marked_id, last_id, applies_from)
        select seq, program_id, partner_id, ${rule.source}, ${AFTER_ALL_IDS},
          ${firstIdAt("payment", Date.parse(apply_from) - COMPLETED_WITHIN)}, ${apply_from} from past_rules where ${own}`),
    },
    { statement: restartSettling(ctx) },
    ...markNext(ctx, rule.source, own),
  ];
}

/** The compared columns of a payment: a part of the decision, because many are read and a trace is long. */
export const COMPARED = {
  payment_id: payments.id,
  outcome: payments.outcome,
  partner_id: payments.partner_id,
  currency: payments.currency,
  txn_amount_cents: payments.txn_amount_cents,
  adjusted_cents: payments.adjusted_cents,
  old_amount_cents: sql<Cents>`coalesce(${payments.decision} ->> '$.amount_cents', 0)`,
  old_flow_id: sql<string | null>`${payments.decision} ->> '$.flow_id'`,
  old_rate: sql<Rate | null>`${payments.decision} -> '$.rate'`.mapWith((json: string) => JSON.parse(json) as Rate),
  created_at: payments.created_at,
};

export interface Compared extends Pick<
  Payment,
  "outcome" | "partner_id" | "currency" | "txn_amount_cents" | "adjusted_cents" | "created_at"
> {
  payment_id: string;
  old_amount_cents: Cents;
  old_flow_id: string | null;
  old_rate: Rate | null;
}

/** The effect of a rule applied from an earlier time. */
export interface AppliedPreview {
  /** The newest first. */
  previewed: { compared: Compared; decision: Decision | null }[];
  /** Whether there are other payments since then. */
  more: boolean;
}

const MADE = {
  provider: payments.provider,
  provider_transaction_id: payments.provider_transaction_id,
};

/** The `most` newest payments since `apply_from`, each decided as `applyFrom` would for all rules. Does not write. */
export async function previewApplied(
  ctx: ProgramCtx,
  rules: readonly ChangedRule[],
  apply_from: string,
  most: number,
): Promise<AppliedPreview> {
  // Payments are ordered by their first report; the kept counts by day show how many were made since.
  const day = utcDay(Date.parse(apply_from) + DAY - 1);
  const [newest, [counted]] = await ctx.read(
    ctx.db
      .select({ compared: COMPARED, made: MADE })
      .from(payments)
      .where(sql`${payments.program_id} = ${ctx.program.id}`)
      .orderBy(desc(payments.id))
      .limit(atMost(most + 1)),
    selectRows(
      ctx.db,
      { settled: whole },
      sql`select coalesce(sum(count), 0) as settled from list_days
        where program_id = ${ctx.program.id} and list = 'payments' and day >= ${day}`,
    ),
  );
  const since = newest.filter(({ compared }) => compared.created_at >= apply_from);
  const rows = since.slice(0, most);
  const settled = rows.filter(({ compared }) => compared.outcome !== null && compared.created_at >= day).length;
  const previewed = [];
  const conditions = rules.flatMap((rule) => (rule.source === "flow" ? givenConditions(rule.flow) : []));
  const asked = paymentsCompared(conditions);
  const changed = (state: LedgerState) => rules.reduce((before, rule) => withRule(before, rule, apply_from), state);
  for (const { compared, made } of rows) {
    const key = { id: compared.payment_id, ...made };
    previewed.push({ compared, decision: await decideAs(ctx, key, changed, asked) });
  }
  return { previewed, more: since.length > most || counted!.settled > settled };
}

/** The state once the rule is applied: the current rule, and the two newest changes, which end its versions. */
function withRule(state: LedgerState, rule: ChangedRule, apply_from: string): LedgerState {
  const partner_id = rule.source === "partner" ? rule.partner_id : "";
  const withPast = (before: ChangedRule) => {
    // After all stored changes, and after those of the rules before.
    const seq = 2 ** 52 + state.past.length;
    const of = { partner_id, valid_until: apply_from };
    return [
      ...state.past,
      { seq, ...of, rules: JSON.stringify(keptOf(before)), applies_from: null },
      { seq: seq + 1, ...of, rules: JSON.stringify(appliedOf(rule)), applies_from: apply_from },
    ];
  };
  if (rule.source === "program") {
    return { ...state, past: withPast({ source: "program", rules: state.settings }), settings: rule.rules };
  }
  if (rule.source === "flow") {
    const others = state.flows.filter(({ id }) => id !== rule.flow.id);
    const flow = state.flows.find(({ id }) => id === rule.flow.id) ?? { ...rule.flow, active: false };
    return { ...state, past: withPast({ source: "flow", flow }), flows: [...others, rule.flow] };
  }
  const others = (of: GroupRules) => state.groups.filter(({ id }) => id !== of.id);
  if (rule.source === "group") {
    const before = state.groups.find(({ id }) => id === rule.rules.id);
    if (!before) return state;
    const past = withPast({ source: "group", rules: before });
    return { ...state, past, groups: [...others(before), rule.rules] };
  }
  const before = state.partners.find(({ id }) => id === partner_id);
  if (!before) return state;
  const past = withPast({ ...rule, rules: before });
  const partners = state.partners.map((one) => (one.id === partner_id ? { ...one, ...appliedOf(rule) } : one));
  return { ...state, past, partners, groups: [...others(rule.group), rule.group] };
}

/** The row of an application: of a partner only the columns that apply from the earlier time. */
function appliedOf(rule: ChangedRule): Record<string, unknown> {
  return rule.source === "partner" ? pick(rule.rules, rule.applied) : keptOf(rule);
}

/** In the form of the triggers of `past_rules`. */
function keptOf(rule: ChangedRule): Record<string, unknown> {
  const columns: readonly string[] = RULE_COLUMNS[rule.source];
  const row = Object.entries(rule.source === "flow" ? rule.flow : rule.rules);
  return Object.fromEntries(row.filter(([name]) => columns.includes(name)));
}

/** Settles the payments that `applyFrom` marked, after its transaction is committed. */
export async function settleApplied(ctx: ProgramCtx, { apply_from }: ApplyFrom): Promise<void> {
  if (apply_from === undefined) return;
  const marked = sql`from payments indexed by payments_unsettled
    where updated_at = ${iso(ctx.now)} and program_id = ${ctx.program.id}`;
  await settleUnsettled(ctx, marked);
}

/** The next payments of an application that `own` selects. */
function nextOf(own: SQL): SQL {
  return sql`select p.id, p.outcome, p.created_at >= a.applies_from as is_since
    from (select * from rule_applications where ${own}) a
    cross join payments p on p.program_id = a.program_id and p.id < a.marked_id and p.id >= a.last_id
    order by p.id desc limit ${literal(MARKED_AT_ONCE)}`;
}

/**
 * Marks the next payments that the change can decide, and advances; deletes the application at the end. Includes those
 * that earn only at a request, which may be running.
 */
function markNext(ctx: Pick<ProgramCtx, "db" | "now">, source: RuleSource, own: SQL): Write[] {
  const run = (statement: SQL) => ({ statement: ctx.db.run(statement) });
  return [
    unsettle(
      ctx,
      sql`id in (select id from (${nextOf(own)}) where is_since = 1
          and outcome in ('commission', 'no_flow', 'zero_amount', 'unknown_ref', 'partner_not_active', 'partner_deactivated'))
        and (outcome <> 'commission' or ${concerned(source, own)})`,
    ),
    run(sql`update rule_applications set marked_id = coalesce((select min(id) from (${nextOf(own)})), '')
      where ${own}`),
    run(sql`delete from rule_applications where ${own} and not exists (${nextOf(own)})`),
  ];
}

/** Commissions that a change of this source can affect: for a rate, those it or a later source decided. */
function concerned(source: RuleSource, own: SQL): SQL {
  if (source === "flow") return sql`true`;
  if (source === "program") return sql`decision ->> '$.rate.source' = 'program'`;
  const applied = (value: SQL) => sql`(select ${value} from (select * from rule_applications where ${own}) r
    cross join past_rules a on a.seq = r.seq)`;
  if (source === "group") {
    const group_id = applied(sql`a.rules ->> '$.id'`);
    return sql`(decision ->> '$.rate.source' in ('group', 'program')
      and coalesce(decision ->> '$.group_id', ${group_id}) = ${group_id})`;
  }
  // Flows compare the group too.
  return sql`(partner_id = ${applied(sql`r.partner_id`)}
    and (decision ->> '$.rate.source' <> 'flow' or ${applied(sql`a.rules ->> '$.group_id'`)} is not null))`;
}

interface Applying extends Owner {
  program: Program;
}

/** Marks the remaining payments of changes from an earlier time; the job that settles them does the rest. */
export function markApplied(ctx: Ctx): Work<Applying> {
  return {
    cost: 6,
    async due(after) {
      const rows = await selectPrograms(ctx.db)
        .where(
          sql`${programs.id} in (select distinct program_id from rule_applications where program_id > ${after}
          order by program_id limit ${literal(PROGRAMS_AT_ONCE)})`,
        )
        .orderBy(programs.id);
      return rows.map((program) => ({ key: program.id, program }));
    },
    serve: async ({ program }) => markSome(forProgram(ctx, program)),
  };
}

const APPLICATION = { seq: whole, source: textOf<RuleSource>() };

/** One step for the oldest change of the program; returns whether there is more to do now. */
async function markSome(ctx: ProgramCtx): Promise<boolean> {
  const [applications, waiting] = await ctx.read(
    selectRows(
      ctx.db,
      APPLICATION,
      sql`select seq, source from rule_applications where program_id = ${ctx.program.id} order by seq limit 1`,
    ),
    selectRows(
      ctx.db,
      PAYMENT_KEY,
      sql`select id, provider, provider_transaction_id from payments indexed by payments_unsettled
        where settled_revision < facts_revision and program_id = ${ctx.program.id} limit ${literal(MARKED_AT_ONCE)}`,
    ),
  );
  const [application] = applications;
  // Marks only as many as are settled soon.
  if (!application || waiting.length >= MARKED_AT_ONCE) return false;
  const own = sql`program_id = ${ctx.program.id} and seq = ${application.seq}`;
  await commit(ctx, { writes: markNext(ctx, application.source, own), occurrences: [] });
  return true;
}
