/** Sales that partners claim. */
import { sql } from "drizzle-orm";
import { index, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { ClaimStatus } from "../domain/claim.ts";
import { partners, programs } from "./schema-program.ts";

/** A partner's claim: an order by its id, or by its day and the domain of the customer's address. */
export const claims = sqliteTable(
  "claims",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    partner_id: text()
      .notNull()
      .references(() => partners.id),
    status: text().$type<ClaimStatus>().notNull(),
    /** As the partner typed it. */
    order_id: text(),
    /** `2026-11-02`, and the domain in lower case. */
    day: text(),
    email_domain: text(),
    /** The payment to which the decision applies. */
    payment_id: text(),
    /** The owner's note to the partner. */
    note: text(),
    created_at: text().notNull(),
    decided_at: text(),
  },
  (t) => [
    index("claims_list").on(t.program_id, t.id),
    index("claims_status").on(t.program_id, t.status, t.id),
    index("claims_partner").on(t.partner_id, t.id),
    index("claims_open").on(t.partner_id, t.status),
    // A repeated claim is one claim.
    uniqueIndex("claims_order")
      .on(t.partner_id, t.order_id)
      .where(sql`order_id is not null`),
    uniqueIndex("claims_day")
      .on(t.partner_id, t.day, t.email_domain)
      .where(sql`day is not null`),
    index("claims_payment")
      .on(t.payment_id)
      .where(sql`payment_id is not null`),
  ],
);
