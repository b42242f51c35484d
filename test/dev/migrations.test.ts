/**
 * Migrations only add (src/docs/deploy.md, "Upgrade and rollback"): the version before runs on the newer schema, both in
 * the moment between migrating and deploying and after a rollback. A later release may remove parts that a version no
 * longer uses; that migration is then named in `CONTRACTED`, with the release since which they are unused.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PlayedDatabase, statementsOf } from "./platform/database.ts";
import { ROOT } from "./process.ts";

const CONTRACTED: Record<string, string> = {};

interface Earlier {
  tables: Set<string>;
  uniqueIndexes: Set<string>;
}

const NAME = '[`"]?(\\w+)[`"]?';
const MIND: [RegExp, (match: RegExpExecArray, earlier: Earlier) => string | null][] = [
  [new RegExp(`DROP TABLE (?:IF EXISTS )?${NAME}`, "gi"), ([, table]) => `drops the table ${table}`],
  [new RegExp(`ALTER TABLE ${NAME} DROP`, "gi"), ([, table]) => `drops a column of ${table}`],
  [/\bRENAME\b/gi, () => "renames"],
  [/__new_/gi, () => "rebuilds a table"],
  [/ON DELETE CASCADE/gi, () => "cascades a deletion"],
  [
    new RegExp(`ALTER TABLE ${NAME} ADD (?:COLUMN )?([^;]*)`, "gi"),
    ([, table, column = ""]) =>
      /NOT NULL/i.test(column) && !/DEFAULT/i.test(column) ? `adds what inserts into ${table} do not know` : null,
  ],
  [
    new RegExp(`CREATE UNIQUE INDEX (?:IF NOT EXISTS )?${NAME} ON ${NAME}([^;]*)`, "gi"),
    ({ 1: index, 2: table = "", 3: rest = "", input }, { tables }) => {
      // A version without a column leaves it null, and nulls differ from each other.
      const columns = [...rest.matchAll(/`(\w+)`/g)].map(([, column]) => column);
      const isNew = columns.some((column) => new RegExp(`ALTER TABLE .${table}. ADD .${column}. text;`).test(input));
      return tables.has(table) && !isNew ? `${index} may refuse what ${table} took before` : null;
    },
  ],
  [
    new RegExp(`DROP INDEX (?:IF EXISTS )?${NAME}`, "gi"),
    ([, index = ""], { uniqueIndexes }) => (uniqueIndexes.has(index) ? `drops the unique ${index}` : null),
  ],
];

/** The statements of a migration that would break the version before it. */
function breaks(text: string, earlier: Earlier): string[] {
  return MIND.flatMap(([pattern, judge]) =>
    [...text.matchAll(pattern)].flatMap((match) => judge(match, earlier) ?? []),
  );
}

function learn(text: string, { tables, uniqueIndexes }: Earlier): void {
  for (const [, table = ""] of text.matchAll(new RegExp(`CREATE TABLE ${NAME}`, "gi"))) tables.add(table);
  for (const [, index = ""] of text.matchAll(new RegExp(`CREATE UNIQUE INDEX ${NAME}`, "gi"))) uniqueIndexes.add(index);
}

async function readMigrations(): Promise<{ name: string; text: string }[]> {
  const folder = join(ROOT, "migrations");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), "utf8") })));
}

/**
 * The statements of a migration whose time grows with the log: a statement may take 30 seconds on the platform, blocks
 * the database meanwhile, and fails then. `database` is as it was before.
 */
