import { sql, type SQL } from "drizzle-orm";
import { orNull, shaped, text, textOf } from "../../db/rows.ts";
import { kindsFor, type MailKind, type MailReader } from "../../domain/mail.ts";
import { firstIdAt, instantOf } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import { commit, type Write } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";
import { meantOf, type Shown } from "./stale.ts";

/** Whoever gets e-mails of a program and may choose which. */
export type ChoosingReader = Exclude<MailReader, { audience: "applicant" }>;

/** The owner is an empty text in the rows. */
function keyOf({ partner_id = "" }: ChoosingReader): string {
  return partner_id;
}

/**
 * Whether an address is the reader's now. Without an address, of a link from before these had one: whether the reader has the
 * address that they had at first, else null, for the link may have gone to either.
 */
export async function isReaderAt(ctx: ProgramCtx, reader: ChoosingReader, address: string | null) {
  const [[known]] = await ctx.read(
    shaped(
      ctx.db,
      { email: text, first: orNull(text) },
      reader.partner_id ? partnerAddress(ctx, reader) : teamAddress(ctx),
    ),
  );
  const isNow = (one: string) => one.toLowerCase() === known?.email.toLowerCase();
  if (address !== null) return isNow(address);
  return known?.first && isNow(known.first) ? true : null;
}

/** A partner is minted at the moment of the event that has their first address. */
function partnerAddress({ program }: ProgramCtx, { partner_id = "" }: ChoosingReader): SQL {
  const [from, until] = [0, 1].map((later) => firstIdAt("event", instantOf(partner_id) + later));
  const created = sql`program_id = ${program.id} and type = 'partner.created' and type <> 'click'
    and id >= ${from} and id < ${until} and payload ->> 'partner_id' = ${partner_id}`;
  return sql`select email, (select payload ->> 'email' from events where ${created}) as first
    from partners where id = ${partner_id} and program_id = ${program.id}`;
}

/** The first owner's row has the program's id; one that was never changed is of the address from the beginning. */
function teamAddress({ program }: ProgramCtx): SQL {
  return sql`select owner_email as email, (select email from program_members m
      where m.id = 'mem_' || substr(programs.id, 6) and m.updated_at = m.created_at) as first
    from programs where id = ${program.id}`;
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
 * that the reader does not get. `shown` is which were on in the form that it is from: what is as shown is left as it is.
 */
export async function switchMails(
  ctx: ProgramCtx,
  reader: ChoosingReader,
  given: Partial<Record<MailKind, boolean>>,
  shown?: Shown,
): Promise<void> {
  // A box is ticked or not: two who change the same one agree.
  const wanted = meantOf(shown ?? {}, given, { shown });
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
