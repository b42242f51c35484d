/**
 * `npm run simulate`: the service's own code in this process, in played time, against a model of the contract. Options:
 * `--seed=S` (random unless given), `--steps=N` a seed, `--seeds=K` one after the other, `--for=SECONDS` in all.
 */
import { bundleService } from "./bundle.ts";
import { runSteps, shrink, type Failure } from "./run.ts";
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

const first = number("seed", Number(process.hrtime.bigint() % 1_000_000n));
const count = number("steps", 300);
const isOne = options.has("seed") && !options.has("seeds") && !options.has("for");
const seeds = number("seeds", isOne ? 1 : Number.POSITIVE_INFINITY);
const limit = number("for", options.has("seeds") || isOne ? Number.POSITIVE_INFINITY : 180);

// What the service logs of the faults that are made.
Object.assign(console, { error() {}, info() {}, log() {}, warn() {} });
const say = (text: string) => process.stdout.write(`${text}\n`);

const make = await bundleService();
let done = 0;
let failure: Failure | null = null;
for (let seed = first; done < seeds && seconds() < limit && !failure; seed++) {
  const steps = stepsOf(seed, count);
  failure = await runSteps(make, seed, steps);
  if (!failure) {
    done += 1;
    continue;
  }
  say(
    `Seed ${seed} fails at step ${failure.step + 1} of ${count}: npm run simulate -- --seed=${seed} --steps=${count}`,
  );
  say(failure.problems.slice(0, 10).join("\n"));
  const until = seconds() + number("shrink", 120);
  const least = await shrink(make, seed, steps, failure, () => seconds() < until);
  say(`\nThe same in ${least.steps.length} steps:\n${least.failure.story.join("\n")}\n`);
  say(least.failure.problems.slice(0, 20).join("\n"));
  process.exitCode = 1;
}
say(`${done} seeds of ${count} steps from ${first} on without a difference, in ${seconds().toFixed(0)} s.`);
process.exit();