function burdens(text: string, database: PlayedDatabase): string[] {
  const onEvents = new RegExp(`^CREATE (?:UNIQUE )?INDEX [^;]* ON ${NAME}`, "i");
  return statementsOf(text).flatMap((statement) => {
    let found: string[] = [];
    if (onEvents.exec(statement)?.[1] === "events") found = ["indexes events"];
    else if (/^(?:INSERT|UPDATE|DELETE|REPLACE|WITH|CREATE TABLE \S+ AS)\b/i.test(statement)) {
      const [explained] = database.query(`EXPLAIN QUERY PLAN ${statement}`);
      const plan = (explained?.results ?? []).map((row) => (row as { detail: string }).detail);
      // The plan has a table's alias in place of its name.
      const aliases = [...statement.matchAll(/\bevents[`"]?\s+(?:AS\s+)?[`"]?(\w+)/gi)].map(([, alias]) => alias);
      const isScan = (step: string) =>
        ["events", ...aliases].some((name) => step.split(" ", 2).join(" ") === `SCAN ${name}`);
      found = plan.some(isScan) ? ["reads all events"] : [];
    }
    database.query(statement);
    return found;
  });
}

/**
 * The problems of a migration's statements that fill rows of an earlier release (src/docs/deploy.md): a comment before
 * them names the release after which they are deleted, as in `-- Until 2027-01-31`. `release` is the newest of the
 * changelog.
 */
function fillings(text: string, release: string): string[] {
  const [, until] = /^-- Until (\d{4}-\d\d-\d\d)\b/m.exec(text) ?? [];
  if (!statementsOf(text).some((statement) => /^(?:INSERT|UPDATE|DELETE|REPLACE|WITH)\b/i.test(statement))) return [];
  if (until === undefined) return ["names no release after which its statements are deleted"];
  return release > until ? [`was to lose the statements that fill rows after ${until}`] : [];
}

describe("migrations", () => {
  it("have the form that the platform's splitter takes, each as one query, and end in the same schema as imports", async () => {
    const [queried, imported] = [new PlayedDatabase("queried"), new PlayedDatabase("imported")];
    for (const { name, text } of await readMigrations()) {
      assert.ok(!text.includes("\r"), `${name} has lines that end in CR`);
      for (const statement of statementsOf(text)) {
        assert.ok(statement.length < 100_000, `${name} has a statement that the platform does not take`);
      }
      assert.doesNotThrow(() => queried.query(text), name);
      imported.import(text);
    }
    assert.deepEqual(queried.schema, imported.schema);
    assert.ok(queried.schema.some((sql) => sql.startsWith("CREATE TRIGGER")));
  });

  it("of another form would fail there, though SQLite takes them", () => {
    const table = "CREATE TABLE t (a integer);\n";
    const body = "UPDATE t SET a = 1 WHERE a = new.a;";
    const planted = [
      `CREATE TRIGGER x AFTER INSERT ON t BEGIN\n${body}\nEND;`,
      `create trigger x after insert on t begin ${body} end;`,
      `CREATE TRIGGER x AFTER INSERT ON t BEGIN UPDATE t SET a = CASE a WHEN 1 THEN 2 END; END;`,
      `CREATE TRIGGER x AFTER INSERT ON t\r\nBEGIN ${body} END;`,
    ];
    for (const text of planted) {
      new PlayedDatabase("imported").import(table + text);
      assert.throws(() => new PlayedDatabase("queried").query(table + text), /incomplete input/, text);
    }
    new PlayedDatabase("queried").query(`${table}CREATE TRIGGER x AFTER INSERT ON t BEGIN ${body} END;`);
  });

  it("neither read all events nor index them: the log of a program in use is too long for one statement", async () => {
    const database = new PlayedDatabase("grown");
    const burdened = new Set<string>();
    for (const [at, { name, text }] of (await readMigrations()).entries()) {
      const found = burdens(text, database);
      // The first makes the table.
      if (found.length > 0 && at > 0) burdened.add(name);
    }
    assert.deepEqual([...burdened], []);
    const planted = [
      "CREATE INDEX `events_new` ON `events` (`program_id`, `created_at`);",
      "UPDATE events SET type = type;",
      "INSERT INTO click_counts SELECT * FROM click_counts WHERE program_id IN (SELECT program_id FROM events);",
      "UPDATE click_counts SET count = (SELECT count(*) FROM partners p JOIN events AS e);",
      "DELETE FROM `events` WHERE type = 'x';",
    ];
    for (const text of planted) assert.equal(burdens(text, database).length, 1, text);
    const harmless = [
      "CREATE INDEX `partners_new` ON `partners` (`program_id`, `created_at`);",
      "UPDATE events SET type = type WHERE program_id = 'p' AND id = 'e';",
      "ALTER TABLE `events` ADD `more` text;",
    ];
    for (const text of harmless) assert.deepEqual(burdens(text, database), [], text);
  });

  it("only add, so that the version before runs on the newer schema (DEP-4)", async () => {
    const folder = join(ROOT, "migrations");
    const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
    assert.ok(files.length >= 1);
    const earlier: Earlier = { tables: new Set(), uniqueIndexes: new Set() };
    for (const name of files) {
      const text = await readFile(join(folder, name), "utf8");
      if (!(name in CONTRACTED)) assert.deepEqual(breaks(text, earlier), [], name);
      learn(text, earlier);
    }
    assert.ok(earlier.tables.has("events") && earlier.uniqueIndexes.has("payments_transaction"));
  });

  it("fill rows of earlier releases only until a release that they name", async () => {
    const changelog = await readFile(join(ROOT, "src", "docs", "changelog.md"), "utf8");
    const [, release = ""] = /^## (\d{4}-\d\d-\d\d)$/m.exec(changelog) ?? [];
    assert.notEqual(release, "");
    for (const { name, text } of await readMigrations()) assert.deepEqual(fillings(text, release), [], name);
    const fills = "ALTER TABLE `partners` ADD `tier` text;\nUPDATE `partners` SET `tier` = 'new';\n";
    for (const text of [fills, "-- Why.\nUPDATE `partners` SET `tier` = 1;"]) {
      assert.equal(fillings(text, "2027-01-15").length, 1);
    }
    assert.deepEqual(fillings(`-- Until 2027-01-31\n${fills}`, "2027-01-31"), []);
    assert.equal(fillings(`-- Until 2027-01-31\n${fills}`, "2027-02-01").length, 1);
  });

  it("that would break it are seen", () => {
    const earlier: Earlier = { tables: new Set(["partners"]), uniqueIndexes: new Set(["partners_email"]) };
    const planted = [
      "DROP TABLE `partners`;",
      "ALTER TABLE `partners` DROP COLUMN `slug`;",
      "ALTER TABLE partners DROP slug;",
      "ALTER TABLE partners RENAME COLUMN slug TO name;",
      "ALTER TABLE `partners` RENAME TO `affiliates`;",
      "CREATE TABLE `__new_partners` (id text);",
      "ALTER TABLE `partners` ADD `tier` text NOT NULL;",
      "CREATE UNIQUE INDEX `partners_slug` ON `partners` (`slug`);",
      "CREATE UNIQUE INDEX `partners_tier` ON `partners` (`tier`) WHERE tier is not null;",
      "ALTER TABLE `partners` ADD `tier` text DEFAULT 'new';CREATE UNIQUE INDEX `partners_tier` ON `partners` (`tier`);",
      "DROP INDEX `partners_email`;",
      "CREATE TABLE x (id text REFERENCES partners(id) ON DELETE CASCADE);",
    ];
    for (const text of planted) assert.notDeepEqual(breaks(text, earlier), [], text);
    const harmless = [
      "ALTER TABLE `partners` ADD `tier` text;",
      "ALTER TABLE `partners` ADD `tier` text DEFAULT 'new' NOT NULL;",
      "CREATE UNIQUE INDEX `tiers_name` ON `tiers` (`name`);",
      "ALTER TABLE `partners` ADD `tier` text;CREATE UNIQUE INDEX `partners_tier` ON `partners` (`tier`) WHERE tier is not null;",
      "CREATE TABLE `tiers` (`name` text NOT NULL);",
      "DROP INDEX `partners_list`;",
      "CREATE TABLE `click_drops` (`count` integer NOT NULL);",
    ];
    for (const text of harmless) assert.deepEqual(breaks(text, earlier), [], text);
  });
});
