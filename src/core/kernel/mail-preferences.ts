import { sql } from "drizzle-orm";
import { shaped, textOf } from "../../db/rows.ts";
import { kindsFor, type MailKind, type MailReader } from "../../domain/mail.ts";
import { iso } from "../../lib/time.ts";
import { commit, type Write } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";

/** Whoever gets e-mails of a program and may choose which. */
export type ChoosingReader = Exclude<MailReader, { audience: "applicant" }>;

/** The owner is an empty text in the rows. */
function keyOf({ partner_id = "" }: ChoosingReader): string {
  return partner_id;
}

/** The kinds that a reader has switched off. */
export async function readSwitchedOff(ctx: ProgramCtx, reader: ChoosingReader): Promise<Set<MailKind>> {
  const [rows] = await ctx.read(
    shaped(
      ctx.db,
      { kind: textOf<MailKind>() },
      sql`select kind from mail_preferences where program_id = ${ctx.program.id} and reader = ${keyOf(reader)}`,
    ),
  );
  return new Set(rows.map(({ kind }) => kind));
}

/**
 * Switches kinds on and off for a reader; the others stay as they are, and so do those that may not be switched off or
 * that the reader does not get.
 */
export async function switchMails(
  ctx: ProgramCtx,
  reader: ChoosingReader,
  wanted: Partial<Record<MailKind, boolean>>,
): Promise<void> {
  const own = kindsFor(reader.audience).filter(({ kind, may_be_off }) => may_be_off && wanted[kind] !== undefined);
  const on = own.flatMap(({ kind }) => (wanted[kind] ? [kind] : []));
  const off = own.flatMap(({ kind }) => (wanted[kind] ? [] : [kind]));
  const { db, program, now } = ctx;
  const writes: Write[] = [];
  if (on.length > 0) {
    writes.push({
      statement: db.run(sql`delete from mail_preferences where program_id = ${program.id} and reader = ${keyOf(reader)}
        and kind in (select value from json_each(${JSON.stringify(on)}))`),
    });
  }
  if (off.length > 0) {
    writes.push({
      statement: db.run(sql`insert into mail_preferences (program_id, reader, kind, off_at)
        select ${program.id}, ${keyOf(reader)}, value, ${iso(now)} from json_each(${JSON.stringify(off)}) where true
        on conflict do nothing`),
    });
  }
  await commit(ctx, { writes, occurrences: [] });
}
