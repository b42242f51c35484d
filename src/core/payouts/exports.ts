/** Files by which payouts are paid: made, marked as paid, canceled (OUT-22). */
import { and, eq, sql, type SQL } from "drizzle-orm";
import { isOneOf, literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { columnsOf, selectRows } from "../../db/rows.ts";
import { exportItems, payoutExports, payouts } from "../../db/schema.ts";
import type { Changes } from "../../domain/actor.ts";
import { addUp } from "../../domain/money.ts";
import type { ExportStatus, FileFormat, LeftOutReason } from "../../domain/payout-export.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { commit, eventIds, type CommitPlan, type Write } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { pagedList, readPage } from "../kernel/list-page.ts";
import { untilWon } from "../kernel/races.ts";
import type { Payout, PayoutExport } from "../kernel/rows.ts";
import { viewPayoutExport, type PayoutExportView } from "../kernel/views.ts";
import { laterStamp } from "../ledger/commission-rows.ts";
import { exportedEvent, FORMATS, leftOutBecause } from "./file-formats.ts";
import { openRecipient } from "./recipient.ts";
import { mailsAboutPayouts, movedPayouts, payCommissions } from "./rows.ts";

export interface ExportInput {
  format: FileFormat;
  currency: string;
}

export interface LeftOut {
  payout_id: string;
  reason: LeftOutReason;
}

/** A new file, and the oldest `MAX_LISTED` pending payouts of its method and currency that are not in it. */
export interface MadeExport {
  made: PayoutExport;
  left_out: LeftOut[];
}

const MAX_LISTED = 500;
const ROWS_PER_READ = 1_000;
/** The weight of one transaction that marks payouts as paid: their commissions, and ten for each payout. */
const STEP_WEIGHT = 10_000;
const PAYOUT_WEIGHT = 10;

export interface ExportFilter extends PageRequest {
  status?: ExportStatus | undefined;
}

const LIST = pagedList("payout_exports", "export", payoutExports, viewPayoutExport);

/** The program's files, newest first. */
export async function listExports(ctx: Reader, filter: ExportFilter): Promise<PageOfTexts<PayoutExportView>> {
  const { status } = filter;
  const conditions = and(
    sql`${payoutExports.program_id} = ${ctx.programId}`,
    status === undefined ? undefined : sql`${payoutExports.status} = ${literal(status)}`,
  );
  return readPage(ctx, LIST, filter, { conditions, state: status, narrowed: false });
}

/** @throws `not_found` */
export async function getExport(caller: Caller, id: string): Promise<PayoutExport> {
  const [, [found]] = await prove(caller, selectExport(caller, id));
  if (!found) throw notFound("export");
  return found;
}

/**
 * Moves the oldest pending payouts of the format's method in this currency to `processing`, in one file. A payout whose
 * details the file cannot contain stays pending. @throws `invalid_transition` if no payout is left.
 */
export async function createExport(caller: Caller, { format, currency }: ExportInput): Promise<MadeExport> {
  return untilWon(async () => {
    const [ctx] = await prove(caller);
    const { taken, left_out } = await choosePayouts(ctx, { format, currency });
    if (taken.length === 0) throw nothingToExport(left_out);
    const stamp = iso(ctx.now);
    const made: PayoutExport = {
      ...{ id: newId("export", ctx.now), program_id: ctx.program.id, format, currency, count: taken.length },
      ...{
        amount_cents: addUp(taken.map(({ amount_cents }) => amount_cents)),
        status: "open",
        reference: null,
        created_at: stamp,
        updated_at: stamp,
      },
    };
    const ids = taken.map(({ id }) => id);
    const result: MadeExport = { made, left_out };
    await commit(ctx, {
      writes: [
        // First, so that a payout that another call has moved is a lost race.
        movePayouts(ctx, ids, ["pending", "processing"]),
        { statement: ctx.db.insert(payoutExports).values(made) },
        {
          statement: ctx.db.run(sql`insert into export_items (export_id, payout_id, status)
            select ${made.id}, value, 'open' from json_each(${JSON.stringify(ids)})`),
        },
      ],
      occurrences: [exportedEvent(made)],
      selected: [movedEvents(ctx, ids, ["pending", "processing"])],
      result,
    });
    return result;
  });
}

/**
 * Marks the payouts of an open file as paid, those of `except` as pending again. A large file is done in steps, each
 * complete: after an interruption the same call does the rest. @throws `invalid_transition` if the file is not open, or
 * an exception is paid already.
 */
export async function markExportPaid(
  caller: Caller,
  id: string,
  { reference, except }: { reference: string | null; except: readonly string[] },
): Promise<PayoutExport> {
  for (;;) {
    const after = await untilWon(async () => {
      const { ctx, before, items } = await readOpen(caller, id);
      const byId = new Map(items.map((item) => [item.payout_id, item.status]));
      for (const [at, payout_id] of except.entries()) {
        const status = byId.get(payout_id);
        if (status === undefined) throw invalidField(`except.${at}`, "This payout is not in the file.");
        if (status === "paid") throw new AppError("invalid_transition", `${payout_id} is marked as paid already.`);
      }
      if (byId.size === new Set(except).size)
        throw invalidField("except", "No payout is left. Cancel the file instead.");
      const isExcept = new Set(except);
      const open = items.filter(({ status }) => status === "open");
      const back = open.filter(({ payout_id }) => isExcept.has(payout_id)).map(({ payout_id }) => payout_id);
      const rest = open.filter(({ payout_id }) => !isExcept.has(payout_id));
      const step = firstStep(rest);
      const noted = items.some(({ status }) => status === "paid") ? before.reference : reference;
      const status = step.length === rest.length ? "paid" : "open";
      const { write, changed } = changeExport(ctx, before, { status, reference: noted });
      const [returned, paid] = [putBack(ctx, id, back), payStep(ctx, id, step, noted)];
      await commit(ctx, {
        writes: [write, ...returned.writes, ...paid.writes],
        occurrences: [],
        selected: [...returned.selected, ...paid.selected],
        mailsAbout: paid.mailsAbout,
        ...(status === "paid" ? { result: changed } : {}),
      });
      return changed;
    });
    if (after.status === "paid") return after;
  }
}

/** Makes all payouts of an open file pending again. @throws `invalid_transition` if one is marked as paid, or it is not open. */
export async function cancelExport(caller: Caller, id: string): Promise<PayoutExport> {
  return untilWon(async () => {
    const { ctx, before, items } = await readOpen(caller, id);
    if (items.some(({ status }) => status !== "open")) {
      throw new AppError("invalid_transition", "The file is being marked as paid. Mark it as paid again to finish.");
    }
    const { write, changed } = changeExport(ctx, before, { status: "canceled" });
    const ids = items.map(({ payout_id }) => payout_id);
    const back = putBack(ctx, id, ids);
    await commit(ctx, {
      writes: [write, ...back.writes],
      occurrences: [],
      selected: back.selected,
      result: changed,
    });
    return changed;
  });
}

function selectExport(ctx: Reader, id: string) {
  return ctx.db
    .select()
    .from(payoutExports)
    .where(and(eq(payoutExports.id, id), sql`${payoutExports.program_id} = ${ctx.programId}`));
}

type Candidate = Pick<Payout, "id" | "amount_cents">;

async function choosePayouts(
  ctx: ProgramCtx,
  { format, currency }: ExportInput,
): Promise<{ taken: Candidate[]; left_out: LeftOut[] }> {
  const { method, most } = FORMATS[format];
  const taken: Candidate[] = [];
  const left_out: LeftOut[] = [];
  for (let after = ""; ;) {
    const [rows] = await ctx.read(
      selectRows(
        ctx.db,
        columnsOf(payouts, "id", "amount_cents", "currency", "recipient", "recipient_sealed"),
        sql`select id, amount_cents, currency, recipient, recipient_sealed from payouts
          where program_id = ${ctx.program.id} and status = 'pending' and method = ${literal(method)}
            and currency = ${currency} and id > ${after} order by id limit ${literal(ROWS_PER_READ)}`,
      ),
    );
    const reasons = await Promise.all(
      rows.map(async (row) =>
        row.recipient === null ? "details_missing" : leftOutBecause(format, await openRecipient(ctx, row)),
      ),
    );
    for (const [at, { id, amount_cents }] of rows.entries()) {
      const reason = reasons[at] ?? null;
      if (reason !== null) left_out.push({ payout_id: id, reason });
      else if (taken.length < most) taken.push({ id, amount_cents });
    }
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_PER_READ || taken.length === most) {
      return { taken, left_out: left_out.slice(0, MAX_LISTED) };
    }
    after = last.id;
  }
}

