/** Applications to become a partner. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Answer, ApplicationStatus } from "../domain/application.ts";
import { programs } from "./schema-program.ts";

/** A submitted form, until its address is verified or the link expires (JOIN-3). */
export const applicationDrafts = sqliteTable(
  "application_drafts",
  {
    /** SHA-256 of the link's token. */
    token_hash: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    email: text().notNull(),
    name: text().notNull(),
    website: text(),
    answers: text({ mode: "json" }).$type<Answer[]>().notNull(),
    /** Version of the terms that the applicant accepted with the form; null without terms. */
    terms_version: integer(),
    created_at: text().notNull(),
    expires_at: text().notNull(),
    /** The `addressKey` of the address, by which forms are counted (JOIN-2). */
    mailbox: text().notNull(),
    /** Keyed hashes of the networks that sent the form (JOIN-2); null outside the platform. */
    network: text(),
    site: text(),
    /** The slug of a group in the link to the form, unchecked. */
    group_slug: text(),
  },
  (t) => [
    index("application_drafts_email").on(sql`lower(${t.email})`, t.created_at),
    index("application_drafts_mailbox").on(t.mailbox, t.created_at),
    index("application_drafts_program").on(t.program_id, t.created_at),
    index("application_drafts_past").on(t.expires_at),
  ],
);

/** Stamps of stored forms, until they expire: each stamp allows one form (JOIN-2). WITHOUT ROWID. */
export const usedStamps = sqliteTable(
  "used_stamps",
  {
    expires_at: text().notNull(),
    nonce: text().notNull(),
    program_id: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.expires_at, t.nonce] })],
);

/** Applications with a verified address. */
export const applications = sqliteTable(
  "applications",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    status: text().$type<ApplicationStatus>().notNull(),
    /** Null once forgotten, as are all other columns that the person wrote (JOIN-8). */
    email: text(),
    name: text(),
    website: text(),
    answers: text({ mode: "json" }).$type<Answer[]>(),
    terms_version: integer(),
    consented_at: text(),
    /** The resulting partner. */
    partner_id: text(),
    /** The owner's note to a declined applicant. */
    note: text(),
    /** Hash of the verification link: reopening it finds its application. */
    token_hash: text().notNull().unique(),
    created_at: text().notNull(),
    decided_at: text(),
    updated_at: text().notNull(),
    /** The slug of the resulting partner's group; an unknown one means the default group. */
    group_slug: text(),
  },
  (t) => [
    index("applications_list").on(t.program_id, t.id),
    index("applications_status").on(t.program_id, t.status, t.id),
    index("applications_email").on(t.program_id, sql`lower(${t.email})`),
    // One pending application per address.
    uniqueIndex("applications_waiting")
      .on(t.program_id, sql`lower(${t.email})`)
      .where(sql`status = 'pending'`),
    index("applications_declined")
      .on(t.decided_at)
      .where(sql`status = 'declined' and email is not null`),
  ],
);
