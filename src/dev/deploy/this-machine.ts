import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseEnv } from "node:util";
import { randomSecrets } from "../dev-vars.ts";
import { untilHealthy } from "../local-service.ts";
import { quietWrangler } from "../quiet.ts";
import { ROOT } from "../root.ts";
import type { Selected } from "./arguments.ts";
import type { Declared, DeployTools } from "./environment.ts";
import { PlatformApi } from "./platform-api.ts";
import { runWrangler } from "./run-wrangler.ts";

/** The tools of a deploy from this machine: its terminal, its wrangler and its credentials. */
export function toolsOfThisMachine(): DeployTools {
  return {
    wrangler: runWrangler,
    declared: declaredBy,
    platform: openPlatform,
    accountGiven: process.env["CLOUDFLARE_ACCOUNT_ID"] || null,
    migrations: readMigrations,
    ask: process.stdin.isTTY && process.stdout.isTTY && !isCi() ? ask : null,
    print: (line) => console.log(line),
    secretsIn: async (path) => {
      const text = await readFile(path, "utf8");
      const isJson = text.trimStart().startsWith("{");
      return isJson ? (JSON.parse(text) as Record<string, string>) : (parseEnv(text) as Record<string, string>);
    },
    withFile: async (name, text, use) => {
      const folder = await mkdtemp(join(tmpdir(), "affiliate-deploy-"));
      try {
        const path = join(folder, name);
        await writeFile(path, text, { mode: 0o600 });
        return await use(path);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    randomSecret: (name) => randomSecrets()[name],
    isHealthy: (url, seconds) =>
      untilHealthy(url, seconds).then(
        () => true,
        () => false,
      ),
  };
}

/** As wrangler takes the variable: nobody answers there, even where there is a terminal. */
function isCi(): boolean {
  return !["", "false"].includes(process.env["CI"] ?? "");
}

type Route = string | { pattern: string; custom_domain?: boolean };

/** What is used of wrangler's reading of a configuration. */
interface Read {
  name?: string;
  account_id?: string;
  d1_databases: { binding: string; database_name?: string }[];
  queues: { producers?: { queue?: string }[]; consumers?: { queue: string }[] };
  routes?: Route[];
  workers_dev?: boolean;
  vars: Record<string, string | undefined>;
  send_email: { name: string }[];
}

function isCustomDomain(route: Route): route is { pattern: string; custom_domain: true } {
  return typeof route !== "string" && route.custom_domain === true;
}

async function declaredBy({ environment, config }: Selected): Promise<Declared> {
  quietWrangler();
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const read: Read = readConfig({ config: resolve(ROOT, config ?? "wrangler.toml"), env: environment });
  const { queues, routes = [], vars, d1_databases } = read;
  return {
    name: read.name ?? "",
    account_id: read.account_id ?? null,
    databases: d1_databases.map(({ binding, database_name: name = "" }) => ({ binding, name })),
    queues: [...(queues.producers ?? []), ...(queues.consumers ?? [])]
      .map(({ queue }) => queue ?? "")
      .filter((name, at, all) => name !== "" && all.indexOf(name) === at),
    domains: routes.flatMap((route) => (isCustomDomain(route) ? route.pattern : [])),
    has_patterns: routes.some((route) => !isCustomDomain(route)),
    workers_dev: read.workers_dev ?? null,
    public_url: vars["PUBLIC_URL"] ?? "",
    email_from: read.send_email.some(({ name }) => name === "EMAIL") ? (vars["EMAIL_FROM"] ?? "") : null,
  };
}

/** As wrangler reads it. */
const API = "https://api.cloudflare.com/client/v4";

async function openPlatform(): Promise<PlatformApi | null> {
  const { code, output } = await runWrangler(["auth", "token", "--json"], "quiet", {});
  const text = /^\{[^]*?^\}/m.exec(output)?.[0];
  if (code !== 0 || text === undefined) return null;
  const found = JSON.parse(text) as { token?: string; key?: string; email?: string };
  const headers: Record<string, string> = found.token
    ? { authorization: `Bearer ${found.token}` }
    : { "x-auth-key": found.key ?? "", "x-auth-email": found.email ?? "" };
  return new PlatformApi(process.env["CLOUDFLARE_API_BASE_URL"] ?? API, headers);
}

async function readMigrations() {
  const folder = join(ROOT, "migrations");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), "utf8") })));
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}
