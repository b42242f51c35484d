/** `npm run dev`: the service of `npm start` in wrangler's interactive session. PORT and PERSIST_TO are the same. */
import { spawn } from "node:child_process";
import { watch } from "node:fs/promises";
import { join, resolve } from "node:path";
import { buildSite } from "./build-site.ts";
import { runCrons } from "./crons.ts";
import { makeDevVars, readDevVars } from "./dev-vars.ts";
import {
  DEFAULT_PORT,
  DEFAULT_STATE,
  localUrl,
  refuseTakenPort,
  siteFolder,
  untilHealthy,
  WRANGLER,
} from "./local-service.ts";
import { migrate } from "./migrate.ts";
import { portFrom } from "./port.ts";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";
import { welcome } from "./welcome.ts";

quietWrangler();
const port = portFrom(process.env["PORT"], DEFAULT_PORT);
const persistTo = resolve(process.env["PERSIST_TO"] || DEFAULT_STATE);
await refuseTakenPort(port);
await makeDevVars();
const url = localUrl(port);
const site = siteFolder(persistTo);
await Promise.all([migrate(persistTo), buildSite(site, url)]);

// --test-scheduled suppresses wrangler's hint on firing crons by hand: the code below fires them.
const vars = ["--var", `PUBLIC_URL:${url}`, "--var", "CLICK_FLUSH_SECONDS:1"];
const at = ["--port", String(port), ...vars, "--persist-to", persistTo, "--assets", site];
const args = ["dev", ...at, "--test-scheduled", ...process.argv.slice(2)];
const child = spawn(process.execPath, [WRANGLER, ...args], { cwd: ROOT, stdio: "inherit" });
child.once("exit", (code) => process.exit(code ?? 0));
// Ctrl+C reaches wrangler as well. Wrangler ends in its own time, and this process with it.
process.on("SIGINT", () => {});
process.once("SIGTERM", () => child.kill("SIGTERM"));

await untilHealthy(url);
const { unstable_readConfig: readConfig } = await import("wrangler");
const { triggers } = readConfig({ config: resolve(ROOT, "wrangler.toml") });
runCrons(url, triggers.crons ?? [], console.error);
const { ADMIN_TOKEN } = await readDevVars();
console.log(`\n${await welcome(url, ADMIN_TOKEN)}\n`);
// Wrangler rebuilds only the Worker's modules, so each change also rebuilds the static files.
for await (const { filename } of watch(join(ROOT, "src"), { recursive: true })) {
  if (!filename?.endsWith("asset-names.txt")) await buildSite(site, url).catch(console.error);
}
