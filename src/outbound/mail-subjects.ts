import type { BaseCtx } from "../core/kernel/context.ts";
import { readSubject } from "../core/kernel/mail-subjects.ts";
import type { ClaimedMail } from "../core/kernel/mails.ts";
import type { Notice } from "../core/kernel/notices.ts";
import { readEarned } from "../core/ledger/digests.ts";
import type { MailKind, PeriodicMail } from "../domain/mail.ts";
import { readWeek } from "../core/overview/week.ts";

type ReadPeriodic = (ctx: Pick<BaseCtx, "db">, program_id: string, subject_id: string) => Promise<Notice | null>;

/** What those at times are about: a new one does not compile until it is read. */
const PERIODIC: Record<PeriodicMail, ReadPeriodic> = { weekly_summary: readWeek, commissions_earned: readEarned };

/** What an e-mail that is written when it is sent is about, as that is now; null where there is nothing to say. */
export function readNotice(ctx: Pick<BaseCtx, "db" | "now">, claim: ClaimedMail): Promise<Notice | null> {
  const { kind, program_id, subject_id } = claim;
  const read = (PERIODIC as Partial<Record<MailKind, ReadPeriodic>>)[kind];
  return read ? read(ctx, program_id, subject_id ?? "") : readSubject(ctx, claim);
}
