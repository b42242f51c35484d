/**
 * `npm run bench`: the built Worker against a bare Worker that is sent the same requests, on the same runtime and
 * machine, in alternating runs; clicks and lists also against the least that does the same (`least-worker.ts`). `forged`
 * is what forged webhooks of 1 MiB cost the reads of another program (`forged.ts`).
 *
 *   --only=click,script     some of the cases
 *   --large                 the same in a program of 100 flows and 50,000 partners, by turns with the plain one
 *   --connections=16,64     instead of 16, 64 and 256
 *   --rounds=3 --seconds=3  runs of each, and how long each takes
 *   --state=/dev/shm        where the databases lie, instead of the disk: shows what waiting for it costs
 *   --json                  one JSON document instead of the table
 *
 * What counts is the ratio to the bare Worker of the same round; rates belong to the machine. CPU is the runtime's, per
 * answer. Other work on the machine disturbs the ratios less than the rates, but does disturb them.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CASES, makeBenchWorld, prepareLeast, type BenchCase, type BenchWorld } from "./cases.ts";
import { measureForged, printForged, type ForgedLine } from "./forged.ts";
import { LARGE, LARGE_CASES, makeLargeWorld } from "./large-world.ts";
import { load, type LoadResult } from "./load.ts";
import { buildWorker, cpuTime, startMeasure, startRawService, type RawService } from "./raw-service.ts";

interface Run extends LoadResult {
  /** Microseconds of CPU per answer. */
  cpu: number;
}

interface Line {
  case: string;
  connections: number;
  rate: number;
  bare_rate: number;
  ratio: number;
  goal: number | null;
  /** The ratio of the least Worker to the bare one. */
  least_ratio: number | null;
  /** The ratio of the large program to the plain one. */
  plain_ratio: number | null;
  p50: number;
  p99: number;
  bare_p99: number;
  cpu_us: number;
  bare_cpu_us: number;
  /** Answers with another status than expected, over all rounds. */
  unexpected: Record<string, number>;
}

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    large: { type: "boolean", default: false },
    connections: { type: "string", default: "16,64,256" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "3" },
    state: { type: "string", default: tmpdir() },
    json: { type: "boolean", default: false },
  },
});
const isAsked = (name: string) => !options.only || options.only.split(",").includes(name);
const cases = [...CASES, ...(options.large ? LARGE_CASES : [])].filter(({ name }) => isAsked(name.replace(LARGE, "")));

const folder = await mkdtemp(join(options.state, "affiliate-bench-"));
const running: RawService[] = [];
try {
  await buildWorker(join(folder, "worker"));
  const start = async (starting: Promise<RawService>) => {
    const service = await starting;
    running.push(service);
    return service;
  };
  const bare = await start(startMeasure("bare", join(folder, "bare-state")));
  const least = await start(startMeasure("least", join(folder, "least-state")));
  const service = await start(startRawService(join(folder, "worker"), join(folder, "state")));
  const plain = await makeBenchWorld(service.url);
  const large = options.large ? await makeLargeWorld(service.url) : null;
  const worlds = { plain, large: large ?? plain };
  await prepareLeast(least.url, plain);
  const lines: Line[] = [];
  for (const bench of cases) {
    for (const one of bench.least === "only" ? [least] : bench.least ? [service, least] : [service]) {
      await measure(one, 64, 1, await bench.requests(bench.isLarge ? worlds.large : plain));
    }
    for (const connections of options.connections.split(",").map(Number)) {
      const line = await compare(bench, connections, { bare, least, service }, worlds);
      lines.push(line);
      if (!options.json) print(line, lines.length === 1);
    }
  }
  const forged: ForgedLine[] = isAsked("forged")
    ? await measureForged({ bare, service }, Number(options.rounds), Number(options.seconds))
    : [];
  if (options.json) console.log(JSON.stringify({ machine: machine(), lines, forged }, null, 2));
  else for (const line of forged) printForged(line);
} finally {
  await Promise.allSettled(running.map((service) => service.stop()));
  await rm(folder, { recursive: true, force: true });
}

