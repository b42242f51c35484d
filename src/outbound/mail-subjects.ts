import type { BaseCtx } from "../core/kernel/context.ts";
import { readSubject } from "../core/mails/subjects.ts";
import type { ClaimedMail } from "../core/mails/mails.ts";
import type { Notice } from "../core/kernel/notices.ts";
import { readEarned } from "../core/ledger/digests.ts";
import type { MailKind, PeriodicMail } from "../domain/mail.ts";
import { readWeek } from "../core/overview/week.ts";

type ReadPeriodic = (ctx: Pick<BaseCtx, "db">, program_id: string, subject_id: string) => Promise<Notice | null>;

/** Readers of the periodic e-mails' subjects: a new kind does not compile without one. */
const PERIODIC: Record<PeriodicMail, ReadPeriodic> = { weekly_summary: readWeek, commissions_earned: readEarned };

/** Reads the current state of the subject of an e-mail that is composed when sent; null if it has no content. */
export function readNotice(ctx: Pick<BaseCtx, "db" | "now">, claim: ClaimedMail): Promise<Notice | null> {
  const { kind, program_id, subject_id } = claim;
  const read = (PERIODIC as Partial<Record<MailKind, ReadPeriodic>>)[kind];
  return read ? read(ctx, program_id, subject_id ?? "") : readSubject(ctx, claim);
}
