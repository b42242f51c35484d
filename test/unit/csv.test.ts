import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvRecord } from "../../src/domain/csv.ts";
import { readCsv } from "../support/csv.ts";

describe("csvRecord", () => {
  it.each([
    [["a", "b"], "a,b\r\n"],
    [[null, ""], ",\r\n"],
    [['say "hi"', "x,y"], '"say ""hi""","x,y"\r\n'],
    [["two\r\nlines", "one\nline"], '"two\r\nlines","one\nline"\r\n'],
    [[12, -3], "12,-3\r\n"],
    [["12.50", "-0.500"], "12.50,-0.500\r\n"],
    [["Zoë", "日本"], "Zoë,日本\r\n"],
    [[" lead", "trail "], '" lead","trail "\r\n'],
    // Some locales separate by semicolons: unquoted, the second half would be a cell of its own.
    [["a;=1+1"], '"a;=1+1"\r\n'],
  ])("%j is %j", (cells, expected) => {
    expect(csvRecord(cells)).toBe(expected);
  });

  it.each([
    ...["=1+1", "+1", "-1+1", "@SUM(A1)", "\tx", "\rx", "\nx", "=cmd|' /C calc'!A0", '=HYPERLINK("http://x")'],
    ...["＝1", "＋1", "－1", "＠x", " =1", "-", "--1", "-1e5", "+1.5", "-1.", "\0=1"],
  ])("%j cannot become a formula", (text) => {
    expect(readCsv(csvRecord([text]))).toEqual([[`'${text}`]]);
  });

  it("any texts come back as they were, but for the apostrophe before what looks like a formula", () => {
    const cell = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: fc.constantFrom(...'",;=+-@\r\n\t a1.＝') }),
    );
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 5 }), (records) => {
        const read = readCsv(records.map(csvRecord).join(""));
        expect(read.length).toBe(records.length);
        for (const [i, record] of records.entries()) {
          for (const [j, text] of record.entries()) {
            const back = read[i]![j]!;
            expect([text, `'${text}`]).toContain(back);
            expect(back).not.toMatch(/^[\s\0]*[=+@＝＋－＠]/);
            if (/^\s*-/.test(back)) expect(back).toMatch(/^-\d+(\.\d+)?$/);
          }
        }
      }),
    );
  });
});
