/** Programs, their partners and rules. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { ApplicationMode } from "../domain/application.ts";
import type { Asset } from "../domain/asset.ts";
import type { FlowActionType, FlowBase, FlowEvent, StoredCondition } from "../domain/flow.ts";
import type { MemberRole } from "../domain/member.ts";
import type { Cents, Percent } from "../domain/money.ts";
import type { PartnerStatus, PayoutMethod } from "../domain/partner.ts";
import type { CodePrecedence, MinPayouts, SaleAmounts } from "../domain/program.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import type { Scope } from "../domain/scope.ts";
import type { SelfBilling } from "../domain/tax.ts";
import type { Sealed } from "../lib/seal.ts";

export const programs = sqliteTable(
  "programs",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    owner_email: text().notNull(),
    domain: text(),
    currency: text().notNull().default("USD"),
    default_commission_pct: real().default(20).$type<Percent>().notNull(),
    payout_term: text().notNull().default("NET-15"),
    min_payout_cents: integer().default(0).$type<Cents>().notNull(),
    cookie_days: integer().notNull().default(60),
    attribution: text().$type<"last" | "first">().notNull().default("last"),
    auto_approve_days: integer(),
    /** The database that holds the program's rows (`db/client.ts`). */
    shard: integer().notNull().default(0),
    api_key_hash: text().notNull().unique(),
    api_key_last4: text().notNull(),
    api_key_created_at: text().notNull(),
    api_key_last_used_at: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** True: providers' test events make no commission. */
    live_only: integer({ mode: "boolean" }).notNull().default(true),
    /** Precedence if a payment has both a link's reference and a promotion code. */
    code_precedence: text().$type<CodePrecedence>().notNull().default("link"),
    /** `#rrggbb` of buttons and the top line in e-mails; null for the service's own. */
    brand_color: text(),
    /** The tz database zone in which the days of its e-mails begin. */
    time_zone: text().notNull().default("UTC"),
    applications: text().$type<ApplicationMode>().notNull().default("off"),
    /** Replaces the id in the address of the application page. */
    slug: text(),
    /** Questions for applicants in addition to name, address and website, or null. */
    questions: text({ mode: "json" }).$type<string[]>(),
    /** The terms that applicants accept, and their version, which increases whenever the text changes. */
    terms: text(),
    terms_version: integer().notNull().default(0),
    sale_amounts: text().$type<SaleAmounts>().notNull().default("shown"),
    /** Materials for partners. */
    assets: text({ mode: "json" }).$type<Asset[]>(),
    /** The group of new partners. A trigger makes it with the program. */
    default_group_id: text().notNull().default(""),
    /** How many of a customer's first payments its flows have ever compared (`paymentsCompared`). */
    payments_compared: integer().notNull().default(0),
    /** Minimum payouts in currencies other than the program's, by code. */
    min_payouts: text({ mode: "json" }).$type<MinPayouts>().notNull().default({}),
    /** The account that SEPA files pay from. The IBAN is masked here, and sealed in full. */
    debtor_name: text(),
    debtor_iban: text(),
    debtor_iban_sealed: text().$type<Sealed>(),
    debtor_bic: text(),
    /** Whether paid payouts get invoice numbers, with this prefix and the payer's data. */
    self_billing: text().$type<SelfBilling>().notNull().default("off"),
    self_billing_prefix: text().notNull().default(""),
    payer_name: text(),
    payer_address: text(),
    payer_country: text(),
    payer_tax_id: text(),
    /** True: partners without tax data get no payouts. */
    require_tax_data: integer({ mode: "boolean" }).notNull().default(false),
    /** How long a partner's payouts are held after a change of their destination. */
    payout_change_hold_days: integer().notNull().default(3),
    /** The currency of new payouts; null: as earned. */
    payout_currency: text(),
    /** Whether partners add links with names of their choice. */
    partner_links: integer({ mode: "boolean" }).notNull().default(false),
  },
  (t) => [
    uniqueIndex("programs_slug").on(t.slug),
    // Programs whose payouts are converted, which are few.
    index("programs_converting")
      .on(t.id)
      .where(sql`payout_currency is not null`),
  ],
);

/** A program's further API keys. Only the time of use is updated: a key keeps its scopes. */
export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    name: text().notNull(),
    scopes: text({ mode: "json" }).$type<Scope[]>().notNull(),
    hash: text().notNull().unique(),
    last4: text().notNull(),
    created_at: text().notNull(),
    /** The key is invalid from then on; null: never. */
    expires_at: text(),
    last_used_at: text(),
  },
  (t) => [index("api_keys_program").on(t.program_id, t.id)],
);

/**
 * The members who can sign in to a program's dashboard, by address. Triggers keep `programs.owner_email` equal to one
 * of its owners: the row of a new program makes one, and if its address changes to one that belongs to no owner, the
 * row moves with it (TEAM-5).
 */
