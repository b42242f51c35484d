import { sql, type SQL } from "drizzle-orm";
import { isOneOf, literal } from "../../db/client.ts";
import { amount, flag, nullable, selectRows, text, whole, type Columns } from "../../db/rows.ts";
import { commissions } from "../../db/schema.ts";
import type { Amount } from "../../domain/amount.ts";
import { checkChange, favorsPartner } from "../../domain/commission-change.ts";
import { canBecome, COMMISSION_STATUSES, type CommissionStatus } from "../../domain/commission.ts";
import { NOTHING, type Cents } from "../../domain/money.ts";
import { AppError } from "../../lib/errors.ts";
import { iso, nextStamp, SECOND } from "../../lib/time.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { untilWon } from "../kernel/races.ts";
import type { Commission } from "../kernel/rows.ts";
import { requireScope } from "../kernel/scopes.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { recordDecisions, unsettleDifferences } from "../ledger/decisions.ts";
import { commissionChanged, type ChangedCommission } from "../ledger/plan.ts";
import { MAX_INLINE, throwFailure, settleEach, type Tried } from "../ledger/settle.ts";
import {
  hasChanged,
  haveIds,
  changeCommission,
  statusConflict,
  matchCommissions,
  readAllJudged,
  requireForChange,
  type CommissionMatch,
} from "./commissions.ts";

/** One change of many commissions at once. */
export interface BulkChange {
  status: CommissionStatus;
  /** Only with `rejected`. */
  reason?: string | undefined;
  /** Flagged commissions wait for a review: unless this is set, no filter selects them, and they are not approved. */
  include_flagged?: boolean | undefined;
}

export type BulkRefusal = "not_found" | "invalid_transition" | "flagged";

/** The result for one id of a bulk change. */
export type BulkResult =
  | { id: string; ok: true; status: CommissionStatus }
  | { id: string; ok: false; error: { code: BulkRefusal; message: string } };

/** The result for all that match. */
export interface BulkReport {
  matched: number;
  changed: number;
  /** Unchanged: flagged, in a payout, or in a status without such a move. */
  skipped: number;
  /** Not reached in this call: repeat the call to continue. */
  remaining: number;
}

/**
 * Moves commissions individually: a refusal of one does not affect the others. One that has changed since
 * `unchanged_since`, when a person saw it, is refused. It makes one read and one commit for any number of them, repeated
 * only if others change the same rows in between. It answers once the dependent differences are settled (COM-8): if
 * settling fails, it throws, but the changes are stored.
 */
export async function updateCommissions(
  caller: Caller,
  ids: readonly string[],
  change: BulkChange,
  unchanged_since?: string,
): Promise<BulkResult[]> {
  const options = { isWhole: true, unchanged_since, most: MAX_INLINE };
  const { results, failure } = await moveChosen(caller, ids, change, options);
  throwFailure(failure);
  return results;
}

interface MoveOptions {
  /** Whether these are all ids of the request, so that its reply is stored with the change. */
  isWhole: boolean;
  unchanged_since: string | undefined;
  /** Payments that are settled with it. */
  most: number;
}

async function moveChosen(
  caller: Caller,
  ids: readonly string[],
  change: BulkChange,
  { isWhole, unchanged_since, most }: MoveOptions,
): Promise<{ results: BulkResult[]; settled: number; failure: Tried["failure"] }> {
  const seen = new Map<string, CommissionStatus>();
  const { ctx, results, unsettled } = await untilWon(async () => {
    const { rows, differing } = await readAllJudged(caller, ids);
    const [ctx] = await prove(caller);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) requireForChange(ctx, byId.get(id), change);
    const changes: { before: Commission; after: ChangedCommission }[] = [];
    const results = ids.map((id): BulkResult => {
      const before = byId.get(id);
      const refused = (message: string, code: BulkRefusal = "invalid_transition"): BulkResult => ({
        id,
        ok: false,
        error: { code, message },
      });
      if (!before) return refused("No such commission.", "not_found");
      const isSeen = before.status === (seen.get(id) ?? before.status);
      if (!isSeen || hasChanged(before, unchanged_since)) {
        return refused(statusConflict(before).message);
      }
      seen.set(id, before.status);
      const stamp = nextStamp(before.updated_at, ctx.now);
      const checked = checkChange(before, { status: change.status, reason: change.reason }, stamp);
      if (!checked.ok) return refused(checked.message);
      const isHeld = before.flagged && !change.include_flagged;
      if (isHeld && (!isWhole || change.status === "approved")) return refused(LEFT_OUT, "flagged");
      const after = changeCommission(ctx, before, checked.changes);
      changes.push({ before, after });
      return { id, ok: true, status: after.status };
    });
    if (changes.length === 0) return { ctx, results, unsettled: [] };
    await commit(ctx, {
      writes: [
        bulkUpdate(ctx, changes),
        recordDecisions(ctx, changes),
        ...(differing.length > 0 ? [unsettleDifferences(ctx, haveIds(changes.map(({ before }) => before.id)))] : []),
      ],
      occurrences: changes.map(({ before, after }) => commissionChanged(before, after)),
      ...(isWhole ? { result: results } : {}),
    });
    return { ctx, results, unsettled: differing.slice(0, most) };
  });
  return { results, settled: unsettled.length, failure: await settleEach(ctx, unsettled) };
}

