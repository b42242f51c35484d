/**
 * `npm run deploy` when a migration fails, or the command is ended in it: the next run resumes there, and the schema
 * ends as that of a deploy without failures (DEP-4, DEP-6).
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PlayedDatabase, statementsOf } from "./platform/database.ts";
import type { Fault } from "./platform/fault.ts";
import { assertTrue, EACH, IN_CI_TO_A_DOMAIN as WAY, MIGRATIONS, running, stateOf } from "./platform/ways.ts";
import { inWorld, WORKER, type World } from "./platform/world.ts";
import { ROOT } from "./process.ts";

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
const SPREAD = spread();

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

const inReadyWorld = (walk: (world: World) => Promise<void>) =>
  inWorld(async (world) => {
    await WAY.ready(world);
    await walk(world);
  });

/** The next deploy succeeds, with the same result as a deploy without failures. */
async function assertEndsAsAnother(world: World): Promise<void> {
  world.platform.faultAt = () => null;
  const last = await world.deployInCi();
  assert.equal(last.code, 0, last.printed.join("\n"));
  assertMigrated(world, MIGRATIONS.length);
  await inReadyWorld(async (other) => {
    assert.equal((await other.deployInCi()).code, 0);
    assert.deepEqual(world.account.shape(), other.account.shape());
  });
}

describe("npm run deploy, where a migration fails", () => {
  it("goes on from each of them, in whichever way it failed", { timeout: 1_800_000 }, () =>
    inReadyWorld(async (world) => {
      const last = MIGRATIONS.length - 1;
      // The next run does the work that one run left, before another migration fails in it.
      for (const [at, name] of MIGRATIONS.entries()) {
        const refusedAndLost: Fault[] = [
          { how: "refused", is_done: false },
          { how: "reset", is_done: true },
        ];
        for (const fault of SPREAD.includes(at) ? refusedAndLost : [EACH[at % EACH.length]!]) {
          world.platform.faultAt = ({ detail }) => (detail === name ? fault : null);
          const before = stateOf(world, WAY);
          const ended = await world.deployInCi();
          assertTrue(world, WAY, before, ended);
          // If the last migration is recorded, the work is complete: the loss of its answer does not matter.
          assert.equal(ended.code, fault.is_done && at === last ? 0 : 1, ended.printed.join("\n"));
          assertMigrated(world, at + (fault.is_done ? 1 : 0));
        }
      }
      await assertEndsAsAnother(world);
    }),
  );

  it("goes on from each in which the command was killed, before it was done and after", { timeout: 1_800_000 }, () =>
    inReadyWorld(async (world) => {
      for (const at of SPREAD) {
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
    }),
  );
});

describe("npm run deploy, where it is ended", () => {
  it("ends wrangler, leaves no file behind and says what is true", { timeout: 1_800_000 }, () =>
    inReadyWorld(async (world) => {
      const script = `/accounts/:id/workers/scripts/${WORKER}`;
      for (const [name, is_done, signal, said] of [
        ["GET /accounts/:id/queues", false, "SIGTERM", /^GET .* got no answer: The command was ended \(SIGTERM\)\.$/m],
        [MIGRATIONS[0]!, false, "SIGTERM", /^No version was deployed, and none is running yet\./m],
        [MIGRATIONS[0]!, true, "SIGINT", /^No version was deployed, and none is running yet\./m],
        [`PUT ${script}`, false, "SIGHUP", /^No version was deployed, and none is running yet\./m],
        [`PUT ${script}`, true, "SIGTERM", /^The new version is running, but/m],
        [`POST ${script}/deployments`, false, "SIGINT", /the previous version keeps running\./m],
      ] as const) {
        const before = stateOf(world, WAY);
        const { pid, ended } = world.startInCi();
        const meanwhile = () => void process.kill(pid, signal);
        world.platform.faultAt = ({ call, detail }) =>
          call === name || detail === name ? { how: "hangs", is_done, meanwhile } : null;
        const { code, printed } = await ended;
        assert.equal(code, 1, printed);
        assert.match(printed, said);
        assertTrue(world, WAY, before, { code, printed: printed.split("\n") });
        assert.deepEqual(await world.filesLeft(), []);
      }
      await assertEndsAsAnother(world);
    }),
  );
});
