/** The sample data of days on which much happens at once: its year ends on the day of the first start. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { randomSecrets } from "../../src/dev/dev-vars.ts";
import { boundDatabases, migrate, openFile } from "../../src/dev/migrate.ts";
import { addSample } from "../../src/dev/sample/add.ts";

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "affiliate-sample-days-"));
});
after(() => rm(folder, { recursive: true, force: true }));

// The application of the day before waits behind a Monday's e-mails.
for (const day of ["2026-12-01T12:00:00Z", "2028-02-29T10:00:00Z"]) {
  it(`ends on ${day} with an application and a claim to decide, and payouts to pay`, async () => {
    const state = join(folder, day.slice(0, 10));
    await migrate(state);
    const file = (await boundDatabases(state))[0]!.file;
    await addSample(file, { PUBLIC_URL: "http://localhost:8787", ...randomSecrets() }, undefined, Date.parse(day));
    const database = openFile(file);
    try {
      const count = (of: string) => Number(database.prepare(`select count(*) as n from ${of}`).get()?.["n"]);
      const open = ["applications where status = 'pending'", "claims where status = 'open'"].map((of) => count(of));
      assert.deepEqual(open, [1, 1]);
      assert.ok(count("payouts where status = 'pending'") > 0 && count("payouts where status = 'paid'") > 20);
    } finally {
      database.close();
    }
  });
}
