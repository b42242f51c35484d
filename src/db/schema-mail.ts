/** E-mails to send. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { MailKind, MailStatus, PeriodicMail } from "../domain/mail.ts";
import type { Sealed } from "../lib/seal.ts";

/** Every e-mail, committed together with its subject; kept as long as deliveries are. */
export const mails = sqliteTable(
  "mails",
  {
    id: text().primaryKey(),
    program_id: text().notNull(),
    kind: text().$type<MailKind>().notNull(),
    /** The address. */
    recipient: text().notNull(),
    /** JSON: subject, text, html. Null once it is no longer needed. */
    content: text().$type<Sealed>(),
    status: text().$type<MailStatus>().notNull(),
    attempt_count: integer().notNull(),
    next_attempt_at: text(),
    /** Until when the current attempt is claimed. */
    claimed_until: text(),
    /** The current or last sender. */
    sender: text(),
    /** The last attempt's error, and its time. */
    error: text(),
    refused_at: text(),
    created_at: text().notNull(),
    completed_at: text(),
    /** The recipient, if it is a partner. A deactivated partner gets no e-mail. */
    partner_id: text(),
    /** The subject of an e-mail that is composed when sent; one e-mail of its kind exists for it. */
    subject_id: text(),
    /** True once the result of an attempt is unknown: from then on only a sender that deduplicates may send it. */
    unsure: integer({ mode: "boolean" }),
  },
  (t) => [
    index("mails_open")
      .on(t.program_id, t.next_attempt_at)
      .where(sql`status in ('pending', 'sending')`),
    index("mails_refused")
      .on(t.program_id, t.refused_at)
      .where(sql`refused_at is not null`),
    index("mails_past").on(t.created_at),
    // E-mails that count toward a program's budget of invitations.
    index("mails_to_strangers")
      .on(t.program_id, t.created_at)
      .where(sql`kind in ('invitation', 'member_invited')`),
    uniqueIndex("mails_once")
      .on(t.program_id, t.kind, t.subject_id)
      .where(sql`subject_id is not null`),
    // Failed e-mails, shown to the owner.
    index("mails_failed")
      .on(t.program_id, t.id)
      .where(sql`status in ('refused', 'failed', 'unknown')`),
    index("mails_partner")
      .on(t.partner_id, t.id)
      .where(sql`partner_id is not null`),
  ],
);

/** Kinds of e-mails that a reader has switched off. WITHOUT ROWID. */
export const mailPreferences = sqliteTable(
  "mail_preferences",
  {
    program_id: text().notNull(),
    /** The partner; empty for the owner. */
    reader: text().notNull(),
    kind: text().$type<MailKind>().notNull(),
    off_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.reader, t.kind] })],
);

/** A program's position in its periodic e-mails (`core/mails/rounds.ts`); made by a trigger. WITHOUT ROWID. */
export const mailRounds = sqliteTable(
  "mail_rounds",
  {
    program_id: text().notNull(),
    kind: text().$type<PeriodicMail>().notNull(),
    /** When they are due next; empty before it is known. */
    next_at: text().notNull().default(""),
    /** The start of the period; earlier events were in earlier e-mails; null before the first. */
    since: text(),
    /** The end of the period being stored; later events are in later e-mails. */
    until: text(),
    /** The progress: the id of an event. */
    position: text(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.kind] }),
    index("mail_rounds_due").on(t.kind, t.next_at, t.program_id),
  ],
);
