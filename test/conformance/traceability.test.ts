/** README.md leads from each sentence to a test that exists. */
import { describe, expect, it } from "vitest";
import readme from "./README.md?raw";

const SOURCES = import.meta.glob<string>("../*/*.test.ts", { query: "?raw", import: "default", eager: true });

const HEADINGS = [
  "What the service does",
  "Resources and their fields",
  "States and transitions",
  "Endpoints",
  "Authentication",
  "Events",
  "Errors",
  "Limits",
  "Versioning",
];

/** `file › part of a title`, the last column of each row. */
const REFERENCES = [...readme.matchAll(/\| ([a-z]+\/[a-z0-9.-]+\.test\.ts) › (.+?) +\|$/gm)].map(
  ([, file = "", title = ""]) => ({ file, title }),
);

describe("traceability", () => {
  it("has a section for each heading, and a test in each row", () => {
    expect([...readme.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual(HEADINGS);
    const rows = readme.split("\n").filter((line) => line.startsWith("|") && !/^\| -|\| Test +\|$/.test(line));
    expect(rows.length).toBe(REFERENCES.length);
    expect(rows.length).toBeGreaterThan(90);
  });

  it("names tests that exist", () => {
    const missing = REFERENCES.filter(({ file, title }) => {
      const path = file.startsWith("conformance/") ? `./${file.slice("conformance/".length)}` : `../${file}`;
      return !SOURCES[path]?.includes(title);
    });
    expect(missing).toEqual([]);
  });
});
