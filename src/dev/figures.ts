/**
 * `npm run figures`: measures the toolchain's figures of src/docs/figures.md: the time of `npm ci` and of the first
 * `npm start` in a fresh copy of the project, and the size of the deployed Worker.
 */
import { execFile, spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { buildSite } from "./build-site.ts";
import { freePort, WRANGLER } from "./local-service.ts";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "affiliate-figures-"));
quietWrangler();
try {
  const { stdout } = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
  for (const name of stdout.split("\0")) {
    // Git also lists files that are deleted but not committed.
    if (name) await cp(join(ROOT, name), join(folder, name)).catch(() => {});
  }
  const npm = await seconds(() => run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder }));
  const start = await seconds(firstStart);
  const [plain, minified] = [await bundle([]), await bundle(["--minify"])];
  console.log(
    `Node ${process.versions.node}, ${availableParallelism()} cores, packages from npm's cache where it has them`,
  );
  console.log(`install   npm ci                         ${npm.toFixed(1)} s`);
  console.log(`start     first npm start, until ready   ${start.toFixed(1)} s`);
  console.log(`bundle    as written                     ${kib(plain.length)}, gzip ${kib(gzipSync(plain).length)}`);
  console.log(
    `bundle    minified, as deployed          ${kib(minified.length)}, gzip ${kib(gzipSync(minified).length)}`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

/** Measures until the service prints the first program's API key, which a newcomer needs to use it. */
async function firstStart(): Promise<void> {
  const env = { ...process.env, PORT: String(await freePort()), PERSIST_TO: join(folder, "state") };
  const child = spawn("npm", ["start"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let output = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      if (/API key +sk_/.test(output)) resolve();
    });
    child.once("close", () => reject(new Error(`npm start ended:\n${output}`)));
  });
  child.kill();
  await ended;
}

async function bundle(args: string[]): Promise<Buffer> {
  const outdir = join(folder, "bundle");
  const site = join(folder, "site");
  await buildSite(site, null);
  const all = ["deploy", "--dry-run", "--outdir", outdir, "--assets", site, ...args];
  await run(process.execPath, [WRANGLER, ...all], { cwd: ROOT });
  return readFile(join(outdir, "index.js"));
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(0)} KiB`;
}
