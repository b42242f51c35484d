/**
 * `npm start`: runs the service on this machine, ready for a newcomer. Writes `.dev.vars` if it is missing, applies the
 * migrations, starts the Worker, and on the first run creates a program and prints the first steps.
 * PORT (8787) and PERSIST_TO (.wrangler/state) set the port and the state folder.
 */
import { resolve } from "node:path";
import { makeDevVars, readDevVars } from "./dev-vars.ts";
import {
  DEFAULT_PORT,
  DEFAULT_STATE,
  PortTaken,
  startLocalService,
  type LocalService,
  type LogLine,
} from "./local-service.ts";
import { portFrom } from "./port.ts";
import { welcome } from "./welcome.ts";

const started = performance.now();
const parent = process.ppid;

try {
  const port = portFrom(process.env["PORT"], DEFAULT_PORT);
  const persistTo = resolve(process.env["PERSIST_TO"] || DEFAULT_STATE);
  await makeDevVars();
  console.log("Preparing the local database and starting the service. The first start can take a minute …");
  const service = await startLocalService({ port, persistTo, onLog: print });
  endWithCaller(service);
  const { ADMIN_TOKEN } = await readDevVars();
  console.log(`The service is ready after ${((performance.now() - started) / 1000).toFixed(1)} s.\n`);
  console.log(await welcome(service.url, ADMIN_TOKEN));
} catch (error) {
  fail(error);
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
