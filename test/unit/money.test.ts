import { describe, expect, it } from "vitest";
import { percentageOf } from "../../src/domain/money.ts";
describe("money", () => {
  it("rounds half up at exactly .5", () => {
    expect(percentageOf(25, 50)).toBe(13);
  });
});
