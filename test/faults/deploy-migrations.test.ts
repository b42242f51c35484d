/** `npm run deploy` with each migration failing, or the command killed in it (DEP-4, DEP-6). */
import { describe, it } from "node:test";
import { failInMigrations, killInMigrations, REFUSED_AND_LOST, SPREAD } from "../dev/platform/migrated.ts";
import { EACH, MIGRATIONS } from "../dev/platform/ways.ts";

describe("npm run deploy, where a migration fails", () => {
  it("goes on from each of them, in whichever way it failed", { timeout: 1_800_000 }, () =>
    failInMigrations(
      MIGRATIONS.flatMap((_, at) =>
        (SPREAD.includes(at) ? REFUSED_AND_LOST : [EACH[at % EACH.length]!]).map((fault) => [at, fault] as const),
      ),
    ),
  );

  it("goes on from each in which the command was killed, before it was done and after", { timeout: 1_800_000 }, () =>
    killInMigrations(SPREAD),
  );
});
