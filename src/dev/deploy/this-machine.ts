import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseEnv } from "node:util";
import { compileSite, writeSite, type MakeSite } from "../build-site.ts";
import { randomSecrets } from "../dev-vars.ts";
import { untilHealthy } from "../local-service.ts";
import { quietWrangler } from "../quiet.ts";
import { ROOT } from "../root.ts";
import type { Selected } from "./arguments.ts";
import { NotReady, type Declared, type DeployTools } from "./environment.ts";
import { PlatformApi } from "./platform-api.ts";
import { runWrangler } from "./run-wrangler.ts";

/**
 * The tools of a deploy on this machine. An abort of `stopped` ends work in its order, so that secret files are deleted
 * and the state is reported.
 */
export function toolsOfThisMachine(stopped: AbortSignal): DeployTools {
  return {
    wrangler: (args, shown, env) => runWrangler(args, shown, env, stopped),
    declared: declaredBy,
    platform: () => openPlatform(stopped),
    accountGiven: process.env["CLOUDFLARE_ACCOUNT_ID"] || null,
    migrations: readMigrations,
    ask: process.stdin.isTTY && process.stdout.isTTY && !isCi() ? (question) => ask(question, stopped) : null,
    print: (line) => console.log(line),
    secretsIn: async (path) => {
      const text = await readFile(path, "utf8");
      const isJson = text.trimStart().startsWith("{");
      return isJson ? (JSON.parse(text) as Record<string, string>) : (parseEnv(text) as Record<string, string>);
    },
    withFile: (name, text, use) =>
      inFolder(async (folder) => {
        const path = join(folder, name);
        await writeFile(path, text, { mode: 0o600 });
        return use(path);
      }),
    withSite: (origin, use) =>
      inFolder(async (folder) => {
        const makeSite = await (compiled ??= compileSite());
        await writeSite(folder, makeSite(origin));
        return use(folder);
      }),
    randomSecret: (name) => randomSecrets()[name],
    isHealthy: (url, seconds) =>
      untilHealthy(url, seconds, stopped).then(
        () => true,
        () => false,
      ),
  };
}

let compiled: Promise<MakeSite> | undefined;

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "affiliate-deploy-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads the variable as wrangler does: it rules out questions, even at a terminal. */
function isCi(): boolean {
  return !["", "false"].includes(process.env["CI"] ?? "");
}

type Route = string | { pattern: string; custom_domain?: boolean };

/** The used part of wrangler's parsed configuration. */
interface Read {
  name?: string;
  account_id?: string;
  d1_databases: { binding: string; database_name?: string }[];
  r2_buckets: { binding: string; bucket_name?: string; jurisdiction?: string }[];
  queues: { producers?: { queue?: string }[]; consumers?: { queue: string }[] };
  routes?: Route[];
  workers_dev?: boolean;
  vars: Record<string, string | undefined>;
  send_email: { name: string }[];
  observability?: { logs?: { invocation_logs?: boolean } };
}

function isCustomDomain(route: Route): route is { pattern: string; custom_domain: true } {
  return typeof route !== "string" && route.custom_domain === true;
}

async function declaredBy({ environment, config }: Selected): Promise<Declared> {
  quietWrangler();
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const read: Read = readConfig({ config: resolve(ROOT, config ?? "wrangler.toml"), env: environment });
  const { queues, routes = [], vars, d1_databases, r2_buckets } = read;
  return {
    name: read.name ?? "",
    account_id: read.account_id ?? null,
    databases: d1_databases.map(({ binding, database_name: name = "" }) => ({ binding, name })),
    buckets: r2_buckets.map(({ binding, bucket_name: name = "", jurisdiction }) => ({ binding, name, jurisdiction })),
    queues: [...(queues.producers ?? []), ...(queues.consumers ?? [])]
      .map(({ queue }) => queue ?? "")
      .filter((name, at, all) => name !== "" && all.indexOf(name) === at),
    domains: routes.flatMap((route) => (isCustomDomain(route) ? route.pattern : [])),
    has_patterns: routes.some((route) => !isCustomDomain(route)),
    workers_dev: read.workers_dev ?? null,
    public_url: vars["PUBLIC_URL"] ?? "",
    email_from: read.send_email.some(({ name }) => name === "EMAIL") ? (vars["EMAIL_FROM"] ?? "") : null,
    logs_requests: read.observability?.logs?.invocation_logs !== false,
  };
}

/** The default of wrangler's variable `CLOUDFLARE_API_BASE_URL`. */
const API = "https://api.cloudflare.com/client/v4";

async function openPlatform(stopped: AbortSignal): Promise<PlatformApi | null> {
  const { code, output } = await runWrangler(["auth", "token", "--json"], "quiet", {}, stopped);
  if (stopped.aborted) throw new NotReady((stopped.reason as Error).message);
  const text = /^\{[^]*?^\}/m.exec(output)?.[0];
  if (code !== 0 || text === undefined) return null;
  const found = JSON.parse(text) as { token?: string; key?: string; email?: string };
  const headers: Record<string, string> = found.token
    ? { authorization: `Bearer ${found.token}` }
    : { "x-auth-key": found.key ?? "", "x-auth-email": found.email ?? "" };
  return new PlatformApi(process.env["CLOUDFLARE_API_BASE_URL"] ?? API, headers, stopped);
}

async function readMigrations() {
  const folder = join(ROOT, "migrations");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), "utf8") })));
}

/** Asks a question. @throws NotReady if the person ends the command or closes the terminal */
async function ask(question: string, stopped: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new Promise<null>((resolve) => terminal.once("close", () => resolve(null)));
  try {
    const answer = await Promise.race([
      terminal.question(question, { signal: stopped }).catch((error: Error) => {
        if (error.name === "AbortError") return null;
        throw error;
      }),
      closed,
    ]);
    if (answer !== null) return answer;
    console.log("");
    throw new NotReady("The question was not answered.");
  } finally {
    terminal.close();
  }
}
