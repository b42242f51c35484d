/**
 * The built Worker on the bare runtime: no development proxy in front, its database, objects and queues in a folder.
 * It runs in a process of its own, so that a bench does not measure itself and a test can kill it at any moment.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { convertV4MiniflareOptions, Miniflare, Response, type MiniflareOptions, type Request } from "miniflare";
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from "wrangler";
import { buildSite } from "../../src/dev/build-site.ts";
import { freePort, WRANGLER } from "../../src/dev/local-service.ts";
import { quietWrangler } from "../../src/dev/quiet.ts";
import { ROOT } from "../../src/dev/root.ts";
import { LEAST_WORKER } from "./least-worker.ts";

export const ADMIN_TOKEN = "bench-admin-token";

/** Answers 204 at once: the measure for everything else. */
const BARE_WORKER = "export default { fetch: () => new Response(null, { status: 204 }) };";

/** The Worker to which a built Worker is compared. */
const MEASURES = {
  bare: { script: BARE_WORKER },
  least: {
    script: LEAST_WORKER,
    durableObjects: { CLICKS: { className: "Clicks", useSQLite: true } },
    d1Databases: { DB: "least" },
  },
};

/**
 * The platform's rate limiters answer from memory; their local stand-in writes to a database, so they are played. The one
 * of failures refuses as there; the others let all pass, for a bench comes from one address with one key.
 */
const PLAYED_LIMITERS = `
import worker, { ClickCounter } from "./index.js";
export { ClickCounter };
const limiter = { limit: async () => ({ success: true }) };
const counts = new Map();
const failures = { limit: async ({ key }) => {
  const minute = Math.floor(Date.now() / 60_000);
  const count = counts.get(key)?.minute === minute ? counts.get(key).count + 1 : 1;
  counts.set(key, { minute, count });
  return { success: count <= 30 };
} };
let limited;
const withLimiters = (env) => (limited ??= Object.assign({}, env, Object.fromEntries(
  ["API", "FAILED_AUTH", "FAILED_AUTH_SITE", "CLICK", "CLICK_SITE", "SIGN_IN", "SIGN_IN_SITE"].map((name) =>
    ["RATE_LIMIT_" + name, name === "FAILED_AUTH" ? failures : limiter]))));
export default {
  fetch: (request, env, execution) => worker.fetch(request, withLimiters(env), execution),
  queue: (batch, env, execution) => worker.queue(batch, withLimiters(env), execution),
  scheduled: (event, env, execution) => worker.scheduled(event, withLimiters(env), execution),
};`;

/** The origin of a request, as JSON of the platform's fields, for `cf`. */
export const PLACE_HEADER = "x-played-place";

/** The same with visitors anywhere, and regions that are split soon. */
const PLAYED_PLACES = `
import bench, { ClickCounter as Counter } from "./bench.js";
export class ClickCounter extends Counter {
  splitLoad = { commits: 20, within: 3_600_000, ids: 98_304 };
}
export default {
  ...bench,
  fetch: (request, env, execution) =>
    bench.fetch(new Request(request, { cf: JSON.parse(request.headers.get("${PLACE_HEADER}") ?? "{}") }), env, execution),
};`;

export interface RawService {
  url: string;
  port: number;
  /** The runtime's process, for its CPU time. */
  runtime: number;
  stop(): Promise<void>;
  /** SIGKILL to the runtime and its parent, as if the machine failed. */
  kill(): Promise<void>;
  /** Runs the jobs of a cron, which no one else starts here, and waits for their end. */
  cron(expression: string): Promise<void>;
}

export interface RawServiceOptions {
  /**
   * The target of the Worker's own calls: each is a POST with the original address in this header. Default: the
   * network.
   */
  outbound?: string;
  /** The module that is entered. */
  main?: "bench.js" | "places.js";
}

export const OUTBOUND_CALL = "x-outbound-call";

/** Builds the Worker as a deployment would, into `folder`. */
export async function buildWorker(folder: string): Promise<void> {
  quietWrangler();
  await buildSite(join(ROOT, "build", "site"), null);
  const child = spawn(process.execPath, [WRANGLER, "deploy", "--dry-run", "--minify", "--outdir", folder], {
    cwd: ROOT,
    stdio: "ignore",
  });
  if ((await exitOf(child)) !== 0) throw new Error("The Worker could not be built.");
  await writeFile(join(folder, "bench.js"), PLAYED_LIMITERS);
  await writeFile(join(folder, "places.js"), PLAYED_PLACES);
}

/** Starts the Worker that `buildWorker` put into `folder`. */
export function startRawService(
  folder: string,
  persistTo: string,
  { outbound = "", main = "bench.js" }: RawServiceOptions = {},
): Promise<RawService> {
  return start(persistTo, ["built", folder, outbound, main]);
}

export function startMeasure(measure: keyof typeof MEASURES, persistTo: string): Promise<RawService> {
  return start(persistTo, [measure]);
}

