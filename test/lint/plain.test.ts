/**
 * Comments are plain English: nouns instead of clauses, "if" for conditions, negated verbs, whole sentences. The counts of
 * `plain-counts.json` are a ratchet: a folder may not have more comments of a class, and must record it when it has fewer:
 * `node test/lint/plain.test.ts --write` lowers the counts, and refuses to raise one.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { commentsOf, STUMBLES, stumblesIn, type Stumble } from "../support/plain-english.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RECORDED = fileURLToPath(new URL("plain-counts.json", import.meta.url));

type Counts = Record<string, Record<Stumble, number>>;

/** `src/core`, `src` for its own files, `test`. */
function folderOf(file: string): string {
  const parts = file.replaceAll("\\", "/").split("/");
  return parts[0] === "src" && parts.length > 2 ? `src/${parts[1]}` : parts[0]!;
}

function countAll(): Counts {
  const counts: Counts = {};
  for (const file of globSync("{src,test}/**/*.{ts,tsx}", { cwd: ROOT }).toSorted()) {
    const none = Object.fromEntries(Object.keys(STUMBLES).map((name) => [name, 0])) as Record<Stumble, number>;
    const row = (counts[folderOf(file)] ??= none);
    for (const { text } of commentsOf(readFileSync(`${ROOT}${file}`, "utf8"))) {
      for (const name of stumblesIn(text)) row[name]++;
    }
  }
  return counts;
}

/** Folders and classes in which `now` is on the given side of `then`. */
function differing(now: Counts, then: Counts, isWrong: (now: number, then: number) => boolean): string[] {
  return Object.entries(now).flatMap(([folder, row]) =>
    Object.entries(row).flatMap(([name, count]) => {
      const recorded = then[folder]?.[name as Stumble] ?? 0;
      return isWrong(count, recorded) ? [`${folder}: ${name}: ${count}, recorded are ${recorded}`] : [];
    }),
  );
}

const now = countAll();
const recorded = JSON.parse(readFileSync(RECORDED, "utf8")) as Counts;
const higher = differing(now, recorded, (count, most) => count > most);

if (process.argv.includes("--write")) {
  assert.deepEqual(higher, [], "these have risen: rewrite the new comments");
  writeFileSync(RECORDED, `${JSON.stringify(now, null, 2)}\n`);
} else {
  describe("comments", () => {
    it("are no less plain than before", () => assert.deepEqual(higher, []));

    it("have their counts lowered when they become plainer", () => {
      const lower = differing(now, recorded, (count, most) => count < most);
      assert.deepEqual(lower, [], "run node test/lint/plain.test.ts --write");
    });
  });

  describe("a turn of phrase that stops the reader", () => {
    it("is found in a comment", () => {
      const found = Object.entries({
        "Of a payout its number.": ["fragment"],
        "Returns what is left.": ["clause"],
        "Null where there is no row.": ["where"],
        "An import that changes nothing.": ["negation"],
        "The code that the event says.": ["participle"],
        "The page where it is shown, and `what` it is.": [],
        "Returns the remaining budget, or null if it is used up.": [],
      });
      for (const [text, names] of found) assert.deepEqual(stumblesIn(commentsOf(`// ${text}`)[0]!.text), names, text);
    });

    it("is looked for in every comment of a file, and not in its code", () => {
      const source = '/** One. */\nconst a = "https://x"; // Two.\n// Three\n// lines.\nf(a, {/* Four. */});\n';
      assert.deepEqual(
        commentsOf(source).map(({ text }) => text),
        ["One.", "Two.", "Three lines.", "Four."],
      );
    });
  });
}
