import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstIdAt, instantOf, newId } from "../../src/lib/id.ts";

const instant = fc.integer({ min: 0, max: 2 ** 48 - 1 });

describe("the instant of an id", () => {
  it("is the one at which it was minted", () => {
    fc.assert(
      fc.property(instant, (ms) => {
        expect(instantOf(newId("event", ms))).toBe(ms);
        expect(instantOf(firstIdAt("event", ms))).toBe(ms);
      }),
    );
  });

  it("is of a text that is no id that of the next id: no id of an earlier instant comes after it", () => {
    const character = fc.constantFrom(..."0123456789abcdefghijklmnopqrstuvwxyz".split(""));
    const text = fc.array(character, { minLength: 25, maxLength: 25 }).map((rest) => `evt_0${rest.join("")}`);
    fc.assert(
      fc.property(text, (id) => {
        const ms = instantOf(id);
        expect(id < firstIdAt("event", ms + 1)).toBe(true);
        if (ms > 0) expect(id >= firstIdAt("event", ms - 1)).toBe(true);
      }),
    );
  });
});
