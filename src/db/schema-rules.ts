/** Past versions of the rules that decide payments. */
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { RuleSource } from "../domain/rules.ts";

/**
 * A program's settings, its flows, and its partners' rates and states before each change: a payment is decided by those
 * of its own time. Written by triggers of the three tables for every change; for a new flow, a version that was not
 * active.
 */
export const pastRules = sqliteTable(
  "past_rules",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    program_id: text().notNull(),
    /** The id of a partner's rule; empty for the program's own and its flows'. */
    partner_id: text().notNull(),
    valid_until: text().notNull(),
    /** JSON: `ProgramRules`, `Flow` (which has an id) or `PartnerRules` of the domain. */
    rules: text().notNull(),
    /**
     * The earlier time of an applied change, in a row after it, by `core/ledger/apply-from.ts`; `rules` is the result.
     */
    applies_from: text(),
  },
  (t) => [
    index("past_rules_time").on(t.program_id, t.partner_id, t.valid_until),
    index("past_rules_seq").on(t.program_id, t.partner_id, t.seq),
  ],
);

/** Changes applied from an earlier time whose payments are not all marked unsettled yet; newest first. */
export const ruleApplications = sqliteTable(
  "rule_applications",
  {
    /** Refers to `past_rules`. */
    seq: integer().notNull(),
    program_id: text().notNull(),
    /** The partner of the rate; empty for the program's and for a flow. */
    partner_id: text().notNull(),
    source: text().$type<RuleSource>().notNull(),
    /** Payments before it remain to be marked, down to `last_id`. */
    marked_id: text().notNull(),
    last_id: text().notNull(),
    applies_from: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.seq] })],
);
