/** E-mails on their way. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { MailKind, MailStatus, PeriodicMail } from "../domain/mail.ts";
import type { Sealed } from "../lib/seal.ts";

/** Every e-mail, committed with what it is about; kept as long as deliveries are. */
export const mails = sqliteTable(
  "mails",
  {
    id: text().primaryKey(),
    program_id: text().notNull(),
    kind: text().$type<MailKind>().notNull(),
    /** The address. */
    recipient: text().notNull(),
    /** JSON: subject, text, html. Null once nobody needs it any more. */
    content: text().$type<Sealed>(),
    status: text().$type<MailStatus>().notNull(),
    attempt_count: integer().notNull(),
    next_attempt_at: text(),
    /** Until when the attempt that is under way is somebody's. */
    claimed_until: text(),
    /** Which sender is asked, or was the last. */
    sender: text(),
    /** What the last attempt failed with, and when. */
    error: text(),
    refused_at: text(),
    created_at: text().notNull(),
    completed_at: text(),
    /** Whose it is, of one to a partner: nothing is sent to one who is deactivated by then. */
    partner_id: text(),
    /** What it is about, of one that is written when it is sent; there is one e-mail of its kind about it. */
    subject_id: text(),
    /** True once nobody knows whether an attempt handed it over: from then on it is only for a sender that takes it once. */
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
    // What counts toward a program's budget of invitations.
    index("mails_to_strangers")
      .on(t.program_id, t.created_at)
      .where(sql`kind in ('invitation', 'member_invited')`),
    uniqueIndex("mails_once")
      .on(t.program_id, t.kind, t.subject_id)
      .where(sql`subject_id is not null`),
    // What nobody got, for the owner.
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
    /** The partner; empty of the owner. */
    reader: text().notNull(),
    kind: text().$type<MailKind>().notNull(),
    off_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.reader, t.kind] })],
);

/**
 * Where a program is with its periodic e-mails of a kind; a trigger of `programs` makes the rows (`core/kernel/mail-rounds.ts`).
 * WITHOUT ROWID.
 */
export const mailRounds = sqliteTable(
  "mail_rounds",
  {
    program_id: text().notNull(),
    kind: text().$type<PeriodicMail>().notNull(),
    /** When they are due next; empty before it is known. */
    next_at: text().notNull().default(""),
    /** What happened before is in earlier ones; null before there is one. */
    since: text(),
    /** Of those that are being stored: what happens from then on is in later ones. */
    until: text(),
    /** How far that is: the id of an event. */
    position: text(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.kind] }),
    index("mail_rounds_due").on(t.kind, t.next_at, t.program_id),
  ],
);
