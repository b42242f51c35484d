/** The steps in which the payouts of a file change (OUT-22, OUT-28). */
import { and, eq, sql, type SQL } from "drizzle-orm";
import { isOneOf, literal } from "../../db/client.ts";
import { columnsOf, selectRows } from "../../db/rows.ts";
import { exportItems, payoutExports, payouts } from "../../db/schema.ts";
import type { Changes } from "../../domain/actor.ts";
import type { ExportItemStatus } from "../../domain/payout-export.ts";
import { notFound } from "../../lib/errors.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { eventIds, type CommitPlan, type Write } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import type { Payout, PayoutExport } from "../kernel/rows.ts";
import { laterStamp } from "../ledger/commission-rows.ts";
import { isHeld } from "./hold.ts";
import { mailsAboutPayouts, movedPayouts, payCommissions } from "./rows.ts";

/** The weight of one transaction that marks payouts as paid: their commissions, and ten for each payout. */
const STEP_WEIGHT = 10_000;
const PAYOUT_WEIGHT = 10;

export function selectExport(ctx: Reader, id: string) {
  return ctx.db
    .select()
    .from(payoutExports)
    .where(and(eq(payoutExports.id, id), sql`${payoutExports.program_id} = ${ctx.programId}`));
}

/** A payout of a file. */
export interface Listed extends Pick<typeof exportItems.$inferSelect, "payout_id" | "status"> {
  commission_count: number;
  amount_cents: Payout["amount_cents"];
  payout_status: Payout["status"];
}

export interface FileState {
  ctx: ProgramCtx;
  before: PayoutExport;
  items: Listed[];
}

/** Reads a file with its payouts, ordered by id. @throws `not_found` */
export async function readFileState(caller: Caller, id: string): Promise<FileState> {
  const [ctx, [before], items] = await prove(
    caller,
    selectExport(caller, id),
    selectRows(
      caller.db,
      {
        ...columnsOf(exportItems, "payout_id", "status"),
        ...columnsOf(payouts, "commission_count", "amount_cents"),
        payout_status: columnsOf(payouts, "status").status,
      },
      sql`select i.payout_id as payout_id, i.status as status, p.commission_count as commission_count,
          p.amount_cents as amount_cents, p.status as payout_status
        from export_items i cross join payouts p on p.id = i.payout_id
        where i.export_id = ${id} and +p.program_id = ${caller.programId} order by i.payout_id`,
    ),
  );
  if (!before) throw notFound("export");
  return { ctx, before, items };
}

/** The first payouts, at least one, of at most the weight of a step. */
export function firstStep<Item extends Pick<Payout, "commission_count">>(items: readonly Item[]): Item[] {
  let weight = 0;
  const end = items.findIndex(({ commission_count }, at) => {
    weight += commission_count + PAYOUT_WEIGHT;
    return at > 0 && weight > STEP_WEIGHT;
  });
  return end === -1 ? [...items] : items.slice(0, end);
}

/** Compare-and-set on the status and the instant of the last change. */
export function changeExport(
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

export type Move = readonly [from: Payout["status"], to: Payout["status"]];

interface MoveOptions {
  changes?: SQL;
  /** A payout of a partner with a hold is a lost race (OUT-24). */
  unlessHeld?: true;
}

export function movePayouts(
  ctx: ProgramCtx,
  ids: readonly string[],
  [from, to]: Move,
  { changes = sql``, unlessHeld }: MoveOptions = {},
): Write {
  return {
    statement: ctx.db.run(sql`update payouts set status = ${literal(to)}, ${changes}
        updated_at = ${laterStamp(sql`updated_at`, iso(ctx.now))}
      where ${isOneOf(sql`id`, ids)} and +program_id = ${ctx.program.id} and +status = ${literal(from)}
        ${unlessHeld ? sql`and not ${isHeld(ctx)}` : sql``}`),
    expect: ids.length,
  };
}

export function movedEvents(ctx: ProgramCtx, ids: readonly string[], [from, to]: Move) {
  return movedPayouts(
    ctx,
    "payout.updated",
    isOneOf(sql`p.id`, ids),
    { status: [from, to] },
    eventIds(ctx.now)(sql`p.id`),
  );
}

export type Part = Required<Pick<CommitPlan, "writes" | "selected">>;

type Mails = Required<Pick<CommitPlan, "mailsAbout">>;

/** The payouts of the file that become pending again. */
export function putBack(ctx: ProgramCtx, export_id: string, ids: readonly string[]): Part {
  if (ids.length === 0) return { writes: [], selected: [] };
  return {
    writes: [closeItems(ctx, export_id, ids, "back"), movePayouts(ctx, ids, ["processing", "pending"])],
    selected: [movedEvents(ctx, ids, ["processing", "pending"])],
  };
}

/** The payouts of the file that become paid, and their commissions. */
export function payStep(
  ctx: ProgramCtx,
  export_id: string,
  step: readonly Listed[],
  reference: string | null,
): Part & Mails {
  if (step.length === 0) return { writes: [], selected: [], mailsAbout: [] };
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
      movePayouts(ctx, ids, ["processing", "paid"], {
        changes: sql`paid_at = ${iso(ctx.now)}, reference = ${reference},`,
      }),
      paid.write,
    ],
    selected: [movedPayouts(ctx, "payout.paid", which, changes, eventIds(ctx.now)(sql`p.id`)), paid.selected],
    mailsAbout: [mailsAboutPayouts("payout_paid", which)],
  };
}

function closeItems(
  ctx: ProgramCtx,
  export_id: string,
  ids: readonly string[],
  status: Exclude<ExportItemStatus, "open">,
): Write {
  return {
    statement: ctx.db.run(sql`update export_items set status = ${literal(status)}
      where export_id = ${export_id} and status = 'open' and ${isOneOf(sql`payout_id`, ids)}`),
    expect: ids.length,
  };
}

/** A payout of the file that was not paid, with the reason of the bank or service. */
export interface Failed {
  payout_id: string;
  message: string;
}

/** The `failure_code` of a payout that a result file reports as not paid. */
const REFUSED = "payment_refused";

/** The payouts of the file that failed (OUT-28). Each failure counts as an attempt: the partner gets an e-mail for each. */
export function failStep(ctx: ProgramCtx, export_id: string, failed: readonly Failed[]): Part & Mails {
  if (failed.length === 0) return { writes: [], selected: [], mailsAbout: [] };
  const ids = failed.map(({ payout_id }) => payout_id);
  const which = isOneOf(sql`p.id`, ids);
  return {
    writes: [
      closeItems(ctx, export_id, ids, "failed"),
      {
        statement: ctx.db.run(sql`update payouts set status = 'failed', failure_code = ${REFUSED},
            failure_message = f.value ->> 'message', attempt = attempt + 1,
            updated_at = ${laterStamp(sql`updated_at`, iso(ctx.now))}
          from json_each(${JSON.stringify(failed)}) f
          where payouts.id = f.value ->> 'payout_id' and +program_id = ${ctx.program.id} and +status = 'processing'`),
        expect: ids.length,
      },
    ],
    selected: [
      movedPayouts(
        ctx,
        "payout.updated",
        which,
        { status: ["processing", "failed"], failure_code: [null, REFUSED] },
        eventIds(ctx.now)(sql`p.id`),
      ),
    ],
    mailsAbout: [mailsAboutPayouts("payout_failed", which)],
  };
}
