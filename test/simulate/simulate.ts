/**
 * `npm run simulate`: the service's own code in this process, in played time, against a model of the specification. Options:
 * `--seed=S` (random unless given), `--steps=N` a seed, `--seeds=K` one after the other, `--for=SECONDS` in all;
 * `--before=COMMIT` deploys that commit and this version in turn, on the schema of this one; `--before=release` the release
 * before the newest, and plays nothing where the history does not have it. A mistake of that commit that is
 * mended since is a difference; one that does not know rules applied from an earlier time is not asked to apply them.
 * `--plants`, or `--plants=` a part of their names: shows for each planted mistake the seed that finds it, and fails
 * where none does within `--for` seconds (600) of computing each. A line for each seed says how it ended. The last line is
 * `N passed, N failed`: seeds, or plants.
 */
import { commitBefore } from "./before.ts";
import { bundleCommit, bundleService } from "./bundle.ts";
import { PLANTS, type Plant } from "./plants.ts";
import { runSteps } from "./run.ts";
import { shrink } from "./shrink.ts";
import { stepsOf } from "./steps.ts";

const began = process.hrtime.bigint();
const seconds = () => Number(process.hrtime.bigint() - began) / 1e9;
/** Processor seconds, independent of other load. */
const computed = () => process.cpuUsage().user / 1e6;

const options = new Map(
  process.argv.slice(2).map((argument) => {
    const [name, value = ""] = argument.replace(/^--/, "").split("=");
    return [name, value] as const;
  }),
);
const number = (name: string, otherwise: number) => Number(options.get(name) ?? otherwise);

/** So long a failing seed is made shorter. */
const SHRINK_SECONDS = 120;

// Logs of injected faults.
Object.assign(console, { error() {}, info() {}, log() {}, warn() {} });
const say = (text: string) => process.stdout.write(`${text}\n`);

const released = options.get("before") === "release" ? commitBefore() : null;
const before = released && "commit" in released ? released.commit : options.get("before");
if (released)
  say(`The version before: ${"commit" in released ? released.commit : `none is played, for ${released.missing}.`}`);
if (released && "missing" in released) {
  say("0 passed, 0 failed");
  process.exit(0);
}

const planted = options.get("plants");
const { passed, failed } = planted === undefined ? await simulate() : await findAll(planted);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

interface Tally {
  passed: number;
  failed: number;
}

async function simulate(): Promise<Tally> {
  const first = number("seed", Number(process.hrtime.bigint() % 1_000_000n));
  const steps = number("steps", 300);
  const isOne = options.has("seed") && !options.has("seeds") && !options.has("for");
  const seeds = number("seeds", isOne ? 1 : Number.POSITIVE_INFINITY);
  const limit = number("for", options.has("seeds") || isOne ? Number.POSITIVE_INFINITY : 180);
  const versions = { now: await bundleService(), before: before === undefined ? null : await bundleCommit(before) };
  let done = 0;
  for (let seed = first; done < seeds && seconds() < limit; seed++, done++) {
    const began = computed();
    const failure = await runSteps(versions, seed, stepsOf(seed, steps));
    const took = `${(computed() - began).toFixed(1)} s`;
    say(`seed ${seed}: ${failure ? "different" : "ok"}, ${took} of the processor; ${done + 1} so far`);
    if (!failure) continue;
    const again = `npm run simulate -- --seed=${seed} --steps=${steps}${before === undefined ? "" : ` --before=${before}`}`;
    say(`Seed ${seed} fails at step ${failure.step + 1}: ${again}`);
    say(failure.problems.slice(0, 10).join("\n"));
    const until = seconds() + number("shrink", SHRINK_SECONDS);
    const least = await shrink(versions, seed, stepsOf(seed, steps), failure, () => seconds() < until);
    say(`\nThe same in ${least.steps.length} steps:\n${least.failure.story.join("\n")}\n`);
    say(least.failure.problems.slice(0, 20).join("\n"));
    say(`failed: ${again}`);
    return { passed: done, failed: 1 };
  }
  say(`${done} seeds of ${steps} steps from ${first} on without a difference, in ${seconds().toFixed(0)} s.`);
  return { passed: done, failed: 0 };
}

async function findAll(name: string): Promise<Tally> {
  const chosen = PLANTS.filter((plant) => plant.name.includes(name));
  let found = 0;
  for (const plant of chosen) {
    const began = computed();
    const seed = await find(plant, began + number("for", 600));
    const took = `${(computed() - began).toFixed(0)} s`;
    say(seed === null ? `failed: ${plant.name}: not found in ${took}` : `${plant.name}: ${seed}, ${took}`);
    if (seed !== null) found += 1;
  }
  return { passed: found, failed: chosen.length - found };
}

/** The seed that finds a planted mistake, and its failure. */
async function find({ patches }: Plant, until: number): Promise<string | null> {
  const versions = { now: await bundleService(patches), before: null };
  const steps = number("steps", 200);
  for (let seed = number("seed", 1); computed() < until; seed++) {
    const failure = await runSteps(versions, seed, stepsOf(seed, steps));
    const [problem = ""] = failure?.problems ?? [];
    if (failure) return `seed ${seed}, step ${failure.step + 1} (${problem.split("\n")[0]!.slice(0, 160)})`;
  }
  return null;
}
