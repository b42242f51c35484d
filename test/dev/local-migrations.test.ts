/** The local database is migrated in this process, with the files and the bookkeeping of wrangler. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { WRANGLER } from "../../src/dev/local-service.ts";
import { boundDatabases, migrate, openFile } from "../../src/dev/migrate.ts";
import { quietWrangler } from "../../src/dev/quiet.ts";
import { ROOT } from "./process.ts";

describe("the migrations of the local database", () => {
  let state: string;
  let file: string;
  before(async () => {
    quietWrangler();
    state = await mkdtemp(join(tmpdir(), "affiliate-migrations-"));
    await migrate(state);
    file = (await boundDatabases(state))[0]!.file;
  });
  after(() => rm(state, { recursive: true, force: true }));

  const names = async () =>
    (await readdir(join(ROOT, "migrations"))).filter((name) => name.endsWith(".sql")).toSorted();
  const query = <Row>(sql: string): Row[] => {
    const database = openFile(file);
    try {
      return database.prepare(sql).all() as Row[];
    } finally {
      database.close();
    }
  };
  const recorded = () => query<{ name: string }>("select name from d1_migrations order by id").map(({ name }) => name);

  it("are recorded where wrangler records them, which finds none to apply", async () => {
    assert.deepEqual(recorded(), await names());
    const args = ["d1", "migrations", "apply", "DB", "--local", "--persist-to", state];
    const { stdout } = await promisify(execFile)(process.execPath, [WRANGLER, ...args], { cwd: ROOT });
    assert.match(stdout, /No migrations to apply/);
    const files = (await readdir(join(file, ".."))).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
    assert.equal(files.length, 1, "wrangler opens another file");
  });

  it("are applied once, and later only the missing ones", async () => {
    const database = openFile(file);
    const first = (await names())[0]!;
    database.exec(`delete from d1_migrations where name = '${first}'; create table kept (id integer)`);
    database.close();
    // Its tables are there already: applying it again is refused, as a whole.
    await assert.rejects(migrate(state), new RegExp(`The migration ${first} could not be applied: `));
    assert.equal(recorded().includes(first), false);
    query(`insert into d1_migrations (name) values ('${first}')`);
    await migrate(state);
    assert.equal(query("select 1 from sqlite_schema where name = 'kept'").length, 1);
  });
});
