/** Links by which an owner's own site opens the portal. */
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * One-time links into the portal, each with the session that it opened. Apart from other links and sessions, which are those
 * of an address: this one is of one partner, and can do less.
 */
export const portalLinks = sqliteTable(
  "portal_links",
  {
    token_hash: text().primaryKey(),
    program_id: text().notNull(),
    partner_id: text().notNull(),
    /** The partner's, in lower case, when the link was made: another one ends it. */
    email: text().notNull(),
    created_at: text().notNull(),
    /** Of the link, and once it is used of its session. */
    expires_at: text().notNull(),
    used_at: text(),
    /** Of the token in the cookie. */
    session_hash: text(),
    /** True of a session in a frame of the owner's site. */
    framed: integer({ mode: "boolean" }),
    device: text(),
    /** The id of the API key that made the link: link and session end with it (ACCESS-12). */
    made_by: text(),
  },
  (t) => [
    uniqueIndex("portal_links_session").on(t.session_hash),
    index("portal_links_email").on(t.email),
    index("portal_links_partner").on(t.partner_id),
  ],
);
