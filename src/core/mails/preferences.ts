import { sql } from "drizzle-orm";
import { selectRows, text, textOf } from "../../db/rows.ts";
import { kindsFor, type MailKind, type MailReader } from "../../domain/mail.ts";
import { iso } from "../../lib/time.ts";
import { commit, type Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";

/** A reader of a program's e-mails who may choose the kinds. */
export type ChoosingReader = Exclude<MailReader, { audience: "applicant" }>;

/** The owner is an empty text in the rows. */
function keyOf({ partner_id = "" }: ChoosingReader): string {
  return partner_id;
}

/** Whether an address is the reader's now; false if there is no such reader. */
export async function isReaderAt(ctx: ProgramCtx, reader: ChoosingReader, address: string): Promise<boolean> {
  const known = reader.partner_id
    ? sql`select email from partners where id = ${reader.partner_id} and program_id = ${ctx.program.id}`
    : sql`select owner_email as email from programs where id = ${ctx.program.id}`;
  const [[row]] = await ctx.read(selectRows(ctx.db, { email: text }, known));
  return row?.email.toLowerCase() === address.toLowerCase();
}

export async function readSwitchedOff(ctx: ProgramCtx, reader: ChoosingReader): Promise<Set<MailKind>> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { kind: textOf<MailKind>() },
      sql`select kind from mail_preferences where program_id = ${ctx.program.id} and reader = ${keyOf(reader)}`,
    ),
  );
  return new Set(rows.map(({ kind }) => kind));
}

/** Switches kinds on and off for a reader who gets them. `shown` is the form's state: unchanged boxes are ignored. */
export async function switchMails(
  ctx: ProgramCtx,
  reader: ChoosingReader,
  given: Partial<Record<MailKind, boolean>>,
  shown?: Shown,
): Promise<void> {
  // A box is ticked or not: two people who change the same one agree.
  const wanted = pickChanged(shown ?? {}, given, { shown });
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
