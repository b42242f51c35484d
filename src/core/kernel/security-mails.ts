import { and, eq, sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { events, programs } from "../../db/schema.ts";
import type { BaseCtx, ProgramCtx, Statement } from "./context.ts";
import { insertMailsAbout, type ClaimedMail } from "./mails.ts";
import type { NoticeOf } from "./notices.ts";
import { selectPrograms } from "./program-rows.ts";
import { isSecurityEvent, type Occurred, type SecurityEvent } from "./security-events.ts";

/** The statements of a commit that e-mail its owners before and after it; each address gets one e-mail. */
export function securityMails(
  ctx: ProgramCtx,
  occurrences: readonly Occurred[],
): { before: Statement[]; after: Statement[] } {
  const notified = occurrences.filter(isSecurityEvent);
  if (notified.length === 0 || !ctx.mailer) return { before: [], after: [] };
  // A new member is e-mailed the invitation instead.
  const others = notified.flatMap(({ type, payload }) =>
    "email" in payload && typeof payload.email === "string" && type !== "member.added" ? [payload.email] : [],
  );
  const ids = notified.map(({ id }) => id).join();
  const owners = sql`select email as recipient from program_members where program_id = ${ctx.program.id} and role = 'owner'`;
  const named = sql`select value as recipient from json_each(${JSON.stringify(others)})`;
  const mailing = (recipients: typeof owners) =>
    insertMailsAbout(ctx, {
      kind: "security",
      from: sql`select recipient, null as partner_id, ${ids} || ' ' || lower(recipient) as subject_id from (${recipients})`,
    });
  return { before: [mailing(sql`${owners} union all ${named}`)], after: [mailing(owners)] };
}

/** The notice of such an e-mail. */
export async function readSecurityNotice(
  { db }: Pick<BaseCtx, "db">,
  { program_id, recipient, subject_id }: Pick<ClaimedMail, "program_id" | "recipient" | "subject_id">,
): Promise<NoticeOf<"security"> | null> {
  const [ids = ""] = (subject_id ?? "").split(" ");
  const [[program], found] = await runBatch(db, [
    selectPrograms(db).where(eq(programs.id, program_id)),
    db
      .select()
      .from(events)
      .where(
        and(
          eq(events.program_id, program_id),
          sql`${events.id} in (select value from json_each(${JSON.stringify(ids.split(","))}))`,
        ),
      )
      .orderBy(events.id),
  ]);
  if (!program || found.length === 0) return null;
  return { kind: "security", program, recipient, events: found as unknown as SecurityEvent[] };
}
