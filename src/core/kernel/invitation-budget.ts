import { sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";
import { orNull, shaped, text, whole } from "../../db/rows.ts";
import { TO_STRANGERS } from "../../domain/mail.ts";
import { AppError } from "../../lib/errors.ts";
import { DAY, iso, SECOND } from "../../lib/time.ts";
import { refuseIf } from "./conflict.ts";
import type { ProgramCtx, Statement } from "./context.ts";
import type { NewMail } from "./notices.ts";

/** E-mails of a program within `WINDOW` to addresses that have not signed in to it (MAIL-15). */
const MOST = 200;
const WINDOW = DAY;

/**
 * The statement that refuses a commit whose e-mails exceed the program's invitation budget; empty if no e-mail is to a
 * stranger. It comes after the e-mails are inserted, so that commits at the same time cannot exceed the budget
 * together.
 */
export function admitInvitations(ctx: ProgramCtx, mails: readonly Pick<NewMail, "kind">[]): Statement[] {
  if (!mails.some(isToStranger)) return [];
  return [ctx.db.run(refuseIf(sql`(select count(*) ${counted(ctx)}) > ${literal(MOST)}`))];
}

/** Names the budget as the reason. @throws `rate_limited` if it is used up, until the oldest e-mail expires */
export async function refuseBeyondBudget(ctx: ProgramCtx, mails: readonly Pick<NewMail, "kind">[]): Promise<void> {
  if (!mails.some(isToStranger)) return;
  const [[used]] = await ctx.read(
    shaped(
      ctx.db,
      { count: whole, oldest: orNull(text) },
      sql`select count(*) as count, min(m.created_at) as oldest ${counted(ctx)}`,
    ),
  );
  if (!used || used.count < MOST || used.oldest === null) return;
  const wait_ms = Date.parse(used.oldest) + WINDOW - ctx.now;
  throw new AppError(
    "rate_limited",
    `The program has e-mailed ${MOST} addresses within 24 hours that have not signed in. Please try again later.`,
    { retryAfter: Math.max(Math.ceil(wait_ms / SECOND), 1) },
  );
}

function isToStranger({ kind }: Pick<NewMail, "kind">): boolean {
  return TO_STRANGERS.includes(kind);
}

/** A reader with a session of the program has accepted. A session that a key opened (`portal_links`) does not count. */
function counted({ program, now }: ProgramCtx): SQL {
  return sql`from mails m indexed by mails_to_strangers
    where m.kind in ${literals(TO_STRANGERS)} and m.program_id = ${program.id} and m.created_at > ${iso(now - WINDOW)}
      and not exists (select 1 from sessions s where s.email = lower(m.recipient) and s.program_id = m.program_id)`;
}
