import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvRecord } from "../../src/domain/csv.ts";
import { readCsvTable } from "../../src/domain/csv-table.ts";
import { allSlices } from "../support/slices.ts";

function read(text: string, most = 5_000) {
  return allSlices(readCsvTable(text, most)).result;
}

function tableOf(text: string) {
  const table = read(text);
  if (!table.ok) throw new Error(table.message);
  return table;
}

function linesOf(text: string) {
  return tableOf(text).lines;
}

describe("a CSV table", () => {
  it.each([
    ["LF", "email,slug\na@b.co,a\n"],
    ["CRLF", "email,slug\r\na@b.co,a\r\n"],
    ["CR", "email,slug\ra@b.co,a"],
    ["a byte order mark", "\ufeffemail,slug\na@b.co,a"],
    ["semicolons", "email;slug\na@b.co;a"],
    ["tabs", "email\tslug\na@b.co\ta"],
    ["blanks around", " email ,slug\n a@b.co , a "],
    ["quotes", '"email","slug"\n"a@b.co" ,"a"'],
    ["blank lines", "\n\nemail,slug\n\n  \na@b.co,a\n,\n"],
    ["the separator named before it", "sep=;\r\nemail;slug\r\na@b.co;a\r\n"],
    ["a section's name before it", "[[AFFILIATES]]\nemail;slug\na@b.co;a\n"],
    ["another section after it", "[[AFFILIATES]]\r\nemail;slug\r\na@b.co;a\r\n\r\n[[PAYOUTOPTIONS]]\r\nx;y\r\n1;2\r\n"],
  ])("with %s is the same", (_, text) => {
    const { columns, lines } = tableOf(text);
    expect([columns, lines.map(({ cells }) => cells)]).toEqual([["email", "slug"], [["a@b.co", "a"]]]);
  });

  it("names the separator by what is more, or as the file says", () => {
    expect(tableOf("a,b;c;d\n1").columns).toEqual(["a,b", "c", "d"]);
    expect(tableOf("sep=,\na,b;c;d\n1").columns).toEqual(["a", "b;c;d"]);
  });

  it("gives each line its number in the file, quoted line ends counted", () => {
    const lines = linesOf('name,x\n"two\nlines",1\n\nlast,2');
    expect(lines).toEqual([
      { line: 2, cells: ["two\nlines", "1"], problem: null },
      { line: 5, cells: ["last", "2"], problem: null },
    ]);
    expect(linesOf("\ufeff\r\n[[AFFILIATES]]\r\nname;x\r\nlast;2").map(({ line }) => line)).toEqual([4]);
  });

  it("leaves a short line short and drops what a long one has too much", () => {
    expect(linesOf("email,First name\na@b.co\nb@b.co,Bo,more").map(({ cells }) => cells)).toEqual([
      ["a@b.co"],
      ["b@b.co", "Bo"],
    ]);
  });

  it("reports a line in which it is not certain what belongs where", () => {
    const text =
      'email,name\na@b.co,"Al "Big" Cy"\nb@b.co,Bo,more\nc@b.co,Cy,, "" \nd@b.co,5" disk\n"e@b.co" ,"E ""e"""';
    expect(linesOf(text)).toEqual([
      { line: 2, cells: ["a@b.co", "Al"], problem: "A quote inside a quoted cell is not doubled." },
      { line: 3, cells: ["b@b.co", "Bo"], problem: "This line has more cells than there are columns." },
      { line: 4, cells: ["c@b.co", "Cy"], problem: null },
      { line: 5, cells: ["d@b.co", '5" disk'], problem: null },
      { line: 6, cells: ["e@b.co", 'E "e"'], problem: null },
    ]);
    expect(read('"na"me",email\nx,y')).toEqual({ ok: false, message: "A quote inside a quoted cell is not doubled." });
  });

  it("takes off the apostrophe before a formula, and no other", () => {
    const text = "email,code\n'+ann@b.co,'-ann\n'quoted',O'Neill\n'=1+1,''\n";
    expect(linesOf(text).map(({ cells }) => cells)).toEqual([
      ["+ann@b.co", "-ann"],
      ["'quoted'", "O'Neill"],
      ["=1+1", "''"],
    ]);
  });

  it("counts lines beyond the most that are kept", () => {
    expect(read("a\n1\n2\n\n3\n", 2)).toMatchObject({ ok: true, count: 3, lines: [{ line: 2 }, { line: 3 }] });
  });

  it.each([
    ["", "The file is empty."],
    ["\n \n,,", "The file is empty."],
    ['email,slug\n"a,b', "A quoted cell is not closed."],
    [",".repeat(200) + "x", "The file has 201 columns; the limit is 200."],
  ])("refuses %j", (text, message) => {
    expect(read(text)).toEqual({ ok: false, message });
  });

  it("reads back whatever is written, and never throws", () => {
    // A cell is trimmed, and an apostrophe before a formula is taken for the one that it is written with.
    const cell = fc
      .oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."=+-@'\",; \tx\n") }))
      .filter((text) => text === text.trim() && !/^'[\s\0]*[=+\-@\t\r\n＝＋－＠]/.test(text) && !text.includes("\r"));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (rows) => {
        const kept = rows.filter((row) => row.some((text) => text.trim() !== ""));
        const text = ["a,b\r\n", ...rows.map((row) => csvRecord(row))].join("");
        expect(linesOf(text).map(({ cells }) => cells)).toEqual(kept);
      }),
    );
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void read(text)));
  });
});
