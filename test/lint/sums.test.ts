/** Amounts are added up exactly: in SQL by `core/kernel/sums.ts`, in the code by `addUp`. Adding numbers loses units at 2^53. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** SQL's own sum of a column of amounts, and the running sums of the code. */
const INEXACT = [
  /\b(?:sum|total)\([^)"']*cents/,
  /\+= (?!BigInt).*(?:cents|amount)/,
  /(?:cents|amount)\w* \+= /,
  /\+ \w+\.\w*cents/,
];

function inexactIn(text: string): string[] {
  return text.split("\n").filter((line) => INEXACT.some((pattern) => pattern.test(line)));
}

describe("sums of amounts", () => {
  it("are made in one place, in SQL and in the code", () => {
    const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).filter(
      (file) => !/^src[\\/](?:dev|client|lib)/.test(file),
    );
    assert.ok(files.length > 150);
    const found = files.flatMap((file) =>
      inexactIn(readFileSync(`${ROOT}${file}`, "utf8")).map((line) => `${file}: ${line.trim()}`),
    );
    assert.deepEqual(found, []);
  });

  it("are found where they are made otherwise", () => {
    for (const line of [
      "select sum(amount_cents) from commissions",
      "sum(case when paid then c.amount_cents else 0 end)",
      "total(p.amount_cents)",
      "rows.reduce((sum, row) => sum + row.amount_cents, 0)",
      "net += amount;",
      "skipped_cents += row.value;",
    ]) {
      assert.deepEqual(inexactIn(line), [line]);
    }
  });
});
