import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deploy } from "../../../src/dev/deploy/deployment.ts";
import { toolsOfThisMachine } from "../../../src/dev/deploy/this-machine.ts";
import type { DeployTools } from "../../../src/dev/deploy/environment.ts";
import { PlatformApi } from "../../../src/dev/deploy/platform-api.ts";
import { ROOT } from "../process.ts";
import { PlayedAccount } from "./account.ts";
import { PlayedPlatform, TOKEN } from "./platform.ts";
import { inTerminal, type Typed } from "./terminal.ts";

export const WORKER = "affiliate-program-service";
export const KEY = Buffer.alloc(32, 7).toString("base64");
const SMALL_WORKER = "test/dev/platform/small-worker.ts";
/** Wrangler is read once, not for each of its commands. */
const COMPILED = join(tmpdir(), "affiliate-compiled");
export const ADMIN = "t".repeat(32);

/** The output, the questions and the exit code of `npm run deploy`. */
export interface Ended {
  code: number;
  printed: string[];
  asked: string[];
}

/** A person or a CI system with the project checked out, and the platform in front of it. */
export class World {
  readonly account = new PlayedAccount();
  readonly platform = new PlayedPlatform(this.account);
  isLoggedIn = true;
  /** A file with both secrets, for a machine without a terminal. */
  secretsFile = "";
  /** Whether an address answers in time. */
  answers: (origin: string) => boolean = (origin) => this.isHealthy(origin);
  /** The seconds that a deploy would have waited for an address. */
  readonly waits: number[] = [];
  /** The seconds that the deploy's own calls wait for an answer. */
  patience = 60;
  /** Types at the terminal of the deploy that runs. */
  press: (keys: string) => void = () => {};
  #folder = "";
  #config: string[] = [];

