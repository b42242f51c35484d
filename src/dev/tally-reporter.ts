import { writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/**
 * Writes how many tests passed and failed as JSON to the file that TALLY names, for `test.ts`. A file that failed as a
 * whole, so that its tests never ran, counts as one.
 */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0 };
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      counts.passed += states.filter((state) => state === "passed").length;
      const failed = states.filter((state) => state === "failed").length;
      counts.failed += failed === 0 && module.state() === "failed" ? 1 : failed;
    }
    const path = process.env["TALLY"];
    if (path) writeFileSync(path, JSON.stringify(counts));
  }
}
