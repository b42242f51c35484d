import { eq, sql, type SQL } from "drizzle-orm";
import { literal, literals, runBatch } from "../../db/client.ts";
import { selectRows, text, whole } from "../../db/rows.ts";
import { programs } from "../../db/schema.ts";
import type { OwnerNeed } from "../../domain/mail.ts";
import { HELD_BY } from "../../domain/payout.ts";
import { DAY, utcDay } from "../../lib/time.ts";
import type { BaseCtx } from "../kernel/context.ts";
import type { Notice } from "../kernel/notices.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { seenCodes } from "../kernel/seen-codes.ts";

const COUNT = { count: whole };

/** The owner's current tasks (MAIL-11); null if there are no tasks any more. One round trip. */
export async function readOwnerNeed(
  { db, now }: Pick<BaseCtx, "db" | "now">,
  kind: OwnerNeed,
  program_id: string,
): Promise<Notice | null> {
  const selectProgram = selectPrograms(db).where(eq(programs.id, program_id));
  if (kind === "codes_unknown") {
    const [[program], codes] = await runBatch(db, [selectProgram, seenCodes({ db, programId: sql`${program_id}` })]);
    return program && codes.length > 0 ? { kind, program, codes } : null;
  }
  if (kind === "webhooks_refused") {
    const [[program]] = await runBatch(db, [selectProgram]);
    return program ? { kind, program } : null;
  }
  if (kind === "clicks_over_budget") {
    const [[program], [last]] = await runBatch(db, [
      selectProgram,
      selectRows(
        db,
        { day: text, count: whole },
        sql`select day, count from click_drops where program_id = ${program_id} and reason = 'over_budget'
          and day >= ${utcDay(now - DAY)} order by day desc limit 1`,
      ),
    ]);
    return program && last ? { kind, program, ...last } : null;
  }
  const [[program], [waiting]] = await runBatch(db, [
    selectProgram,
    selectRows(db, COUNT, sql`select ${COUNTS[kind](program_id)} as count`),
  ]);
  const count = waiting?.count ?? 0;
  return program && count > 0 ? { kind, program, count } : null;
}

/** Counts the rows of a list in a state: a function of the program's id. */
export const listed = (list: string, state: string) => (program_id: string) =>
  sql`coalesce((select count from list_counts where program_id = ${program_id} and list = ${literal(list)}
    and state = ${literal(state)}), 0)`;

/** Counts of a program's rows that need its owner, as SQL. */
export const COUNTS = {
  applications_waiting: listed("applications", "pending"),
  claims_waiting: listed("claims", "open"),
  /** If commissions approve automatically, only flagged ones need a decision (COM-6). */
  commissions_waiting: (program_id: string) => sql`iif(
    (select auto_approve_days from programs where id = ${program_id}) is null,
    ${listed("commissions", "pending")(program_id)}, ${listed("flagged", "pending")(program_id)})`,
  payouts_held: (program_id: string) =>
    sql`(${listed("payouts", "failed")(program_id)} + (${heldPayouts(sql`program_id = ${program_id}`)}))`,
};

/** How many payouts wait for an API key: a select. */
export function heldPayouts(own: SQL): SQL {
  return sql`select count(*) from payouts where ${own} and status = 'processing' and failure_code in ${literals(HELD_BY)}`;
}
