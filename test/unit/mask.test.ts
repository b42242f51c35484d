import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskAccount, maskAddress, maskDistinctly } from "../../src/domain/mask.ts";

describe("masked payout details (EVT-2)", () => {
  it.each([
    ["wanda@example.com", "w****a@example.com"],
    ["Wanda@example.com", "W****a@example.com"],
    ["jane@example.com", "j****e@example.com"],
    ["jan@example.com", "j****@example.com"],
    ["jo@example.com", "j****@example.com"],
    ["w@example.com", "****@example.com"],
    ["*a@example.com", "*****@example.com"],
    ["*a.*@example.com", "******@example.com"],
    ["żofia😀@example.com", "ż****😀@example.com"],
    ['"a@b"@example.com', '"****"@example.com'],
    ["@example.com", "****"],
    ["no address", "****"],
    ["", "****"],
  ])("%s reads %s", (address, masked) => expect(maskAddress(address)).toBe(masked));

  it.each([
    ["acct_1RTa2bC3dE4fG5", "acct_****4fG5"],
    ["acct_12345678", "acct_****"],
    ["something", "****hing"],
  ])("%s reads %s", (account, masked) => expect(maskAccount(account)).toBe(masked));

  it("differ side by side wherever the values differ, also by case, blanks or the middle alone", () => {
    for (const [before, after] of [
      ["bob.real@gmail.com", "banditreal@gmail.com"],
      ["w@example.com", "z@example.com"],
      ["wAnda@example.com", "wanda@example.com"],
      ["wan da@example.com", "wanda@example.com"],
      ["no address", "another"],
    ] as const) {
      const apart = maskDistinctly(maskAddress);
      expect([apart(before), apart(after)]).toEqual([maskAddress(before), `${maskAddress(before)} (a different one)`]);
      expect([apart(before), apart(after)]).toEqual([apart(before), apart(after)]);
    }
    const local = fc.oneof(
      fc.string({ maxLength: 6, unit: "grapheme" }),
      fc.constantFrom("a", "ab", "aXb", "a..b", "a  b"),
    );
    const host = fc.constantFrom("@example.com", "@EXAMPLE.com", "", "@x (a different one)");
    const value = fc.tuple(local, host).map((parts) => parts.join(""));
    for (const mask of [maskAddress, maskAccount, () => "(secret)"]) {
      fc.assert(
        fc.property(fc.uniqueArray(value, { minLength: 2, maxLength: 6 }), (values) => {
          const texts = values.map(maskDistinctly(mask));
          expect(new Set(texts).size).toBe(values.length);
          for (const [i, text] of texts.entries()) {
            const own = mask(values[i]!);
            expect(text.slice(own.length)).toMatch(/^(?: \(a different one(?:, \d)?\))?$/);
            expect(text.startsWith(own)).toBe(true);
          }
        }),
      );
    }
  });

  it("show two characters of an address before its host at most, and four of an account", () => {
    const text = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
    fc.assert(
      fc.property(text, (local) => {
        const characters = Array.from(local);
        const first = characters.length > 1 ? characters[0] : "";
        const last = characters.length > 3 ? characters.at(-1) : "";
        // An address may show an asterisk of its own, so the text cannot be split at the mask.
        expect(maskAddress(`${local}@example.com`)).toBe(`${first}****${last}@example.com`);
        expect(maskAccount(`acct_${local}`).replace("acct_****", "").length).toBeLessThanOrEqual(4);
      }),
    );
  });
});
