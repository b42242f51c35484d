/**
 * `node test/bench/deliveries.ts`: a burst of events to endpoints of which some are dead (they never answer), some slow
 * (4 s) and some quick, all at once on the built Worker. Prints how long the quick ones waited for their first
 * attempt, how many deliveries a second were made, and what that cost in D1 statements.
 *
 *   --events=1000 --dead=5 --slow=5 --quick=10
 *   --rate=5                events a second, instead of all at once
 *   --json                  one JSON document instead of the lines
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { convertV4MiniflareOptions, Miniflare, type MiniflareOptions } from "miniflare";
import { freePort } from "../../src/dev/local-service.ts";
import { quietWrangler } from "../../src/dev/quiet.ts";
import { call } from "./cases.ts";
import { ADMIN_TOKEN, buildWorker, builtWorker, cpuTime, migrate, runtimeOf } from "./raw-service.ts";

const SLOW_MS = 4_000;
/** A receiver across some network. */
const QUICK_MS = 20;
const WRITERS = 4;

const QUICK = `from deliveries d join webhook_endpoints e on e.id = d.endpoint_id and e.url like 'https://quick%'`;

/** Counts the statements that the deliveries send to the database, and those alone. */
const COUNTING = `
import bench, { ClickCounter } from "./bench.js";
import worker from "./index.js";
export { ClickCounter };
let statements = 0, trips = 0, look_ups = 0;
const fetched = globalThis.fetch;
globalThis.fetch = (url, init) => {
  if (String(url).includes("/dns-query")) look_ups++;
  return fetched(url, init);
};
const bare = Symbol();
const watch = (statement) => ({
  [bare]: statement,
  bind: (...values) => watch(statement.bind(...values)),
  ...Object.fromEntries(["run", "all", "first", "raw"].map((name) => [name, (...args) => {
    statements++; trips++;
    return statement[name](...args);
  }])),
});
const counted = (env) => Object.assign(Object.create(env), { DB: {
  prepare: (sql) => watch(env.DB.prepare(sql)),
  batch: (list) => {
    statements += list.length; trips++;
    return env.DB.batch(list.map((one) => one[bare]));
  },
} });
export default {
  fetch: (request, env, execution) => new URL(request.url).pathname === "/counts"
    ? Response.json({ statements, trips, look_ups }) : bench.fetch(request, env, execution),
  queue: (batch, env, execution) => worker.queue(batch, counted(env), execution),
  scheduled: (event, env, execution) => worker.scheduled(event, env, execution),
};`;

/** The outside world, on the same runtime: every name is public, and a receiver's name decides its behavior. */
const WORLD = `
export default {
  async fetch(request) {
    const { hostname, pathname, searchParams } = new URL(request.url);
    if (pathname === "/dns-query") {
      const isA = searchParams.get("type") === "A";
      const Answer = isA ? [{ name: searchParams.get("name"), type: 1, TTL: 60, data: "93.184.215.14" }] : [];
      return Response.json({ Status: 0, TC: false, Answer });
    }
    await request.arrayBuffer();
    if (hostname.startsWith("dead")) await scheduler.wait(60_000);
    await scheduler.wait(hostname.startsWith("slow") ? ${SLOW_MS} : ${QUICK_MS});
    return new Response(null, { status: 204 });
  },
};`;

const { values: asked } = parseArgs({
  options: {
    events: { type: "string", default: "1000" },
    dead: { type: "string", default: "5" },
    slow: { type: "string", default: "5" },
    quick: { type: "string", default: "10" },
    rate: { type: "string", default: "0" },
    json: { type: "boolean", default: false },
  },
});
const events = Number(asked.events);
const hosts = (["dead", "slow", "quick"] as const).flatMap((kind) =>
  Array.from({ length: Number(asked[kind]) }, (_, i) => `${kind}${i}.example`),
);

quietWrangler();
const folder = await mkdtemp(join(tmpdir(), "affiliate-bench-"));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
let service: Miniflare | undefined;
try {
  await buildWorker(join(folder, "worker"));
  await writeFile(join(folder, "worker", "counting.js"), COUNTING);
  const worker = await builtWorker(join(folder, "worker"), "counting.js");
  const world = { name: "world", modules: true, script: WORLD, compatibilityDate: "2026-09-18" };
  const served = {
    ...worker,
    name: "worker",
    unsafeDirectSockets: [{ host: "127.0.0.1", port }],
    outboundService: "world",
  };
  const options: MiniflareOptions = convertV4MiniflareOptions({ cf: false, workers: [served, world] });
  service = new Miniflare({ ...options, resourcePersistencePath: join(folder, "state") });
  await service.ready;
  const database = await service.getD1Database("DB");
  await migrate(database);
  const api_key = await makeEndpoints();
  const runtime = await runtimeOf(process.pid);
  const [began, cpuBefore] = [performance.now(), await cpuTime(runtime)];
  const writing = makeEvents(api_key);
  await Promise.all([writing, untilAttempted(database)]);
  const seconds = (performance.now() - began) / 1_000;
  report(await measure(database, seconds, ((await cpuTime(runtime)) - cpuBefore) / 1_000));
} finally {
  await service?.dispose();
  await rm(folder, { recursive: true, force: true });
}

