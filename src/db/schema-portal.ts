/** Short-lived state: links by which an owner's own site opens the portal, unconfirmed changes, and kept texts. */
import type { Sealed } from "../lib/seal.ts";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { partners } from "./schema-program.ts";

/**
 * One-time links into the portal, each with the session that it opened. Separate from other links and sessions, which
 * belong to an address: this one belongs to one partner, and has fewer rights.
 */
export const portalLinks = sqliteTable(
  "portal_links",
  {
    token_hash: text().primaryKey(),
    program_id: text().notNull(),
    partner_id: text().notNull(),
    /** The partner's address in lower case when the link was made: a changed address ends the link. */
    email: text().notNull(),
    created_at: text().notNull(),
    /** Expiry of the link, and of its session once used. */
    expires_at: text().notNull(),
    used_at: text(),
    /** Hash of the token in the cookie. */
    session_hash: text(),
    /** True for a session in a frame of the owner's site. */
    framed: integer({ mode: "boolean" }),
    device: text(),
    /** The id of the API key that made the link: link and session end with the key (ACCESS-12). */
    made_by: text(),
  },
  (t) => [
    uniqueIndex("portal_links_session").on(t.session_hash),
    index("portal_links_email").on(t.email),
    index("portal_links_partner").on(t.partner_id),
  ],
);

/**
 * A page or form kept for a short time: the page that answers a form, and a form that was sent after its session had
 * ended. `id` is a SHA-256 of a token that only the browser has. WITHOUT ROWID.
 */
export const keptTexts = sqliteTable(
  "kept_texts",
  {
    /** Empty before there is a session. */
    program_id: text().notNull(),
    id: text().notNull(),
    text: text().$type<Sealed>().notNull(),
    kept_until: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.id] }), index("kept_texts_age").on(t.kept_until)],
);

/**
 * A partner's own change of the payout destination, until its e-mailed link is opened (OUT-25): the newest of each partner.
 */
export const pendingDestinations = sqliteTable(
  "pending_destinations",
  {
    partner_id: text()
      .primaryKey()
      .references(() => partners.id),
    program_id: text().notNull(),
    token_hash: text().notNull(),
    /** The change and the state that it was made from, as JSON. */
    content: text().$type<Sealed>().notNull(),
    created_at: text().notNull(),
    expires_at: text().notNull(),
  },
  (t) => [
    uniqueIndex("pending_destinations_token").on(t.token_hash),
    index("pending_destinations_past").on(t.expires_at),
  ],
);
