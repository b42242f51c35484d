/**
 * The tracking script as a static asset of the deployment (TRACK-1): the platform's own asset router in front of the built
 * Worker, as `npm start` and a deployment have it, beside the same Worker without assets.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from "wrangler";
import { builtWorker } from "../bench/raw-service.ts";
import { ROOT, runScript } from "./process.ts";

const SERVICE = "https://affiliates.example.com";

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

describe("GET /service.js of a deployment (TRACK-1)", () => {
  let folder: string;
  let deployed: Miniflare;
  let withoutAssets: Miniflare;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-asset-"));
    const build = runScript("src/dev/deploy.ts", {}, ["--dry-run", "--outdir", folder]);
    assert.equal(await build.ended, 0, build.printed.err);
    const worker = await builtWorker(folder, "index.js");
    const { assets: configured } = workerOptionsOf(join(ROOT, "wrangler.toml")).workerOptions;
    assert.ok(configured);
    const assets = configured as { directory: string };
    const shared = { ...worker, name: "worker", cf: false };
    deployed = new Miniflare(convertV4MiniflareOptions({ ...shared, assets }));
    withoutAssets = new Miniflare(convertV4MiniflareOptions(shared));
  });
  after(async () => {
    await Promise.all([deployed.dispose(), withoutAssets.dispose()]);
    await rm(folder, { recursive: true, force: true });
  });

  const ask = async (from: Miniflare, path: string, init: RequestInit = {}): Promise<Answer> => {
    const { method = "GET", headers = {} } = init;
    const response = await from.dispatchFetch(SERVICE + path, {
      method,
      headers: headers as object,
      redirect: "manual",
    });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
  };
  /** Only the Worker gives a request an id. */
  const reachedWorker = ({ headers }: Answer): boolean => "x-request-id" in headers;

  it("is the asset: the Worker does not run, and gives the same bytes and headers where the asset is absent", async () => {
    const [asset, routed] = await Promise.all([ask(deployed, "/service.js"), ask(withoutAssets, "/service.js")]);
    assert.deepEqual([reachedWorker(asset), reachedWorker(routed)], [false, true]);
    assert.deepEqual([asset.status, routed.status], [200, 200]);
    assert.equal(asset.body, routed.body);
    assert.equal(asset.body, await readFile(join(ROOT, "src/tracker/service.min.txt"), "utf8"));
    const { "x-request-id": _1, etag: routedTag, ...fromWorker } = routed.headers;
    const { "cf-cache-status": _2, etag, ...ofAsset } = asset.headers;
    assert.deepEqual(ofAsset, fromWorker);
    for (const tag of [etag, routedTag]) assert.match(tag ?? "", /^"[0-9a-f]{32}"$/);
  });

  it("answers 304 to who has it, and HEAD without a body", async () => {
    const { headers } = await ask(deployed, "/service.js");
    for (const known of [headers["etag"]!, `W/${headers["etag"]}`]) {
      const again = await ask(deployed, "/service.js?v=2", { headers: { "if-none-match": known } });
      assert.deepEqual([again.status, again.body, again.headers["etag"]], [304, "", headers["etag"]]);
      assert.equal(again.headers["cache-control"], headers["cache-control"]);
    }
    // The tag of the Worker's answer is another: who has that one loads the script again.
    const { etag = "" } = (await ask(withoutAssets, "/service.js")).headers;
    assert.equal((await ask(deployed, "/service.js", { headers: { "if-none-match": etag } })).status, 200);
    const head = await ask(deployed, "/service.js", { method: "HEAD" });
    assert.deepEqual([head.status, head.body, head.headers["etag"]], [200, "", headers["etag"]]);
  });

  it("is the only path that does not reach the Worker", async () => {
    for (const path of ["/", "/sign-in", "/_headers", "/service", "/Service.js", "/service.js/", "/%", "/nothing"])
      assert.ok(reachedWorker(await ask(deployed, path)), path);
    const navigation = { headers: { "sec-fetch-mode": "navigate" } };
    assert.ok(reachedWorker(await ask(deployed, "/nothing", navigation)));
    for (const method of ["OPTIONS", "POST"])
      assert.ok(reachedWorker(await ask(deployed, "/click", { method })), method);
    // Other spellings of the path lead to it.
    for (const path of ["//service.js", "/service%2Ejs"]) {
      const { status, headers } = await ask(deployed, path);
      assert.deepEqual([status, headers["location"]], [307, "/service.js"], path);
    }
    assert.equal((await ask(deployed, "/service.js", { method: "POST" })).status, 405);
  });
});
