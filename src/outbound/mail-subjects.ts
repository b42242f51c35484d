import type { BaseCtx } from "../core/kernel/context.ts";
import { readSubject } from "../core/kernel/mail-subjects.ts";
import type { ClaimedMail } from "../core/kernel/mails.ts";
import type { Notice } from "../core/kernel/notices.ts";
import { readEarned } from "../core/ledger/digests.ts";
import { readWeek } from "../core/overview/week.ts";

/** What an e-mail that is written when it is sent is about, as that is now; null where there is nothing to say. */
export function readNotice(ctx: Pick<BaseCtx, "db">, claim: ClaimedMail): Promise<Notice | null> {
  const { kind, program_id, subject_id } = claim;
  if (kind === "weekly_summary") return readWeek(ctx, program_id, subject_id ?? "");
  if (kind === "commissions_earned") return readEarned(ctx, program_id, subject_id ?? "");
  return readSubject(ctx, claim);
}