function nothingToExport(left_out: readonly LeftOut[]): AppError {
  const details = left_out.map(({ payout_id, reason }) => ({ path: payout_id, message: reason }));
  const message = "No pending payout of this currency fits the file.";
  return new AppError("invalid_transition", message, details.length === 0 ? {} : { details });
}

interface Listed extends Pick<typeof exportItems.$inferSelect, "payout_id" | "status"> {
  commission_count: number;
}

async function readOpen(
  caller: Caller,
  id: string,
): Promise<{ ctx: ProgramCtx; before: PayoutExport; items: Listed[] }> {
  const [ctx, [before], items] = await prove(
    caller,
    selectExport(caller, id),
    selectRows(
      caller.db,
      { ...columnsOf(exportItems, "payout_id", "status"), ...columnsOf(payouts, "commission_count") },
      sql`select i.payout_id as payout_id, i.status as status, p.commission_count as commission_count
        from export_items i cross join payouts p on p.id = i.payout_id
        where i.export_id = ${id} and +p.program_id = ${caller.programId} order by i.payout_id`,
    ),
  );
  if (!before) throw notFound("export");
  if (before.status !== "open") {
    throw new AppError("invalid_transition", `An export with the status ${before.status} cannot be changed.`);
  }
  return { ctx, before, items };
}

