import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { flag, nullable, selectRows, text, textOf, type Columns, type Row } from "../../db/rows.ts";
import { TO_UNPROVED, type MailKind, type MailStatus } from "../../domain/mail.ts";
import { notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";

/** An e-mail that was not delivered, or whose result is unknown. */
export interface FailedMail {
  id: string;
  kind: MailKind;
  recipient: string;
  status: Extract<MailStatus, "refused" | "failed" | "unknown">;
  error: string | null;
  completed_at: string | null;
  /** Whether its text is still stored. */
  may_be_sent_again: 0 | 1;
}

const FAILED: Columns<FailedMail> = {
  id: text,
  kind: textOf<MailKind>(),
  recipient: text,
  status: textOf<FailedMail["status"]>(),
  error: nullable(text),
  completed_at: nullable(text),
  may_be_sent_again: flag,
};

/** The limit of listed e-mails. */
const LISTED = 50;

/** The newest e-mails of a program that were not delivered, or may not have been. */
export async function readFailedMails(ctx: ProgramCtx): Promise<FailedMail[]> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      FAILED,
      sql`select id, kind, recipient, status, error, completed_at,
          status = 'failed' and content is not null as may_be_sent_again
        from mails indexed by mails_failed
        where program_id = ${ctx.program.id} and status in ('refused', 'failed', 'unknown') and kind <> ${literal(TO_UNPROVED)}
        order by id desc limit ${literal(LISTED)}`,
    ),
  );
  return rows;
}

/**
 * Resends a failed e-mail, never one that may have arrived. @throws `not_found` unless the program's, failed and with a
 * text
 */
export async function sendMailAgain(ctx: ProgramCtx, id: string): Promise<void> {
  const due = iso(ctx.now);
  try {
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db.run(sql`update mails set status = 'pending', attempt_count = 0, next_attempt_at = ${due},
              completed_at = null, sender = null, created_at = ${due}
            where id = ${id} and program_id = ${ctx.program.id} and status = 'failed' and content is not null`),
          expect: 1,
        },
      ],
      occurrences: [],
    });
  } catch (error) {
    if (error instanceof CommitConflict) throw notFound("failed e-mail");
    throw error;
  }
  ctx.mailer?.wake(ctx.program.id);
}

/** The last e-mail to a reader, if the address refused it permanently. */
const REFUSED = { recipient: text, reason: nullable(text), at: nullable(text) };
export type RefusedMail = Row<typeof REFUSED>;

/** A row if the last e-mail to a partner was refused; no row if it was sent or does not exist. */
export function refusedMail({ db, programId }: Reader, partner_id: string) {
  return selectRows(
    db,
    REFUSED,
    sql`select recipient, error as reason, completed_at as at from
        (select * from (select * from mails indexed by mails_partner where partner_id = ${partner_id} order by id desc
            limit ${literal(LISTED)})
          where program_id = ${programId} and status in ('sent', 'refused') order by id desc limit 1)
      where status = 'refused'`,
  );
}
