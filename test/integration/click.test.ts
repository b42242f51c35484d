import { describe, expect, it } from "vitest";
import { click, clicksOf, countsOf, recorded, visit } from "../support/clicks.ts";
import { makePartner, makeProgram, programOfJane, programOfPartner } from "../support/program.ts";

const ARRIVAL = { landing: "/pricing", referrer: "https://blog.example/post" };

describe("POST /click (TRACK-6)", () => {
  it("answers 202, and the click reaches the audit log with its partner and counts (EVT-3, TRACK-16)", async () => {
    const [program, jane] = await programOfPartner({}, { slug: "Jane" });
    const before = Date.now();
    const reply = await click({ program_id: program.id, ref: "jane", ...ARRIVAL });
    expect(reply.status).toBe(202);
    // Null if the look-up took longer than a visitor waits.
    expect([{ known: true }, { known: null }]).toContainEqual(reply.body);
    expect(reply.headers.get("access-control-allow-origin")).toBe("*");
    expect(reply.headers.get("x-request-id")).toMatch(/^req_/);
    await recorded();
    const [row, ...more] = await clicksOf(program.id);
    expect(more).toEqual([]);
    expect(row?.payload).toEqual({ ref: "Jane", ...ARRIVAL, partner_id: jane.id });
    expect(row?.id).toMatch(/^evt_[0-9a-z]{26}$/);
    expect(Date.parse(row?.created_at ?? "")).toBeGreaterThanOrEqual(before);
    expect(Date.parse(row?.created_at ?? "")).toBeLessThanOrEqual(Date.now());
    expect(await countsOf(program.id)).toEqual({ rows: 1, events: 1, partners: { [jane.id]: 1 }, drops: {} });
    const list = await program.api<{ data: { id: string }[]; total: number }>("GET", "/api/v1/events?type=click");
    expect([list.body.total, list.body.data[0]?.id]).toEqual([1, row?.id]);
  });

  it("counts for a partner by any slug it ever had, as long as it is not deactivated", async () => {
    const [program, jane] = await programOfPartner({}, { slug: "old-name" });
    const invited = await makePartner(program, { slug: "invited" }, "invited");
    const gone = await makePartner(program, { slug: "gone" }, "deactivated");
    await program.api("PATCH", `/api/v1/partners/${jane.id}`, { slug: "new-name" });
    for (const ref of ["old-name", "NEW-NAME", "invited", "gone", "nobody"]) {
      expect((await click({ program_id: program.id, ref, ...ARRIVAL })).status).toBe(202);
    }
    await recorded();
    expect((await clicksOf(program.id)).map(({ payload }) => [payload.ref, payload.partner_id])).toEqual(
      expect.arrayContaining([
        ["new-name", jane.id],
        ["new-name", jane.id],
        ["invited", invited.id],
      ]),
    );
    expect(await countsOf(program.id)).toEqual({
      rows: 3,
      events: 3,
      partners: { [jane.id]: 2, [invited.id]: 1 },
      drops: { partner_deactivated: 1, unknown_ref: 1 },
    });
    expect(gone.id in (await countsOf(program.id)).partners).toBe(false);
  });

  it("does not count a partner of another program", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    await makePartner(other, { slug: "theirs" });
    await click({ program_id: program.id, ref: "theirs", ...ARRIVAL });
    await recorded();
    expect(await countsOf(program.id)).toMatchObject({ rows: 0, drops: { unknown_ref: 1 } });
    expect(await countsOf(other.id)).toMatchObject({ rows: 0, drops: {} });
  });

  it("leaves no trace of programs that do not exist", async () => {
    const unknown = "prog_00000000000000000000000000";
    expect((await click({ program_id: unknown, ref: "jane", ...ARRIVAL })).status).toBe(202);
    await click({ program_id: unknown, ref: "jane", ...ARRIVAL }, { "user-agent": "Googlebot/2.1" });
    await recorded();
    expect(await countsOf(unknown)).toEqual({ rows: 0, events: 0, partners: {}, drops: {} });
  });

  it("counts known bots and does not record them", async () => {
    const program = await programOfJane();
    const bot = { "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" };
    expect((await click({ program_id: program.id, ref: "jane", ...ARRIVAL }, bot)).status).toBe(202);
    await recorded();
    expect(await countsOf(program.id)).toEqual({ rows: 0, events: 0, partners: {}, drops: { bot: 1 } });
  });

  it("counts a click once that is sent again under its id, before and after the flush (TRACK-12)", async () => {
    const [program, jane] = await programOfPartner({}, { slug: "jane" });
    const sent = { program_id: program.id, ref: "jane", ...ARRIVAL, id: "0.abc123" };
    await Promise.all([click(sent), click(sent)]);
    await recorded();
    expect((await click(sent)).status).toBe(202);
    await click({ ...sent, id: "0.another" });
    await recorded();
    expect(await countsOf(program.id)).toEqual({
      rows: 2,
      events: 2,
      partners: { [jane.id]: 2 },
      drops: { duplicate: 2 },
    });
  });

  it("does not take another program's click with the same id for a repetition", async () => {
    const programs = [await makeProgram(), await makeProgram()];
    for (const program of programs) {
      await makePartner(program, { slug: "jane" });
      await click({ program_id: program.id, ref: "jane", ...ARRIVAL, id: "same" });
    }
    await recorded();
    for (const program of programs) expect(await countsOf(program.id)).toMatchObject({ rows: 1, drops: {} });
  });

  it("keeps texts as they came: quotes, other scripts, emoji", async () => {
    const program = await programOfJane();
    const landing = "/价格/'\"\\/😀";
    const referrer = "https://例え.example/\"';--";
    expect((await click({ program_id: program.id, ref: "jane", landing, referrer })).status).toBe(202);
    await recorded();
    expect((await clicksOf(program.id))[0]?.payload).toMatchObject({ landing, referrer });
  });

  it("stores no address of the visitor (TRACK-8)", async () => {
    const program = await programOfJane();
    const from = { "cf-connecting-ip": "203.0.113.77" };
    await click({ program_id: program.id, ref: "jane", ...ARRIVAL }, from, { country: "DE", city: "Ulm" });
    await recorded();
    const stored = JSON.stringify(await clicksOf(program.id));
    expect(stored).toContain('"country":"DE"');
    for (const text of ["203.0.113.77", "Ulm"]) expect(stored).not.toContain(text);
  });

  it("keeps the country that the platform names, for the log and for the API, and takes none from the page (TRACK-21)", async () => {
    const program = await programOfJane();
    const named = ["DE", "T1", "XX", "de", "Germany", 49, undefined];
    for (const [i, country] of named.entries()) {
      const sent = { program_id: program.id, ref: "jane", landing: `/${i}`, referrer: "" };
      expect((await click(sent, {}, { continent: "NA", country })).status).toBe(202);
      const given = await click({ ...sent, country: "DE" }, {}, { continent: "NA", country });
      expect([given.status, given.body.error.details]).toMatchObject([422, [{ path: "country" }]]);
    }
    await recorded();
    type Listed = { data: { id: string; payload: { landing: string; country: string | null } }[] };
    const { data } = (await program.api<Listed>("GET", "/api/v1/events?type=click")).body;
    expect(data.map(({ payload }) => [payload.landing, payload.country]).toSorted()).toEqual(
      named.map((country, i) => [`/${i}`, country === "DE" ? country : null]),
    );
    const german = data.find(({ payload }) => payload.country === "DE");
    const one = await program.api<Listed["data"][number]>("GET", `/api/v1/events/${german?.id}`);
    expect(one.body.payload.country).toBe("DE");
  });
});

