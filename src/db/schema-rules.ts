/** The rules that decide payments, as they were. */
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { RuleSource } from "../domain/rules.ts";

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
    /**
     * Of a change that the owner applied from an earlier time: that time, in a row of its own right after those of the
     * change, written by `core/ledger/apply-from.ts`. `rules` is the rule as it was left then.
     */
    applies_from: text(),
  },
  (t) => [
    index("past_rules_time").on(t.program_id, t.partner_id, t.valid_until),
    index("past_rules_seq").on(t.program_id, t.partner_id, t.seq),
  ],
);

/**
 * Changes applied from an earlier time (`past_rules.applies_from`) whose payments are not all marked as unsettled yet; the
 * newest are first.
 */
export const ruleApplications = sqliteTable(
  "rule_applications",
  {
    /** Of `past_rules`. */
    seq: integer().notNull(),
    program_id: text().notNull(),
    /** Whose rate it is; empty of the program's and of a flow. */
    partner_id: text().notNull(),
    source: text().$type<RuleSource>().notNull(),
    /** Payments before it are those that are left, down to `last_id`. */
    marked_id: text().notNull(),
    last_id: text().notNull(),
    applies_from: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.seq] })],
);
