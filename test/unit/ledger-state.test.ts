/** The statement that reads a payment's state compiles each of its tables once. */
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import { expect, it } from "vitest";
import { selectState } from "../../src/core/ledger/state.ts";

it("names each stage of a payment's state in one place, for each place is compiled with all that it is made of", () => {
  const { sql: text } = new SQLiteSyncDialect().sqlToQuery(
    selectState("prog_1", "provider_a", { provider_transaction_id: "in_1" }, null),
  );
  const stages = [...text.matchAll(/(\w+) as materialized/g)].map(([, name]) => name!);
  expect(stages.length).toBeGreaterThan(8);
  const named = stages.map((name) => [name, text.match(new RegExp(`(from|join) ${name}\\b`, "g"))?.length]);
  expect(named).toEqual(stages.map((name) => [name, 1]));
});
