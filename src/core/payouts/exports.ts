/** Files by which payouts are paid: made, marked as paid, canceled (OUT-22). */
import { and, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { columnsOf, flag, selectRows } from "../../db/rows.ts";
import { payoutExports, payouts } from "../../db/schema.ts";
import { addUp } from "../../domain/money.ts";
import type { ExportStatus, FileFormat, LeftOutReason } from "../../domain/payout-export.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { pagedList, readPage } from "../kernel/list-page.ts";
import { untilWon } from "../kernel/races.ts";
import type { Payout, PayoutExport } from "../kernel/rows.ts";
import { viewPayoutExport, type PayoutExportView } from "../kernel/views.ts";
import { sealDebtor } from "./debtor.ts";
import {
  changeExport,
  firstStep,
  movedEvents,
  movePayouts,
  payStep,
  putBack,
  readFileState,
  selectExport,
  type FileState,
} from "./export-steps.ts";
import { exportedEvent, FORMATS, leftOutBecause } from "./file-formats.ts";
import { isHeld } from "./hold.ts";
import { openRecipient } from "./recipient.ts";

export interface ExportInput {
  format: FileFormat;
  currency: string;
  /** Whether to take the payouts that failed in an earlier file instead of the pending ones. */
  retry?: boolean | undefined;
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
 * Moves the oldest pending payouts of the format's method in this currency to `processing`, in one file; with `retry`,
 * those that failed in an earlier one (OUT-28). A payout that the file cannot contain, or whose partner has a
 * hold, stays as it is.
 * @throws `invalid_transition` if no payout is left; `validation_failed` for a currency without such files, and if the
 * program's debtor is missing (OUT-27).
 */
export async function createExport(
  caller: Caller,
  { format, currency, retry = false }: ExportInput,
): Promise<MadeExport> {
  const { currencies, needs_debtor } = FORMATS[format];
  if (currencies && !currencies.includes(currency)) {
    throw invalidField("currency", `There is no ${format} file in ${currency}: ${currencies.join(", ")}.`);
  }
  const move = [retry ? "failed" : "pending", "processing"] as const;
  return untilWon(async () => {
    const [ctx] = await prove(caller);
    const id = newId("export", ctx.now);
    const debtor_sealed = needs_debtor ? await sealDebtor(ctx, id) : null;
    const { taken, left_out } = await choosePayouts(ctx, { format, currency, retry });
    if (taken.length === 0) throw nothingToExport(left_out);
    const stamp = iso(ctx.now);
    const made: PayoutExport = {
      ...{ id, program_id: ctx.program.id, format, currency, count: taken.length, debtor_sealed },
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
        movePayouts(ctx, ids, move, { changes: sql`failure_code = null, failure_message = null,`, unlessHeld: true }),
        { statement: ctx.db.insert(payoutExports).values(made) },
        {
          statement: ctx.db.run(sql`insert into export_items (export_id, payout_id, status)
            select ${made.id}, value, 'open' from json_each(${JSON.stringify(ids)})`),
        },
      ],
      occurrences: [exportedEvent(made)],
      selected: [movedEvents(ctx, ids, move)],
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
      const isExcept = new Set(except);
      const open = items.filter(({ status }) => status === "open");
      const back = open.filter(({ payout_id }) => isExcept.has(payout_id)).map(({ payout_id }) => payout_id);
      const rest = open.filter(({ payout_id }) => !isExcept.has(payout_id));
      if (rest.length === 0 && !items.some(({ status }) => status === "paid"))
        throw invalidField("except", "No payout is left. Cancel the file instead.");
      const step = firstStep(rest);
      const noted = before.reference ?? reference;
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

/** Makes the open payouts of an open file pending again. @throws `invalid_transition` if one is paid, or it is not open. */
export async function cancelExport(caller: Caller, id: string): Promise<PayoutExport> {
  return untilWon(async () => {
    const { ctx, before, items } = await readOpen(caller, id);
    if (items.some(({ status }) => status === "paid")) {
      throw new AppError(
        "invalid_transition",
        "Some of its payouts are paid. Mark it as paid, except those that are not.",
      );
    }
    const { write, changed } = changeExport(ctx, before, { status: "canceled" });
    const ids = items.filter(({ status }) => status === "open").map(({ payout_id }) => payout_id);
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

type Candidate = Pick<Payout, "id" | "amount_cents">;

async function choosePayouts(
  ctx: ProgramCtx,
  { format, currency, retry = false }: ExportInput,
): Promise<{ taken: Candidate[]; left_out: LeftOut[] }> {
  const { method, most } = FORMATS[format];
  const taken: Candidate[] = [];
  const left_out: LeftOut[] = [];
  for (let after = ""; ;) {
    const [rows] = await ctx.read(
      selectRows(
        ctx.db,
        { ...columnsOf(payouts, "id", "amount_cents", "currency", "recipient", "recipient_sealed"), held: flag },
        sql`select id, amount_cents, currency, recipient, recipient_sealed, ${isHeld(ctx)} as held from payouts
          where program_id = ${ctx.program.id} and status = ${literal(retry ? "failed" : "pending")} and method = ${literal(method)}
            and currency = ${currency} and id > ${after} order by id limit ${literal(ROWS_PER_READ)}`,
      ),
    );
    const reasons = await Promise.all(
      rows.map(async (row) => {
        if (row.recipient === null) return "details_missing";
        return leftOutBecause(format, row, await openRecipient(ctx, row)) ?? (row.held ? "held" : null);
      }),
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
  const message = "No payout of this currency fits the file.";
  return new AppError("invalid_transition", message, details.length === 0 ? {} : { details });
}

async function readOpen(caller: Caller, id: string): Promise<FileState> {
  const state = await readFileState(caller, id);
  if (state.before.status === "open") return state;
  throw new AppError("invalid_transition", `This export is already ${state.before.status}.`);
}
