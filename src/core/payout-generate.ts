import { sql, type SQL } from "drizzle-orm";
import type { PayoutMethod } from "../domain/partner.ts";
import { dueAt, periodProblem, type SkipReason } from "../domain/payout.ts";
import { invalidField } from "../lib/errors.ts";
import { newId } from "../lib/id.ts";
import { iso } from "../lib/time.ts";
import { literal } from "../db/client.ts";
import { payouts } from "../db/schema.ts";
import { laterStamp } from "./commission-rows.ts";
import { commit } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";
import { generatedOccurrences, type Payout } from "./payout-rows.ts";

export interface GenerationInput {
  /** Milliseconds. Kept on the payouts; commissions carried forward from before it are paid as well. */
  period_start: number | null;
  /** Milliseconds; commissions dated before it count. */
  period_end: number;
  dry_run: boolean;
}

/** A partner's payable commissions in one currency. */
export interface PayableSum {
  partner_id: string;
  currency: string;
  amount_cents: number;
  commission_count: number;
}

export interface PlannedPayout extends PayableSum {
  method: PayoutMethod | null;
}

export interface SkippedSum extends PayableSum {
  reason: SkipReason;
}

export interface GenerationTotals {
  currency: string;
  payouts: number;
  amount_cents: number;
  skipped: number;
  skipped_cents: number;
}

export interface Generation {
  /** How many transactions the run took. */
  chunks: number;
  dry_run: boolean;
  period_start: string | null;
  period_end: string;
  due_at: string;
  /** The payouts made, or with `dry_run` what they would be; the first `MAX_LISTED`. */
  payouts: Payout[] | PlannedPayout[];
  /** What is carried forward, and why; the first `MAX_LISTED`. */
  skipped: SkippedSum[];
  /** Exact, whatever is listed. */
  totals: GenerationTotals[];
}

/** A reply names at most this many of each; the rest is in the list of payouts. */
const MAX_LISTED = 500;

/**
 * Makes payouts: "per active or deactivated partner and currency: the sum of approved commissions dated before
 * `period_end` that no payout holds, clawbacks included. Below `min_payout_cents`, or not positive: skipped and carried
 * forward. A rerun creates nothing new" (contract §7). Also two runs at once make nothing twice: every payout is
 * inserted together with the claim of exactly the commissions it sums, in one transaction of one condition.
 *
 * Partners are taken in at most 101 chunks, each a transaction of seven statements, so a run is at most 712 statements
 * however many partners there are. A run that dies between two chunks is finished by the next one.
 */
export async function generatePayouts(ctx: ProgramCtx, input: GenerationInput): Promise<Generation> {
  const problem = periodProblem(input, ctx.now);
  if (problem) throw invalidField(problem.path, problem.message);
  const stems: string[] = [];
  if (!input.dry_run) {
    const [bounds] = await ctx.read(chunkBounds(ctx, input.period_end));
    let after = "";
    for (const { upto } of bounds) {
      stems.push(await generateChunk(ctx, input, { after, upto }));
      after = upto;
    }
  }
  return report(ctx, input, stems);
}

/** A range of partner ids, `after` not included. */
interface Chunk {
  after: string;
  upto: string;
}

/** The rows that a run from this state could pay: approved, in no payout, dated before the end. */
function payable(ctx: ProgramCtx, alias: string, period_end: number): SQL {
  const c = sql.raw(alias);
  // The literals are those of the partial index commissions_payable.
  return sql`${c}.program_id = ${ctx.programId} and ${c}.status = 'approved' and ${c}.payout_id is null
    and ${c}.created_at < ${iso(period_end)}`;
}

/** The sums by partner and currency with the reason why a sum makes no payout, null where it does. */
function payableSums(ctx: ProgramCtx, period_end: number, chunk?: Chunk): SQL {
  const within = chunk ? sql`and c.partner_id > ${chunk.after} and c.partner_id <= ${chunk.upto}` : sql``;
  return sql`select c.partner_id as partner_id, c.currency as currency, sum(c.amount_cents) as amount_cents,
      count(*) as commission_count, p.payout_method as method,
      case when p.status = 'invited' then 'partner_invited' when sum(c.amount_cents) <= 0 then 'not_positive'
        when sum(c.amount_cents) < (select min_payout_cents from programs where id = ${ctx.programId})
        then 'below_minimum' end as reason
    from commissions c cross join partners p on p.id = c.partner_id
    where ${payable(ctx, "c", period_end)} ${within}
    group by c.partner_id, c.currency`;
}

/** A partner weighs as much as this many commissions. */
const PARTNER_WEIGHT = 10;
/** A chunk holds about this weight: a thousand partners, or ten thousand commissions of one. */
const CHUNK_WEIGHT = 10_000;
const MAX_CHUNKS = 100;

/**
 * The last partner of each chunk, in order. The chunks grow with the program, so that their number does not. (D1 binds
 * numbers as REAL: without the cast each partner would be a chunk of its own.)
 */
function chunkBounds(ctx: ProgramCtx, period_end: number) {
  return ctx.db.all<{ upto: string }>(sql`
    with weighed as (
      select c.partner_id as partner_id, count(*) + ${PARTNER_WEIGHT} as weight from commissions c
      where ${payable(ctx, "c", period_end)} group by c.partner_id),
    placed as (
      select partner_id, cast((sum(weight) over (order by partner_id) - weight)
        / max(${CHUNK_WEIGHT}, sum(weight) over () / ${MAX_CHUNKS}) as integer) as chunk from weighed)
    select max(partner_id) as upto from placed group by chunk order by chunk`);
}