describe("what POST /click refuses (TRACK-9)", () => {
  const post = (body: BodyInit | null, contentType: string | null, more: RequestInit & { env?: object } = {}) =>
    visit<{ error: { code: string; details?: { path: string }[] } }>("/click", {
      method: "POST",
      body,
      ...more,
      headers: contentType === null ? {} : { "content-type": contentType },
    });
  const valid = JSON.stringify({ program_id: "prog_00000000000000000000000000", ref: "jane", ...ARRIVAL });

  it.each([
    ["application/json", 202],
    ["application/json; charset=utf-8", 202],
    ["text/plain", 202],
    ["Text/Plain;charset=UTF-8", 202],
    ["application/x-www-form-urlencoded", 415],
    ["text/plainx", 415],
    ["application/jsonp", 415],
  ])("content type %s: %i", async (contentType, status) => {
    expect((await post(valid, contentType)).status).toBe(status);
  });

  it("no content type: 415", async () => {
    const reply = await post(new TextEncoder().encode(valid), null);
    expect([reply.status, reply.body.error.code]).toEqual([415, "unsupported_media_type"]);
  });

  it.each(["", "{", "undefined", "{'a':1}", "\ufeff{}x"])("400 invalid_json: %j", async (body) => {
    const reply = await post(body, "text/plain");
    expect([reply.status, reply.body.error.code]).toEqual([400, "invalid_json"]);
  });

  it("422 names the fields", async () => {
    const reply = await post(JSON.stringify({ ref: "no spaces", more: 1 }), "application/json");
    expect([reply.status, reply.body.error.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.error.details?.map(({ path }) => path).toSorted()).toEqual(["more", "program_id", "ref"]);
    expect(reply.headers.get("access-control-allow-origin"), "a page may read its mistake").toBe("*");
    expect(reply.headers.get("x-request-id")).toMatch(/^req_/);
  });

  it("413 over 4 KiB, whether the length is declared or not; 4 KiB exactly pass", async () => {
    const padded = (length: number) => valid + " ".repeat(length - valid.length);
    expect((await post(padded(4096), "text/plain")).status).toBe(202);
    expect((await post(padded(4097), "text/plain")).status).toBe(413);
    const streamed = (text: string) =>
      new ReadableStream({
        start(controller) {
          for (let i = 0; i < text.length; i += 1000)
            controller.enqueue(new TextEncoder().encode(text.slice(i, i + 1000)));
          controller.close();
        },
      });
    expect((await post(streamed(padded(4096)), "text/plain")).status).toBe(202);
    const tooLong = await post(streamed(padded(100_000)), "text/plain");
    expect([tooLong.status, tooLong.body.error.code]).toEqual([413, "payload_too_large"]);
  });

  it("429 with Retry-After beyond the limit of an address, and lets pass when the limiter fails", async () => {
    const keys: string[] = [];
    const limiter = (limit: (key: string) => boolean) => ({
      RATE_LIMIT_CLICK: {
        limit: ({ key }: { key: string }) => {
          keys.push(key);
          return Promise.resolve().then(() => ({ success: limit(key) }));
        },
      },
    });
    const send = (bindings: object) =>
      visit<{ error: { code: string } }>("/click", {
        method: "POST",
        body: valid,
        headers: { "content-type": "text/plain", "cf-connecting-ip": "203.0.113.7" },
        env: bindings,
      });
    const limited = await send(limiter(() => false));
    expect([limited.status, limited.body.error.code, limited.headers.get("retry-after")]).toEqual([
      429,
      "rate_limited",
      "60",
    ]);
    expect(limited.headers.get("access-control-allow-origin")).toBe("*");
    const failing = limiter(() => {
      throw new Error("limiter is down");
    });
    expect((await send(failing)).status).toBe(202);
    expect(new Set(keys)).toEqual(new Set(["203.0.113.7"]));
  });

  it("a page of any origin may send it, without credentials (TRACK-9)", async () => {
    const preflight = await visit("/click", {
      method: "OPTIONS",
      headers: {
        origin: "https://shop.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
    expect(preflight.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("content-type");
    expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
  });
});
