import { is, SQL, Table } from "drizzle-orm";
import { getTableConfig, SQLiteSyncDialect, type SQLiteColumn } from "drizzle-orm/sqlite-core";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { RULE_COLUMNS } from "../../src/domain/rules.ts";
import { SEARCHED_COLUMNS } from "../../src/domain/partner.ts";
import * as schema from "../../src/db/schema.ts";

const source = Object.values(
  import.meta.glob<string>("../../src/db/schema-*.ts", { query: "?raw", import: "default", eager: true }),
).join("\n");

const TABLES = Object.values(schema)
  .filter((value) => is(value, Table))
  .map((table) => getTableConfig(table));

/** The tables that the schema's comments declare as such. */
const WITHOUT_ROWID = [
  ...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export const \w+ = sqliteTable\(\s*"(\w+)"/g),
]
  .filter(([, comment]) => comment && /WITHOUT[\s*]+ROWID/.test(comment))
  .map(([, , name]) => name ?? "");

const dialect = new SQLiteSyncDialect();

/**
 * Columns of the rules of payments that are read with their present value, or not by decisions. Triggers of `past_rules`
 * keep the values that decide a payment as of its time: a new column belongs to one of the two.
 */
const AS_OF_TODAY: Record<string, string> = {
  programs: `id name owner_email domain currency payout_term min_payout_cents cookie_days shard api_key_hash
    api_key_last4 api_key_created_at api_key_last_used_at
    created_at updated_at live_only brand_color time_zone
    applications slug questions terms terms_version sale_amounts assets default_group_id
    payments_compared min_payouts debtor_name debtor_iban debtor_iban_sealed debtor_bic self_billing self_billing_prefix payer_name payer_address
    payer_country payer_tax_id require_tax_data payout_change_hold_days payout_currency partner_links`,
  partners: `id program_id email first_name last_name payout_method payout_email provider_a_account_id metadata
    search_text created_at updated_at accounts_forgotten
    bank_account_sealed bank_account crypto_address_sealed crypto_address tax_data_id payouts_held_until`,
  groups: "id program_id name slug created_at updated_at",
  flows: "id program_id event created_at updated_at",
};

/** The columns that `search` has covered since its texts are kept (PART-5). */
const SEARCHED_AT_FIRST = ["email", "slug", "first_name", "last_name"];

/**
 * Columns that `search` covers since then: by column, the number of the first migration of the next release, which sets
 * `search_text` to '' if the column is not null, because rows of the release before lack it.
 */
const SEARCHED_SINCE: Record<string, number> = {};

type Migration = (typeof env.TEST_MIGRATIONS)[number];

/** The searched columns without a migration that refills their texts, or without its number. */
function unfilled(columns: readonly string[], since: Record<string, number>, migrations: readonly Migration[]) {
  const again = (column: string) => new RegExp(`^update partners set search_text = '' where ${column} is not null`);
  return columns.filter((column) => {
    if (SEARCHED_AT_FIRST.includes(column)) return false;
    const number = since[column];
    if (number === undefined) return true;
    const queries = migrations.filter(({ name }) => Number.parseInt(name, 10) >= number).flatMap((of) => of.queries);
    return queries.length > 0 && !queries.some((query) => again(column).test(normal(query, "partners")));
  });
}

