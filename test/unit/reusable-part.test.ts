/** A part of a statement whose text is made once is the same as one that is built each time. */
import { sql, type SQL } from "drizzle-orm";
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import { expect, it } from "vitest";
import { reusablePart } from "../../src/db/reusable-part.ts";

const build = ({ id, most }: Record<"id" | "most", unknown>): SQL =>
  sql`select a from t
    where id = ${id} and kind = ${"fixed"} and (parent = ${id} or n < ${most})`;

const queryOf = (part: SQL) => {
  const { sql: text, params } = new SQLiteSyncDialect().sqlToQuery(sql`select 1 from (${part}) where ${"after"}`);
  return { text: text.replaceAll(/\s+/g, " "), params };
};

it("binds other values to the same text, each in every place, beside those that never change", () => {
  let builds = 0;
  const part = reusablePart(["id", "most"], (places) => {
    builds += 1;
    return build(places);
  });
  for (const values of [
    { id: "one", most: 1 },
    { id: "two", most: null },
  ]) {
    expect(queryOf(part(values))).toEqual(queryOf(build(values)));
  }
  expect(builds).toBe(1);
});

it("refuses a text with a question mark, which would be taken for a value", () => {
  const part = reusablePart(["id"], ({ id }) => sql`select ${id}, '?'`);
  expect(() => part({ id: "one" })).toThrow("a question mark in the text");
});
