/**
 * Migrations only add (src/docs/deploy.md, "Upgrade and rollback"): the version before runs on the newer schema, both in the moment
 * between migrating and deploying and after a rollback. What a version no longer uses may be taken away by a later
 * release; that migration is then named in `CONTRACTED`, with the release since which nothing uses it.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
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
    new RegExp(`CREATE UNIQUE INDEX (?:IF NOT EXISTS )?${NAME} ON ${NAME}`, "gi"),
    ([, index, table = ""], { tables }) => (tables.has(table) ? `${index} may refuse what ${table} took before` : null),
  ],
  [
    new RegExp(`DROP INDEX (?:IF EXISTS )?${NAME}`, "gi"),
    ([, index = ""], { uniqueIndexes }) => (uniqueIndexes.has(index) ? `drops the unique ${index}` : null),
  ],
];

/** What in a migration the version before it could not live with. */
function breaks(text: string, earlier: Earlier): string[] {
  return MIND.flatMap(([pattern, judge]) =>
    [...text.matchAll(pattern)].flatMap((match) => judge(match, earlier) ?? []),
  );
}

function learn(text: string, { tables, uniqueIndexes }: Earlier): void {
  for (const [, table = ""] of text.matchAll(new RegExp(`CREATE TABLE ${NAME}`, "gi"))) tables.add(table);
  for (const [, index = ""] of text.matchAll(new RegExp(`CREATE UNIQUE INDEX ${NAME}`, "gi"))) uniqueIndexes.add(index);
}

describe("migrations", () => {
  it("only add, so that the version before runs on the newer schema (DEP-4)", async () => {
    const folder = join(ROOT, "migrations");
    const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
    assert.ok(files.length >= 3);
    const earlier: Earlier = { tables: new Set(), uniqueIndexes: new Set() };
    for (const name of files) {
      const text = await readFile(join(folder, name), "utf8");
      if (!(name in CONTRACTED)) assert.deepEqual(breaks(text, earlier), [], name);
      learn(text, earlier);
    }
    assert.ok(earlier.tables.has("events") && earlier.uniqueIndexes.has("payments_transaction"));
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
      "DROP INDEX `partners_email`;",
      "CREATE TABLE x (id text REFERENCES partners(id) ON DELETE CASCADE);",
    ];
    for (const text of planted) assert.notDeepEqual(breaks(text, earlier), [], text);
    const harmless = [
      "ALTER TABLE `partners` ADD `tier` text;",
      "ALTER TABLE `partners` ADD `tier` text DEFAULT 'new' NOT NULL;",
      "CREATE UNIQUE INDEX `tiers_name` ON `tiers` (`name`);",
      "CREATE TABLE `tiers` (`name` text NOT NULL);",
      "DROP INDEX `partners_list`;",
      "CREATE TABLE `click_drops` (`count` integer NOT NULL);",
    ];
    for (const text of harmless) assert.deepEqual(breaks(text, earlier), [], text);
  });
});