export const programMembers = sqliteTable(
  "program_members",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    email: text().notNull(),
    role: text().$type<MemberRole>().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (t) => [
    uniqueIndex("program_members_email").on(t.program_id, sql`lower(${t.email})`),
    // The lookup by which people sign in, among any number of programs.
    index("program_members_address").on(sql`lower(${t.email})`),
  ],
);

/** Groups of partners, with a rate and a hold of their own. Every partner belongs to one (PART-14). */
export const groups = sqliteTable(
  "groups",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    name: text().notNull(),
    slug: text().notNull(),
    commission_pct: real().$type<Percent>(),
    hold_days: integer(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (t) => [
    uniqueIndex("groups_name").on(t.program_id, sql`lower(${t.name})`),
    uniqueIndex("groups_slug").on(t.program_id, sql`lower(${t.slug})`),
  ],
);

export const partners = sqliteTable(
  "partners",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    email: text().notNull(),
    first_name: text(),
    last_name: text(),
    slug: text().notNull(),
    status: text().$type<PartnerStatus>().notNull().default("invited"),
    commission_pct: real().$type<Percent>(),
    payout_method: text().$type<PayoutMethod>(),
    payout_email: text(),
    provider_a_account_id: text(),
    metadata: text({ mode: "json" }).$type<Record<string, unknown>>(),
    /** The text that `search` covers (`searchText` and `markUnindexed` in `domain/partner.ts`). */
    search_text: text().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** How many accounts were disconnected before: each new one is requested under its own key. */
    accounts_forgotten: integer().notNull().default(0),
    /**
     * The partner's group. Triggers refuse one that does not exist, and set the program's default if it is empty, in a
     * row that a previous version makes.
     */
    group_id: text().notNull().default(""),
    /** The details of the methods `bank_transfer` and `crypto`, each as JSON, and the masked texts that are shown. */
    bank_account_sealed: text().$type<Sealed>(),
    bank_account: text(),
    crypto_address_sealed: text().$type<Sealed>(),
    crypto_address: text(),
    /** The version of the partner's tax data (`schema-statements.ts`). */
    tax_data_id: text(),
    /** The hold of the partner's payouts, which a change of their destination starts (OUT-24): in force until this time. */
    payouts_held_until: text(),
  },
  (t) => [
    index("partners_group").on(t.program_id, t.group_id, t.id),
    index("partners_list").on(t.program_id, t.id),
    index("partners_status").on(t.program_id, t.status, t.id),
    uniqueIndex("partners_email").on(t.program_id, sql`lower(${t.email})`),
    index("partners_address").on(sql`lower(${t.email})`),
    // Texts without their parts in `partner_grams` yet.
    index("partners_unfolded")
      .on(t.program_id, t.id)
      .where(sql`substr(search_text, 1, 1) <> char(10)`),
  ],
);

/** Every slug a partner ever had: old links keep working, and no other partner can take it. WITHOUT ROWID. */
export const partnerSlugs = sqliteTable(
  "partner_slugs",
  {
    program_id: text().notNull(),
    slug_key: text().notNull(),
    partner_id: text()
      .notNull()
      .references(() => partners.id),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.slug_key] }), index("partner_slugs_partner").on(t.partner_id)],
);

/** Partners' promotion codes, a row per holder, changed only to end: payments use the codes of their time. */
export const partnerCodes = sqliteTable(
  "partner_codes",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    partner_id: text()
      .notNull()
      .references(() => partners.id),
    provider: text().$type<ProviderName>().notNull(),
    code: text().notNull(),
    /** `codeKey` of the code. */
    code_key: text().notNull(),
    provider_code_id: text(),
    created_at: text().notNull(),
    /** When it was taken away or given to another partner; null while it holds. */
    ended_at: text(),
  },
  (t) => [
    index("partner_codes_partner")
      .on(t.partner_id, t.id)
      .where(sql`ended_at is null`),
    index("partner_codes_key").on(t.program_id, t.provider, t.code_key),
    index("partner_codes_vendor")
      .on(t.program_id, t.provider, t.provider_code_id)
      .where(sql`provider_code_id is not null`),
    uniqueIndex("partner_codes_held_key")
      .on(t.program_id, t.provider, t.code_key)
      .where(sql`ended_at is null`),
    uniqueIndex("partner_codes_held_vendor")
      .on(t.program_id, t.provider, t.provider_code_id)
      .where(sql`ended_at is null and provider_code_id is not null`),
  ],
);

export const flows = sqliteTable(
  "flows",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    name: text().notNull(),
    event: text().$type<FlowEvent>().notNull().default("transaction_completed"),
    action_type: text().$type<FlowActionType>().notNull(),
    action_value: real().notNull(),
    conditions: text({ mode: "json" }).$type<StoredCondition[]>().notNull(),
    priority: real().notNull().default(0),
    active: integer({ mode: "boolean" }).notNull().default(true),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    hold_days: integer(),
    starts_at: text(),
    ends_at: text(),
    currency: text(),
    /** The part of a payment to which a percentage applies. */
    base: text().$type<FlowBase>().notNull().default("payment"),
  },
  (t) => [index("flows_order").on(t.program_id, t.priority)],
);
