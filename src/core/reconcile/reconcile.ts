import { sql, type InferSelectModel } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { selectRows } from "../../db/rows.ts";
import { programs, reconciliations } from "../../db/schema.ts";
import type { Check, Checked, Difference } from "../../domain/reconciliation.ts";
import { isUnavailable } from "../../lib/errors.ts";
import { firstIdAt } from "../../lib/id.ts";
import { logLine } from "../../lib/log.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import type { Transfers } from "../../providers/connect.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { forProgram, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import type { Program } from "../kernel/rows.ts";
import { takeReversal } from "../payouts/reversal.ts";
import { PAYMENT_KEY, type PaymentKey } from "../ledger/facts.ts";
import { reviewSettled } from "../ledger/settle.ts";
import {
  balanceDifferences,
  balanceFindings,
  ENTRIES_AT_ONCE,
  journalDifferences,
  journalFindings,
  payoutFindings,
  payoutSums,
  programBalanceDifferences,
  uncomparedPartners,
} from "./checks.ts";
import { choose, deliveriesLeft, payoutsAmong, sizesOf, type Chosen } from "./choose.ts";
import { entitlementFinding } from "./entitlement.ts";
import {
  knownDifferences,
  planFindings,
  planMail,
  ROUND_AFTER,
  unmailedDifferences,
  readUnreported,
  type Looked,
} from "./findings.ts";
import { hasDue, hasPassed, isWhole, placeAfter, placeAtStart, placeOfRound, type Place } from "./place.ts";
import { checkTransfers, hasTransfer } from "./transfers.ts";
import { advanceWalk, walkReads } from "./walk.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

type Reconciliation = InferSelectModel<typeof reconciliations>;

/** The result of one step. */
export interface Step {
  checked: Checked;
  /** False if another step from the same place was faster; then this one did not write. */
  kept: boolean;
  /** Whether the round goes on. */
  more: boolean;
  /** Whether the round goes through the whole program and has some of it left. */
  whole: boolean;
}

const PROGRAMS_AT_ONCE = 20;
/** How many known differences of each check a round checks again. */
const KNOWN_AT_ONCE = 3;
/** An event's id contains the time when its request began; after this long its transaction is over. */
const COMMITTED_AFTER = 10 * MINUTE;

interface Due extends Owner {
  program: Program;
}

/**
 * The daily reconciler (LAW-11). A round checks every row that the events of commissions and payouts have touched since
 * the last one, the known differences, and a part of the rest, so that all rows of a small program are checked within
 * 30 days. It goes in bounded steps; each continues from the place that the last one committed. The first round of a
 * program checks all of it.
 * The reconciler does not repair, except that it returns payouts whose transfer the vendor shows as reversed in full, as
 * the vendor's event does (OUT-21). It is harmless if two run at once: of two steps from the same place one is dropped.
 */
export function reconcilePrograms(ctx: Ctx, transfers: Transfers): Work<Due> {
  return {
    // 12 payments of seven statements, six transfers of two calls, and 32 statements.
    cost: 128,
    async due(after) {
      const own = sql`program_id = ${programs.id}`;
      const rows = await selectPrograms(ctx.db)
        .where(
          sql`${programs.id} > ${after}
            and (exists (select 1 from payments where ${own}) or exists (select 1 from commissions where ${own}))
            and not exists (select 1 from reconciliations where ${own} and finished_at > ${iso(ctx.now - ROUND_AFTER)})`,
        )
        .orderBy(programs.id)
        .limit(atMost(PROGRAMS_AT_ONCE));
      return rows.map((program) => ({ key: program.id, program }));
    },
    serve: async ({ program }) => (await reconcileStep(forProgram(ctx, program), transfers)).more,
  };
}

/**
 * Runs one bounded step of a program's round. `fromStart` begins a round through the whole program.
 * @throws the error of a payment that could not be checked; the step is committed, and the next continues after it.
 */
export async function reconcileStep(ctx: ProgramCtx, transfers: Transfers, fromStart = false): Promise<Step> {
  const [[kept], known, sizes, waiting] = await ctx.read(
    ctx.db
      .select()
      .from(reconciliations)
      .where(sql`${reconciliations.program_id} = ${ctx.programId}`),
    knownDifferences(ctx, KNOWN_AT_ONCE),
    sizesOf(ctx),
    unmailedDifferences(ctx),
  );
  const before = kept ?? firstRow(ctx);
  const isNew = fromStart || before.finished_at !== null;
  const until = firstIdAt("event", ctx.now - COMMITTED_AFTER);
  const last = fromStart ? placeAtStart() : (JSON.parse(before.position) as Place);
  const place = isNew ? placeOfRound(last, (kind) => sizes.find((one) => one.kind === kind)?.size ?? 0) : last;
  const span = { from: fromStart ? until : before.event_id, until };
  const chosen = await choose(ctx, place, span);
  const seen = await look(ctx, place, { ...chosen, known: isNew ? known : [], isNew }, transfers);
  const reported = await readUnreported(ctx, seen.found);
  const whole = isWhole(seen.place);
  const more = whole || chosen.isFull || hasDue(seen.place);
  const now = iso(ctx.now);
  const findings = { looked: seen.looked, found: seen.found, reported };
  const mail = planMail(ctx, { mailed_at: before.mailed_at, isLastStep: !more }, waiting, findings);
  const after: Reconciliation = {
    ...before,
    revision: before.revision + 1,
    began_at: isNew ? now : before.began_at,
    finished_at: more ? null : now,
    mailed_at: mail.mailed_at,
    event_id: chosen.event_id,
    position: JSON.stringify(seen.place),
    deliveries_left: seen.deliveries_left,
  };
  try {
    const { writes, occurrences } = planFindings(ctx, findings, mail.found_at);
    await commit(ctx, {
      occurrences,
      writes: [saveRow(ctx, before, after), ...writes, noteAgreed(ctx, after)],
      notices: mail.notices,
    });
  } catch (error) {
    if (error instanceof CommitConflict) return { checked: seen.checked, kept: false, more: true, whole: true };
    throw error;
  }
  const program_id = ctx.program.id;
  for (const difference of reported) logLine("error", { what: "reconciliation failed", program_id, ...difference });
  if (seen.failure) throw seen.failure.reason;
  return { checked: seen.checked, kept: true, more, whole };
}

/** The row of a program before its first round. */
function firstRow(ctx: ProgramCtx): Reconciliation {
  return {
    program_id: ctx.program.id,
    revision: 0,
    began_at: iso(ctx.now),
    finished_at: iso(ctx.now),
    reconciled_at: null,
    mailed_at: null,
    event_id: firstIdAt("event", ctx.now - COMMITTED_AFTER),
    position: JSON.stringify(placeAtStart()),
    deliveries_left: 0,
  };
}

/** The compare-and-set of a step. */
function saveRow(ctx: ProgramCtx, before: Reconciliation, after: Reconciliation): Write {
  const { program_id, reconciled_at: _, ...set } = after;
  return {
    statement: ctx.db
      .insert(reconciliations)
      .values(after)
      .onConflictDoUpdate({
        target: reconciliations.program_id,
        set,
        setWhere: sql`${reconciliations.program_id} = ${program_id} and ${reconciliations.revision} = ${before.revision}`,
      }),
    expect: 1,
  };
}

/**
 * Records the agreement at the end of a round, after its findings are written. A transfer that the vendor reversed in
 * part after it was paid remains a difference forever: if an earlier round reported it, it does not prevent agreement.
 */
function noteAgreed(ctx: ProgramCtx, { began_at, finished_at }: Reconciliation): Write {
  return {
    statement: ctx.db.run(sql`update reconciliations set reconciled_at = ${finished_at}
      where program_id = ${ctx.program.id} and ${finished_at} is not null
        and not exists (select 1 from differences d where d.program_id = ${ctx.program.id} and not (
          d.kind = 'transfer' and d.found_at < ${began_at}
          and json_remove(d.expected, '$.reversed_cents') = json_remove(d.found, '$.reversed_cents')))`),
  };
}

interface ToLook extends Chosen {
  known: readonly { kind: Check; subject: string }[];
  isNew: boolean;
}

interface Seen {
  found: Difference[];
  /** The error of a payment that could not be checked. */
  failure: { reason: unknown } | null;
  looked: Looked;
  checked: Checked;
  place: Place;
  deliveries_left: number;
}

/** Runs all checks of the chosen rows. */
async function look(ctx: ProgramCtx, place: Place, chosen: ToLook, transfers: Transfers): Promise<Seen> {
  const { db } = ctx;
  const { turn } = chosen;
  const known = (...checks: Check[]) =>
    chosen.known.filter(({ kind }) => checks.includes(kind)).map((one) => one.subject);
  const commissions = unique([...known("journal"), ...chosen.commissions]);
  const payments = unique([...known("entitlement"), ...chosen.payments]);
  const payouts = unique([...known("transfer", "payout"), ...chosen.payouts]);
  const [journal, keys, rows, [left], books] = [
    ...(await ctx.read(
      journalDifferences(ctx, commissions),
      selectRows(
        db,
        PAYMENT_KEY,
        sql`select id, provider, provider_transaction_id from payments
        where id in (select value from json_each(${JSON.stringify(payments)})) and +program_id = ${ctx.program.id}`,
      ),
      payoutsAmong(ctx, payouts),
      deliveriesLeft(ctx),
    )),
    await lookAtBalances(ctx, place, chosen, known("balance")),
  ] as const;
  const [sums] = await ctx.read(payoutSums(ctx, rows));
  const found = [...journalFindings(journal), ...books.found, ...payoutFindings(sums)];
  const entitlement = await lookAtPayments(ctx, keys);
  // Without a limit: the place moves past each of them, so one that is skipped is not checked in this lap.
  const asked = new Set([...known("transfer"), ...chosen.payouts]);
  const made = await checkTransfers(
    ctx,
    rows.filter((row) => hasTransfer(row) && asked.has(row.id)),
    transfers,
  );
  // A job settles their payments: one run has no statements left for up to 50 of each.
  for (const one of made.reversed) await takeReversal(ctx, one, { payments: 0 });
  return {
    found: [...found, ...entitlement.found, ...made.found],
    failure: entitlement.failure,
    looked: {
      journal: commissions,
      entitlement: entitlement.looked,
      balance: books.looked,
      payout: payouts,
      // A returned payout has no transfer that could differ.
      transfer: [...made.checked, ...rows.filter((row) => !hasTransfer(row)).map(({ id }) => id)],
    },
    checked: {
      commissions: commissions.length,
      payments: payments.length,
      partners: books.looked.length,
      payouts: payouts.length,
      transfers: made.checked.length,
    },
    place: placeAfter(place, turn, books),
    deliveries_left: left?.count ?? 0,
  };
}

/** Checks the payments. One that cannot be read does not prevent the check of the rest of the program. */
async function lookAtPayments(ctx: ProgramCtx, keys: readonly PaymentKey[]) {
  const looked: string[] = [];
  const found: Difference[] = [];
  let failure: { reason: unknown } | null = null;
  for (const key of keys) {
    try {
      const unsettled = await reviewSettled(ctx, key);
      looked.push(key.id);
      if (unsettled) found.push(entitlementFinding(key.id, unsettled));
    } catch (error) {
      if (isUnavailable(error)) throw error;
      failure ??= { reason: error };
    }
  }
  return { looked, found, failure };
}

/**
 * Checks the partners' balances: most in one statement, those with many entries in slices (`core/reconcile/walk.ts`).
 * If the slices seem to differ, and for `known`, one statement decides, for any size.
 */
async function lookAtBalances(ctx: ProgramCtx, place: Place, chosen: ToLook, known: readonly string[]) {
  const { turn, isNew } = chosen;
  const partners = unique([...known, ...chosen.partners]);
  const walk = isWhole(place) || isNew || hasDue(place) ? place.walk : null;
  const isAll = hasPassed(place, turn, "partners");
  const [balances, program, entries, kept] = await ctx.read(
    balanceDifferences(ctx, partners, ENTRIES_AT_ONCE),
    programBalanceDifferences(ctx, isAll || partners.includes(ctx.program.id)),
    ...walkReads(ctx, walk),
  );
  const large = uncomparedPartners(balances);
  const moved = walk && advanceWalk(walk, entries, kept);
  const walked = moved?.isOver ? [moved.walk.partner_id] : [];
  const suspects = unique([...(moved?.agrees ? [] : walked), ...large.filter((id) => known.includes(id))]);
  const [suspected] = await ctx.read(balanceDifferences(ctx, suspects, Number.MAX_SAFE_INTEGER - 1));
  return {
    found: balanceFindings([...balances, ...program, ...suspected]),
    looked: unique([
      ...partners.filter((id) => !large.includes(id)),
      ...(isAll ? [ctx.program.id] : []),
      ...walked,
      ...suspects,
    ]),
    large,
    walk: moved ? (moved.isOver ? null : moved.walk) : place.walk,
  };
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}
