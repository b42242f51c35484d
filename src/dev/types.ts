/**
 * `npm run types`: writes src/worker-configuration.d.ts, the types of the bindings in wrangler.toml. With --check it
 * only compares, and fails if the file is out of date. A local .dev.vars has no effect: src/env.ts has the types of the
 * secrets.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";

quietWrangler();
const { experimental_generateTypes: generateTypes } = await import("wrangler");
const path = join(ROOT, "src", "worker-configuration.d.ts");
const name = relative(ROOT, path);
const { env } = await generateTypes({
  config: join(ROOT, "wrangler.toml"),
  path,
  includeRuntime: false,
  strictVars: false,
  // The name of a missing file prevents wrangler from reading .dev.vars.
  envFile: [join(ROOT, "no.env")],
});
const text = `// Made by npm run types from wrangler.toml.\n${env}\n`;
const written = await readFile(path, "utf8").catch(() => "");
if (text === written) {
  console.log(`${name} is up to date.`);
} else if (process.argv.includes("--check")) {
  console.error(`${name} does not follow wrangler.toml: run npm run types.`);
  process.exitCode = 1;
} else {
  await writeFile(path, text);
  console.log(`${name} written.`);
}
