import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { retryAfterMs } from "../../src/domain/retry-after.ts";

const NOW = Date.parse("2027-03-01T12:00:00.000Z");
const DAY = 86_400_000;

describe("what a Retry-After header asks for (MAIL-2)", () => {
  it.each([
    ["120", 120_000],
    ["0.5", 500],
    [" 7 ", 7_000],
    // The three forms of a date, RFC 9110.
    ["Mon, 01 Mar 2027 12:10:00 GMT", 600_000],
    ["Monday, 01-Mar-27 12:10:00 GMT", 600_000],
    ["Mon Mar  1 12:10:00 2027", 600_000],
    ["Tue, 01 Mar 2033 12:10:00 GMT", DAY],
    ["99999999999", DAY],
    ["0", null],
    ["-5", null],
    ["Mon, 01 Mar 2027 11:59:59 GMT", null],
    ["Mon, 99 Mar 2027 12:10:00 GMT", null],
    ["soon", null],
    ["1e9", null],
    ["", null],
    [null, null],
  ])("%s is %s ms", (header, asked) => {
    expect(retryAfterMs(header, NOW)).toBe(asked);
  });

  it("is between nothing and a day, whatever it is", () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const asked = retryAfterMs(header, NOW);
        expect(asked === null || (asked > 0 && asked <= DAY)).toBe(true);
      }),
    );
  });
});
