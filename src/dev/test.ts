/**
 * `npm test`: the suites that run inside the Workers runtime (vitest), then those of the tools around it (node:test).
 * `npm run test:browser`: those in test/browser, which need a Chromium. `npm run test:faults`: those in test/faults,
 * which kill and starve the service for minutes. `npm run test:fuzz`: test/fuzz with 20,000 requests, or `FUZZ_RUNS`.
 * `npm test -- <file or name>` passes its arguments on to vitest alone. The last line sums up all:
 * `N passed, N failed`.
 */
import { spawn, type StdioOptions } from "node:child_process";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";

interface Counts {
  passed: number;
  failed: number;
}

const reports = await mkdtemp(join(tmpdir(), "affiliate-tests-"));
const [first, ...rest] = process.argv.slice(2);
quietWrangler();
try {
  const results: Counts[] = [];
  if (first === "browser" || first === "faults") {
    results.push(await runNodeTests([first], rest));
  } else if (first === "fuzz") {
    results.push(await runVitest(["test/fuzz", ...rest], { FUZZ_RUNS: process.env["FUZZ_RUNS"] ?? "20000" }));
  } else if (first === undefined) {
    // Side by side: the tools' tests mostly wait for processes. Their report is shown after the other.
    const told = join(reports, "tools.txt");
    results.push(...(await Promise.all([runVitest(["--project=!fuzz"]), runNodeTests(["lint", "dev"], [], told)])));
    process.stdout.write(await readFile(told, "utf8").catch(() => ""));
  } else {
    results.push(await runVitest([first, ...rest]));
  }
  const sum = (of: keyof Counts) => results.reduce((total, counts) => total + counts[of], 0);
  console.log(`\n${sum("passed")} passed, ${sum("failed")} failed`);
  process.exitCode = sum("failed") === 0 && sum("passed") > 0 ? 0 : 1;
} finally {
  await rm(reports, { recursive: true, force: true });
}

async function runVitest(args: string[], env: NodeJS.Dict<string> = {}): Promise<Counts> {
  const report = join(reports, "vitest.json");
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", `--reporter=${join(ROOT, "src", "dev", "tally-reporter.ts")}`];
  const code = await run([vitest, "run", ...args, ...reporters], { ...env, TALLY: report });
  const { passed, failed } = JSON.parse(
    await readFile(report, "utf8").catch(() => '{"passed":0,"failed":0}'),
  ) as Counts;
  return counts(code, passed, failed);
}

/** The readable report goes to `told`, a file, or to standard output. */
async function runNodeTests(folders: string[], args: string[], told = "stdout"): Promise<Counts> {
  const patterns = folders.map((folder) => `test/${folder}/**/*.test.ts`);
  const files = (await Array.fromAsync(glob(patterns, { cwd: ROOT }))).toSorted();
  if (files.length === 0) return { passed: 0, failed: 0 };
  const report = join(reports, "node.tap");
  const code = await run([
    ...["--test", "--test-reporter=spec", `--test-reporter-destination=${told}`],
    ...["--test-reporter=tap", `--test-reporter-destination=${report}`, ...args, ...files],
  ]);
  const tap = await readFile(report, "utf8").catch(() => "");
  const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(tap)?.[1] ?? 0);
  return counts(code, count("pass"), count("fail") + count("cancelled"));
}

/** A run that ended badly without a failed test (a file that did not load, an unhandled error) is a failure too. */
function counts(code: number, passed: number, failed: number): Counts {
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed };
}

function run(args: string[], env: NodeJS.Dict<string> = {}): Promise<number> {
  const stdio: StdioOptions = ["ignore", "inherit", "inherit"];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio, env: { ...process.env, ...env } });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
