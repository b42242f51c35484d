/** The QR code of a partner's link: its path is the code, and a link that does not fit has no code. */
import { encode } from "uqr";
import { describe, expect, it } from "vitest";
import { qrCode } from "../../src/http/pages/parts/qr.tsx";

/** The modules that a path fills, row by row. */
function modulesOf({ size, path }: { size: number; path: string }): boolean[][] {
  const rows = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1H\d+z/g)) {
    for (let i = 0; i < Number(width); i++) rows[Number(y)]![Number(x) + i] = true;
  }
  return rows;
}

describe("a QR code (PORTAL-7)", () => {
  it("has the modules of its text, four light ones around, and room for damage", () => {
    for (const text of ["https://shop.example/?ref=jane", "https://shop.example/ü?ref=a&sub=b", "x".repeat(2_331)]) {
      const code = qrCode(text);
      const { data, size } = encode(text, { ecc: "M", border: 4 });
      expect(code?.size).toBe(size);
      expect(modulesOf(code!)).toEqual(data);
      expect(data.slice(0, 4).flat().includes(true)).toBe(false);
    }
  });

  it("of a text that is too long is none, counted in bytes", () => {
    expect(qrCode("x".repeat(2_332))).toBeNull();
    expect(qrCode("ü".repeat(1_166))).toBeNull();
    expect(qrCode("ü".repeat(1_165))).not.toBeNull();
  });
});
