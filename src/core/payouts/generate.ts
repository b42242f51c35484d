import { sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { amount, nullable, sealed, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { payouts } from "../../db/schema.ts";
import type { SourceAmount } from "../../domain/exchange.ts";
import { add, NOTHING, type Cents } from "../../domain/money.ts";
import type { PayoutMethod } from "../../domain/partner.ts";
import { dueAt, periodProblem, type SkipReason } from "../../domain/payout.ts";
import { shownRecipient, type RecipientSource } from "../../domain/recipient.ts";
import { invalidField } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { logLine } from "../../lib/log.ts";
import type { Sealed } from "../../lib/seal.ts";
import { partsOf } from "../../lib/slices.ts";
import { iso } from "../../lib/time.ts";
import { commit, eventIds, type Write } from "../kernel/commit.ts";
import { BalanceTooLarge } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { untilWon } from "../kernel/races.ts";
import type { Payout } from "../kernel/rows.ts";
import type { SealedDetails } from "../kernel/sealed-details.ts";
import { laterStamp } from "../ledger/commission-rows.ts";
import { contains, isPricing, parseSources, readPricing, type Pricing } from "./exchange.ts";
import { payable, payableSums, type Chunk, type GenerationInput } from "./payable.ts";
import { selectPayouts } from "./hold.ts";
import { currentRecipient, sealRecipient } from "./recipient.ts";
import { generatedOccurrences, mailsAboutPayouts } from "./rows.ts";
import { isWithoutDetails } from "./take-details.ts";

/** A partner's payable commissions in one currency, or of all currencies in the payout currency. */
export interface PayableSum {
  partner_id: string;
  currency: string;
  amount_cents: Cents;
  commission_count: number;
}

export interface PlannedPayout extends PayableSum {
  method: PayoutMethod | null;
  /** The end of the partner's hold in force (OUT-24); null without one. */
  held_until: string | null;
  /** The conversions (OUT-39); null for a payout as earned. */
  source_amounts: SourceAmount[] | null;
}

export interface SkippedSum extends PayableSum {
  reason: SkipReason;
}

const PAYABLE_SUM = { partner_id: text, currency: text, commission_count: whole, amount_cents: amount };
const PLANNED_PAYOUT = {
  ...PAYABLE_SUM,
  ...{ method: nullable(textOf<PayoutMethod>()), held_until: nullable(text), source_amounts: nullable(text) },
};
const SKIPPED_SUM: Columns<SkippedSum> = { ...PAYABLE_SUM, reason: textOf<SkipReason>() };

export interface GenerationTotals {
  currency: string;
  payouts: number;
  amount_cents: Cents;
  skipped: number;
  skipped_cents: Cents;
}

export interface Generation {
  /** The number of transactions of the run. */
  chunks: number;
  dry_run: boolean;
  /** The currency of the payouts; null: as earned. */
  payout_currency: string | null;
  period_start: string | null;
  period_end: string;
  due_at: string;
  /** The payouts made, or with `dry_run` the payouts it would make; the first `MAX_LISTED`. */
  payouts: Payout[] | PlannedPayout[];
  /** The sums that roll over, with reasons; the first `MAX_LISTED`. */
  skipped: SkippedSum[];
  /** Exact, even if not all are listed. */
  totals: GenerationTotals[];
  /** How many sums roll over, by reason. */
  reasons: ReadonlyMap<SkipReason, number>;
  without_details: WithoutDetails;
}

/** Payouts of the run without details: details added before they are paid still reach them (OUT-18). */
export interface WithoutDetails {
  partners: number;
  payouts: number;
  /** The first `MAX_LISTED`. */
  partner_ids: string[];
}

/** A reply names at most this many of each; the rest is in the list of payouts. */
const MAX_LISTED = 500;

/**
 * Makes payouts per active or deactivated partner and currency, or with a payout currency per partner: the sum of
 * approved commissions from before `period_end` that are in no payout, and of all negative ones, at any date. A sum below
 * the minimum of its currency, not positive or without an exchange rate, is skipped and rolls over. A rerun creates no
 * further payout (OUT-1, OUT-2), and two concurrent runs do not make one twice: every payout is inserted together with
 * the claim of exactly the commissions it sums, in one transaction with one condition.
 *
 * Partners are processed in at most 81 chunks, each one or two reads and a transaction of eight statements, so a run is
 * at most 817 statements for any number of partners, and few more if partners or rates change meanwhile. A run that
 * ends between two chunks is finished by the next one.
 */
export async function generatePayouts(caller: Caller, input: GenerationInput): Promise<Generation> {
  const problem = periodProblem(input, caller.now);
  if (problem) throw invalidField(problem.path, problem.message);
  const stems: string[] = [];
  if (!input.dry_run) {
    const chunks = await chunksOf(caller, input);
    const [ctx] = await prove(caller);
    while (chunks.length > 0) {
      const stem = await generateNext(ctx, input, chunks);
      if (stem !== null) stems.push(stem);
    }
  }
  return report(caller, input, stems);
}

/** A partner weighs as much as this many commissions. */
const PARTNER_WEIGHT = 10;
/** A chunk has about this weight: a thousand partners, or ten thousand commissions of one. */
const CHUNK_WEIGHT = 10_000;
const MAX_CHUNKS = 80;

/**
 * A run's ranges of partners, whose size grows instead of their number. (D1 binds REAL: without the cast each partner
 * were a chunk.)
 */
export async function chunksOf(ctx: Reader, input: GenerationInput): Promise<Chunk[]> {
  const [bounds] = await ctx.read(
    selectRows(
      ctx.db,
      { upto: text },
      sql`
      with weighed as (
        select c.partner_id as partner_id, count(*) + ${PARTNER_WEIGHT} as weight from commissions c
        where ${payable(ctx, "c", input)} group by c.partner_id),
      placed as (
        select partner_id, cast((sum(weight) over (order by partner_id) - weight)
          / max(${CHUNK_WEIGHT}, sum(weight) over () / ${MAX_CHUNKS}) as integer) as chunk from weighed)
      select max(partner_id) as upto from placed group by chunk order by chunk`,
    ),
  );
  return bounds.map(({ upto }, i) => ({ after: bounds[i - 1]?.upto ?? "", upto }));
}

/**
 * Makes the payouts of the first chunk and removes it from the list. If they do not fit into the program's balance
 * together, its halves replace it: so the payouts that fit are made, and the others are skipped as `too_large`.
 */
export async function generateNext(
  ctx: ProgramCtx,
  input: GenerationInput,
  chunks: Chunk[],
  alongside: Write[] = [],
): Promise<string | null> {
  const chunk = chunks.shift();
  if (!chunk) return null;
  try {
    return await generateChunk(ctx, input, chunk, alongside);
  } catch (error) {
    if (!(error instanceof BalanceTooLarge)) throw error;
    const [payees] = await ctx.read(payeesIn(ctx, input, await readPricing(ctx, { again: true }), chunk));
    const ids = [...new Set(payees.map(({ partner_id }) => partner_id))].toSorted();
    const middle = ids[Math.floor(ids.length / 2) - 1];
    if (middle !== undefined) chunks.unshift({ ...chunk, upto: middle }, { ...chunk, after: middle });
    else logLine("error", { what: "a payout is too large", program_id: ctx.program.id, partner_id: ids[0] });
    return null;
  }
}

/** Characters at the end of a payout id by which a chunk's payouts differ; the ones before are equal. */
const OWN_CHARACTERS = 8;

function isOf(stem: SQL, id: SQL): SQL {
  return sql`${id} between ${stem} || ${"0".repeat(OWN_CHARACTERS)} and ${stem} || ${"z".repeat(OWN_CHARACTERS)}`;
}

/** A partner and currency that a chunk pays, with the partner as frozen. */
interface Payee extends RecipientSource, SealedDetails {
  partner_id: string;
  currency: string;
  /** The version of the partner that was read. */
  seen: string;
}

const PAYEE: Columns<Payee> = {
  partner_id: text,
  currency: text,
  payout_method: nullable(textOf<PayoutMethod>()),
  bank_account_sealed: nullable(sealed),
  crypto_address_sealed: nullable(sealed),
  first_name: nullable(text),
  last_name: nullable(text),
  payout_email: nullable(text),
  provider_a_account_id: nullable(text),
  seen: text,
};

function payeesIn(ctx: ProgramCtx, input: GenerationInput, pricing: Pricing, chunk: Chunk) {
  return selectRows(
    ctx.db,
    PAYEE,
    sql`select s.partner_id as partner_id, s.currency as currency, p.payout_method as payout_method,
      p.bank_account_sealed as bank_account_sealed, p.crypto_address_sealed as crypto_address_sealed,
      p.first_name as first_name, p.last_name as last_name, p.payout_email as payout_email,
      p.provider_a_account_id as provider_a_account_id, s.seen as seen
    from (${payableSums(ctx, input, pricing, chunk)}) s cross join partners p on p.id = s.partner_id
    where s.reason is null`,
  );
}

/** Rows of one parameter, which must not exceed 2 MB. */
const ROWS_PER_PARAMETER = 1_500;
/** The limit for a chunk: 75,000 rows, in a run of six million. */
const MOST_ROW_PARAMETERS = 50;

/**
 * One transaction: the payouts of a range of partners with their recipients, and the claim of their commissions. The
 * database makes the sums at that moment; the recipients are sealed before, so if a partner changes meanwhile, or a
 * rate, it begins again, and no payout goes to other details than the partner has when it is made. Returns the ids'
 * stem, null if there was no payout to make; then `alongside` is not written either.
 */
async function generateChunk(
  ctx: ProgramCtx,
  input: GenerationInput,
  chunk: Chunk,
  alongside: Write[],
): Promise<string | null> {
  let again = false;
  return untilWon(async () => {
    const pricing = await readPricing(ctx, { again });
    again = true;
    const [payees] = await ctx.read(payeesIn(ctx, input, pricing, chunk));
    if (payees.length === 0) return null;
    const stem = newId("payout", ctx.now).slice(0, -OWN_CHARACTERS);
    const rows = await Promise.all(payees.map((payee) => frozenRow(ctx, stem, payee)));
    const made = isOf(sql`${stem}`, sql`p.id`);
    const event_id = eventIds(ctx.now)(sql`p.id`);
    const holder = (columns: SQL) => sql`select ${columns} from payouts p where p.partner_id = commissions.partner_id
      and ${made} and ${contains("p", sql`commissions.currency`)}`;
    const stamp = iso(ctx.now);
    await commit(ctx, {
      writes: [
        { statement: insertPayouts(ctx, { input, pricing, chunk }, rows), expect: rows.length },
        {
          statement: ctx.db.run(sql`update commissions set (payout_id, event_id) = (${holder(sql`p.id, ${event_id}`)}),
              updated_at = ${laterStamp(sql`updated_at`, stamp)}
            where ${payable(ctx, "commissions", input)}
              and partner_id > ${chunk.after} and partner_id <= ${chunk.upto} and exists (${holder(sql`1`)})`),
        },
        ...alongside,
      ],
      occurrences: [],
      selected: [generatedOccurrences(ctx, made, event_id)],
      mailsAbout: [mailsAboutPayouts("payout_generated", made)],
    });
    return stem;
  });
}

type FrozenRow = [id: string, partner: string, currency: string, seen: string, sealed: Sealed, shown: string | null];

async function frozenRow(ctx: ProgramCtx, stem: string, payee: Payee): Promise<FrozenRow> {
  const id = stem + newId("payout", ctx.now).slice(-OWN_CHARACTERS);
  const recipient = await currentRecipient(ctx, payee.partner_id, payee);
  const box = await sealRecipient(ctx, id, recipient);
  return [id, payee.partner_id, payee.currency, payee.seen, box, shownRecipient(payee.payout_method, recipient)];
}

interface Inserted {
  input: GenerationInput;
  pricing: Pricing;
  chunk: Chunk;
}

function insertPayouts(ctx: ProgramCtx, { input, pricing, chunk }: Inserted, rows: readonly FrozenRow[]) {
  const stamp = iso(ctx.now);
  const { period_start, period_end } = input;
  const parameters = Array.from(partsOf(rows, ROWS_PER_PARAMETER), (part) => JSON.stringify(part));
  const values = unionOf(
    parameters.map((json) => sql`select value from json_each(${json})`),
    MOST_ROW_PARAMETERS,
  );
  return ctx.db.run(sql`insert into payouts (id, program_id, partner_id, amount_cents, currency, status, method,
      recipient_sealed, recipient, period_start, period_end, due_at, commission_count, attempt, created_at, updated_at,
      source_amounts)
    select j.value ->> 0, ${ctx.program.id}, s.partner_id, s.amount_cents, s.currency, 'pending', s.method,
      j.value ->> 4, j.value ->> 5, ${period_start === null ? null : iso(period_start)}, ${iso(period_end)},
      ${iso(dueAt(period_end, ctx.program.payout_term))}, s.commission_count, 0, ${stamp}, ${stamp}, s.source_amounts
    from (${values}) j cross join (${payableSums(ctx, input, pricing, chunk)}) s on s.partner_id = j.value ->> 1
      and s.currency = j.value ->> 2 and s.seen = j.value ->> 3
    where s.reason is null and ${isPricing(ctx, pricing)} order by 1`);
}

/** The payouts that a run made (or would make) and the skipped sums, in one read. */
async function report(caller: Caller, input: GenerationInput, stems: string[]): Promise<Generation> {
  const pricing = await readPricing(caller);
  const { program, ...run } = await (input.dry_run
    ? reportPlanned(caller, input, pricing)
    : reportMade(caller, input, pricing, stems));
  return {
    chunks: stems.length,
    dry_run: input.dry_run,
    payout_currency: pricing.currency,
    period_start: input.period_start === null ? null : iso(input.period_start),
    period_end: iso(input.period_end),
    due_at: iso(dueAt(input.period_end, program.payout_term)),
    ...run,
  };
}

type Report = Pick<Generation, "payouts" | "skipped" | "totals" | "reasons" | "without_details"> &
  Pick<ProgramCtx, "program">;

const SUM_COLUMNS = sql`s.partner_id as partner_id, s.currency as currency, s.commission_count as commission_count,
    s.amount_cents as amount_cents`;

/** The sums in no payout: the skipped ones, and all by currency. */
function selectLeft({ db }: Caller, sums: SQL) {
  const skipped = selectRows(
    db,
    SKIPPED_SUM,
    sql`select ${SUM_COLUMNS}, s.reason as reason from (${sums}) s
    where s.reason is not null order by s.partner_id, s.currency limit ${literal(MAX_LISTED)}`,
  );
  const totalled = selectRows(
    db,
    TOTAL_ROW,
    sql`select s.currency as currency, s.reason as reason, count(*) as count, sum(s.amount_cents) as amount_cents
    from (${sums}) s group by 1, 2`,
  );
  return [skipped, totalled] as const;
}

async function reportPlanned(caller: Caller, input: GenerationInput, pricing: Pricing): Promise<Report> {
  const sums = payableSums(caller, input, pricing);
  const [{ program }, planned, lacking, skipped, counted] = await prove(
    caller,
    selectRows(
      caller.db,
      PLANNED_PAYOUT,
      sql`select ${SUM_COLUMNS}, s.method as method, s.held_until as held_until, s.source_amounts as source_amounts
      from (${sums}) s
      where s.reason is null order by s.partner_id, s.currency limit ${literal(MAX_LISTED)}`,
    ),
    selectLacking(caller, sql`from (${sums}) s where s.reason is null and s.lacks_details`),
    ...selectLeft(caller, sums),
  );
  return {
    program,
    payouts: planned.map((row) => ({ ...row, source_amounts: parseSources(row.source_amounts) })),
    skipped,
    ...totals(counted),
    without_details: withoutDetails(lacking),
  };
}

async function reportMade(caller: Caller, input: GenerationInput, pricing: Pricing, stems: string[]): Promise<Report> {
  const { db } = caller;
  const madeIn = sql`from json_each(${JSON.stringify(stems)}) j cross join payouts p
    on ${isOf(sql`j.value`, sql`p.id`)}`;
  const [{ program }, made, madeTotals, lacking, skipped, left] = await prove(
    caller,
    selectPayouts(caller)
      .where(sql`${payouts.id} in (select p.id ${madeIn})`)
      .orderBy(payouts.partner_id, payouts.currency)
      .limit(atMost(MAX_LISTED)),
    selectRows(
      db,
      TOTAL_ROW,
      sql`select p.currency as currency, null as reason, count(*) as count, sum(p.amount_cents) as amount_cents
      ${madeIn} group by p.currency`,
    ),
    selectLacking(caller, sql`${madeIn} where ${isWithoutDetails("p")}`),
    ...selectLeft(caller, payableSums(caller, input, pricing)),
  );
  return {
    program,
    payouts: made,
    skipped,
    ...totals([...madeTotals, ...left.filter(({ reason }) => reason !== null)]),
    without_details: withoutDetails(lacking),
  };
}

/** One row for each partner, the first `MAX_LISTED`, with the numbers of all. `of` gives a row for each payout. */
function selectLacking({ db }: Caller, of: SQL) {
  return selectRows(
    db,
    { partner_id: text, partners: whole, payouts: whole },
    sql`select partner_id, count(*) over () as partners, sum(n) over () as payouts
      from (select partner_id, count(*) as n ${of} group by partner_id)
      order by partner_id limit ${literal(MAX_LISTED)}`,
  );
}

function withoutDetails(rows: readonly { partner_id: string; partners: number; payouts: number }[]): WithoutDetails {
  const { partners = 0, payouts: count = 0 } = rows[0] ?? {};
  return { partners, payouts: count, partner_ids: rows.map(({ partner_id }) => partner_id) };
}

interface TotalRow {
  currency: string;
  /** Null for payouts. */
  reason: SkipReason | null;
  count: number;
  amount_cents: Cents;
}

const TOTAL_ROW: Columns<TotalRow> = {
  ...{ currency: text, reason: nullable(textOf<SkipReason>()), count: whole, amount_cents: amount },
};

function totals(rows: TotalRow[]): Pick<Generation, "totals" | "reasons"> {
  const byCurrency = new Map<string, GenerationTotals>();
  const reasons = new Map<SkipReason, number>();
  for (const { currency, reason, count, amount_cents } of rows) {
    const total = byCurrency.get(currency) ?? {
      currency,
      payouts: 0,
      amount_cents: NOTHING,
      skipped: 0,
      skipped_cents: NOTHING,
    };
    if (reason === null) Object.assign(total, { payouts: count, amount_cents });
    else {
      total.skipped += count;
      total.skipped_cents = add(total.skipped_cents, amount_cents);
      reasons.set(reason, (reasons.get(reason) ?? 0) + count);
    }
    byCurrency.set(currency, total);
  }
  return { totals: [...byCurrency.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1)), reasons };
}
