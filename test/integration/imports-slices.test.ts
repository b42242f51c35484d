/** The import yields between slices, so that a program does not block the isolate. A slice's work is counted, not timed. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { countsOf, sendImport, type ImportReply } from "../support/imports.ts";
import { makeProgram } from "../support/program.ts";
import { callWith } from "../support/watched-database.ts";

const LINES = 5_000;

/** Files of the largest size with the most lines and the most expensive cells. */
const FILES: Record<string, string> = {
  partners: `email,code,name\n${linesOf((i) => `p${i}@many.example,"${`x?ref=a${i} `.repeat(14)}",""""""""""\n`)}`,
  customers: `customer email,code\n${linesOf((i) => `c${i}@many.example,"${`x?ref=a${i} `.repeat(14)}"\n`)}`,
};

function linesOf(line: (i: number) => string): string {
  return Array.from({ length: LINES }, (_, i) => line(i)).join("");
}

interface Watched {
  slices: number;
  /** The most characters read in one slice. */
  most: number;
}

/** Counts the slices and the characters read in each; runs `between` before slice `at` continues. */
function watchSlices(at: number, between: () => Promise<unknown>): Watched {
  const watched = { slices: 0, most: 0 };
  let read = 0;
  const { setTimeout } = globalThis;
  const { charCodeAt } = String.prototype;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms?: number) => {
    if (ms !== 0) return setTimeout(work, ms);
    watched.slices++;
    watched.most = Math.max(watched.most, read);
    read = 0;
    if (watched.slices !== at) return setTimeout(work, 0);
    void between().then(work);
    return 0;
  }) as typeof setTimeout);
  lookWith(function count(this: string, index: number) {
    read++;
    return charCodeAt.call(this, index);
  });
  restore = () => lookWith(charCodeAt);
  return watched;
}

function lookWith(charCodeAt: typeof String.prototype.charCodeAt): void {
  // oxlint-disable-next-line no-extend-native -- what it is replaced with counts, and it is put back
  String.prototype.charCodeAt = charCodeAt;
}

let restore = () => {};

describe("a dry run of the largest import", () => {
  afterEach(() => {
    restore();
    vi.restoreAllMocks();
  });

  it.each(Object.entries(FILES))(
    "of %s is read in slices, and another program is answered between two",
    async (kind, body) => {
      expect(body.length).toBeGreaterThan(800_000);
      expect(new TextEncoder().encode(body).length).toBeLessThanOrEqual(1024 * 1024);
      const [own, other] = await Promise.all([makeProgram(), makeProgram()]);
      const headers = { authorization: `Bearer ${own.api_key}`, "content-type": "text/csv" };
      const answered: (number | string)[] = [];
      const watched = watchSlices(5, async () => {
        const { status } = await callWith({}, "/api/v1/programs/me", {
          headers: { authorization: `Bearer ${other.api_key}` },
        });
        answered.push(status);
      });
      const path = `/api/v1/imports?kind=${kind}&dry_run=true`;
      const reply = await callWith<ImportReply>({}, path, { method: "POST", headers, body });
      answered.push("imported");
      expect([reply.status, reply.body.lines]).toEqual([200, LINES]);
      expect(answered).toEqual([200, "imported"]);
      // About 65,000 characters in each slice, each read at most twice.
      expect(watched.most).toBeLessThan(150_000);
      // The slices read the table, read the lines, check them, and make the report.
      expect(watched.slices).toBeGreaterThan(80);
    },
  );
});

describe("a line (IMP-2)", () => {
  it("whose cells are longer than any need is refused, and what is in columns that are left does not count", async () => {
    const program = await makeProgram();
    const file = [
      "email,code,notes",
      `ann@old.example,ann,${"x".repeat(20_000)}`,
      `bob@old.example,"${"bob ".repeat(5_000)}",`,
      `cid@old.example,https://old.example/${"x".repeat(3_000)}?ref=cid,`,
    ];
    const { status, body } = await sendImport(program, { kind: "partners", dry_run: "true" }, file.join("\n"));
    expect([status, countsOf(body)]).toEqual([200, [1, 0, 0, 0, 2]]);
    expect(body.problems.map(({ message }) => message)).toEqual([
      "Its cells have 20014 characters; the limit is 16384.",
      `“https://old.example/${"x".repeat(40)}…” is too long for a code or a link.`,
    ]);
  });
});
