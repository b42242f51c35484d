import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { ROOT } from "./root.ts";

/** What a run of tests ended in. */
export interface Tally {
  passed: number;
  failed: number;
  /** One line for each failure: its place, its name, and how its message begins. */
  failures: string[];
}

/** As much of a failure's message as its line shows: a property's counterexample, a field of an answer. */
const MESSAGE_LENGTH = 1_000;

/** `message` on one line, shortened. */
export function failureLine(where: string, message: string): string {
  return `${where}: ${message.replaceAll(/\s+/g, " ").trim().slice(0, MESSAGE_LENGTH)}`;
}

/**
 * Writes a `Tally` as JSON to the file that TALLY names, for `test.ts`. A file that failed as a whole, so that its tests
 * never ran, counts as one.
 */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tally: Tally = { passed: 0, failed: 0, failures: [] };
    for (const module of modules) {
      const where = relative(ROOT, module.moduleId);
      const tests = [...module.children.allTests()];
      tally.passed += tests.filter((test) => test.result().state === "passed").length;
      const failed = tests.filter((test) => test.result().state === "failed");
      const failures = failed.map((test) =>
        failureLine(`${where} > ${test.fullName}`, messageOf(test.result().errors)),
      );
      if (failures.length === 0 && module.state() === "failed") {
        failures.push(failureLine(where, messageOf(module.errors())));
      }
      tally.failed += failures.length;
      tally.failures.push(...failures);
    }
    tally.failures.push(...unhandled.map(({ message }) => failureLine("unhandled", message)));
    const path = process.env["TALLY"];
    if (path) writeFileSync(path, JSON.stringify(tally));
  }
}

function messageOf(errors: readonly { message: string }[] | undefined): string {
  return errors?.[0]?.message ?? "no message";
}
