import { sql } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import { payouts, programs } from "../../db/schema.ts";
import { iso } from "../../lib/time.ts";
import type { Transfers } from "../../providers/connect.ts";
import { forProgram, type Ctx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import { selectWithHold } from "./hold.ts";
import { continueTransfer } from "./pay.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

/** The limit of one step, for one program and for all together. */
const PAYOUTS_AT_ONCE = 50;
const PROGRAMS_AT_ONCE = 20;
/** Concurrent calls to the vendor. */
const CALLS_AT_ONCE = 4;

/** A program's due open transfers, the longest due last. */
interface OpenTransfers extends Owner {
  payout_ids: string[];
}

/** Continues open transfers (OUT-14), each looked up or sent again under its key. No two runs work on one payout. */
export function reconcileTransfers(ctx: Ctx, transfers: Transfers): Work<OpenTransfers> {
  return {
    // The payout and its program, the lease, up to four calls to the vendor, and twelve statements for one that is paid.
    cost: 20,
    atOnce: CALLS_AT_ONCE,
    async due(after) {
      const rows = await selectRows(
        ctx.db,
        { key: text, payout_ids: text },
        sql`
        select program_id as key, json_group_array(id order by place desc) as payout_ids from (
          select program_id, id, row_number() over (partition by program_id order by reconcile_at) as place
          from payouts indexed by payouts_processing
          where status = 'processing' and reconcile_at <= ${iso(ctx.now)} and program_id > ${after})
        where place <= ${literal(PAYOUTS_AT_ONCE)} group by program_id order by program_id
        limit ${literal(PROGRAMS_AT_ONCE)}`,
      );
      return rows.map(({ key, payout_ids }) => ({ key, payout_ids: JSON.parse(payout_ids) as string[] }));
    },
    async serve({ key, payout_ids }) {
      const id = payout_ids.pop();
      const [[found], [program]] = await runBatch(ctx.db, [
        selectWithHold(ctx).where(sql`${payouts.id} = ${id} and ${payouts.status} = 'processing'
          and ${payouts.reconcile_at} <= ${iso(ctx.now)}`),
        selectPrograms(ctx.db).where(sql`${programs.id} = ${key}`),
      ]);
      if (found && program) {
        const { is_held, ...payout } = found;
        await continueTransfer(forProgram(ctx, program), payout, transfers, { isHeldNow: is_held === 1 });
      }
      return payout_ids.length > 0;
    },
  };
}
