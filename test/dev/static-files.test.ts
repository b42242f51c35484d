/**
 * The static files of a deployment: the platform's own asset router in front of the built Worker, as `npm start` and a
 * deployment have it.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { brotliCompressSync } from "node:zlib";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from "wrangler";
import { compileSite, writeSite, type MakeSite } from "../../src/dev/build-site.ts";
import { builtWorker } from "../bench/raw-service.ts";
import { ROOT, runScript } from "./process.ts";

const SERVICE = "https://affiliates.example.com";

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

let folder: string;
let makeSite: MakeSite;
let files: Record<string, string>;
let deployed: Miniflare;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "affiliate-static-"));
  const build = runScript("src/dev/deploy.ts", {}, ["--dry-run", "--outdir", join(folder, "worker")]);
  assert.equal(await build.ended, 0, build.printed.err);
  makeSite = await compileSite();
  files = makeSite(SERVICE);
  await writeSite(join(folder, "site"), files);
  const { workerOptions } = workerOptionsOf(join(ROOT, "wrangler.toml"));
  const assets = { ...(workerOptions.assets as { binding: string }), directory: join(folder, "site") };
  const worker = await builtWorker(join(folder, "worker"), "index.js");
  deployed = new Miniflare(convertV4MiniflareOptions({ ...worker, name: "worker", cf: false, assets }));
});
after(async () => {
  await deployed.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function ask(path: string, init: { method?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
  const { method = "GET", headers = {} } = init;
  const response = await deployed.dispatchFetch(SERVICE + path, { method, headers, redirect: "manual" });
  const sent = Object.fromEntries([...response.headers].filter(([name]) => !ON_THE_WAY.has(name)));
  return { status: response.status, headers: sent, body: await response.text() };
}

/** Headers of the connection and of caches. */
const ON_THE_WAY = new Set(["cf-cache-status", "content-length", "mf-content-encoding", "transfer-encoding"]);

/** Only the Worker gives a request an id. */
const reachedWorker = ({ headers }: Answer): boolean => "x-request-id" in headers;
const addressOf = (file: string) => `/${file.replace(/\.html$/, "")}`;
const served = () => Object.keys(files).filter((file) => file !== "_headers" && file !== "docs/search.html");

describe("every static file", () => {
  it("is answered at its address without the Worker, byte for byte", async () => {
    assert.ok(served().length > 70);
    for (const file of served()) {
      const answer = await ask(addressOf(file));
      assert.deepEqual([file, answer.status, reachedWorker(answer)], [file, 200, false]);
      assert.ok(answer.body === files[file], file);
    }
  });

  it("has the security headers of the Worker's answers, and what caches may do with it (HTTP-29)", async () => {
    const { "x-request-id": _, ...ofWorker } = (await ask("/nothing")).headers;
    assert.equal(ofWorker["x-frame-options"], "DENY");
    const { "content-security-policy": ofPage = "" } = (await ask("/sign-in")).headers;
    assert.match(ofPage, /style-src 'self'/);
    for (const file of served().filter((name) => name !== "service.js")) {
      const { etag, ...headers } = (await ask(addressOf(file))).headers;
      assert.match(etag ?? "", /^"[0-9a-f]{32}"$/);
      assert.deepEqual(
        [file, headers],
        [
          file,
          {
            ...ofWorker,
            "content-type": headers["content-type"],
            "cache-control": file.startsWith("assets/")
              ? "public, max-age=31536000, immutable"
              : "public, max-age=3600",
            ...(file.endsWith(".html") ? { "content-security-policy": `${ofPage}; connect-src 'self'` } : {}),
          },
        ],
      );
    }
  });

  it("has the type of its contents", async () => {
    const types: Record<string, string> = {
      "/openapi.json": "application/json",
      "/docs/events/ping.json": "application/json",
      "/docs": "text/html; charset=utf-8",
      "/docs/start.md": "text/markdown; charset=utf-8",
      "/llms.txt": "text/plain; charset=utf-8",
      "/client.d.ts": "text/plain; charset=utf-8",
    };
    for (const [path, type] of Object.entries(types)) {
      assert.deepEqual([path, (await ask(path)).headers["content-type"]], [path, type]);
    }
  });

  it("is 304 for a caller who has it, and empty for HEAD; other methods are 405", async () => {
    for (const path of ["/service.js", "/openapi.json", "/docs/start"]) {
      const { headers } = await ask(path);
      for (const known of [headers["etag"]!, `W/${headers["etag"]}`]) {
        const again = await ask(`${path}?v=2`, { headers: { "if-none-match": known } });
        assert.deepEqual([again.status, again.body, again.headers["etag"]], [304, "", headers["etag"]]);
        assert.equal(again.headers["cache-control"], headers["cache-control"]);
      }
      assert.equal((await ask(path, { headers: { "if-none-match": '"other"' } })).status, 200);
      const head = await ask(path, { method: "HEAD" });
      assert.deepEqual([head.status, head.body, head.headers["etag"]], [200, "", headers["etag"]]);
      assert.equal((await ask(path, { method: "POST" })).status, 405);
    }
  });
});

