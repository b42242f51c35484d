/**
 * `npm start`: runs the service on this machine, ready for a newcomer. Writes `.dev.vars` if it is missing, applies the
 * migrations, starts the Worker, creates a program with a year of sample data on the first run, and prints the first
 * steps. `npm start -- --empty` creates the program without the sample. PORT (8787) and PERSIST_TO (.wrangler/state) set
 * the port and the state folder.
 */
import { resolve } from "node:path";
import { makeDevVars, readDevVars } from "./dev-vars.ts";
import {
  DEFAULT_PORT,
  DEFAULT_STATE,
  localUrl,
  PortTaken,
  startLocalService,
  type LocalService,
  type LogLine,
} from "./local-service.ts";
import { portFrom } from "./port.ts";
import { addSample } from "./sample/add.ts";
import { findSample, isNew } from "./sample/find.ts";
import type { MadeProgram } from "./sample/play.ts";
import { welcome } from "./welcome.ts";

const started = performance.now();
const parent = process.ppid;

try {
  const isEmpty = isEmptyWanted(process.argv.slice(2));
  const port = portFrom(process.env["PORT"], DEFAULT_PORT);
  const persistTo = resolve(process.env["PERSIST_TO"] || DEFAULT_STATE);
  await makeDevVars();
  const { ADMIN_TOKEN, ENCRYPTION_KEY } = await readDevVars();
  let made: MadeProgram | null = null;
  let database = "";
  const fill = async (file: string) => {
    database = file;
    if (isEmpty || !ADMIN_TOKEN || !ENCRYPTION_KEY || !isNew(file)) return;
    stage("Adding a year of sample data");
    const variables = { PUBLIC_URL: localUrl(port), ADMIN_TOKEN, ENCRYPTION_KEY };
    made = await addSample(file, variables, showProgress());
  };
  const service = await startLocalService({ port, persistTo, fill, onStage: stage, onLog: print });
  endWithCaller(service);
  stage(`Ready in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  console.log(`\n${await welcome(service.url, ADMIN_TOKEN, { made, hasSample: findSample(database) !== null })}`);
} catch (error) {
  fail(error);
}

/** @throws for an unknown argument */
function isEmptyWanted(args: readonly string[]): boolean {
  const unknown = args.find((arg) => arg !== "--empty");
  if (unknown !== undefined) {
    const variables = `PORT (${DEFAULT_PORT}) and PERSIST_TO (.wrangler/state), the folder of the data`;
    throw new Error(`${unknown} is not an option of npm start. The only one is --empty. It reads ${variables}.`);
  }
  return args.length > 0;
}

function stage(text: string): void {
  console.log(`  ${text}`);
}

/** Shows the finished part of the sample, every two seconds at most. */
function showProgress(): (done: number) => void {
  let shown = performance.now();
  return (done) => {
    if (performance.now() - shown < 2_000) return;
    shown = performance.now();
    stage(`Adding a year of sample data: ${Math.floor(done * 100)} %`);
  };
}

/** Stops the service on a signal, or once npm's shell has ended, because that shell does not forward signals. */
function endWithCaller(service: LocalService): void {
  const end = () => void service.stop().then(() => process.exit(0), fail);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // The runtime's own handlers would exit at once with an error, which npm would report.
    process.removeAllListeners(signal);
    process.once(signal, end);
  }
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    end();
  }, 500);
}

/** Prints the Worker's log lines unchanged, as JSON, and errors on stderr. */
function print({ level, message }: LogLine): void {
  if (level === "error" || level === "warn") console.error(message);
  else console.log(message);
}

function fail(error: unknown): never {
  if (error instanceof PortTaken) {
    // A killed `npm start` cannot stop its runtime, which then keeps the port.
    const end = "Stop what runs there (workerd, if a run was killed)";
    console.error(`${error.message} ${end}, or choose another: PORT=${error.port + 1} npm start`);
  } else {
    console.error(error instanceof Error ? error.message : error);
  }
  process.exit(1);
}
