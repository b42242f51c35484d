import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { ROOT } from "./root.ts";

/** The result of a test run. */
export interface Tally {
  passed: number;
  failed: number;
  /** One line for each failure: place, name, and the start of its message. */
  failures: string[];
}

/** The length of a failure's message in its line, in characters: enough for a counterexample or a field of an answer. */
const MESSAGE_LENGTH = 1_000;

/** Returns `message` on one line, shortened. */
export function failureLine(where: string, message: string): string {
  return `${where}: ${message.replaceAll(/\s+/g, " ").trim().slice(0, MESSAGE_LENGTH)}`;
}

/** Writes a `Tally` as JSON to the file in TALLY. A file whose tests never ran counts as one failure. */
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
