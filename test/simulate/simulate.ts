/**
 * `npm run simulate`: the service's own code in this process, in played time, against a model of the specification. Options:
 * `--seed=S` (random unless given), `--steps=N` a seed, `--seeds=K` one after the other, `--for=SECONDS` in all.
 * `--plant=all`, or a part of a name: shows for each planted mistake the seed that finds it, and fails where none does
 * within `--for` seconds (600) each.
 */
import { bundleService } from "./bundle.ts";
import { PLANTS, type Plant } from "./plants.ts";
import { runSteps, shrink } from "./run.ts";
import { stepsOf } from "./steps.ts";

const began = process.hrtime.bigint();
const seconds = () => Number(process.hrtime.bigint() - began) / 1e9;

const options = new Map(
  process.argv.slice(2).map((argument) => {
    const [name, value = ""] = argument.replace(/^--/, "").split("=");
    return [name, value] as const;
  }),
);
const number = (name: string, otherwise: number) => Number(options.get(name) ?? otherwise);

/** So long a failing seed is made shorter. */
const SHRINK_SECONDS = 120;

// What the service logs of the faults that are made.
Object.assign(console, { error() {}, info() {}, log() {}, warn() {} });
const say = (text: string) => process.stdout.write(`${text}\n`);

const planted = options.get("plant");
const isWell = planted === undefined ? await simulate() : await findAll(planted);
process.exit(isWell ? 0 : 1);

async function simulate(): Promise<boolean> {
  const first = number("seed", Number(process.hrtime.bigint() % 1_000_000n));
  const steps = number("steps", 300);
  const isOne = options.has("seed") && !options.has("seeds") && !options.has("for");
  const seeds = number("seeds", isOne ? 1 : Number.POSITIVE_INFINITY);
  const limit = number("for", options.has("seeds") || isOne ? Number.POSITIVE_INFINITY : 180);
  const make = await bundleService();
  let done = 0;
  for (let seed = first; done < seeds && seconds() < limit; seed++, done++) {
    const failure = await runSteps(make, seed, stepsOf(seed, steps));
    if (!failure) continue;
    say(`Seed ${seed} fails at step ${failure.step + 1}: npm run simulate -- --seed=${seed} --steps=${steps}`);
    say(failure.problems.slice(0, 10).join("\n"));
    const until = seconds() + number("shrink", SHRINK_SECONDS);
    const least = await shrink(make, seed, stepsOf(seed, steps), failure, () => seconds() < until);
    say(`\nThe same in ${least.steps.length} steps:\n${least.failure.story.join("\n")}\n`);
    say(least.failure.problems.slice(0, 20).join("\n"));
    return false;
  }
  say(`${done} seeds of ${steps} steps from ${first} on without a difference, in ${seconds().toFixed(0)} s.`);
  return true;
}

async function findAll(name: string): Promise<boolean> {
  let isWell = true;
  for (const plant of PLANTS) {
    if (name !== "all" && !plant.name.includes(name)) continue;
    const found = await find(plant, seconds() + number("for", 600));
    say(`${plant.name}: ${found ?? "NOT FOUND"}`);
    isWell &&= found !== null;
  }
  return isWell;
}

/** The seed that finds a planted mistake, and by what. */
async function find({ patches }: Plant, until: number): Promise<string | null> {
  const make = await bundleService(patches);
  const steps = number("steps", 200);
  for (let seed = number("seed", 1); seconds() < until; seed++) {
    const failure = await runSteps(make, seed, stepsOf(seed, steps));
    if (failure) return `seed ${seed}, step ${failure.step + 1}: ${failure.problems[0]?.split("\n")[0]}`;
  }
  return null;
}
