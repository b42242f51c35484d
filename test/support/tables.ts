/** The treatment of each table's rows: a new table does not compile without an entry. */
import type { Table } from "drizzle-orm";
import type * as schema from "../../src/db/schema.ts";

type TableName = {
  [K in keyof typeof schema]: (typeof schema)[K] extends Table ? (typeof schema)[K]["_"]["name"] : never;
}[keyof typeof schema];

interface Fate {
  /**
   * The effect of a customer's erasure on the address and their texts in a row (JOB-1): `lived` is tested by
   * `erasure-whole.test.ts`, any other text is a reason. Tables without it do not contain any.
   */
  erased?: string;
  /** Old rows are forgotten (JOB-5), or the part of them that people or vendors wrote. Without it they stay. */
  forgotten?: true;
}

/** The owner's, a partner's or the service's own words; ids and numbers. */
const STAYS: Fate = {};
const LIVED: Fate = { erased: "lived" };
const FORGOTTEN: Fate = { forgotten: true };

export const TABLES: Record<TableName, Fate> = {
  ...{
    programs: STAYS,
    api_keys: STAYS,
    program_members: STAYS,
    provider_connections: STAYS,
    past_rules: STAYS,
    rule_applications: STAYS,
    flows: STAYS,
    products: { erased: "products.test.ts: no id or name with an address is recorded" },
    groups: STAYS,
  },
  ...{ partners: STAYS, partner_slugs: STAYS, partner_grams: STAYS, partner_codes: STAYS },
  provider_events: { erased: "lived", forgotten: true },
  ...{ facts: LIVED, fact_subjects: LIVED, payments: LIVED, commissions: LIVED },
  // Hashes that an erasure keeps, so that the customer stays forgotten.
  erased_subjects: STAYS,
  ...{ waiting_events: STAYS, claimed_subscriptions: STAYS },
  ...{ entries: STAYS, balances: STAYS, earning_days: STAYS, code_days: STAYS, sale_days: STAYS, list_days: STAYS },
  partner_sales: STAYS,
  ...{
    decisions: STAYS,
    payouts: STAYS,
    payout_runs: STAYS,
    payout_exports: STAYS,
    export_items: STAYS,
    payout_statements: STAYS,
    returned_lines: STAYS,
    tax_data: STAYS,
    exchange_rates: STAYS,
    list_counts: STAYS,
  },
  ...{ reconciliations: STAYS, differences: STAYS },
  claims: { erased: "claims.test.ts: the order, or the day and the domain" },
  applications: { erased: "applications.test.ts: of who has applied too", forgotten: true },
  application_drafts: { erased: "applications.test.ts: of who has applied too", forgotten: true },
  used_stamps: FORGOTTEN,
  // The audit log names no customer: payloads have no address, and an erasure is no event.
  ...{ events: STAYS, event_counts: STAYS, event_hours: STAYS },
  ...{
    click_archives: STAYS,
    click_archive_days: STAYS,
    click_counts: STAYS,
    click_sources: STAYS,
    click_drops: STAYS,
  },
  ...{ click_rollups: STAYS, click_batches: STAYS, click_objects: STAYS },
  webhook_endpoints: STAYS,
  ...{ deliveries: FORGOTTEN, delivery_attempts: FORGOTTEN, missed_deliveries: FORGOTTEN, messages: FORGOTTEN },
  idempotency_keys: {
    erased: "erasure.test.ts, claims-forgotten.test.ts: the replies that say something of the customer",
    forgotten: true,
  },
  ...{ sign_in_links: FORGOTTEN, sessions: FORGOTTEN, portal_links: FORGOTTEN, passkeys: STAYS },
  pending_destinations: FORGOTTEN,
  mails: { erased: "applications.test.ts: to who has applied", forgotten: true },
  kept_texts: { erased: "pages-posted.test.ts: all of the program", forgotten: true },
  ...{ mail_preferences: STAYS, mail_rounds: STAYS, job_runs: STAYS, size_warnings: STAYS, commit_guards: STAYS },
};
