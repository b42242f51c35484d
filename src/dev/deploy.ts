/**
 * `npm run deploy`: looks at the account, asks for the address and the secrets that are missing, makes the databases
 * where there are none, applies the migrations, and then deploys the Worker, so that code is never ahead of its schema.
 * Queues and the Durable Object are made by wrangler itself. `--env=staging` chooses the other environment; arguments go
 * on to `wrangler deploy`; with --dry-run nothing leaves this machine. Ended by Ctrl+C or a signal, it ends wrangler and says
 * what is true; a second signal ends it at once.
 */
import { deploy } from "./deploy/deployment.ts";
import { toolsOfThisMachine } from "./deploy/this-machine.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => stop.abort(new Error(`The command was ended (${signal}).`)));
}
process.exitCode = await deploy(toolsOfThisMachine(stop.signal), process.argv.slice(2));
