import { and, eq, sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { partners, payouts, programs } from "../../db/schema.ts";
import { isOwnerNeed, type MailKind } from "../../domain/mail.ts";
import type { PayoutStatus } from "../../domain/payout.ts";
import type { BaseCtx } from "./context.ts";
import type { ClaimedMail } from "./mails.ts";
import type { Notice } from "./notices.ts";
import { readOwnerNeed } from "./owner-subjects.ts";
import { selectPrograms } from "./program-rows.ts";

/** Of a payout, and the status in which there is something to say of it. */
const OF_PAYOUTS: Partial<Record<MailKind, readonly PayoutStatus[]>> = {
  payout_generated: ["pending", "processing", "failed", "paid"],
  payout_paid: ["paid"],
  payout_failed: ["failed"],
};

/** What an e-mail that is written when it is sent is about, as that is now; null where there is nothing to say any more. */
export async function readSubject(
  { db }: Pick<BaseCtx, "db">,
  { kind, program_id, subject_id }: ClaimedMail,
): Promise<Notice | null> {
  if (isOwnerNeed(kind)) return readOwnerNeed({ db }, kind, program_id);
  if (kind !== "payout_generated" && kind !== "payout_paid" && kind !== "payout_failed") return null;
  // Of a payout that failed, the number of the attempt follows its id.
  const [payout_id = ""] = (subject_id ?? "").split(":");
  const own = and(eq(payouts.id, payout_id), eq(payouts.program_id, program_id));
  const [[program], [payout], [partner]] = await runBatch(db, [
    selectPrograms(db).where(eq(programs.id, program_id)),
    db.select().from(payouts).where(own),
    db
      .select({ id: partners.id, email: partners.email })
      .from(partners)
      .where(eq(partners.id, sql`(select partner_id from payouts where ${own})`)),
  ]);
  if (!program || !payout || !partner || !OF_PAYOUTS[kind]?.includes(payout.status)) return null;
  return { kind, program, payout, partner };
}
