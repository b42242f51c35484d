/** Each mistake of the list is found by the suite that the list names for it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { ROOT } from "../../src/dev/root.ts";
import { MUTANTS } from "./list.ts";
import { ROUNDS } from "./rounds.ts";

interface Report {
  testResults: { name: string; assertionResults: { status: string }[] }[];
}

const folder = mkdtempSync(join(tmpdir(), "affiliate-mutants-"));
after(() => rmSync(folder, { recursive: true }));

/** The suites that fail while each has its mistake. */
function failingIn(round: number): string[] {
  const outputFile = join(folder, `${round}.json`);
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "--project=apart-mutants", "--reporter=json", `--outputFile=${outputFile}`];
  const { stderr } = spawnSync(process.execPath, args, {
    ...{ cwd: ROOT, encoding: "utf8", maxBuffer: 2 ** 30 },
    env: { ...process.env, MUTANTS_ROUND: String(round) },
  });
  assert.ok(!stderr.includes(" times "), stderr);
  const { testResults } = JSON.parse(readFileSync(outputFile, "utf8")) as Report;
  assert.equal(testResults.length, ROUNDS[round]!.size);
  const hasFailed = (tests: { status: string }[]) => tests.some(({ status }) => status === "failed");
  return testResults.filter(({ assertionResults }) => hasFailed(assertionResults)).map(({ name }) => name);
}

for (const [round, mutants] of ROUNDS.entries()) {
  describe(`mistakes, run ${round + 1}`, () => {
    let failing: string[] | undefined;
    for (const [suite, at] of mutants) {
      const { file, from, to } = MUTANTS[at]!;
      it(`${file}: ${from} → ${to} is found by ${suite}`, () => {
        failing ??= failingIn(round);
        assert.ok(failing.includes(join(ROOT, "test", `${suite}.test.ts`)));
      });
    }
  });
}
