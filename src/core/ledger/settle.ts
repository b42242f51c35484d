import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { orNull, shaped, text, textOf } from "../../db/rows.ts";
import { commissions, flows, payments } from "../../db/schema.ts";
import type { Fact } from "../../domain/fact.ts";
import { slugKey } from "../../domain/partner.ts";
import { decidePayment, type Decision, type Outcome, type PaymentDecision, type Rules } from "../../domain/payment.ts";
import { isLiveOnly } from "../../domain/program.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { asMade, flowsAt, newestApplied, rulesAt, type PartnerRules, type ProgramRules } from "../../domain/rules.ts";
import { commit, CommitConflict, type Occurrence, type Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { MAX_RACES, refuseWhere } from "../kernel/races.ts";
import type { Commission, Flow, Payment, Program } from "../kernel/rows.ts";
import { eventOutcome, planClosing, type Closing } from "./closing.ts";
import { leads, PAYMENT_KEY, paymentsNamed, reachable, type PaymentKey } from "./facts.ts";
import { planSettlement } from "./plan.ts";
import { NAMED_PARTNER, SALE_DECISION, type LedgerState, type PastRow } from "./state.ts";

/** At most this many payments are settled while a caller waits; the sweep takes the rest. */
export const MAX_INLINE = 200;

export interface SettleOptions {
  /** Closed beside the settling. */
  closing?: Closing | undefined;
  /** The owner asks: what was refused as `partner_deactivated` is decided by what the partner is now (PART-4). */
  isRequested?: boolean;
}

/**
 * Makes the ledger of one payment what the set of its facts says, and commits the difference: the payment with its
 * trace, its commission rows, their audit events and deliveries. Idempotent and free of order: anybody may run it, at
 * any time, at once (architecture, invariant 2). Returns the payment's outcome.
 */
export async function settle(
  ctx: ProgramCtx,
  key: PaymentKey,
  { closing, isRequested = false }: SettleOptions = {},
): Promise<Outcome | null> {
  for (let attempt = 0; ; attempt++) {
    const { state, isClosed } = await readState(ctx, key, closing);
    if (!state) return null;
    const decision = decide(ctx.program, state, isRequested);
    const { outcome, writes, occurrences } = planSettlement(ctx, state, decision);
    const closed = isClosed || !closing ? undefined : planClosing(ctx, closing, eventOutcome(closing, outcome));
    if (writes.length === 0 && !closed) return outcome;
    const guards = writes.length > 0 ? guardsOf(ctx, state, decision) : [];
    try {
      await commit(ctx, {
        writes: [...guards, ...writes, ...(closed?.writes ?? [])],
        occurrences: [...(closed?.occurrences ?? []), ...occurrences],
      });
      return outcome;
    } catch (error) {
      if (!(error instanceof CommitConflict) || attempt >= MAX_RACES) throw error;
    }
  }
}

/**
 * The settling holds only where what it was decided on is as it was read, beside the facts, which its writes look at
 * themselves: every commission of the payment, for a payout that is canceled or an owner who rejects changes what the
 * others must come to; and the partner that the payment is to wait for, who by turning active meanwhile would wake no
 * payment that does not wait yet.
 */
function guardsOf(ctx: ProgramCtx, { commissions: rows }: LedgerState, decision: Decision | null): Write[] {
  const guards: Write[] = [];
  if (rows.length > 0) {
    const read = JSON.stringify(rows.map(({ id, updated_at }) => [id, updated_at]));
    guards.push(
      refuseWhere(
        ctx,
        sql`exists (select 1 from json_each(${read}) r left join commissions c on c.id = r.value ->> 0
          where c.updated_at is not r.value ->> 1)`,
      ),
    );
  }
  if (decision?.outcome === "partner_not_active") {
    const { partner_id } = decision.record;
    guards.push(
      refuseWhere(ctx, sql`exists (select 1 from partners where id = ${partner_id} and status <> 'invited')`),
    );
  }
  return guards;
}

/** What settling a payment would change in its commissions. */
export interface Unsettled {
  /** The rows as they are. */
  rows: Commission[];
  /** The events that would be written about them. */
  occurrences: Occurrence[];
}

/**
 * The settings as which a payment may have been settled: when `live_only` was changed is not kept, nor what an earlier
 * version went by.
 */
function settingsOf({ settings, payments: rows }: LedgerState): { live_only: boolean; settings: ProgramRules }[] {
  const isOld = rows.some(({ rules_seen }) => rules_seen === null);
  const attributions = isOld ? (["last", "first"] as const) : [settings.attribution];
  return [true, false].flatMap((live_only) =>
    attributions.map((attribution) => ({ live_only, settings: { ...settings, attribution } })),
  );
}

/**
 * For a payment that is settled: what settling it again would change in the money of its commissions; null where it is
 * nothing, as it should be, or where a settling is under way or to come (`apply-from.ts`). Writes nothing. A payment that carries the name of a
 * partner who came after its settling is not judged: it is decided again when its owner asks (PAY-15).
 */
export async function reviewSettled(ctx: ProgramCtx, key: PaymentKey): Promise<Unsettled | null> {
  const { state } = await readState(ctx, key, undefined);
  if (!state || state.payments.some((row) => row.settled_revision !== row.facts_revision)) return null;
  if (isNamedSince(state)) return null;
  const { live_only } = ctx.program;
  const planned = [{ live_only, settings: state.settings }, ...settingsOf(state)].map((as) => {
    const decided = decide({ ...ctx.program, live_only: as.live_only }, { ...state, settings: as.settings }, false);
    return planSettlement(ctx, state, decided).occurrences;
  });
  if (planned.some((occurrences) => occurrences.length === 0)) return null;
  const [{ id }] = state.payments;
  const [isNext] = await ctx.read(
    ctx.db.all(sql`select 1 from rule_applications where program_id = ${ctx.program.id}
      and marked_id > ${id} limit 1`),
  );
  if (isNext.length > 0) return null;
  return { rows: state.commissions, occurrences: planned[0]! };
}

/**
 * What a payment would be decided as where a rule were `changed` and applied from a time before it; null where nothing is
 * about it yet. The same reading and the same decision as in settling it. Writes nothing.
 */
export async function decideAs(
  ctx: ProgramCtx,
  key: PaymentKey,
  changed: (state: LedgerState) => LedgerState,
): Promise<Decision | null> {
  const { state } = await readState(ctx, key, undefined);
  return state && decide(ctx.program, changed(state), false);
}

function isNamedSince({ payments: rows, partners }: LedgerState): boolean {
  const named = new Set(partners.map(({ slug_key }) => slug_key));
  const tried = rows.flatMap(({ decision }): Pick<PaymentDecision, "ref" | "partner_id">[] => {
    return decision ? (decision.candidates ?? [decision]) : [];
  });
  return tried.some(({ ref, partner_id }) => ref !== null && partner_id === null && named.has(slugKey(ref)));
}

/** Settles the payments that waited for a partner to turn active; what is too much for one request the sweep takes. */
export function settleWaiting(ctx: ProgramCtx, partner_id: string): Promise<void> {
  return settleUnsettled(ctx, sql`from payments where partner_id = ${partner_id}`);
}

/** Settles the payments that the change of this audit event left unsettled, among those of the commissions it changed. */
export function settleChanged(ctx: ProgramCtx, event_id: string): Promise<void> {
  return settleUnsettled(
    ctx,
    sql`from payments indexed by payments_unsettled where program_id = ${ctx.program.id}
      and exists (select 1 from commissions c where c.payment_id = payments.id and c.event_id = ${event_id})`,
  );
}

/** Settles those of the selected payments (`from`: a FROM clause with a condition) that are unsettled. */
export async function settleUnsettled(ctx: ProgramCtx, from: SQL): Promise<void> {
  const [unsettled] = await ctx.read(
    shaped(
      ctx.db,
      PAYMENT_KEY,
      sql`select id, provider, provider_transaction_id ${from} and settled_revision < facts_revision
      order by id limit ${literal(MAX_INLINE)}`,
    ),
  );
  for (const key of unsettled) await settle(ctx, key);
}

function decide(program: Program, state: LedgerState, isRequested: boolean) {
  const [payment] = state.payments;
  const bySlug = new Map(state.partners.map((partner) => [partner.slug_key, partner]));
  const decided = state.payments.find((row) => row.decision !== null && row.outcome !== "merged") ?? payment;
  return decidePayment({
    provider: payment.provider,
    live_only: isLiveOnly(program),
    facts: state.facts,
    partnerByRef: (ref) => bySlug.get(slugKey(ref)) ?? null,
    rulesOf: ({ occurred_at }, applied) => rulesOf(state, decided, occurred_at, applied),
    previous: {
      outcome: decided.outcome,
      decision: decided.decision,
      erased: state.payments.some((row) => row.erased_at !== null),
    },
    isRequested,
    commissionedPartners: state.commissions.filter((row) => row.kind === "sale").map((row) => row.partner_id),
  });
}

/** The rules in force when the payment was made, with those applied from an earlier time up to `upTo`. */
function rulesOf(state: LedgerState, decided: Payment, occurred_at: string, upTo = Infinity): Rules {
  const time = { occurred_at, seen: Math.min(...state.payments.map(({ rules_seen }) => rules_seen ?? 0)) };
  const past = state.past
    .filter(({ seq, applies_from }) => applies_from === null || seq <= upTo)
    .map((row) => ({ ...row, rules: JSON.parse(row.rules) as PartnerRules & ProgramRules & Flow }));
  const ofProgram = past.filter(({ partner_id }) => partner_id === "");
  const ofFlow = (row: (typeof past)[number]) => "id" in row.rules;
  const ofSettings = ofProgram.filter((row) => !ofFlow(row));
  return {
    // What applies from an earlier time is a rate or a flow, and no other setting or state.
    program: {
      ...rulesAt(time, ofSettings, state.settings),
      attribution: rulesAt(time, asMade(ofSettings), state.settings).attribution,
    },
    flows: flowsAt(time, ofProgram.filter(ofFlow), state.flows),
    ofPartner: (id) => {
      const partner = state.partners.find((row) => row.id === id);
      if (!partner) throw new Error("a partner that no reference names");
      // What an earlier version refused, it refused by what the partner was: nothing else says that.
      const isRefused = decided.rules_seen === null && decided.outcome === "partner_deactivated";
      const own = past.filter(({ partner_id }) => partner_id === id);
      const { commission_pct } = rulesAt<PartnerRules>(time, own, partner);
      const { status } = rulesAt<PartnerRules>(time, asMade(own), partner);
      const wasRefused = isRefused && decided.decision?.partner_id === id;
      return { commission_pct, status: wasRefused ? "deactivated" : status };
    },
    applied: newestApplied(time, past),
  };
}

/** One round trip: the payment rows, their facts, commissions, the active flows and the partners they can name. */
async function readState(
  ctx: ProgramCtx,
  key: PaymentKey,
  closing: Closing | undefined,
): Promise<{ state: LedgerState | null; isClosed: boolean }> {
  const { db } = ctx;
  const program_id = ctx.program.id;
  const { provider } = key;
  const ids = reachable(program_id, provider, sql`select ${key.provider_transaction_id}`);
  const own = paymentsNamed(program_id, provider, ids);
  const stated = withStated(program_id, provider, ids);
  const [paymentRows, factRows, commissionRows, decisionRows, flowRows, partnerRows, closedRows] = await ctx.read(
    db
      .select()
      .from(payments)
      .where(sql`${payments.id} in (${own})`)
      .orderBy(payments.provider_transaction_id),
    shaped(db, { data: text, what: textOf<"fact" | "past" | "settings">() }, factsAndRules(program_id, stated)),
    db
      .select()
      .from(commissions)
      .where(sql`${commissions.payment_id} in (${own})`)
      .orderBy(commissions.id),
    shaped(
      db,
      SALE_DECISION,
      sql`select partner_id, kind, detail, created_at from decisions
      where program_id = ${program_id} and subject in (${own}) and commission_kind = 'sale' order by id`,
    ),
    db
      .select()
      .from(flows)
      .where(sql`program_id = ${program_id} and active = 1`),
    shaped(
      db,
      NAMED_PARTNER,
      sql`${stated}
      select p.id as id, p.slug as slug, p.email as email,
        p.payout_email as payout_email, p.status as status, p.commission_pct as commission_pct, s.slug_key as slug_key
      from (${NAMED}) named
        cross join partner_slugs s on s.program_id = ${program_id} and s.slug_key = named.slug_key
        cross join partners p on p.id = s.partner_id`,
    ),
    shaped(
      db,
      { audit_event_id: orNull(text) },
      sql`select audit_event_id from provider_events
      where program_id = ${program_id} and provider = ${closing?.provider ?? provider}
        and event_id = ${closing?.event.event_id ?? ""}`,
    ),
  );
  const [first, ...more] = paymentRows;
  const isClosed = closedRows[0]?.audit_event_id != null;
  const said = <T>(kind: string) =>
    factRows.flatMap(({ what, data }) => (what === kind ? [JSON.parse(data) as T] : []));
  if (!first) return { state: null, isClosed };
  return {
    isClosed,
    state: {
      payments: [first, ...more],
      facts: said<Fact>("fact"),
      past: said<PastRow>("past"),
      settings: said<ProgramRules>("settings")[0]!,
      commissions: commissionRows,
      decisions: decisionRows,
      flows: flowRows,
      partners: partnerRows,
    },
  };
}

/** The slugs that facts (`stated`) name. */
const NAMED = sql.raw(`select ref_key as slug_key from stated
  union select lower(r.value ->> 'ref') from stated cross join json_each(stated.data, '$.refs') r`);

/**
 * The facts, and beside them the program's settings as they are, and the rules that were changed since the payment was
 * made or heard of: those of the program and of the partners that the facts name. Almost always there are none.
 */
function factsAndRules(program_id: string, stated: SQL): SQL {
  const changed = (since: SQL) => sql`select r.* from time cross join whose cross join past_rules r
    on r.program_id = ${program_id} and r.partner_id = whose.id and ${since}`;
  return sql`${stated},
    time as materialized (select min(ifnull(p.rules_seen, 0)) as seen,
        (select min(data ->> 'occurred_at') from stated where data ->> 'kind' = 'payment') as occurred_at
      from own cross join payments p on p.id = own.id),
    whose as materialized (select '' as id union select s.partner_id from (${NAMED}) named
        cross join partner_slugs s on s.program_id = ${program_id} and s.slug_key = named.slug_key)
    select data, 'fact' as what from stated
    union all
    select json_object('default_commission_pct', default_commission_pct, 'attribution', attribution), 'settings'
    from programs where id = ${program_id}
    union all
    select json_object('seq', seq, 'partner_id', partner_id, 'valid_until', valid_until, 'rules', rules,
        'applies_from', applies_from), 'past'
    from (${changed(sql`r.valid_until > time.occurred_at`)} union ${changed(sql`r.seq > time.seen`)})`;
}

/**
 * The beginning of a statement: `stated`, the facts about a payment, each once, and `own`, its rows. These are its
 * own facts (`ids` as of `reachable`), the cancellations of its subscription, the addresses of its customer and, only
 * where it carries no partner's reference itself, those that are remembered for its subscription, its customer and the
 * customer's address. Each step is a table of its own: written out where it is used, it would be compiled ten times.
 */
function withStated(program_id: string, provider: ProviderName, ids: SQL): SQL {
  const joined = (subjects: SQL) => sql`(${subjects}) about
    cross join fact_subjects s on s.program_id = ${program_id} and s.provider = ${provider}
      and s.scope = about.scope and s.subject = about.subject
    cross join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id`;
  const named = sql`select 'payment' as scope, subject from ids`;
  const isOwnRef = sql`(select is_own from own_ref)`;
  return sql`with ids (subject) as materialized (${ids}),
    own (id) as materialized (${paymentsNamed(program_id, provider, sql`select subject from ids`)}),
    said as materialized (select f.kind, f.ref_key, f.data from ${joined(named)}),
    own_ref (is_own) as materialized (select exists (select 1 from said f where f.kind = 'payment'
      and (${leads(program_id, sql`f.ref_key`)}
        or exists (select 1 from json_each(f.data, '$.refs') r where ${leads(program_id, sql`lower(r.value ->> 'ref')`)})))),
    stated as materialized (select f.fact_id, f.ref_key, f.data from ${joined(sql`${named}
        union select 'subscription', subscription_id from payments where id in (select id from own)
        union select 'address', customer_id from payments where id in (select id from own)
        union select scope, subject from (
          select 'customer' as scope, customer_id as subject from payments where id in (select id from own)
          union select 'email', lower(f.data ->> 'customer_email') from said f) where not ${isOwnRef}`)}
      where f.kind <> 'attribution' or not ${isOwnRef}
      group by f.fact_id)`;
}
