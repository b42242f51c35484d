/**
 * Host and scheme of a request are never used for links (HTTP-19). One place reads a request's own address, and returns
 * path and query alone.
 */
import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Files that may read a request's address, and how often. */
const ALLOWED: Record<string, number> = { "src/http/click.ts": 1 };

const READS = [
  /\b(?:req|request|raw)\??\.url\b/g,
  /\{[^{}]*\burl\b[^{}]*\}\s*[=:]\s*(?:[\w.]*\.)?(?:req|request|raw|Request)\s*[;,)=]/g,
  /header(?:s\.get)?\(\s*["'`](?:host|forwarded|x-forwarded-[\w-]+|x-original-[\w-]+|:authority)["'`]/gi,
];

function readsIn(text: string): string[] {
  return READS.flatMap((pattern) => text.match(pattern) ?? []);
}

describe("the address that a request names", () => {
  it("is read by `http/request-path.ts` alone, so that no link can be made of its host or scheme", async () => {
    const files = (await Array.fromAsync(glob("src/**/*.{ts,tsx}", { cwd: ROOT })))
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => !/^src\/(dev|client)\//.test(file) && file !== "src/http/request-path.ts")
      .toSorted();
    assert.ok(files.length > 150);
    const found: Record<string, string[]> = {};
    for (const file of files) {
      const reads = readsIn(await readFile(`${ROOT}${file}`, "utf8"));
      if (reads.length > (ALLOWED[file] ?? 0)) found[file] = reads;
    }
    assert.deepEqual(found, {});
  });

  it("is found in every form", () => {
    for (const text of [
      "const { origin } = new URL(c.req.url);",
      "new URL(request.url).host",
      "c.req.raw.url",
      "const { url } = c.req;",
      "const { method, url: address } = request;",
      "function f({ url }: Request) {}",
      'c.req.header("Host")',
      "request.headers.get('x-forwarded-proto')",
    ]) {
      assert.notDeepEqual(readsIn(text), [], text);
    }
    assert.deepEqual(readsIn('const { url } = c.req.valid("json"); started.url; header("referer")'), []);
  });
});
