import { brotliCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { visit } from "../support/clicks.ts";

describe("GET /service.js (TRACK-1, TRACK-15, HTTP-23)", () => {
  it("is a plain script that anyone may cache and any page may load", async () => {
    const { status, headers, body } = await visit("/service.js");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(headers.get("cache-control")).toBe("public, max-age=3600, stale-while-revalidate=86400");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(headers.get("etag")).toMatch(/^"[0-9a-f]{32}"$/);
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(body).not.toMatch(/\bimport\b|\bexport\b|\/\*|sourceMappingURL/);
  });

  it("is at most 1,280 bytes in brotli (TRACK-1)", async () => {
    expect(brotliCompressSync((await visit("/service.js")).body).byteLength).toBeLessThanOrEqual(1_280);
  });

  it("answers 304 to who has it, and the script to who has another", async () => {
    const { headers, body } = await visit("/service.js");
    const etag = headers.get("etag") ?? "";
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await visit("/service.js", { headers: { "if-none-match": known } });
      expect([known, again.status, again.body, again.headers.get("etag")]).toEqual([known, 304, "", etag]);
      expect(again.headers.get("cache-control")).toContain("max-age=3600");
    }
    const other = await visit("/service.js", { headers: { "if-none-match": `"other"` } });
    expect([other.status, other.body]).toEqual([200, body]);
  });

  it("answers HEAD without a body", async () => {
    const { status, headers, body } = await visit("/service.js", { method: "HEAD" });
    expect([status, body]).toEqual([200, ""]);
    expect(headers.get("etag")).not.toBeNull();
  });
});
