import type { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { click, clicksOf, countsOf, faultyDatabase, recorded, visit } from "../support/clicks.ts";
import { makeProgram, programOfJane, programOfPartner } from "../support/program.ts";

const HTML = { "sec-fetch-mode": "navigate" };

async function follow(path: string, init: Parameters<typeof visit>[1] = {}) {
  const reply = await visit(path, { headers: HTML, ...init });
  const location = reply.headers.get("location");
  return { ...reply, location: location === null ? null : new URL(location) };
}

describe("GET /r/:program_id/:slug (TRACK-7)", () => {
  it("sends the visitor to the path with the reference, and records the click", async () => {
    const [program, jane] = await programOfPartner({ domain: "shop.example" }, { slug: "Jane" });
    const reply = await follow(`/r/${program.id}/jane?to=${encodeURIComponent("/pricing?plan=pro#top")}`, {
      headers: { referer: "https://blog.example/post" },
      cf: { continent: "NA", country: "CA" },
    });
    expect(reply.status).toBe(302);
    expect(reply.location?.origin).toBe("https://shop.example");
    expect(reply.location?.pathname).toBe("/pricing");
    expect(reply.location?.searchParams.get("ref")).toBe("jane");
    expect(reply.location?.searchParams.get("plan")).toBe("pro");
    expect(reply.location?.hash).toBe("#top");
    expect(reply.headers.get("cache-control")).toBe("no-store");
    await recorded();
    expect((await clicksOf(program.id)).map(({ payload }) => payload)).toEqual([
      { ref: "Jane", landing: "/pricing", referrer: "https://blog.example/post", partner_id: jane.id, country: "CA" },
    ]);
  });

  it("counts one click where the page's script reports it as well, in either order", async () => {
    const program = await programOfJane({ domain: "shop.example" });
    const { location } = await follow(`/r/${program.id}/jane`);
    const id = location?.searchParams.get("service_click") ?? "";
    expect(id).toMatch(/^[\w-]{1,64}$/);
    expect((await click({ program_id: program.id, ref: "jane", landing: "/", referrer: "", id })).status).toBe(202);
    await recorded();
    expect(await countsOf(program.id)).toMatchObject({ rows: 1, drops: { duplicate: 1 } });
  });

  it("carries a sub-id that fits to the page and into the log, and drops any other (TRACK-19)", async () => {
    const program = await programOfJane({ domain: "shop.example" });
    const { location } = await follow(`/r/${program.id}/jane?sub=news-1`);
    expect(location?.searchParams.get("sub")).toBe("news-1");
    const dropped = await follow(`/r/${program.id}/jane?sub=a%20b`);
    expect([dropped.status, dropped.location?.searchParams.get("sub")]).toEqual([302, null]);
    await recorded();
    const subs = (await clicksOf(program.id)).map(({ payload }) => payload.sub ?? null);
    expect(subs.toSorted()).toEqual(["news-1", null]);
  });

  it("two visits are two clicks", async () => {
    const program = await programOfJane({ domain: "shop.example" });
    for (let i = 0; i < 2; i++) await follow(`/r/${program.id}/jane`);
    await recorded();
    expect(await countsOf(program.id)).toMatchObject({ rows: 2, drops: {} });
  });

  it.each([
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/\t/evil.example",
    "@evil.example",
  ])("never leads anywhere else: %s gives the root (TRACK-7)", async (to) => {
    const program = await makeProgram({ domain: "shop.example" });
    const { status, location } = await follow(`/r/${program.id}/jane?to=${encodeURIComponent(to)}`);
    expect([status, location?.origin, location?.pathname]).toEqual([302, "https://shop.example", "/"]);
  });

  it("is not found for a program that is unknown or has no domain, and for what is no slug", async () => {
    const program = await makeProgram({ domain: null });
    for (const path of [
      `/r/${program.id}/jane`,
      "/r/prog_00000000000000000000000000/jane",
      "/r/par_1/jane",
      `/r/${program.id}/${encodeURIComponent("jane doe")}`,
      `/r/${program.id}/${"a".repeat(65)}`,
    ]) {
      expect([path, (await visit(path)).status]).toEqual([path, 404]);
    }
  });

  it("redirects bots and unknown partners too, counted by reason and not recorded", async () => {
    const program = await programOfJane({ domain: "shop.example" });
    const bot = await follow(`/r/${program.id}/jane`, { headers: { "user-agent": "WhatsApp/2.23.20.0" } });
    const unknown = await follow(`/r/${program.id}/nobody`);
    expect([bot.status, unknown.status]).toEqual([302, 302]);
    await recorded();
    expect(await countsOf(program.id)).toMatchObject({ rows: 0, drops: { bot: 1, unknown_ref: 1 } });
  });

  it("does not count a HEAD request or a prefetch: nobody has clicked", async () => {
    const program = await programOfJane({ domain: "shop.example" });
    expect((await follow(`/r/${program.id}/jane`, { method: "HEAD" })).status).toBe(302);
    expect((await follow(`/r/${program.id}/jane`, { headers: { "sec-purpose": "prefetch;prerender" } })).status).toBe(
      302,
    );
    await recorded();
    expect(await countsOf(program.id)).toMatchObject({ rows: 0, drops: {} });
  });

  it("sends the visitor on even when the click cannot be stored or takes too long", async () => {
    const program = await programOfJane({ domain: "shop.example" });
    const played = (commit: () => Promise<unknown>) =>
      ({ CLICKS: { getByName: () => ({ commit }) } }) as unknown as Partial<typeof env>;
    const refused = await follow(`/r/${program.id}/jane`, {
      env: played(async () => ({ stored: false, reason: "backlog" })),
    });
    expect([refused.status, refused.location?.searchParams.get("ref")]).toEqual([302, "jane"]);
  });

  it("keeps working for a known program while the database is away; for an unknown one it says so", async () => {
    const program = await makeProgram({ domain: "shop.example" });
    await follow(`/r/${program.id}/jane`);
    const database = faultyDatabase();
    database.fault = "down";
    expect((await follow(`/r/${program.id}/jane`, { env: { DB: database.binding } })).status).toBe(302);
    const other = await makeProgram({ domain: "shop.example" });
    const unknown = await visit(`/r/${other.id}/jane`, { env: { DB: database.binding } });
    expect([unknown.status, unknown.headers.get("retry-after")]).toEqual([503, "5"]);
  });
});

describe("POST /click when nothing can be stored (TRACK-16)", () => {
  it("answers 503 with Retry-After and the error body (TRACK-16)", async () => {
    const reply = await visit<{ error: { code: string } }>("/click", {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: JSON.stringify({ program_id: "prog_00000000000000000000000000", ref: "jane", landing: "/", referrer: "" }),
      env: {
        CLICKS: { getByName: () => ({ commit: async () => ({ stored: false, reason: "backlog" }) }) },
      } as unknown as Partial<typeof env>,
    });
    expect([reply.status, reply.body.error.code, reply.headers.get("retry-after")]).toEqual([
      503,
      "storage_unavailable",
      "5",
    ]);
    expect(reply.headers.get("access-control-allow-origin")).toBe("*");
  });
});
