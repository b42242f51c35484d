/**
 * `npm run deploy`: creates the database where there is none, applies the migrations, and then deploys the Worker, so
 * that code is never ahead of its schema. Queues and the Durable Object are made by wrangler itself. Arguments go on to
 * `wrangler deploy`; with --dry-run nothing leaves this machine.
 */
import { runWrangler } from "./run-wrangler.ts";

const DATABASE = "affiliate-program";
const args = process.argv.slice(2);

if (!args.includes("--dry-run")) {
  const migrate = () => runWrangler(["d1", "migrations", "apply", "DB", "--remote"]);
  const first = await migrate();
  if (first.code !== 0) {
    if (!first.output.includes(`wrangler d1 create ${DATABASE}`)) process.exit(first.code);
    orExit(await runWrangler(["d1", "create", DATABASE]));
    orExit(await migrate());
  }
}
orExit(await runWrangler(["deploy", "--minify", ...args]));

function orExit({ code }: { code: number }): void {
  if (code !== 0) process.exit(code);
}