async function makeEndpoints(): Promise<string> {
  const { api_key } = await call<{ api_key: string }>(url, "POST", "/admin/programs", ADMIN_TOKEN, {
    name: "Bench",
    owner_email: "owner@bench.example",
  });
  for (const host of hosts) {
    await call(url, "POST", "/api/v1/webhooks", api_key, { url: `https://${host}/hook`, events: ["*"] });
  }
  return api_key;
}

async function makeEvents(api_key: string): Promise<void> {
  const began = performance.now();
  const rate = Number(asked.rate);
  let made = 0;
  const write = async () => {
    for (let n = made++; n < events; n = made++) {
      if (rate > 0) await sleep(Math.max(0, began + (n / rate) * 1_000 - performance.now()));
      await call(url, "POST", "/api/v1/partners", api_key, { email: `p${n}@partners.example`, slug: `p${n}` });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

type Database = Awaited<ReturnType<Miniflare["getD1Database"]>>;

/** Until every delivery to a quick endpoint had its first attempt. */
async function untilAttempted(database: Database): Promise<void> {
  const wanted = events * Number(asked.quick);
  for (let done = -1; done < wanted;) {
    await sleep(1_000);
    const row = await database
      .prepare(`select count(*) as n ${QUICK} where d.attempt_count > 0`)
      .first<{ n: number }>();
    done = row?.n ?? 0;
  }
}

async function measure(database: Database, seconds: number, cpu_ms: number) {
  const { results } = await database
    .prepare(
      `select e.url as url, count(a.delivery_id) as attempts,
        json_group_array(round((julianday(a.started_at) - julianday(d.created_at)) * 86400000)) as waits
      from deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      join delivery_attempts a on a.delivery_id = d.id and a.number = 1 group by e.id`,
    )
    .all<{ url: string; attempts: number; waits: string }>();
  type Counts = Record<"statements" | "trips" | "look_ups", number>;
  const { statements, trips, look_ups } = await call<Counts>(url, "GET", "/counts", "");
  const attempts = results.reduce((sum, row) => sum + row.attempts, 0);
  const of = (kind: string) => results.filter((row) => new URL(row.url).hostname.startsWith(kind));
  const waits = of("quick")
    .flatMap((row) => JSON.parse(row.waits) as number[])
    .toSorted((a, b) => a - b);
  const percentile = (share: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
  return {
    events,
    endpoints: hosts.length,
    seconds: Math.round(seconds * 10) / 10,
    deliveries_per_second: Math.round(attempts / seconds),
    quick: { attempts: waits.length, p50_ms: percentile(0.5), p95_ms: percentile(0.95), max_ms: percentile(1) },
    slow_attempts: of("slow").reduce((sum, row) => sum + row.attempts, 0),
    dead_attempts: of("dead").reduce((sum, row) => sum + row.attempts, 0),
    statements_per_delivery: Math.round((statements / attempts) * 100) / 100,
    round_trips_per_delivery: Math.round((trips / attempts) * 100) / 100,
    look_ups_per_delivery: Math.round((look_ups / attempts) * 100) / 100,
    cpu_ms_per_delivery: Math.round((cpu_ms / attempts) * 100) / 100,
  };
}

function report(result: Awaited<ReturnType<typeof measure>>): void {
  if (asked.json) return console.log(JSON.stringify(result, null, 2));
  const { quick } = result;
  console.log(`${result.events} events to ${result.endpoints} endpoints in ${result.seconds} s`);
  console.log(`deliveries a second: ${result.deliveries_per_second}`);
  console.log(
    `first attempt of the quick ones: p50 ${quick.p50_ms} ms, p95 ${quick.p95_ms} ms, at most ${quick.max_ms} ms`,
  );
  console.log(`attempts meanwhile: slow ${result.slow_attempts}, dead ${result.dead_attempts}`);
  console.log(
    `D1 per delivery: ${result.statements_per_delivery} statements, ${result.round_trips_per_delivery} round trips`,
  );
  console.log(
    `per delivery: ${result.look_ups_per_delivery} look-ups, ${result.cpu_ms_per_delivery} ms CPU of the runtime, with the events, the database and the receivers`,
  );
}