const LEFT_OUT = "It is flagged: review it first, or set `include_flagged`.";

/** Commissions in one transaction, and transactions in one call. */
const STEP = 500;
const STEPS = 10;
/** No step begins after this time, because the caller waits for all of them. */
const WORK_MS = 10 * SECOND;

/** The state that the person saw: a number of commissions at an instant. Later changes are skipped. */
export interface SeenMatching {
  at: string;
  count: number;
}

/**
 * Moves all that match, oldest first, in steps that are each complete: after an interruption, the same call continues
 * with the rest. It moves at most the number that there were when it began; later ones are left to the next call.
 * @throws `forbidden` before it begins, for a key that may not make all of the changes (ACCESS-13);
 * `invalid_transition` for more than were `seen`; after the last step, the first failure to settle dependent
 * differences (COM-8).
 */
export async function updateMatching(
  caller: Caller,
  match: CommissionMatch,
  change: BulkChange,
  { clock, seen }: { clock: () => number; seen?: SeenMatching },
): Promise<BulkReport> {
  const unchanged_since = seen?.at;
  const preview = await previewMatching(caller, match, change, unchanged_since);
  const [ctx] = await prove(caller);
  const { matched } = preview;
  const groups = preview.groups.filter(({ flagged }) => change.include_flagged || !flagged);
  const amounts = [NOTHING, ...groups.map(({ least_cents }) => least_cents)];
  if (amounts.some((amount_cents) => favorsPartner({ amount_cents }, change))) requireScope(ctx, "payouts");
  const eligible = groups.reduce((sum, { count }) => sum + count, 0);
  if (seen && eligible > seen.count)
    throw new AppError("invalid_transition", "More commissions match now than you were shown.");
  const began = clock();
  const statuses = movableFrom(match, change.status);
  let done = 0;
  let settled = 0;
  let failure: Tried["failure"];
  for (let step = 0; step < STEPS && statuses.length > 0 && done < eligible && clock() - began <= WORK_MS; step++) {
    const most = Math.min(STEP, eligible - done);
    // One status at a time: moved commissions leave its index, so no step reads over them.
    const ids = await nextStep(caller, { ...match, status: statuses[0] }, change, { unchanged_since, most });
    const options = { isWhole: false, unchanged_since, most: MAX_INLINE - settled };
    const made = await moveChosen(caller, ids, change, options);
    settled += made.settled;
    failure ??= made.failure;
    const moved = made.results.filter(({ ok }) => ok).length;
    done += moved;
    if (ids.length < most || moved === 0) statuses.shift();
  }
  throwFailure(failure);
  return { matched, changed: done, skipped: matched - eligible, remaining: Math.max(eligible - done, 0) };
}

/** Commissions that a bulk change would move, by currency, flagged ones separately. */
export interface BulkGroup extends Amount {
  flagged: boolean;
  count: number;
  /** The smallest of the amounts. */
  least_cents: Cents;
  /** How many of them are on hold (COM-6), and until when the last one is. */
  held: number;
  held_until: string | null;
}

/** Counts the matching commissions and those that could be moved. Changes no row. */
export async function previewMatching(
  ctx: Reader,
  match: CommissionMatch,
  { status }: Pick<BulkChange, "status">,
  unchanged_since?: string,
): Promise<{ matched: number; groups: BulkGroup[] }> {
  const isMovable = movable(match, status, unchanged_since);
  const [rows] = await ctx.read(selectGroups(ctx, matchCommissions(ctx, match), isMovable));
  return { matched: rows.reduce((sum, { count }) => sum + count, 0), groups: movableGroups(rows) };
}

