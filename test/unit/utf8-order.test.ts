import fc from "fast-check";
import { expect, it } from "vitest";
import { compareUtf8 } from "../../src/lib/utf8-order.ts";

const bytesOf = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));

it("orders texts by their bytes in UTF-8", () => {
  const characters = fc.oneof(
    fc.constantFrom("a", "é", "\ud7ff", "％", "🎉"),
    fc.string({ unit: "binary", maxLength: 1 }),
  );
  const texts = fc.array(characters, { maxLength: 5 }).map((some) => some.join(""));
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      const [x, y] = [bytesOf(a), bytesOf(b)];
      expect(Math.sign(compareUtf8(a, b))).toBe(x < y ? -1 : x > y ? 1 : 0);
    }),
  );
  expect(compareUtf8("50％off", "50🎉off")).toBeLessThan(0);
});
