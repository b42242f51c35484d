import { and, eq, sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { events, partners, payouts, programs } from "../../db/schema.ts";
import { isOwnerNeed, type KindAbout, type MailKind, type PayoutMail, type PeriodicMail } from "../../domain/mail.ts";
import type { PayoutStatus } from "../../domain/payout.ts";
import type { BaseCtx } from "../kernel/context.ts";
import type { ClaimedMail } from "./mails.ts";
import type { Notice, SecurityEvent } from "../kernel/notices.ts";
import { partnerLacksDetails } from "../kernel/payout-details.ts";
import { readOwnerNeed } from "./owner-subjects.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

type Db = Pick<BaseCtx, "db" | "now">;

type Read = (ctx: Db, claim: ClaimedMail) => Promise<Notice | null>;

/** Readers of each kind's subject (periodic ones: `outbound/mail-subjects.ts`); null without content. */
const SUBJECTS: Record<Exclude<KindAbout, PeriodicMail>, Read> = {
  payout_generated: aboutPayout("payout_generated", ["pending", "processing", "failed", "paid"]),
  payout_paid: aboutPayout("payout_paid", ["paid"]),
  payout_failed: aboutPayout("payout_failed", ["failed"]),
  payout_returned: aboutPayout("payout_returned", ["returned"]),
  payout_details_asked: readDetailsAsked,
  security: readSecurityNotice,
};

/** The current subject of an e-mail that is composed when sent; null if it has no content any more. */
export async function readSubject(ctx: Db, claim: ClaimedMail): Promise<Notice | null> {
  const { kind, program_id } = claim;
  if (isOwnerNeed(kind)) return readOwnerNeed(ctx, kind, program_id);
  const read = (SUBJECTS as Partial<Record<MailKind, Read>>)[kind];
  return read ? read(ctx, claim) : null;
}

/** About a payout, in the statuses in which the e-mail has content. */
function aboutPayout(kind: PayoutMail, statuses: readonly PayoutStatus[]): Read {
  return async ({ db }, { program_id, subject_id }) => {
    // The id of a failed payout is followed by the number of the attempt.
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
    if (!program || !payout || !partner || !statuses.includes(payout.status)) return null;
    return { kind, program, payout, partner };
  };
}

/** About missing payout details; null once the partner has added them. */
async function readDetailsAsked({ db }: Db, { program_id, subject_id }: ClaimedMail): Promise<Notice | null> {
  const [id = ""] = (subject_id ?? "").split(":");
  const [[program], [partner]] = await runBatch(db, [
    selectPrograms(db).where(eq(programs.id, program_id)),
    db
      .select({ id: partners.id, email: partners.email })
      .from(partners)
      .where(and(eq(partners.id, id), eq(partners.program_id, program_id), partnerLacksDetails("partners"))),
  ]);
  return program && partner ? { kind: "payout_details_asked", program, partner } : null;
}

/** About changes of access; each e-mail of a commit names its events and its recipient. */
async function readSecurityNotice(
  { db }: Db,
  { program_id, recipient, subject_id }: ClaimedMail,
): Promise<Notice | null> {
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