describe("other addresses", () => {
  it("reach the Worker, whose 404 is a page for a browser (HTTP-24)", async () => {
    const paths = [
      "/",
      "/sign-in",
      "/_headers",
      "/service",
      "/Service.js",
      "/service.js/",
      "/%",
      "/nothing",
      "/docs/search",
    ];
    for (const path of [...paths, "/docs/nothing", "/docs/api/nothing.md", "/docs/events/nothing.json", "/Docs"])
      assert.ok(reachedWorker(await ask(path)), path);
    for (const path of ["/docs/nothing", "/docs/api/nothing"]) {
      const { status, headers } = await ask(path, { headers: { accept: "text/html", "sec-fetch-mode": "navigate" } });
      assert.deepEqual([status, headers["content-type"]], [404, "text/html; charset=UTF-8"], path);
    }
    for (const method of ["OPTIONS", "POST"]) assert.ok(reachedWorker(await ask("/click", { method })), method);
  });

  it("lead to the file that they spell in another way, and a page with a slash at its end to the page (PAGE-28)", async () => {
    for (const [path, location] of [
      ["//service.js", "/service.js"],
      ["/service%2Ejs", "/service.js"],
      ["/docs/", "/docs"],
      ["/docs/start/?a=b%2F&c=1", "/docs/start?a=b%2F&c=1"],
      ["/docs/api/partners/", "/docs/api/partners"],
      ["/docs/search/?q=x", "/docs/search?q=x"],
      ["/docs/start.html", "/docs/start"],
    ]) {
      const { status, headers } = await ask(path!);
      assert.deepEqual([path, status, headers["location"]], [path, 307, location]);
    }
  });

  it("of a style sheet or script of another version lead to the current one, which is not kept", async () => {
    for (const [extension, type] of [
      ["css", "text/css"],
      ["js", "text/javascript"],
    ] as const) {
      const { status, headers, body } = await ask(`/assets/0123456789abcdef.${extension}`);
      assert.deepEqual(
        [status, headers["content-type"], headers["cache-control"]],
        [200, `${type}; charset=utf-8`, "no-store"],
      );
      assert.equal(
        body,
        await readFile(join(ROOT, "src/http/pages", extension === "css" ? "styles.css" : "script.txt"), "utf8"),
      );
    }
    assert.equal((await ask("/assets/x.css")).status, 404);
  });
});

describe("GET /service.js (TRACK-1, TRACK-15, HTTP-23)", () => {
  it("is a plain script that anyone may cache and any page may load", async () => {
    const { headers, body } = await ask("/service.js");
    const { etag: _, ...own } = headers;
    assert.deepEqual(own, {
      "access-control-allow-origin": "*",
      "cache-control": "public, max-age=3600, stale-while-revalidate=86400",
      "content-type": "text/javascript; charset=utf-8",
      "cross-origin-resource-policy": "cross-origin",
      "strict-transport-security": "max-age=31536000; includeSubDomains",
      "x-content-type-options": "nosniff",
    });
    assert.doesNotMatch(body, /\bimport\b|\bexport\b|\/\*|sourceMappingURL/);
    assert.ok(brotliCompressSync(body).byteLength <= 1_280);
  });
});

describe("the address of a deployment (HTTP-19)", () => {
  const serversOf = (document = "") => (JSON.parse(document) as { servers: unknown }).servers;
  const addressesIn = (page = "") => new Set([...page.matchAll(/curl &quot;(https?:\/\/[^/&]*)/g)].map(([, at]) => at));

  it("is that of the document and of every sample", async () => {
    assert.deepEqual(serversOf(files["openapi.json"]), [{ url: SERVICE }]);
    const others = makeSite("https://other.example");
    assert.deepEqual(serversOf(others["openapi.json"]), [{ url: "https://other.example" }]);
    assert.deepEqual([...addressesIn(others["docs/api/partners.html"])], ["https://other.example"]);
    assert.match(others["llms.txt"] ?? "", /\(https:\/\/other\.example\/docs\/start\.md\)/);
  });

  it("is the document's own if it is not known", async () => {
    const unknown = makeSite(null);
    assert.deepEqual(serversOf(unknown["openapi.json"]), [{ url: "/" }]);
    assert.deepEqual([...addressesIn(unknown["docs/api/partners.html"])], ["https://affiliates.example.com"]);
  });
});
