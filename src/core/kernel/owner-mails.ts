import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { OwnerNeed } from "../../domain/mail.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import type { ProgramCtx, Statement } from "./context.ts";

/** A task for the owner, from the change that is committed beside it. */
export interface OwnerMail {
  kind: OwnerNeed;
  /** Only if this is true once the change is written; always if it is absent. */
  where?: SQL;
}

/**
 * The statement that stores the e-mail about it (MAIL-11). There is at most one of a kind within a day: a task after it
 * was composed is in the next one, which is due a day later; a task before that is in the one that waits. One that had
 * no content when it was due does not delay others; a kind that is switched off still has one row a day.
 */
export function insertOwnerMail({ db, program, now }: ProgramCtx, { kind, where = sql`true` }: OwnerMail): Statement {
  const own = sql`program_id = ${program.id} and kind = ${literal(kind)} and subject_id is not null`;
  const isOff = sql`exists (select 1 from mail_preferences f
    where f.program_id = ${program.id} and f.reader = '' and f.kind = ${literal(kind)})`;
  const newest = sql`(select max(subject_id) from mails where ${own} and (status <> 'withheld' or ${isOff}))`;
  // No two have the same subject, including those without content.
  const last = sql`(select max(subject_id) from mails where ${own})`;
  const later = (time: SQL, by: SQL) => sql`coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ${time}, ${by}), '')`;
  return db.run(sql`insert into mails
      (id, program_id, kind, recipient, subject_id, status, attempt_count, next_attempt_at, created_at)
    select ${newId("mail", now)}, ${program.id}, ${literal(kind)}, ${program.owner_email}, s.due, 'pending', 0, s.due, s.due
    from (select max(${iso(now)}, ${later(newest, sql`'+1 day'`)}, ${later(last, sql`'+0.001 seconds'`)}) as due) s
    where (${where}) and not exists (
      select 1 from mails where ${own} and subject_id = ${newest} and status = 'pending' and content is null)
    on conflict do nothing`);
}