async function compare(
  bench: BenchCase,
  connections: number,
  { bare, least, service }: Record<"bare" | "least" | "service", RawService>,
  { plain, large }: Record<"plain" | "large", BenchWorld>,
): Promise<Line> {
  const rounds: { bare: Run; least: Run | null; plain: Run | null; own: Run }[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const seconds = Number(options.seconds);
    const world = bench.isLarge ? large : plain;
    const run = async (worker: RawService, of = world) =>
      measure(worker, connections, seconds, await bench.requests(of));
    rounds.push({
      bare: await run(bare),
      least: bench.least === true ? await run(least) : null,
      plain: bench.isLarge ? await run(service, plain) : null,
      own: await run(bench.least === "only" ? least : service),
    });
  }
  const of = (value: (round: (typeof rounds)[number]) => number) => median(rounds.map(value));
  const unexpected: Record<string, number> = {};
  for (const { own, least, plain } of rounds) {
    for (const [status, count] of [own, least, plain].flatMap((run) => Object.entries(run?.statuses ?? {}))) {
      if (!bench.done.includes(Number(status))) unexpected[status] = (unexpected[status] ?? 0) + count;
    }
  }
  return {
    case: bench.name,
    connections,
    rate: of(({ own }) => own.rate),
    bare_rate: of((round) => round.bare.rate),
    ratio: of((round) => round.own.rate / round.bare.rate),
    goal: bench.goal[connections] ?? null,
    least_ratio: bench.least === true ? of((round) => round.least!.rate / round.bare.rate) : null,
    plain_ratio: bench.isLarge ? of(({ own, plain }) => own.rate / plain!.rate) : null,
    p50: of(({ own }) => own.p50),
    p99: of(({ own }) => own.p99),
    bare_p99: of((round) => round.bare.p99),
    cpu_us: of(({ own }) => own.cpu),
    bare_cpu_us: of((round) => round.bare.cpu),
    unexpected,
  };
}

async function measure(service: RawService, connections: number, seconds: number, requests: string[]): Promise<Run> {
  const before = await cpuTime(service.runtime);
  const result = await load({ port: service.port, connections, seconds, requests });
  return { ...result, cpu: ((await cpuTime(service.runtime)) - before) / result.answers };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function machine() {
  return { cpu: cpus()[0]?.model ?? "", cores: availableParallelism(), node: process.versions.node };
}

function print(line: Line, first: boolean): void {
  if (first) {
    const { cpu, cores, node } = machine();
    console.log(`${cpu}, ${cores} cores, Node ${node}; medians of ${options.rounds} runs of ${options.seconds} s\n`);
    console.log(
      "case                    conn.   rate/s  ratio to bare  goal    least  plain  p50 ms   p99 ms  bare p99   CPU µs  bare",
    );
  }
  const cell = (value: number, width: number, digits: number) => value.toFixed(digits).padStart(width);
  console.log(
    [
      line.case.padEnd(23),
      String(line.connections).padStart(5),
      cell(line.rate, 9, 0),
      cell(line.ratio, 15, 3),
      line.goal === null ? "     –" : `≥ ${line.goal.toFixed(2)}`,
      line.least_ratio === null ? "     –" : cell(line.least_ratio, 6, 3),
      line.plain_ratio === null ? "     –" : cell(line.plain_ratio, 6, 2),
      cell(line.p50, 8, 2),
      cell(line.p99, 8, 1),
      cell(line.bare_p99, 9, 1),
      cell(line.cpu_us, 8, 0),
      cell(line.bare_cpu_us, 5, 0),
    ].join(" "),
    Object.keys(line.unexpected).length > 0 ? JSON.stringify(line.unexpected) : "",
  );
}
