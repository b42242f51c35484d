import { describe, expect, it } from "vitest";
import {
  CONDITION_FIELDS,
  CONDITION_OPS,
  conditionProblem,
  FIELD_RULES,
  type ConditionOp,
} from "../../src/domain/condition.ts";
import { IMPORT_KINDS, importFields, matchColumns } from "../../src/http/import/columns.ts";
import { GUIDES } from "../../src/site/guide-list.ts";
import { call } from "../support/program.ts";
import { ALL_FILLED } from "../support/import-cells.ts";

const SOURCES = import.meta.glob<string>("../../src/docs/*.md", { query: "?raw", import: "default", eager: true });

interface Guide {
  path: string;
  source: string;
  headers: Headers;
  body: string;
}

async function openGuides(): Promise<Guide[]> {
  return Promise.all(
    GUIDES.map(async ({ name }) => {
      const path = `/docs/${name}`;
      const { status, headers, body } = await call<string>(path);
      expect([path, status]).toEqual([path, 200]);
      return { path, source: SOURCES[`../../src/docs/${name}.md`]!, headers, body };
    }),
  );
}

const idsIn = (body: string) => [...body.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id);
const textOf = (body: string) =>
  body
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

describe("GET /docs/:guide", () => {
  it("is a page for each guide, which caches may keep, under the pages' policy", async () => {
    expect(GUIDES.length).toBeGreaterThanOrEqual(8);
    for (const { path, headers, body } of await openGuides()) {
      expect([path, headers.get("cache-control")]).toEqual([path, "public, max-age=3600"]);
      expect([path, headers.get("set-cookie")]).toEqual([path, null]);
      expect([path, headers.get("content-type")]).toEqual([path, "text/html; charset=utf-8"]);
      expect([path, headers.get("content-security-policy")]).toEqual([
        path,
        expect.stringContaining("default-src 'none'"),
      ]);
      expect(body).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?![^>]*src)|<!--/);
    }
  });

  it("has every heading, command and link text of its source", async () => {
    for (const { path, source, body } of await openGuides()) {
      const text = textOf(body);
      const blocks = [...source.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, block = ""]) => block.trimEnd());
      const headings = [...source.matchAll(/^##+ (.+)$/gm)].map(([, heading = ""]) => heading);
      expect([path, headings.length > 0]).toEqual([path, true]);
      for (const part of [...blocks, ...headings])
        expect([path, text.includes(part), part]).toEqual([path, true, part]);
      expect([path, body.match(/<table>/g)?.length ?? 0]).toEqual([path, source.match(/^\| -/gm)?.length ?? 0]);
    }
  });

  it("is Markdown at its address with .md: headings, commands, tables and links as in its source (HTTP-35)", async () => {
    const plain = (text: string) => text.replaceAll(/[|\s\\-]+/g, " ");
    for (const { path, source } of await openGuides()) {
      const { status, headers, body } = await call<string>(`${path}.md`);
      expect([path, status, headers.get("content-type")]).toEqual([path, 200, "text/markdown; charset=utf-8"]);
      expect(body).not.toMatch(/<\/?(?:p|h\d|pre|table|t[rdh]|li|ul|strong|code)\b[^`]*>/);
      const parts = [...source.matchAll(/^(?:#+|\|) [^\n]*$|^```\w*\n(.*?)^```$/gms)].map(
        ([whole, code]) => code ?? whole,
      );
      expect(body).not.toMatch(/\| - \|\n\n/);
      // A link to a file that is only in the repository becomes text on the page.
      const texts = parts.filter((part) => !part.includes("]("));
      expect(texts.length).toBeGreaterThan(2);
      for (const text of texts.slice(1))
        expect([path, text, plain(body).includes(plain(text).trim())]).toEqual([path, text, true]);
    }
  });

  it("leads to places that are there, on itself and on the others", async () => {
    const guides = await openGuides();
    const pages = new Map(guides.map(({ path, body }) => [path, body]));
    pages.set("/docs", (await call<string>("/docs")).body);
    let between = 0;
    for (const [page, body] of pages) {
      const ids = idsIn(body);
      expect([page, new Set(ids).size]).toEqual([page, ids.length]);
      for (const [, href = ""] of body.matchAll(/<a [^>]*href="([^"]*)"/g)) {
        if (/^https:|^\/(?:openapi\.json|client\.d\.ts|llms\.txt|docs\/(?:events|api)\/.*|sign-in)?$/.test(href))
          continue;
        const [path = "", id] = href.split("#");
        const target = path === "" ? body : pages.get(path);
        expect([page, href, target !== undefined]).toEqual([page, href, true]);
        if (id !== undefined) expect([page, href, idsIn(target!).includes(id)]).toEqual([page, href, true]);
        if (path !== "" && id !== undefined) between += 1;
      }
      for (const { name } of GUIDES) expect(body).toContain(`href="/docs/${name}"`);
    }
    expect(between).toBeGreaterThan(1);
  });

  it("of a migration names a column for every field that an import can fill", () => {
    const guide = SOURCES["../../src/docs/migrate.md"] ?? "";
    const sentence = /columns are recognized by common names \(([^)]*)\)/.exec(guide)?.[1] ?? "";
    const columns = [...sentence.matchAll(/`([^`]+)`/g)].map(([, column = ""]) => column);
    for (const kind of IMPORT_KINDS) {
      const fields = new Set(columns.map((column) => matchColumns(kind, {}, [column], ALL_FILLED).columns[0]?.field));
      expect([kind, importFields(kind).filter((field) => !fields.has(field))]).toEqual([kind, []]);
    }
  });

  it("of commission rules has every field of a condition with the comparisons that it takes (FLOW-4)", () => {
    const guide = SOURCES["../../src/docs/rules.md"] ?? "";
    const [, table = ""] = /\n\| `field` .*?\n\| -.*?\n(.*?)\n\n/s.exec(guide) ?? [];
    const codes = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
    const listed = table.split("\n").flatMap((line) => {
      const [, fields, ops] = line.split("|");
      return codes(fields).map((field) => [field, codes(ops)] as const);
    });
    const taken = CONDITION_FIELDS.map((field) => {
      const { value: type } = FIELD_RULES[field];
      const value = { amount: 100, count: 1, text: "text", choice: "link", flag: true }[type];
      const takes = (op: ConditionOp) =>
        [value, [value]].some((one) => conditionProblem({ field, op, value: one }) === null);
      return [field, CONDITION_OPS.filter(takes)] as const;
    });
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(taken));
  });

  it("of another name is 404", async () => {
    for (const name of ["nothing", "architecture", "decisions", "../wrangler.toml", "nothing.md", "start.txt"]) {
      expect([name, (await call(`/docs/${encodeURIComponent(name)}`)).status]).toEqual([name, 404]);
    }
  });
});
