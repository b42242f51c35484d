/** The rules that decide payments, as they were. */
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * What a program's settings, its flows and its partners' rates and states were before each change: a payment is decided
 * by those of its own time. Written by triggers of the three tables, whoever changes them; of a new flow, that it was
 * not active before.
 */
export const pastRules = sqliteTable(
  "past_rules",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    program_id: text().notNull(),
    /** Of a partner's its id; empty of the program's own and its flows'. */
    partner_id: text().notNull(),
    valid_until: text().notNull(),
    /** JSON: `ProgramRules`, `Flow` (which has an id) or `PartnerRules` of the domain. */
    rules: text().notNull(),
  },
  (t) => [
    index("past_rules_time").on(t.program_id, t.partner_id, t.valid_until),
    index("past_rules_seq").on(t.program_id, t.partner_id, t.seq),
  ],
);
