/** Writes the queries of a short run and their answers, as JSON to standard output. */
import { bundleService } from "./bundle.ts";
import type { Call } from "../../src/dev/stand-in/database.ts";
import { time } from "./played-globals.ts";
import { runSteps } from "./run.ts";
import { stepsOf } from "./steps.ts";

/** `now` is the database's time, ISO 8601. */
export type Recorded = Call & { now: string };

Object.assign(console, { error() {}, info() {}, log() {}, warn() {} });
const calls: Recorded[] = [];
const failure = await runSteps(
  { now: await bundleService(), before: null },
  12,
  stepsOf(12, 60),
  // As it was: the service may write to the rows that it read.
  (call) => void calls.push({ ...structuredClone(call), now: new Date(time.now).toISOString() }),
);
if (failure) throw new Error(failure.problems.join("\n"));
process.stdout.write(JSON.stringify(calls), () => process.exit());
