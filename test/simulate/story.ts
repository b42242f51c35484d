/**
 * `npm run story`: a story of customers over months, reported to the service in played time, out of order and with losses, ends
 * in the ledger that a model computes from the money that moved. Options: `--seed=S` (random unless given), `--seeds=K` one
 * after the other (1), `--customers=N` (500), `--months=N` (18). `--plants`, or `--plants=` a part of their names: shows for
 * each planted mistake the small story that finds it. The last line is `N passed, N failed`.
 */
import { bundleService, type Service } from "./bundle.ts";
import { STORY_PLANTS } from "./plants.ts";
import { playStory, type Outcome, type StoryOptions } from "./story-run.ts";

const options = new Map(
  process.argv.slice(2).map((argument) => {
    const [name, value = ""] = argument.replace(/^--/, "").split("=");
    return [name, value] as const;
  }),
);
const number = (name: string, otherwise: number) => Number(options.get(name) ?? otherwise);
const computed = () => process.cpuUsage().user / 1e6;

// Logs of injected faults.
Object.assign(console, { error() {}, info() {}, log() {}, warn() {} });
const say = (text: string) => process.stdout.write(`${text}\n`);

const planted = options.get("plants");
const { passed, failed } = planted === undefined ? await play() : await findAll(planted);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

interface Tally {
  passed: number;
  failed: number;
}

async function play(): Promise<Tally> {
  const first = number("seed", Number(process.hrtime.bigint() % 1_000_000n));
  const size = { customers: number("customers", 500), months: number("months", 18) };
  const service = await bundleService();
  const tally = { passed: 0, failed: 0 };
  for (let seed = first; seed < first + number("seeds", 1); seed++) {
    const began = computed();
    const { differences, ...story } = await outcomeOf(service, seed, size);
    const took = (computed() - began).toFixed(1);
    say(
      `Seed ${seed}: ${story.payments} payments, ${story.events} events in ${story.deliveries} deliveries, ` +
        `${story.recovered} found in the lists, ${took} s; ` +
        `${differences.length === 0 ? "ok" : "different"}, ${seed - first + 1} so far`,
    );
    if (differences.length === 0) tally.passed += 1;
    else {
      tally.failed += 1;
      say(`${differences.length} differences:\n${differences.slice(0, 20).join("\n")}`);
      say(`failed: npm run story -- --seed=${seed} --customers=${size.customers} --months=${size.months}`);
    }
  }
  return tally;
}

/** The first small story that shows each planted mistake. */
async function findAll(name: string): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  const size = { customers: number("customers", 40), months: number("months", 6) };
  for (const plant of STORY_PLANTS.filter((one) => one.name.includes(name))) {
    const service = await bundleService(plant.patches);
    let found: string | null = null;
    for (let seed = 1; seed <= number("seeds", 10) && found === null; seed++) {
      const { differences } = await outcomeOf(service, seed, size);
      if (differences.length > 0) found = `seed ${seed}: ${differences[0]!.slice(0, 160)}`;
    }
    say(found === null ? `failed: ${plant.name}: not found` : `${plant.name}: ${found}`);
    tally[found === null ? "failed" : "passed"] += 1;
  }
  return tally;
}

/** The result of a story; an exception is a difference. */
function outcomeOf(service: () => Service, seed: number, size: StoryOptions): Promise<Outcome> {
  return playStory(service, seed, size).catch((error: Error) => ({
    ...{ payments: 0, events: 0, deliveries: 0, recovered: 0 },
    differences: [String(error.stack)],
  }));
}
