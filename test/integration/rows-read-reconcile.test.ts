/** The rows that the daily reconciliation reads. It looks at all of each program, so small programs show its growth. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { plannedByValue } from "../support/planned-by-value.ts";
import { GROWING, RECONCILING } from "../support/rows-growing.ts";
import { growingBeyond } from "../support/rows-measured.ts";
import { meter } from "../support/rows-world.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the rows that the daily reconciliation reads", () => {
  it("grow no more than its program and the number of programs", async () => {
    const group = Object.fromEntries(RECONCILING.map((name) => [name, GROWING[name]!.run]));
    expect(await growingBeyond([group], { small: 10, grown: 30, others: 15 })).toEqual([]);
    expect(await plannedByValue(env.DB, meter.statements)).toEqual([]);
  });
});