  async start(): Promise<void> {
    await this.platform.start();
    this.#folder = await mkdtemp(join(tmpdir(), "affiliate-platform-"));
    this.secretsFile = join(this.#folder, "secrets.json");
    await mkdir(join(this.#folder, "tmp"));
    await writeFile(this.secretsFile, JSON.stringify({ ADMIN_TOKEN: ADMIN, ENCRYPTION_KEY: KEY }));
  }

  async stop(): Promise<void> {
    await this.platform.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Deploys with a changed copy of wrangler.toml, and by default with a small Worker, which is built faster. */
  async configure(change: (text: string) => string, main: "src/index.ts" | typeof SMALL_WORKER = SMALL_WORKER) {
    const text = await readFile(join(ROOT, "wrangler.toml"), "utf8");
    const changed = change(text);
    if (changed === text) throw new Error("wrangler.toml is as it was");
    const path = join(this.#folder, "wrangler.toml");
    const rooted = changed
      .replace('main = "src/index.ts"', `main = "${join(ROOT, main)}"`)
      .replaceAll('migrations_dir = "migrations"', `migrations_dir = "${join(ROOT, "migrations")}"`);
    await writeFile(path, rooted);
    this.#config = [`--config=${path}`];
  }

  /** Deploys as CI does, without a terminal: `npm run deploy -- --secrets-file …`. */
  deployInCi(...args: string[]): Promise<Ended> {
    return this.deploy(null, `--secrets-file=${this.secretsFile}`, ...args);
  }

  /** The command itself, in a terminal in which a person types. */
  async deployAtTerminal(typed: readonly Typed[]): Promise<{ code: number | null; screen: string }> {
    const login = join(this.#folder, ".wrangler", "config");
    await mkdir(login, { recursive: true });
    const lines = [`oauth_token = "${TOKEN}"`, 'refresh_token = "r"', 'expiration_time = "2099-01-01T00:00:00.000Z"'];
    await writeFile(join(login, "default.toml"), this.isLoggedIn ? lines.join("\n") : "");
    this.platform.isHealthy = (origin) => this.isHealthy(origin);
    const { CLOUDFLARE_API_TOKEN: _, CLOUDFLARE_ACCOUNT_ID: _1, ...inherited } = process.env;
    const env = { ...inherited, CI: "false", TERM: "xterm", ...this.#environment() };
    return inTerminal(["src/dev/deploy.ts", ...this.#config].join(" "), env, typed, (press) => (this.press = press));
  }

  /** The command itself in CI, in a process group of its own, which a test can end. */
  startInCi(): { pid: number; ended: Promise<{ code: number | null; printed: string }> } {
    this.platform.isHealthy = (origin) => this.isHealthy(origin);
    const { CLOUDFLARE_ACCOUNT_ID: _, ...inherited } = process.env;
    const env = { ...inherited, CI: "true", CLOUDFLARE_API_TOKEN: TOKEN, ...this.#environment() };
    const args = ["src/dev/deploy.ts", `--secrets-file=${this.secretsFile}`, ...this.#config];
    const child = spawn(process.execPath, args, { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => (printed += data.toString()));
    const ended = new Promise<{ code: number | null; printed: string }>((resolve) =>
      child.once("close", (code) => resolve({ code, printed })),
    );
    return { pid: child.pid!, ended };
  }

  /** The temporary files that the command has left. */
  async filesLeft(): Promise<string[]> {
    const names = await readdir(join(this.#folder, "tmp"));
    return names.filter((name) => name.startsWith("affiliate-"));
  }

  /** The environment of a process: the played platform, a home of its own, and a temporary folder of its own. */
  #environment(): Record<string, string> {
    return {
      ...{ CLOUDFLARE_API_BASE_URL: this.platform.url, FORCE_COLOR: "0", NODE_COMPILE_CACHE: COMPILED },
      ...{ HOME: this.#folder, XDG_CONFIG_HOME: this.#folder, TMPDIR: join(this.#folder, "tmp") },
      NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, "internet.ts")).href}`,
    };
  }

  /** Deploys with a person's answers to the questions, in order or by the question; null without a person. */
  async deploy(answers: string[] | ((question: string) => string) | null, ...args: string[]): Promise<Ended> {
    const printed: string[] = [];
    const asked: string[] = [];
    const given = Array.isArray(answers) ? [...answers] : [];
    const machine = toolsOfThisMachine(new AbortController().signal);
    const env = {
      ...{ CLOUDFLARE_API_BASE_URL: this.platform.url, CLOUDFLARE_API_TOKEN: TOKEN, FORCE_COLOR: "0" },
      ...{ XDG_CONFIG_HOME: this.#folder, CI: "true", NODE_COMPILE_CACHE: COMPILED },
    };
    const tools: DeployTools = {
      ...machine,
      // At a terminal wrangler would take this process's; deploy-terminal.test.ts covers its questions.
      wrangler: async (command, _shown, further) => {
        const run = await machine.wrangler(command, "quiet", { ...env, ...further });
        printed.push(...run.output.split("\n"));
        return run;
      },
      platform: async () =>
        new PlatformApi(this.platform.url, { authorization: `Bearer ${TOKEN}` }, null, this.patience),
      accountGiven: null,
      ask:
        answers &&
        (async (question) => {
          asked.push(question);
          const answer = typeof answers === "function" ? answers(question) : given.shift();
          if (answer === undefined) throw new Error(`nobody answers: ${question}`);
          return answer;
        }),
      print: (line) => void printed.push(...line.split("\n")),
      isHealthy: async (url, seconds) => {
        this.waits.push(seconds);
        return this.answers(url);
      },
    };
    const code = await deploy(tools, [...args, ...this.#config]);
    return { code, printed, asked };
  }

  /** The answer of the deployed service to `GET /healthz`: reachable, configured, and on a complete schema. */
  isHealthy(origin: string): boolean {
    const name = this.account.scriptAt(new URL(origin).hostname);
    const bindings = name === null ? null : this.account.running(name);
    const text = (of: string) => bindings?.find((binding) => binding.name === of)?.text ?? "";
    const database = bindings?.find(({ type }) => type === "d1");
    return (
      text("PUBLIC_URL").startsWith("https://") &&
      Buffer.from(text("ENCRYPTION_KEY"), "base64").length === 32 &&
      this.account.database(database?.database_id ?? database?.id ?? "").tables.includes("programs")
    );
  }
}

/** Starts a world, and stops it at the end. */
export async function inWorld(walk: (world: World) => Promise<void>): Promise<void> {
  const world = new World();
  await world.start();
  try {
    await walk(world);
  } finally {
    await world.stop();
  }
}
