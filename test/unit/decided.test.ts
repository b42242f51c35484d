/** Type errors in a row's surfaces: `npm run typecheck` fails the day that a line under `@ts-expect-error` compiles. */
import { describe, expect, it } from "vitest";
import type { Decided } from "../../src/core/kernel/rows.ts";

interface Row {
  id: string;
  name: string;
  secret: string;
}

interface NewColumn extends Row {
  nickname: string;
}

const row: NewColumn = { id: "a", name: "b", secret: "c", nickname: "d" };
const shown: Decided<Row, "id" | "name", "secret"> = row;

export const refused = () => {
  // @ts-expect-error a column that is neither shown nor left out
  const undecided: Decided<NewColumn, "id" | "name", "secret"> = row;
  // @ts-expect-error a column that is shown and left out
  const both: Decided<Row, "id" | "name", "name" | "secret"> = row;
  // @ts-expect-error a column that is no more
  const gone: Decided<Row, "id" | "name", "secret" | "color"> = row;
  // @ts-expect-error a column that is left out is not there to be shown
  const leftOut = shown.secret;
  return [undecided, both, gone, leftOut];
};

describe("a surface of a row", () => {
  it("shows what was decided", () => {
    expect(shown).toHaveProperty("name", "b");
  });
});
