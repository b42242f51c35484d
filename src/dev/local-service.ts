import { execFile } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { isDue } from "./cron.ts";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";

export const DEFAULT_PORT = 8787;
export const DEFAULT_STATE = join(ROOT, ".wrangler", "state");

/** A line of the Worker's log, or of an error that it did not catch. */
export interface LogLine {
  level: string;
  message: string;
}

export interface LocalServiceOptions {
  port: number;
  /** The folder of database, objects and queues; kept between runs. */
  persistTo: string;
  /** In place of `.dev.vars`. */
  secrets?: Record<string, string>;
  /** Plays the outside world: whatever the Worker fetches comes here. The real network unless given. */
  outbound?: (request: Request) => Response | Promise<Response>;
  onLog: (line: LogLine) => void;
}

export interface LocalService {
  url: string;
  /** Ends the Worker and its crons; what is acknowledged stays in the state folder. */
  stop: () => Promise<void>;
}

/** What the port number in use is answered with, for people. */
export class PortTaken extends Error {}

/** Applies the migrations, starts the Worker and its crons, and comes back once it answers `GET /healthz`. */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  quietWrangler();
  await refuseTakenPort(options.port);
  const [{ unstable_startWorker: startWorker }] = await Promise.all([import("wrangler"), migrate(options.persistTo)]);
  const secrets = Object.entries(options.secrets ?? {});
  const worker = await startWorker({
    config: join(ROOT, "wrangler.toml"),
    bindings: Object.fromEntries(secrets.map(([name, value]) => [name, { type: "secret_text", value }])),
    dev: {
      server: { hostname: "localhost", port: options.port },
      // The inspector is how errors outside a request (cron, queue, waitUntil) become known.
      inspector: { hostname: "127.0.0.1", port: 0 },
      logLevel: "none",
      watch: false,
      persist: options.persistTo,
      structuredLogsHandler: (line: LogLine) => {
        if (!isRuntimeInternal(line.message)) options.onLog(line);
      },
      ...(options.outbound ? { outboundService: options.outbound } : {}),
    },
  });
  worker.raw.on("runtimeError", ({ stack, text }: { stack: string; text: string }) =>
    options.onLog({ level: "error", message: stack || text }),
  );
  await worker.ready;
  const url = (await worker.url).origin;
  await untilHealthy(url);
  const triggers: { type: string; cron?: string }[] = worker.config.triggers ?? [];
  const crons = runCrons(
    url,
    triggers.flatMap(({ cron }) => cron ?? []),
    options.onLog,
  );
  return {
    url,
    stop: async () => {
      clearInterval(crons);
      await worker.dispose();
    },
  };
}

/** Applies the migrations that a state folder has not seen. */
export async function migrate(persistTo: string): Promise<void> {
  const wrangler = join(ROOT, "node_modules", "wrangler", "bin", "wrangler.js");
  const args = ["d1", "migrations", "apply", "DB", "--local", "--persist-to", persistTo];
  try {
    await promisify(execFile)(process.execPath, [wrangler, ...args], { cwd: ROOT });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`The migrations could not be applied to ${persistTo}:\n${stdout ?? ""}${stderr ?? ""}`, {
      cause: error,
    });
  }
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
  });
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function refuseTakenPort(port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? new PortTaken(`Port ${port} is in use.`) : error),
    );
    server.listen(port, "localhost", () => server.close(() => resolve()));
  });
}

async function untilHealthy(url: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  let last = "no answer";
  while (Date.now() < deadline) {
    try {
      const response = await fetch(`${url}/healthz`);
      if (response.ok) return;
      last = `${response.status} ${await response.text()}`;
    } catch (error) {
      last = String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The service did not become healthy: ${last}`);
}

/** The local runtime fires no cron by itself: this does, on the minute, and once at the start for what was left due. */
function runCrons(url: string, crons: string[], onLog: (line: LogLine) => void): NodeJS.Timeout {
  const fire = async (at: Date, due: string[]) => {
    for (const cron of due) {
      const query = new URLSearchParams({ cron, time: String(at.getTime()) });
      const response = await fetch(`${url}/cdn-cgi/local/scheduled?${query}`);
      if (!response.ok) onLog({ level: "error", message: `The cron "${cron}" ended with ${response.status}.` });
    }
  };
  const report = (error: unknown) => onLog({ level: "error", message: `A cron could not be run: ${String(error)}` });
  let minute = Math.floor(Date.now() / 60_000);
  const everyMinute = crons.filter((cron) => cron === "* * * * *");
  fire(new Date(), everyMinute).catch(report);
  const timer = setInterval(() => {
    const now = Math.floor(Date.now() / 60_000);
    if (now === minute) return;
    minute = now;
    const at = new Date(now * 60_000);
    fire(
      at,
      crons.filter((cron) => isDue(cron, at)),
    ).catch(report);
  }, 1000);
  return timer;
}

/** Lines of the runtime about itself: a failed connection is in them as a stack of addresses; the Worker tells it too. */
function isRuntimeInternal(message: string): boolean {
  return message.startsWith("NOSENTRY") || message.includes("sentryErrorContext") || message.includes("wdErrId");
}