interface Group extends Omit<BulkGroup, "flagged"> {
  flagged: 0 | 1;
  movable: 0 | 1;
}

const GROUP: Columns<Group> = {
  ...{ currency: text, flagged: flag, movable: flag, count: whole, amount_cents: amount, least_cents: amount },
  ...{ held: whole, held_until: nullable(text) },
};

/** Counts those of the chosen commissions that could be moved. Changes no row. */
export async function previewChosen(
  ctx: Reader,
  ids: readonly string[],
  { status }: Pick<BulkChange, "status">,
): Promise<BulkGroup[]> {
  const areChosen = sql`${isOneOf(sql`id`, ids)} and ${alsoOfProgram(ctx, commissions.program_id)}`;
  const [rows] = await ctx.read(selectGroups(ctx, areChosen, movable({}, status, undefined)));
  return movableGroups(rows);
}

function movableGroups(rows: readonly Group[]): BulkGroup[] {
  return rows
    .filter((row) => row.movable === 1)
    .map(({ flagged, movable: _, ...row }) => ({ ...row, flagged: flagged === 1 }));
}

/** Selects groups of commissions, with whether they are movable. */
function selectGroups(ctx: Reader, where: SQL | undefined, isMovable: SQL) {
  return selectRows(
    ctx.db,
    GROUP,
    sql`
      select currency, flagged, ${isMovable} as movable, count(*) as count,
        sum(amount_cents) as amount_cents, min(amount_cents) as least_cents,
        coalesce(sum(hold_until > ${iso(ctx.now)}), 0) as held, max(hold_until) as held_until
      from ${commissions} where ${where} group by 1, 2, 3`,
  );
}

/** The oldest of the remaining ones: fewer than `most` are the last of them. */
async function nextStep(
  ctx: Reader,
  match: CommissionMatch,
  { status, include_flagged }: BulkChange,
  { unchanged_since, most }: { unchanged_since: string | undefined; most: number },
): Promise<string[]> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { id: text },
      sql`select id from ${commissions}
      where ${matchCommissions(ctx, match)} and ${movable(match, status, unchanged_since)}
        ${include_flagged ? sql`` : sql`and flagged = 0`} order by id limit ${literal(most)}`,
    ),
  );
  return rows.map(({ id }) => id);
}

/** The statuses that a match includes and from which there is a move to `status`. */
function movableFrom(match: CommissionMatch, status: CommissionStatus): CommissionStatus[] {
  return COMMISSION_STATUSES.filter((from) => (match.status ?? from) === from && canBecome(from, status));
}

/** Whether a commission may move: by its status, in no payout, and unchanged since it was seen. */
function movable(match: CommissionMatch, status: CommissionStatus, unchanged_since: string | undefined): SQL {
  const from = movableFrom(match, status);
  const isUnchanged = unchanged_since === undefined ? sql`true` : sql`${commissions.updated_at} <= ${unchanged_since}`;
  return sql`(${commissions.payout_id} is null and ${isUnchanged}
    and ${isOneOf(sql`+${commissions.status}`, from)})`;
}

/** One compare-and-set over all rows of a bulk change: if one was changed meanwhile, no row is changed. */
function bulkUpdate(ctx: ProgramCtx, changes: { before: Commission; after: ChangedCommission }[]): Write {
  const rows = changes.map(({ before, after }) => ({
    id: before.id,
    was: before.updated_at,
    status: after.status,
    approved_at: after.approved_at,
    rejected_reason: after.rejected_reason,
    updated_at: after.updated_at,
    event_id: after.event_id,
  }));
  return {
    statement: ctx.db.run(sql`update commissions set status = j.value ->> 'status',
        approved_at = j.value ->> 'approved_at', rejected_reason = j.value ->> 'rejected_reason',
        updated_at = j.value ->> 'updated_at', event_id = j.value ->> 'event_id'
      from json_each(${JSON.stringify(rows)}) j
      where commissions.id = j.value ->> 'id' and ${alsoOfProgram(ctx, commissions.program_id)}
        and commissions.updated_at = j.value ->> 'was' and commissions.payout_id is null`),
    expect: rows.length,
  };
}
