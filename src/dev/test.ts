/**
 * `npm test`: the suites of vitest.config.ts but the `apart-` projects, beside those of the tools (node:test).
 * `npm run test:browser`: the suites in test/browser, which need a Chromium. In both, a failed suite runs again, alone.
 * `npm run test:faults`: the suites in
 * test/faults, which kill and starve the service for minutes. `npm run test:fuzz`: test/fuzz with 20,000 requests, or
 * `FUZZ_RUNS`. `npm run test:nightly`: test/nightly, all suites in the Workers runtime, and the property tests, the
 * fuzz and the faults with new seeds.
 * `npm test -- <file or name>` passes its arguments to vitest alone. Each failure is printed again at the end, on a line
 * that begins with `failed: `. The last line has the totals: `N passed, N failed`.
 */
import { spawn, type StdioOptions } from "node:child_process";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { migrate } from "./migrate.ts";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";
import { failureLine, type Tally } from "./tally-reporter.ts";

const reports = await mkdtemp(join(tmpdir(), "affiliate-tests-"));
const [first, ...rest] = process.argv.slice(2);
quietWrangler();
try {
  const results: Tally[] = [];
  if (first === "browser") {
    // Two suites at once, since each waits for its browser and its service in turn. All services begin with one state.
    const state = join(reports, "state");
    await migrate(state);
    const env = { MIGRATED_STATE: state };
    const all = await runNodeTests([first], ["--test-concurrency=2", ...rest], "stdout", env);
    results.push(await withRetry(all, (files) => runNodeTests(files, [], "stdout", env)));
  } else if (first === "faults") {
    results.push(await runNodeTests([first], rest));
  } else if (first === "fuzz") {
    results.push(await runVitest(["test/fuzz", ...rest], { FUZZ_RUNS: process.env["FUZZ_RUNS"] ?? "20000" }));
  } else if (first === "nightly") {
    results.push(await runVitest(["--project=apart-nightly"]));
    // The suites that `npm test` runs in Node.
    results.push(
      await runVitest(["--project=programs", "--project=shards", "--project=jobs"], { TEST_RUNTIME: "workers" }),
    );
    results.push(await runVitest(["property"], { PROPERTY_RUNS: "400" }));
    results.push(await runVitest(["test/fuzz"], { FUZZ_RUNS: "20000" }));
    results.push(await runNodeTests(["faults", "mutants"], []));
  } else if (first === undefined) {
    const seed = { PROPERTY_SEED: process.env["PROPERTY_SEED"] ?? String(Date.now() % 2 ** 31) };
    // Both run at once, because the tools' tests mostly wait for processes. Their report is printed second.
    const output = join(reports, "tools.txt");
    const [suites, tools] = await Promise.all([
      runVitest(["--project=!apart-*"], seed),
      runNodeTests(["lint", "dev", "simulate"], [], output),
    ]);
    process.stdout.write(await readFile(output, "utf8").catch(() => ""));
    results.push(
      await withRetry(suites, (files) => runVitest(["--project=!apart-*", ...files], seed)),
      await withRetry(tools, (files) => runNodeTests(files, [])),
    );
  } else {
    results.push(await runVitest([first, ...rest]));
  }
  const sum = (of: "passed" | "failed") => results.reduce((total, tally) => total + tally[of], 0);
  console.log("");
  for (const failure of results.flatMap(({ failures }) => failures)) console.log(`failed: ${failure}`);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
  process.exitCode = sum("failed") === 0 && sum("passed") > 0 ? 0 : 1;
} finally {
  await rm(reports, { recursive: true, force: true });
}

async function runVitest(args: string[], env: NodeJS.Dict<string> = {}): Promise<Tally> {
  const report = join(reports, "vitest.json");
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", `--reporter=${join(ROOT, "src", "dev", "tally-reporter.ts")}`];
  const code = await run([vitest, "run", ...args, ...reporters], { ...env, TALLY: report });
  const none: Tally = { passed: 0, failed: 0, failures: [] };
  const tally = await readFile(report, "utf8").then(
    (text) => JSON.parse(text) as Tally,
    () => none,
  );
  return judged(code, "vitest", tally);
}

/**
 * Runs the files of failed tests again, with the same seed: the machine's clock may be set back and the local runtime's
 * proxy may lose a request, which no suite can prevent. Prints each failure that did not come again on a line that begins
 * with `flaky: `.
 */
async function withRetry(all: Tally, retry: (files: string[]) => Promise<Tally>): Promise<Tally> {
  const files = [...new Set(all.failures.flatMap((failure) => /^test\/\S+?\.test\.ts/.exec(failure) ?? []))];
  if (files.length === 0 || all.failures.length < all.failed) return all;
  const again = await retry(files);
  const nameOf = (failure: string) => failure.split(": ")[0];
  const still = new Set(again.failures.map(nameOf));
  for (const failure of all.failures) if (!still.has(nameOf(failure))) console.log(`flaky: ${failure}`);
  return { passed: all.passed + all.failed - again.failed, failed: again.failed, failures: again.failures };
}

/** Runs test files, or those of folders of `test`. The readable report goes to the file `output`, or to standard output. */
async function runNodeTests(
  places: string[],
  args: string[],
  output = "stdout",
  env: NodeJS.Dict<string> = {},
): Promise<Tally> {
  const patterns = places.map((place) => (place.endsWith(".ts") ? place : `test/${place}/**/*.test.ts`));
  const files = (await Array.fromAsync(glob(patterns, { cwd: ROOT }))).toSorted();
  if (files.length === 0) return { passed: 0, failed: 0, failures: [] };
  const report = join(reports, "node.tap");
  const reporters = ["--test-reporter=spec", `--test-reporter-destination=${output}`];
  reporters.push("--test-reporter=tap", `--test-reporter-destination=${report}`);
  const code = await run(["--test", ...reporters, ...args, ...files], env);
  const tap = await readFile(report, "utf8").catch(() => "");
  const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(tap)?.[1] ?? 0);
  const failed = count("fail") + count("cancelled");
  return judged(code, "node --test", { passed: count("pass"), failed, failures: failuresIn(tap) });
}

/** Reports only the failed tests themselves: a suite is `not ok` as soon as one of its tests is. */
function failuresIn(tap: string): string[] {
  const reports = tap.split(/^(?= *not ok )/m).slice(1);
  return reports
    .filter((report) => !report.includes("failureType: 'subtestsFailed'"))
    .map((report) => {
      const name = /^ *not ok \d+ - (.*)/.exec(report)?.[1] ?? "";
      const place = /location: '(.*)'/.exec(report)?.[1] ?? "";
      const message = /^ *error: (?:\|-\n)?([\s\S]*?)\n *(?:code|name|expected|stack):/m.exec(report)?.[1] ?? "";
      return failureLine(`${relative(ROOT, place)} > ${name}`, message);
    });
}

/** Counts a run that failed without a failed test (a file that did not load, an unhandled error) as a failure. */
function judged(code: number, runner: string, tally: Tally): Tally {
  if (code === 0 || tally.failed > 0) return tally;
  const failures = tally.failures.length > 0 ? tally.failures : [`${runner} exited with ${code}`];
  return { ...tally, failed: 1, failures };
}

function run(args: string[], env: NodeJS.Dict<string> = {}): Promise<number> {
  const stdio: StdioOptions = ["ignore", "inherit", "inherit"];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio, env: { ...process.env, ...env } });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
