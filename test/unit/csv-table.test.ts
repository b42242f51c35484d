import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvRecord } from "../../src/domain/csv.ts";
import { readCsvTable } from "../../src/domain/csv-table.ts";

function linesOf(text: string) {
  const table = readCsvTable(text);
  if (!table.ok) throw new Error(table.message);
  return table.lines;
}

describe("a CSV table", () => {
  it.each([
    ["LF", "email,slug\na@b.co,a\n"],
    ["CRLF", "email,slug\r\na@b.co,a\r\n"],
    ["CR", "email,slug\ra@b.co,a"],
    ["a byte order mark", "\ufeffemail,slug\na@b.co,a"],
    ["semicolons", "email;slug\na@b.co;a"],
    ["tabs", "email\tslug\na@b.co\ta"],
    ["names in any case, with blanks", " E-Mail ,SLUG\na@b.co,a".replace("E-Mail", "Email")],
    ["quotes", '"email","slug"\n"a@b.co" ,"a"'],
    ["blank lines", "\n\nemail,slug\n\n  \na@b.co,a\n,\n"],
  ])("with %s is the same", (_, text) => {
    const [line, ...more] = linesOf(text);
    expect([line?.cells, more]).toEqual([{ email: "a@b.co", slug: "a" }, []]);
  });

  it("tells each line by its number in the file, quoted line ends counted", () => {
    const lines = linesOf('name,x\n"two\nlines",1\n\nlast,2');
    expect(lines).toEqual([
      { line: 2, cells: { name: "two\nlines", x: "1" } },
      { line: 5, cells: { name: "last", x: "2" } },
    ]);
  });

  it("fills what a short line lacks, drops what a long one has too much, and makes `First name` a column", () => {
    expect(linesOf("email,First name\na@b.co\nb@b.co,Bo,more").map(({ cells }) => cells)).toEqual([
      { email: "a@b.co", first_name: "" },
      { email: "b@b.co", first_name: "Bo" },
    ]);
  });

  it.each([
    ["", "There is nothing in it."],
    ["\n \n,,", "There is nothing in it."],
    ['email,slug\n"a,b', "A quoted cell is not closed."],
    ["email,slug,Email", "The column email is there twice."],
  ])("refuses %j", (text, message) => {
    expect(readCsvTable(text)).toEqual({ ok: false, message });
  });

  it("reads back whatever is written, and never throws", () => {
    // A cell is trimmed, and one that begins like a formula is written with an apostrophe.
    const cell = fc
      .string()
      .filter((text) => text === text.trim() && !/^[\s\0'=+\-@＝＋－＠]/.test(text) && !text.includes("\r"));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (rows) => {
        const kept = rows.filter((row) => row.some((text) => text.trim() !== ""));
        const text = ["a,b\r\n", ...rows.map((row) => csvRecord(row))].join("");
        expect(linesOf(text).map(({ cells }) => [cells["a"], cells["b"]])).toEqual(kept);
      }),
    );
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void readCsvTable(text)));
  });
});
