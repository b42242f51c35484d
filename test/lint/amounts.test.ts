/** An amount is made in one place: no cast and no schema elsewhere calls a number one, and no operator mixes amounts. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Each with the files that may hold it. */
const RULES: { what: RegExp; only: string[] }[] = [
  // A cast to an amount, or a percentage, also inside of another type.
  { what: /\bas (?!const\b)[^;=]*\b(?:Cents|Percent)\b/, only: ["src/domain/money.ts"] },
  // The columns of the database.
  {
    what: /<(?:Cents|Percent)>(?:\(|\w)/,
    only: ["program", "ledger", "journal", "exports", "statements"]
      .map((name) => `src/db/schema-${name}.ts`)
      .concat("src/db/rows.ts"),
  },
  // Schemas: of requests, of vendors' events, and of replies in the document.
  { what: /\.brand\b/, only: ["src/providers/wire.ts", "src/resources/input.ts", "src/resources/output.ts"] },
  // A rate has a brand of its own.
  { what: /\$brand\b/, only: ["src/domain/money.ts", "src/domain/exchange.ts"] },
  // An operator on amounts gives a number, which may be inexact: only `domain/money.ts` makes amounts of it. Within a
  // sum of a statement SQLite counts in integers of 64 bits, and fails beyond them.
  { what: /(?<!\bsum\(.*)(?<!\w)\w*_cents\)* (?:[-*/%]|\*\*) (?!\()/, only: [] },
  { what: /(?<!side\.sign|\bsum\(.*) [-+*/%] \(*(?:\w+\.)+\w*_cents\b/, only: [] },
  // Conversions are made of integers of any size.
  { what: /Math\.\w+\([^)]*_cents/, only: ["src/domain/exchange.ts"] },
];

function brokenIn(file: string, text: string): string[] {
  const lines = text.split("\n").filter((line) => !/^\s*(?:\/?\*|\/\/|import )/.test(line));
  const rules = RULES.filter(({ only }) => !only.includes(file));
  return lines.filter((line) => rules.some(({ what }) => what.test(line)));
}

describe("amounts", () => {
  it("are made and added up in one place", () => {
    const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT })
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => !/^src\/(?:dev|client)\//.test(file));
    assert.ok(files.length > 200);
    const found = files.flatMap((file) =>
      brokenIn(file, readFileSync(`${ROOT}${file}`, "utf8")).map((line) => `${file}: ${line.trim()}`),
    );
    assert.deepEqual(found, []);
  });

  it("are found where they are made otherwise", () => {
    for (const line of [
      "const amount = value as Cents;",
      "return { rate: { value } } as { rate: { value: Percent } };",
      "const sum = Number(text) as unknown as Cents;",
      "const amount = asserted<Cents>(value);",
      'const schema = z.number().brand<"Cents">();',
      "type Mine = number & $brand<'Cents'>;",
      "if (row.amount_cents * 2 > row.txn_amount_cents) flag(row);",
      "const rest = payment.txn_amount_cents - adjusted;",
      "const rest = total - payment.adjusted_cents;",
      "const most = Math.max(row.amount_cents, 0);",
    ]) {
      assert.deepEqual(brokenIn("src/core/payouts/payouts.ts", line), [line]);
    }
    const statement = "select sum(p.txn_amount_cents - p.adjusted_cents) as revenue_cents";
    assert.deepEqual(brokenIn("src/core/payouts/payouts.ts", statement), []);
    const cast = "  return value as Cents;";
    assert.deepEqual(brokenIn("src/domain/money.ts", cast), []);
  });
});
