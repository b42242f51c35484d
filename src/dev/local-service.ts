import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { buildSite } from "./build-site.ts";
import { runCrons } from "./crons.ts";
import { keptMail, writeMail } from "./local-mails.ts";
import { boundDatabases, migrate } from "./migrate.ts";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";

export const DEFAULT_PORT = 8787;
/** The address of this machine's service. */
export const localUrl = (port: number): string => `http://localhost:${port}`;

export const DEFAULT_STATE = join(ROOT, ".wrangler", "state");
export const WRANGLER = join(ROOT, "node_modules", "wrangler", "bin", "wrangler.js");

/** A line of the Worker's log, or an uncaught error. */
export interface LogLine {
  level: string;
  message: string;
}

export interface LocalServiceOptions {
  port: number;
  /** The folder of its database and objects, kept between runs. */
  persistTo: string;
  /** Whether the state folder has had all migrations. Default: the missing ones are applied. */
  isMigrated?: boolean;
  /** Fills the file of the migrated database `DB` before the Worker starts. */
  fill?: (file: string) => Promise<void>;
  /** Called when a stage of the start begins. */
  onStage?: (stage: string) => void;
  /** Overrides the variables of `.dev.vars`. */
  secrets?: Record<string, string>;
  /** Plays the outside world: receives each fetch of the Worker. Default: the real network. */
  outbound?: (request: Request) => Response | Promise<Response>;
  onLog: (line: LogLine) => void;
}

export interface LocalService {
  url: string;
  /** Stops the Worker and its crons. Acknowledged changes stay in the state folder. */
  stop: () => Promise<void>;
}

/** Another process listens on the port. */
export class PortTaken extends Error {
  readonly port: number;

  constructor(port: number) {
    super(`Port ${port} is in use.`);
    this.port = port;
  }
}

/** Applies migrations, makes the site, starts the Worker and crons; returns at `GET /healthz`. @throws PortTaken */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  quietWrangler();
  await refuseTakenPort(options.port);
  // Suppress the runtime's own lines, including those that `logLevel` below does not affect (one per queue batch).
  process.env["WRANGLER_LOG"] = "none";
  const site = siteFolder(options.persistTo);
  const { onStage = () => {} } = options;
  onStage("Preparing the database");
  if (!options.isMigrated) await migrate(options.persistTo);
  const filled = options.fill?.((await boundDatabases(options.persistTo))[0]!.file);
  // Its failure is reported below.
  filled?.catch(() => {});
  onStage("Building the pages");
  await buildSite(site, localUrl(options.port));
  // A request of the demo or of a tab to the Worker would open the file that `fill` replaces, which ruins it.
  await filled;
  onStage("Starting the Worker");
  const { unstable_startWorker: startWorker } = await import("wrangler");
  const secrets = Object.entries({ PUBLIC_URL: localUrl(options.port), CLICK_FLUSH_SECONDS: "1", ...options.secrets });
  const worker = await startWorker({
    config: join(ROOT, "wrangler.toml"),
    assets: site,
    bindings: Object.fromEntries(secrets.map(([name, value]) => [name, { type: "secret_text", value }])),
    dev: {
      server: { hostname: "localhost", port: options.port },
      // The inspector reports errors outside a request (cron, queue, waitUntil).
      inspector: { hostname: "127.0.0.1", port: 0 },
      logLevel: "none",
      watch: false,
      persist: options.persistTo,
      structuredLogsHandler: (line: LogLine) => {
        if (isRuntimeInternal(line.message)) return;
        options.onLog(line);
        const mail_id = keptMail(line.message);
        if (mail_id === null) return;
        writeMail(localUrl(options.port), mail_id, join(options.persistTo, "mails")).catch((error: unknown) =>
          options.onLog({ level: "error", message: `The e-mail ${mail_id} was not written: ${String(error)}` }),
        );
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
  const triggers: { cron?: string }[] = worker.config.triggers ?? [];
  const stopCrons = runCrons(
    url,
    triggers.flatMap(({ cron }) => cron ?? []),
    (message) => options.onLog({ level: "error", message }),
  );
  return {
    url,
    stop: async () => {
      stopCrons();
      await worker.dispose();
    },
  };
}

/** Returns the folder of the static files. They contain the service's address, so each service has its own. */
export const siteFolder = (persistTo: string): string => join(persistTo, "site");

export async function freePort(): Promise<number> {
  return listenOnce(0, "127.0.0.1");
}

/** @throws PortTaken */
export async function refuseTakenPort(port: number): Promise<void> {
  try {
    await listenOnce(port, "localhost");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw new PortTaken(port);
  }
}

function listenOnce(port: number, host: string): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      const taken = (server.address() as AddressInfo).port;
      server.close(() => resolve(taken));
    });
  });
}

/** The time-out of one health check, in milliseconds: a later one may be answered. */
const LONGEST_LOOK_MS = 10_000;

/** Waits for a 200 from `GET /healthz`. @throws after `seconds` without one, or once it is stopped */
export async function untilHealthy(url: string, seconds = 120, stopped: AbortSignal | null = null): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  let last = "no answer";
  const isOver = () => Date.now() >= deadline || stopped?.aborted === true;
  while (!isOver()) {
    const patience = AbortSignal.timeout(Math.max(1, Math.min(deadline - Date.now(), LONGEST_LOOK_MS)));
    try {
      const response = await fetch(`${url}/healthz`, {
        signal: stopped ? AbortSignal.any([patience, stopped]) : patience,
      });
      const text = await response.text();
      if (response.ok) return;
      last = `${response.status} ${text}`;
    } catch (error) {
      last = String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The service did not become healthy: ${last}`);
}

/** Matches the runtime's lines about itself. It prints a failed connection as a stack of addresses; the Worker logs it too. */
function isRuntimeInternal(message: string): boolean {
  return message.startsWith("NOSENTRY") || message.includes("sentryErrorContext") || message.includes("wdErrId");
}
