/**
 * `npm run sample:remove`: empties the program that `npm start` filled with sample data, also while the service runs. If
 * partners or payments were added since, it needs `-- --all`. PERSIST_TO is that of `npm start`.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { DEFAULT_STATE } from "../local-service.ts";
import { boundDatabases } from "../migrate.ts";
import { quietWrangler } from "../quiet.ts";
import { countOwn, emptyProgram } from "./empty.ts";
import { findSample } from "./find.ts";

quietWrangler();
const persistTo = resolve(process.env["PERSIST_TO"] || DEFAULT_STATE);
const [database] = await boundDatabases(persistTo);
const file = database?.file ?? "";
const sample = existsSync(file) ? findSample(file) : null;
if (!sample) fail(`There is no sample data in ${persistTo}.`);
const own = countOwn(file, sample);
if (own.partners + own.payments > 0 && !process.argv.slice(2).includes("--all")) {
  fail(
    `The program also has ${counted(own.partners, "partner")} and ${counted(own.payments, "payment")} that are not sample data.
To remove everything: npm run sample:remove -- --all`,
  );
}
emptyProgram(file, sample);
console.log("The sample data is removed. The program keeps its API keys, team, settings and webhook endpoints.");

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