/** Random characters of a payout id that the database mints, a chunk's payouts having the ones before in common. */
const MINTED = 8;

function minted(stem: string): SQL {
  const character = sql.raw(`substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1)`);
  return sql.join([sql`${stem}`, ...Array.from({ length: MINTED }, () => character)], sql` || `);
}

function mintedFrom(stem: SQL, id: SQL): SQL {
  return sql`${id} between ${stem} || ${"0".repeat(MINTED)} and ${stem} || ${"z".repeat(MINTED)}`;
}

/** One transaction: the payouts of a range of partners, and the claim of their commissions. Gives the ids' stem. */
async function generateChunk(ctx: ProgramCtx, input: GenerationInput, chunk: Chunk): Promise<string> {
  const { db } = ctx;
  const stamp = iso(ctx.now);
  const stem = newId("payout", ctx.now).slice(0, -MINTED);
  const made = mintedFrom(sql`${stem}`, sql`p.id`);
  const holder = sql`select p.id from payouts p where p.partner_id = commissions.partner_id
    and p.currency = commissions.currency and ${made}`;
  await commit(ctx, {
    writes: [
      {
        statement: db.run(sql`insert into payouts (id, program_id, partner_id, amount_cents, currency, status, method,
            period_start, period_end, due_at, commission_count, attempt, created_at, updated_at)
          select ${minted(stem)}, ${ctx.program.id}, s.partner_id, s.amount_cents, s.currency, 'pending', s.method,
            ${input.period_start === null ? null : iso(input.period_start)}, ${iso(input.period_end)},
            ${iso(dueAt(input.period_end, ctx.program.payout_term))}, s.commission_count, 0, ${stamp}, ${stamp}
          from (${payableSums(ctx, input.period_end, chunk)}) s where s.reason is null`),
      },
      {
        statement: db.run(sql`update commissions set payout_id = (${holder}),
            updated_at = ${laterStamp(sql`updated_at`, stamp)}
          where ${payable(ctx, "commissions", input.period_end)}
            and partner_id > ${chunk.after} and partner_id <= ${chunk.upto} and exists (${holder})`),
      },
    ],
    occurrences: [],
    selected: [generatedOccurrences(ctx, made)],
  });
  return stem;
}

/** What a run made (or would make) and what it left, in one read. */
async function report(ctx: ProgramCtx, input: GenerationInput, stems: string[]): Promise<Generation> {
  const { db } = ctx;
  const sums = payableSums(ctx, input.period_end);
  const columns = sql`s.partner_id as partner_id, s.currency as currency, s.amount_cents as amount_cents,
    s.commission_count as commission_count`;
  const madeIn = sql`from json_each(${JSON.stringify(stems)}) j cross join payouts p
    on ${mintedFrom(sql`j.value`, sql`p.id`)}`;
  const skipped = db.all<SkippedSum>(sql`select ${columns}, s.reason as reason from (${sums}) s
    where s.reason is not null order by s.partner_id, s.currency limit ${literal(MAX_LISTED)}`);
  const totalled = db.all<{ currency: string; made: 0 | 1; count: number; amount_cents: number }>(sql`
    select s.currency as currency, s.reason is null as made, count(*) as count, sum(s.amount_cents) as amount_cents
    from (${sums}) s group by 1, 2`);
  const dated = () => ({
    chunks: stems.length,
    dry_run: input.dry_run,
    period_start: input.period_start === null ? null : iso(input.period_start),
    period_end: iso(input.period_end),
    due_at: iso(dueAt(input.period_end, ctx.program.payout_term)),
  });
  if (input.dry_run) {
    const [planned, left, counted] = await ctx.read(
      db.all<PlannedPayout>(sql`select ${columns}, s.method as method from (${sums}) s
        where s.reason is null order by s.partner_id, s.currency limit ${literal(MAX_LISTED)}`),
      skipped,
      totalled,
    );
    return { ...dated(), payouts: planned, skipped: left, totals: totals(counted) };
  }
  const [made, left, madeTotals, leftTotals] = await ctx.read(
    db
      .select()
      .from(payouts)
      .where(sql`${payouts.id} in (select p.id ${madeIn})`)
      .orderBy(payouts.partner_id, payouts.currency)
      .limit(MAX_LISTED),
    skipped,
    db.all<{ currency: string; made: 0 | 1; count: number; amount_cents: number }>(sql`
      select p.currency as currency, 1 as made, count(*) as count, sum(p.amount_cents) as amount_cents
      ${madeIn} group by p.currency`),
    totalled,
  );
  return {
    ...dated(),
    payouts: made,
    skipped: left,
    totals: totals([...madeTotals, ...leftTotals.filter((row) => row.made === 0)]),
  };
}

function totals(rows: { currency: string; made: 0 | 1; count: number; amount_cents: number }[]): GenerationTotals[] {
  const byCurrency = new Map<string, GenerationTotals>();
  for (const { currency, made, count, amount_cents } of rows) {
    const total = byCurrency.get(currency) ?? { currency, payouts: 0, amount_cents: 0, skipped: 0, skipped_cents: 0 };
    if (made === 1) Object.assign(total, { payouts: count, amount_cents });
    else Object.assign(total, { skipped: count, skipped_cents: amount_cents });
    byCurrency.set(currency, total);
  }
  return [...byCurrency.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}