async function start(persistTo: string, what: string[]): Promise<RawService> {
  quietWrangler();
  const port = await freePort();
  const args = [fileURLToPath(import.meta.url), String(port), persistTo, ...what];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe", "ipc"] });
  let errors = "";
  child.stderr?.on("data", (data: Buffer) => (errors = (errors + data.toString()).slice(-4_000)));
  const runtime = await new Promise<number>((resolve, reject) => {
    child.stdout?.on("data", (data: Buffer) => {
      const ready = /^ready (\d+)$/m.exec(data.toString());
      if (ready) resolve(Number(ready[1]));
    });
    child.once("exit", () => reject(new Error(`The service did not start:\n${errors}`)));
  });
  const ended = exitOf(child);
  const end = async (signal: NodeJS.Signals, pids: number[]) => {
    for (const pid of pids) process.kill(pid, signal);
    await ended;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    runtime,
    stop: () => end("SIGTERM", [child.pid!]),
    kill: () => end("SIGKILL", [runtime, child.pid!]),
    cron: (expression) =>
      new Promise((resolve, reject) => {
        child.once("message", () => resolve());
        child.send(expression, (error) => error && reject(error));
      }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [port, persistTo, what, folder = "", outbound = "", main] = process.argv.slice(2);
  await serve(Number(port), persistTo!, what as "built" | keyof typeof MEASURES, folder, outbound, main);
}

async function serve(
  port: number,
  persistTo: string,
  what: "built" | keyof typeof MEASURES,
  folder: string,
  outbound: string,
  main: string | undefined,
): Promise<void> {
  const shared = { name: "worker", cf: false, unsafeDirectSockets: [{ host: "127.0.0.1", port }] };
  const options: MiniflareOptions = convertV4MiniflareOptions(
    what === "built"
      ? {
          ...shared,
          ...(await builtWorker(folder, main)),
          ...(outbound === "" ? {} : { outboundService: (request: Request) => forward(request, outbound) }),
        }
      : { ...shared, ...MEASURES[what], modules: true, compatibilityDate: "2026-09-18" },
  );
  const miniflare = new Miniflare({ ...options, resourcePersistencePath: persistTo });
  await miniflare.ready;
  if (what === "built") await migrate(await miniflare.getD1Database("DB"));
  console.log(`ready ${await runtimeOf(process.pid)}`);
  const worker = await miniflare.getWorker();
  process.on("message", (cron: string) => {
    void worker.scheduled({ cron }).then(
      () => process.send?.("done"),
      (error: unknown) => console.error(error),
    );
  });
  process.once("SIGTERM", () => void miniflare.dispose().then(() => process.exit(0)));
}

async function forward(request: Request, outbound: string): Promise<Response> {
  const { url, method } = request;
  const call = JSON.stringify({ url, method, headers: [...request.headers] });
  const { status, headers, body } = await fetch(outbound, {
    method: "POST",
    headers: { [OUTBOUND_CALL]: encodeURIComponent(call) },
    body: await request.arrayBuffer(),
    redirect: "manual",
  });
  return new Response(body as ConstructorParameters<typeof Response>[0], { status, headers: [...headers] });
}

/** Options of the Worker that `buildWorker` put into `folder`; `main` is the module that is entered. */
export async function builtWorker(folder: string, main = "bench.js") {
  const { workerOptions } = workerOptionsOf(join(ROOT, "wrangler.toml"));
  const { modulesRules: _, ratelimits: __, rootPath: ___, assets: ____, ...options } = workerOptions;
  const files = (await readdir(folder)).filter((name) => /\.(js|txt|css)$/.test(name) && name !== main);
  return {
    ...options,
    bindings: {
      ...(options.bindings as Record<string, string>),
      ADMIN_TOKEN,
      ENVIRONMENT: "development",
      CLICK_FLUSH_SECONDS: "1",
      ENCRYPTION_KEY: btoa("0".repeat(32)),
    },
    modulesRoot: folder,
    modules: [main, ...files].map((name) => ({
      type: name.endsWith(".js") ? ("ESModule" as const) : ("Text" as const),
      path: join(folder, name),
    })),
  };
}

/** The migrations that the folder has not seen, each as one transaction. */
export async function migrate(database: D1Like): Promise<void> {
  await database.prepare("create table if not exists bench_migrations (name text primary key)").run();
  const seen = (await database.prepare("select name from bench_migrations").all<{ name: string }>()).results;
  const folder = join(ROOT, "migrations");
  for (const name of (await readdir(folder)).filter((file) => file.endsWith(".sql")).toSorted()) {
    if (seen.some((migration) => migration.name === name)) continue;
    const statements = (await readFile(join(folder, name), "utf8")).split("--> statement-breakpoint");
    await database.batch([
      ...statements.filter((statement) => statement.trim() !== "").map((statement) => database.prepare(statement)),
      database.prepare("insert into bench_migrations values (?)").bind(name),
    ]);
  }
}

type D1Like = Awaited<ReturnType<Miniflare["getD1Database"]>>;

/** The runtime that a process has started. */
export async function runtimeOf(parent: number): Promise<number> {
  const children = (await readFile(`/proc/${parent}/task/${parent}/children`, "utf8")).trim().split(" ").map(Number);
  for (const pid of children) {
    if ((await readFile(`/proc/${pid}/comm`, "utf8")).startsWith("workerd")) return pid;
    const below = await runtimeOf(pid).catch(() => 0);
    if (below !== 0) return below;
  }
  throw new Error("no runtime process");
}

/** Microseconds of user and system time; Linux counts them in ticks of 10 ms. */
export async function cpuTime(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}