/** SQL in one spelling: no quotes, no table names before columns, one kind of space, lower case. */
function normal(text: string, table: string): string {
  return text
    .replaceAll(/["`]/g, "")
    .replaceAll(`${table}.`, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?, ?/g, ",")
    .replaceAll(/\( | \)/g, (match) => match.trim())
    .trim()
    .toLowerCase();
}

function textOf(part: SQL | SQLiteColumn, table: string): string {
  return normal(is(part, SQL) ? dialect.sqlToQuery(part).sql : part.name, table);
}

async function rows<T>(sql: string): Promise<T[]> {
  return (await env.DB.prepare(sql).all<T>()).results;
}

/** A number that the database counts up is no default. */
function isDefaulted(column: SQLiteColumn): boolean {
  return column.hasDefault && !("autoIncrement" in column && column.autoIncrement);
}

/** The default as the database stores it: a column of JSON has its text. */
function defaultOf({ default: value }: { default: unknown }): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

describe("the migrated database", () => {
  it("has the tables of the schema and no other", async () => {
    const found = await rows<{ name: string }>(
      `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '\\_cf\\_%' escape '\\'
        and name <> 'd1_migrations' order by name`,
    );
    expect(found.map(({ name }) => name)).toEqual(TABLES.map(({ name }) => name).toSorted());
  });

  it("keeps without rowid exactly the tables whose comment says so", async () => {
    expect(WITHOUT_ROWID).toEqual(expect.arrayContaining(["events", "event_counts", "partner_slugs", "facts"]));
    const found = await rows<{ name: string }>(
      "select name from sqlite_master where type = 'table' and upper(sql) like '%WITHOUT ROWID%' order by name",
    );
    expect(found.map(({ name }) => name)).toEqual(WITHOUT_ROWID.toSorted());
  });

  it.each(TABLES)("has the columns, the key and the references of $name", async ({ name, ...table }) => {
    const found = await rows<{ name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>(
      `pragma table_info(${name})`,
    );
    const primary = table.primaryKeys[0]?.columns.map((column) => column.name) ?? [];
    const expected = table.columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      notnull: column.notNull,
      hasDefault: isDefaulted(column),
      pk: column.primary ? 1 : primary.indexOf(column.name) + 1,
    }));
    expect(
      found.map((column) => ({
        name: column.name,
        type: column.type.toLowerCase(),
        notnull: column.notnull === 1,
        hasDefault: column.dflt_value !== null,
        pk: column.pk,
      })),
    ).toEqual(expected);
    for (const column of table.columns.filter(isDefaulted)) {
      const stored = found.find((candidate) => candidate.name === column.name)?.dflt_value;
      expect([column.name, stored?.replaceAll("'", "")]).toEqual([column.name, defaultOf(column)]);
    }
    const references = await rows<{ from: string; table: string; to: string; on_delete: string; on_update: string }>(
      `pragma foreign_key_list(${name})`,
    );
    const wanted = table.foreignKeys.map((key) => {
      const { columns, foreignTable, foreignColumns } = key.reference();
      return `${columns[0]?.name} -> ${getTableConfig(foreignTable).name}.${foreignColumns[0]?.name}`;
    });
    expect(references.map((key) => `${key.from} -> ${key.table}.${key.to}`).toSorted()).toEqual(wanted.toSorted());
    // A cascade would take child rows along when a migration rebuilds a table.
    expect(references.every((key) => key.on_delete === "NO ACTION" && key.on_update === "NO ACTION")).toBe(true);
  });

  it.each(TABLES)("has the indexes of $name", async ({ name, indexes, columns }) => {
    const found = await rows<{ name: string; sql: string }>(
      `select name, sql from sqlite_master where type = 'index' and tbl_name = '${name}' and sql is not null`,
    );
    const declared = indexes.map(({ config }) => {
      const parts = config.columns.map((part) => textOf(part, name)).join(",");
      const where = config.where ? ` where ${textOf(config.where, name)}` : "";
      return `create ${config.unique ? "unique " : ""}index ${config.name} on ${name} (${parts})${where}`;
    });
    const unique = columns
      .filter((column) => column.isUnique)
      .map((column) => `create unique index ${column.uniqueName} on ${name} (${column.name})`);
    expect(found.map(({ sql }) => normal(sql, name)).toSorted()).toEqual([...declared, ...unique].toSorted());
  });

  it("keeps its counts by triggers, which a migration that rebuilds a table would lose", async () => {
    const found = await rows<{ name: string; sql: string }>(
      "select name, sql from sqlite_master where type = 'trigger' order by name",
    );
    const ofLists = [
      "applications",
      "claims",
      "commissions",
      "commissions_flagged",
      "partners",
      "payments",
      "payout_exports",
      "payouts",
    ].flatMap((table) => ["deleted", "inserted", "moved"].map((what) => `${table}_${what}`));
    const ofDays = ["commissions", "payments"].flatMap((table) =>
      ["deleted", "inserted", "moved"].map((what) => `${table}_days_${what}`),
    );
    const ofCodes = ["commissions", "payments"].flatMap((table) =>
      ["deleted", "inserted", "moved"].map((what) => `${table}_code_${what}`),
    );
    const ofSales = ["sale", "lead", "revenue", "totals"].flatMap((event) =>
      ["deleted", "inserted", "moved"].map((what) => `payments_${event}_${what}`),
    );
    const ofSearch = ["added", "deleted", "removed"].map((what) => `partners_grams_${what}`);
    const ofJournal = ["journal_changed", "journal_deleted", "journal_inserted", "paid_unflagged"].map(
      (what) => `commissions_${what}`,
    );
    const ofEntries = ["entries_deleted", "entries_updated", "postings_balanced", "postings_entered"];
    const ofBalances = ["balances_bounded", "balances_stay_bounded"];
    const ofDecisions = ["decisions_deleted", "decisions_updated"];
    const ofRules = ["flows_rules_made", "flows_rules_changed", "flows_rules_deleted", "partners_rules_changed"];
    const ofGroups = [
      ...["groups_first", "groups_kept", "groups_rules_changed", "groups_rules_deleted", "partners_grouped"],
      ...["exists", "stays"].map((what) => `partners_group_${what}`),
      ...["deleted", "inserted", "moved"].map((what) => `partners_groups_${what}`),
      ...["programs_group_exists", "programs_grouped"],
    ];
    const ofStatements = [
      ...["payouts_stated", "payouts_returned_lines", "payouts_credited"],
      ...["payout_statements", "returned_lines"].flatMap((table) => [`${table}_deleted`, `${table}_updated`]),
    ];
    const ofTime = ["programs_rules_changed", "event_hours_inserted", "event_hours_updated"];
    expect(found.map(({ name }) => name)).toEqual(
      [
        ...["programs_owned", "programs_owner_moved", "programs_owner_raised"],
        ...ofTime,
        ...ofRules,
        ...ofLists,
        ...ofDays,
        ...ofCodes,
        ...ofSales,
        ...ofSearch,
        ...ofJournal,
        ...ofEntries,
        ...ofBalances,
        ...ofDecisions,
        ...ofGroups,
        ...ofStatements,
        "programs_mail_rounds",
      ].toSorted(),
    );
    // The platform splits a migration into statements by its text: one line, and no END but the last.
    for (const { sql } of found)
      expect(sql).toMatch(
        /^CREATE TRIGGER \S+ (?:AFTER|BEFORE|INSTEAD OF) [^\n]* BEGIN (?!.*\b(?:END|CASE)\b.*END$)[^\n;]*; END$/i,
      );
  });

  it("has the texts of search with every column that it looks in (PART-5)", () => {
    expect(unfilled(SEARCHED_COLUMNS, SEARCHED_SINCE, env.TEST_MIGRATIONS)).toEqual([]);
    const before = { name: "0007_x.sql", queries: ["ALTER TABLE `partners` ADD `nickname` text;"] };
    const filled = "\nUPDATE `partners`\nSET `search_text` = '' WHERE `nickname` IS NOT NULL;";
    expect(unfilled(["nickname"], {}, [before])).toEqual(["nickname"]);
    expect(unfilled(["nickname"], { nickname: 8 }, [before])).toEqual([]);
    expect(unfilled(["nickname"], { nickname: 8 }, [before, { name: "0009_y.sql", queries: ["x"] }])).toEqual([
      "nickname",
    ]);
    expect(unfilled(["nickname"], { nickname: 8 }, [before, { name: "0009_y.sql", queries: [filled] }])).toEqual([]);
  });

  it("refuses whatever a lost race puts into the guards", async () => {
    await expect(env.DB.prepare("insert into commit_guards (lost_race) values (1)").run()).rejects.toThrow(/lost_race/);
    await expect(env.DB.prepare("insert into commit_guards (lost_race) values (null)").run()).rejects.toThrow(
      /NOT NULL constraint failed: commit_guards/,
    );
  });

  it.each(Object.entries(AS_OF_TODAY))(
    "keeps the past of every column of %s that decides a payment (PAY-16)",
    async (table, names) => {
      const [trigger] = await rows<{ sql: string }>(
        `select sql from sqlite_master where type = 'trigger' and name = '${table}_rules_changed'`,
      );
      const kept = /AFTER UPDATE OF ([\w`, ]+) ON/.exec(trigger!.sql)![1]!.match(/\w+/g)!;
      for (const name of kept) expect([name, trigger!.sql.includes(`'${name}'`)]).toEqual([name, true]);
      const { columns } = TABLES.find(({ name }) => name === table)!;
      expect([...kept, ...names.split(/\s+/)].toSorted()).toEqual(columns.map(({ name }) => name).toSorted());
    },
  );

  it("keeps of each rule the columns that decide a payment, whatever is done to it (PAY-16)", async () => {
    const triggers = await rows<{ name: string; sql: string }>(
      "select name, sql from sqlite_master where type = 'trigger' and sql like '%into past_rules%' order by name",
    );
    const kept = triggers.map(({ name, sql }) => {
      const [, fields = ""] = /json_object\((.*)\)\); END$/.exec(sql) ?? [];
      return [name, [...fields.matchAll(/'(\w+)', (?:json\(|OLD\.|NEW\.)/g)].map(([, column]) => column)];
    });
    const { program, partner, group, flow } = RULE_COLUMNS;
    expect(kept).toEqual([
      ["flows_rules_changed", flow],
      ["flows_rules_deleted", flow],
      ["flows_rules_made", flow],
      ["groups_rules_changed", group],
      ["groups_rules_deleted", group],
      ["partners_rules_changed", partner],
      ["programs_rules_changed", program],
    ]);
  });
});
