/** People who ask to become partners. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Answer, ApplicationStatus } from "../domain/application.ts";
import { programs } from "./schema-program.ts";

/** What was sent with the form, until its address is proved or the link that proves it has expired (JOIN-3). */
export const applicationDrafts = sqliteTable(
  "application_drafts",
  {
    /** Of the link: SHA-256. */
    token_hash: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    email: text().notNull(),
    name: text().notNull(),
    website: text(),
    answers: text({ mode: "json" }).$type<Answer[]>().notNull(),
    /** Of the terms that were consented to, when the form was sent; null where the program had none. */
    terms_version: integer(),
    created_at: text().notNull(),
    expires_at: text().notNull(),
    /** The `addressKey` of the address, by which forms are counted (JOIN-2). */
    mailbox: text().notNull(),
    /** Keyed hashes of the networks that the form came from (JOIN-2); null outside the platform. */
    network: text(),
    site: text(),
  },
  (t) => [
    index("application_drafts_email").on(sql`lower(${t.email})`, t.created_at),
    index("application_drafts_mailbox").on(t.mailbox, t.created_at),
    index("application_drafts_program").on(t.program_id, t.created_at),
    index("application_drafts_past").on(t.expires_at),
  ],
);

/** Stamps of forms that were stored, until they expire: a stamp is good for one form (JOIN-2). WITHOUT ROWID. */
export const usedStamps = sqliteTable(
  "used_stamps",
  {
    expires_at: text().notNull(),
    nonce: text().notNull(),
    program_id: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.expires_at, t.nonce] })],
);

/** Applications whose address is proved. */
export const applications = sqliteTable(
  "applications",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    status: text().$type<ApplicationStatus>().notNull(),
    /** Null, as is all else that the person wrote, once it is forgotten (JOIN-8). */
    email: text(),
    name: text(),
    website: text(),
    answers: text({ mode: "json" }).$type<Answer[]>(),
    terms_version: integer(),
    consented_at: text(),
    /** The partner it became. */
    partner_id: text(),
    /** Of the owner, to the person who was declined. */
    note: text(),
    /** Of the link that proved the address: used again, it finds what it has made. */
    token_hash: text().notNull().unique(),
    created_at: text().notNull(),
    decided_at: text(),
    updated_at: text().notNull(),
  },
  (t) => [
    index("applications_list").on(t.program_id, t.id),
    index("applications_status").on(t.program_id, t.status, t.id),
    index("applications_email").on(t.program_id, sql`lower(${t.email})`),
    // One that waits for each address.
    uniqueIndex("applications_waiting")
      .on(t.program_id, sql`lower(${t.email})`)
      .where(sql`status = 'pending'`),
    index("applications_declined")
      .on(t.decided_at)
      .where(sql`status = 'declined' and email is not null`),
  ],
);
