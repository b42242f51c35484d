/** What the compiler refuses of a row's surfaces: `npm run typecheck` fails the day that a line under `@ts-expect-error` compiles. */
import { describe, expect, it } from "vitest";
import type { Decided, Flow, PayloadOf } from "../../src/core/kernel/rows.ts";

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

/** A table with a column that no surface has decided on. */
interface NewFlow extends Flow {
  color: string;
}
type NoPayload = "id" | "program_id" | "created_at" | "updated_at";

export const refused = () => {
  // @ts-expect-error a column that is neither shown nor left out
  const undecided: Decided<NewColumn, "id" | "name", "secret"> = row;
  // @ts-expect-error a column that is shown and left out
  const both: Decided<Row, "id" | "name", "name" | "secret"> = row;
  // @ts-expect-error a column that is no more
  const gone: Decided<Row, "id" | "name", "secret" | "color"> = row;
  // @ts-expect-error a column that is left out is not there to be shown
  const leftOut = shown.secret;
  const flow = {
    flow_id: "",
    name: "",
    event: "transaction_completed",
    action_type: "flat",
    action_value: 1,
    conditions: [],
    priority: 0,
    active: true,
  };
  // @ts-expect-error a payload without the new column
  const payload: PayloadOf<"flow.created", NewFlow, NoPayload> = flow as PayloadOf<"flow.created", Flow, NoPayload>;
  return [undecided, both, gone, leftOut, payload];
};

describe("a surface of a row", () => {
  it("shows what was decided, and a payload holds what is not left out", () => {
    expect(shown).toHaveProperty("name", "b");
    const payload: Omit<PayloadOf<"flow.created", NewFlow, NoPayload | "color">, "conditions"> = {
      ...{ flow_id: "flw", name: "", event: "transaction_completed" },
      ...{ action_type: "flat", action_value: 1, priority: 0, active: true },
    };
    expect(payload.flow_id).toBe("flw");
  });
});