/** The first payouts, at least one, of at most the weight of a step. */
function firstStep(items: readonly Listed[]): Listed[] {
  let weight = 0;
  const end = items.findIndex(({ commission_count }, at) => {
    weight += commission_count + PAYOUT_WEIGHT;
    return at > 0 && weight > STEP_WEIGHT;
  });
  return end === -1 ? [...items] : items.slice(0, end);
}

/** Compare-and-set on the status and the instant of the last change. */
function changeExport(
  ctx: ProgramCtx,
  before: PayoutExport,
  changes: Partial<PayoutExport>,
): { write: Write; changed: PayoutExport } {
  const patch = { ...changes, updated_at: nextStamp(before.updated_at, ctx.now) };
  return {
    write: {
      statement: ctx.db
        .update(payoutExports)
        .set(patch)
        .where(
          and(
            eq(payoutExports.id, before.id),
            sql`${payoutExports.program_id} = ${ctx.program.id} and ${payoutExports.status} = 'open'`,
            eq(payoutExports.updated_at, before.updated_at),
          ),
        ),
      expect: 1,
    },
    changed: { ...before, ...patch },
  };
}

type Move = readonly [from: Payout["status"], to: Payout["status"]];

function movePayouts(ctx: ProgramCtx, ids: readonly string[], [from, to]: Move, changes: SQL = sql``): Write {
  return {
    statement: ctx.db.run(sql`update payouts set status = ${literal(to)}, ${changes}
        updated_at = ${laterStamp(sql`updated_at`, iso(ctx.now))}
      where ${isOneOf(sql`id`, ids)} and +program_id = ${ctx.program.id} and +status = ${literal(from)}`),
    expect: ids.length,
  };
}

function movedEvents(ctx: ProgramCtx, ids: readonly string[], [from, to]: Move) {
  return movedPayouts("payout.updated", isOneOf(sql`p.id`, ids), { status: [from, to] }, eventIds(ctx.now)(sql`p.id`));
}

type Part = Required<Pick<CommitPlan, "writes" | "selected">>;

/** The payouts of the file that become pending again. */
function putBack(ctx: ProgramCtx, export_id: string, ids: readonly string[]): Part {
  if (ids.length === 0) return { writes: [], selected: [] };
  return {
    writes: [closeItems(ctx, export_id, ids, "back"), movePayouts(ctx, ids, ["processing", "pending"])],
    selected: [movedEvents(ctx, ids, ["processing", "pending"])],
  };
}

/** The payouts of the file that become paid, and their commissions. */
function payStep(
  ctx: ProgramCtx,
  export_id: string,
  step: readonly Listed[],
  reference: string | null,
): Part & Required<Pick<CommitPlan, "mailsAbout">> {
  const ids = step.map(({ payout_id }) => payout_id);
  const which = isOneOf(sql`p.id`, ids);
  const paid = payCommissions(
    ctx,
    step.map(({ payout_id, commission_count }) => ({ id: payout_id, commission_count })),
  );
  const changes: Changes = { status: ["processing", "paid"] };
  if (reference !== null) changes["reference"] = [null, reference];
  return {
    writes: [
      closeItems(ctx, export_id, ids, "paid"),
      movePayouts(ctx, ids, ["processing", "paid"], sql`paid_at = ${iso(ctx.now)}, reference = ${reference},`),
      paid.write,
    ],
    selected: [movedPayouts("payout.paid", which, changes, eventIds(ctx.now)(sql`p.id`)), paid.selected],
    mailsAbout: [mailsAboutPayouts("payout_paid", which)],
  };
}

function closeItems(ctx: ProgramCtx, export_id: string, ids: readonly string[], status: "paid" | "back"): Write {
  return {
    statement: ctx.db.run(sql`update export_items set status = ${literal(status)}
      where export_id = ${export_id} and status = 'open' and ${isOneOf(sql`payout_id`, ids)}`),
    expect: ids.length,
  };
}
