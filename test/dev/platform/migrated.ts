/** Deploys in which migrations fail: each is in force and noted or neither, and the next run resumes there. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PlayedDatabase, statementsOf } from "./database.ts";
import type { Fault } from "./fault.ts";
import { assertTrue, IN_CI_TO_A_DOMAIN as WAY, MIGRATIONS, running, stateOf } from "./ways.ts";
import { inWorld, WORKER, type World } from "./world.ts";
import { ROOT } from "../process.ts";

const TEXTS = await Promise.all(MIGRATIONS.map((name) => readFile(join(ROOT, "migrations", name), "utf8")));

/** Leaves out wrangler's own table, and SQLite's table of sequences. */
const ofService = ({ schema }: PlayedDatabase): string[] =>
  schema.filter((sql) => !/^CREATE TABLE \S*(?:d1_migrations|sqlite_sequence)\b/.test(sql));

/** The schema after each number of migrations. */
const SCHEMAS = schemas();

function schemas(): string[][] {
  const database = new PlayedDatabase("reference");
  return [
    [],
    ...TEXTS.map((text) => {
      database.query(text);
      return ofService(database);
    }),
  ];
}

/**
 * Migrations in which a partial result could show: the first, one of the middle, the last, and those with the most
 * statements.
 */
export const SPREAD = spread();

function spread(): number[] {
  const places = TEXTS.map((_, at) => at);
  const bySize = places.toSorted((a, b) => statementsOf(TEXTS[b]!).length - statementsOf(TEXTS[a]!).length);
  const chosen = [0, Math.floor(places.length / 2), places.length - 1, ...bySize.slice(0, 3)];
  return [...new Set(chosen)].toSorted((a, b) => a - b);
}

/** A migration is in force and noted, or neither. */
function assertMigrated({ account }: World, count: number): void {
  const database = account.database(WORKER);
  assert.deepEqual(database.applied, MIGRATIONS.slice(0, count));
  assert.deepEqual(ofService(database), SCHEMAS[count]);
}

export const inReadyWorld = (walk: (world: World) => Promise<void>) =>
  inWorld(async (world) => {
    await WAY.ready(world);
    await walk(world);
  });

/** The next deploy succeeds, with the same result as a deploy without failures. */
export async function assertEndsAsAnother(world: World): Promise<void> {
  world.platform.faultAt = () => null;
  const last = await world.deployInCi();
  assert.equal(last.code, 0, last.printed.join("\n"));
  assertMigrated(world, MIGRATIONS.length);
  await inReadyWorld(async (other) => {
    assert.equal((await other.deployInCi()).code, 0);
    assert.deepEqual(world.account.shape(), other.account.shape());
  });
}

/** Deploys with failures of migrations, by their number. The next run does the work that one run left. */
export const failInMigrations = (failures: (readonly [at: number, Fault])[]) =>
  inReadyWorld(async (world) => {
    for (const [at, fault] of failures) {
      world.platform.faultAt = ({ detail }) => (detail === MIGRATIONS[at] ? fault : null);
      const before = stateOf(world, WAY);
      const ended = await world.deployInCi();
      assertTrue(world, WAY, before, ended);
      // If the last migration is recorded, the work is complete: the loss of its answer does not matter.
      const isComplete = fault.is_done && at === MIGRATIONS.length - 1;
      assert.equal(ended.code, isComplete ? 0 : 1, ended.printed.join("\n"));
      assertMigrated(world, at + (fault.is_done ? 1 : 0));
    }
    await assertEndsAsAnother(world);
  });

/** Deploys whose command is killed in these migrations, before each was done and after. */
export const killInMigrations = (places: number[]) =>
  inReadyWorld(async (world) => {
    for (const at of places) {
      for (const is_done of [false, true]) {
        const { pid, ended } = world.startInCi();
        const meanwhile = () => void process.kill(-pid, "SIGKILL");
        world.platform.faultAt = ({ detail }) =>
          detail === MIGRATIONS[at] ? { how: "hangs", is_done, meanwhile } : null;
        const { code, printed } = await ended;
        assert.equal(code, null, printed);
        assertMigrated(world, at + (is_done ? 1 : 0));
        assert.equal(running(world, WAY), null);
      }
    }
    await assertEndsAsAnother(world);
  });

/** A migration that the platform refused, and one whose answer was lost. */
export const REFUSED_AND_LOST: Fault[] = [
  { how: "refused", is_done: false },
  { how: "reset", is_done: true },
];
