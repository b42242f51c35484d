/** The content of the files by which payouts are paid (OUT-22). */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { columnsOf, selectRows, whole } from "../../db/rows.ts";
import { payouts } from "../../db/schema.ts";
import type { Debtor } from "../../domain/payout-export.ts";
import type { Recipient } from "../../domain/recipient.ts";
import { AppError } from "../../lib/errors.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { isSealedBy } from "../kernel/sealer.ts";
import type { Payout, PayoutExport } from "../kernel/rows.ts";
import { openFrozenDebtor } from "./debtor.ts";
import { getExport } from "./exports.ts";
import { exportedEvent, FORMATS } from "./file-formats.ts";
import { openRecipient } from "./recipient.ts";

const ROWS_PER_READ = 1_000;

/**
 * The bytes of a file, the same each time, in pieces of at most 1,000 payouts: they are made from the stored rows, whose
 * amounts and recipients never change, and from the debtor as it was when the file was made. @throws `invalid_transition`
 * for a canceled file, whose payouts can be in another one, and if no key opens the details any more.
 */
export async function readExportFile(
  caller: Caller,
  id: string,
): Promise<{ pieces: AsyncIterable<string>; media_type: string; name: string }> {
  const found = await getExport(caller, id);
  if (found.status === "canceled") {
    throw new AppError("invalid_transition", "The file was canceled. Its payouts can be in another file.");
  }
  const [ctx, [unreadable], first] = await prove(
    caller,
    selectRows(
      caller.db,
      { count: whole },
      sql`select count(*) as "count" from export_items i cross join payouts p on p.id = i.payout_id
        where i.export_id = ${id} and not ${isSealedBy(sql`p.recipient_sealed`, await caller.sealer.openable())}`,
    ),
    selectFileRows(caller, id, ""),
  );
  const debtor = await openFrozenDebtor(ctx, found);
  if ((unreadable && unreadable.count > 0) || (found.debtor_sealed !== null && debtor === null)) {
    throw new AppError("invalid_transition", "The key that opens the details in the file is not there any more.");
  }
  await commit(ctx, { writes: [], occurrences: [exportedEvent(found)] });
  const { media_type, extension } = FORMATS[found.format];
  return {
    pieces: pieces(ctx, { ...found, debtor }, first),
    media_type,
    name: `payouts-${found.currency}-${id}.${extension}`,
  };
}

type StoredRow = Pick<Payout, "id" | "amount_cents" | "currency" | "recipient_sealed">;

async function* pieces(
  ctx: ProgramCtx,
  file: PayoutExport & { debtor: Debtor | null },
  first: StoredRow[],
): AsyncGenerator<string, void, undefined> {
  const { head, row: line, foot = "" } = FORMATS[file.format];
  if (head) yield head(file);
  for (let rows = first; ;) {
    const opened = await Promise.all(rows.map(async (row) => ({ ...row, to: await openOrThrow(ctx, row) })));
    if (rows.length > 0) yield opened.map(line).join("");
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_PER_READ) break;
    [rows] = await ctx.read(selectFileRows(ctx, file.id, last.id));
  }
  yield foot;
}

async function openOrThrow(ctx: ProgramCtx, row: StoredRow): Promise<Recipient> {
  const to = await openRecipient(ctx, row);
  if (to === null) throw new Error(`the recipient of ${row.id} cannot be opened`);
  return to;
}

function selectFileRows(ctx: Reader, id: string, after: string) {
  return selectRows(
    ctx.db,
    columnsOf(payouts, "id", "amount_cents", "currency", "recipient_sealed"),
    sql`select p.id as id, p.amount_cents as amount_cents, p.currency as currency, p.recipient_sealed as recipient_sealed
      from export_items i cross join payouts p on p.id = i.payout_id
      where i.export_id = ${id} and i.payout_id > ${after} and +p.program_id = ${ctx.programId}
      order by i.payout_id limit ${literal(ROWS_PER_READ)}`,
  );
}
