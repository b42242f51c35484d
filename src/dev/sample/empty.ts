/** Empties the sample's program, in the database file beside the service. */
import type { DatabaseSync } from "node:sqlite";
import { openFile } from "../migrate.ts";
import type { Sample } from "./find.ts";
import { SETTINGS } from "./program.ts";

/** Tables whose rows of the program stay: access and settings. `restoreSettings` changes some of them. */
const KEPT = new Set([
  ...["programs", "api_keys", "program_members", "sessions", "passkeys", "sign_in_links", "mail_preferences"],
  ...["provider_connections", "webhook_endpoints", "exchange_rates", "mail_rounds", "groups", "flows", "past_rules"],
]);

/** Rows that name their program only by another row. */
const CHILDREN = [
  "delete from delivery_attempts where delivery_id in (select id from deliveries where program_id = ?)",
  "delete from missed_deliveries where endpoint_id in (select id from webhook_endpoints where program_id = ?)",
  "delete from export_items where export_id in (select id from payout_exports where program_id = ?)",
  "delete from returned_lines where payout_id in (select id from payouts where program_id = ?)",
];

/** Values of a new program for the settings that the sample has changed. */
const OF_NEW_PROGRAM: Record<keyof typeof SETTINGS, string | number | null> = {
  domain: null,
  auto_approve_days: null,
  min_payout_cents: 0,
  applications: "off",
  questions: null,
  terms: null,
  assets: null,
};

/** How many partners and payments the program has beside the sample. */
export interface Own {
  partners: number;
  payments: number;
}

/** Counts the newcomer's additions to the sample's program. */
export function countOwn(file: string, { program_id, until }: Sample): Own {
  const database = openFile(file);
  const count = (sql: string) => Number(database.prepare(sql).get(program_id, until)!["count"]);
  try {
    return {
      partners: count("select count(*) as count from partners where program_id = ? and created_at > ?"),
      // A payment may be of an earlier day.
      payments: count("select count(*) as count from payments where program_id = ? and seen_at > ?"),
    };
  } finally {
    database.close();
  }
}

/**
 * Deletes everything in the sample's program but the program itself, its keys, team, settings and webhook endpoints, and
 * the flows and groups that are newer than the sample; also while the service runs. The tables that only grow are deleted
 * from without their triggers, which are there again when the transaction ends.
 */
export function emptyProgram(file: string, sample: Sample): void {
  const database = openFile(file);
  try {
    database.exec("pragma foreign_keys = off; begin immediate");
    const triggers = database.prepare("select name, sql from sqlite_schema where type = 'trigger'").all();
    for (const { name } of triggers) database.exec(`drop trigger "${String(name)}"`);
    for (const sql of CHILDREN) database.prepare(sql).run(sample.program_id);
    for (const table of tablesOfPrograms(database)) {
      if (!KEPT.has(table)) database.prepare(`delete from "${table}" where program_id = ?`).run(sample.program_id);
    }
    restoreSettings(database, sample);
    for (const { sql } of triggers) database.exec(String(sql));
    database.exec("commit");
  } finally {
    // Without a commit, closing undoes everything.
    database.close();
  }
}

function tablesOfPrograms(database: DatabaseSync): string[] {
  const sql = `select s.name from sqlite_schema s where s.type = 'table'
    and exists (select 1 from pragma_table_info(s.name) where name = 'program_id')`;
  return database
    .prepare(sql)
    .all()
    .map(({ name }) => String(name));
}

/** Removes the sample's rules, and restores the settings that are still as the sample set them. */
function restoreSettings(database: DatabaseSync, { program_id, until }: Sample): void {
  const run = (sql: string, ...values: (string | number | null)[]) => database.prepare(sql).run(...values);
  run("delete from flows where program_id = ? and created_at <= ?", program_id, until);
  run(
    `delete from groups where program_id = ?1 and created_at <= ?2
      and id <> (select default_group_id from programs where id = ?1)`,
    program_id,
    until,
  );
  run(
    `delete from past_rules where program_id = ?1 and (partner_id <> '' or rules ->> 'id' not in
      (select id from flows where program_id = ?1 union all select id from groups where program_id = ?1))`,
    program_id,
  );
  run("delete from sessions where program_id = ? and audience <> 'owner'", program_id);
  run("update provider_connections set last_event_at = null, seen_types = null where program_id = ?", program_id);
  run("update programs set payments_compared = 0 where id = ?", program_id);
  for (const [name, value] of Object.entries(SETTINGS)) {
    const stored = typeof value === "object" ? JSON.stringify(value) : value;
    const restored = OF_NEW_PROGRAM[name as keyof typeof SETTINGS];
    run(`update programs set "${name}" = ? where id = ? and "${name}" = ?`, restored, program_id, stored);
  }
}
