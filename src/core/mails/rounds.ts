/** Due times of periodic e-mails, in the programs' own zones, even if a run is late (MAIL-12, MAIL-13). */
import { and, eq, sql, type InferSelectModel } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { mailRounds, programs } from "../../db/schema.ts";
import type { PeriodicMail } from "../../domain/mail.ts";
import { HOUR, iso } from "../../lib/time.ts";
import type { Write } from "../kernel/commit.ts";
import type { BaseCtx, ProgramCtx } from "../kernel/context.ts";
import type { Owner } from "../kernel/work.ts";
import { programFields } from "../kernel/program-rows.ts";
import type { Program } from "../kernel/rows.ts";

/** They are due this long after the start of the day. */
export const MORNING = 7 * HOUR;

const PROGRAMS_AT_ONCE = 50;

export type MailRound = InferSelectModel<typeof mailRounds>;

/** A program whose e-mails of a kind are due; its key contains the due time. */
export interface DueRound extends Owner {
  program: Program;
  round: MailRound;
}

/** The next programs with a due round of a kind, the longest due first. One statement. */
export async function roundsDue(
  { db, now }: Pick<BaseCtx, "db" | "now">,
  kind: PeriodicMail,
  after: string,
): Promise<DueRound[]> {
  // Before the first there is no time, and a text before every id.
  const [next_at = "", program_id = ""] = after.split(" ");
  const rows = await db
    .select({ round: mailRounds, program: programFields() })
    .from(mailRounds)
    .innerJoin(programs, eq(programs.id, mailRounds.program_id))
    .where(
      sql`${mailRounds.kind} = ${literal(kind)} and ${mailRounds.next_at} <= ${iso(now)}
        and (${mailRounds.next_at}, ${mailRounds.program_id}) > (${next_at}, ${program_id})`,
    )
    .orderBy(mailRounds.next_at, mailRounds.program_id)
    .limit(atMost(PROGRAMS_AT_ONCE));
  return rows.map((row) => ({ ...row, key: `${row.round.next_at} ${row.round.program_id}` }));
}

/** The statement that reads the current state of a program's round of a kind. */
export function selectRound({ db, program }: ProgramCtx, kind: PeriodicMail) {
  return db
    .select()
    .from(mailRounds)
    .where(and(eq(mailRounds.program_id, program.id), eq(mailRounds.kind, kind)));
}

/** Advances a round; the commit is refused if another run has. */
export function moveRound({ db }: ProgramCtx, before: MailRound, set: Partial<MailRound>): Write {
  const { program_id, kind, next_at, since, until, position } = before;
  const isSame = sql`${mailRounds.program_id} = ${program_id} and ${mailRounds.kind} = ${kind}
    and ${mailRounds.next_at} = ${next_at} and ${mailRounds.since} is ${since} and ${mailRounds.until} is ${until}
    and ${mailRounds.position} is ${position}`;
  return { statement: db.update(mailRounds).set(set).where(isSame), expect: 1 };
}
