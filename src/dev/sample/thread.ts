/** Plays the sample in a thread of its own, whose clock is set back. `add.ts` starts it. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { Chance } from "../chance.ts";
import { replaceClock } from "../stand-in/clock.ts";
import { PastService } from "../stand-in/service.ts";
import { loadWorker } from "../stand-in/worker.ts";
import type { ThreadInput, ThreadMessage } from "./add.ts";
import { playYear } from "./play.ts";

const SEED = 20;
const LENGTH_MS = 365 * 24 * 3_600_000;

const { worker, file, variables, owner, end } = workerData as ThreadInput;
const log: string[] = [];
for (const level of ["log", "info", "warn", "error"] as const) {
  console[level] = (...given: unknown[]) => void log.push(given.map(String).join(" "));
}
globalThis.fetch = () => Promise.reject(new Error("The sample calls nobody."));

replaceClock();
const database = new DatabaseSync(file);
database.exec("pragma journal_mode = memory; pragma synchronous = off");
const service = new PastService(await loadWorker(worker), database, variables);
const made = await playYear({
  ...{ service, owner, begin: end - LENGTH_MS, end, chance: new Chance(SEED) },
  admin_token: variables.ADMIN_TOKEN,
  onProgress: (done) => report({ done }),
  takeLog: () => log.splice(0),
});
database.exec("pragma journal_mode = wal");
database.close();
report({ made });

function report(message: ThreadMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
  parentPort?.postMessage(message);
}
