/**
 * `npm run deploy`: checks the account, requests the missing address and secrets, creates missing databases, applies the
 * migrations, and then deploys the Worker, so that code is never ahead of its schema. Wrangler itself creates the queues and
 * the Durable Object. `--env=staging` chooses the other environment; other arguments go to `wrangler deploy`; --dry-run
 * does not change the account. Ctrl+C or a signal stops wrangler, and the command prints the state; a second signal ends it
 * at once.
 */
import { deploy } from "./deploy/deployment.ts";
import { toolsOfThisMachine } from "./deploy/this-machine.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => stop.abort(new Error(`The command was ended (${signal}).`)));
}
process.exitCode = await deploy(toolsOfThisMachine(stop.signal), process.argv.slice(2));
