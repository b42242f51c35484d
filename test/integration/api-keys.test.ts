/** Additional API keys of a program: creation, use and expiry. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SCOPES } from "../../src/domain/scope.ts";
import { shardOfKey } from "../../src/domain/shard.ts";
import { DAY, HOUR, iso } from "../../src/lib/time.ts";
import { newKey } from "../support/keys.ts";
import { callApi, makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { holdClock } from "../support/time.ts";

const KEYS = "/api/v1/api-keys";
const ME = "/api/v1/programs/me";

interface Key {
  id: string;
  name: string;
  scopes: string[];
  last4: string;
  expires_at: string | null;
  last_used_at: string | null;
  api_key?: string;
}
interface Failure {
  error: { code: string; message: string; details?: { path: string }[] };
}

const listed = async (program: Pick<TestProgram, "api">) => (await program.api<{ data: Key[] }>("GET", KEYS)).body.data;

async function eventsOf(program: TestProgram, type: string) {
  const { body } = await program.api<{ data: { payload: object; actor: object }[] }>(
    "GET",
    `/api/v1/events?type=${type}`,
  );
  return body.data;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a further key (ACCESS-10)", () => {
  it("is shown once, kept as its hash, and acts for the program beside the first", async () => {
    const program = await makeProgram();
    const made = await program.api<Key>("POST", KEYS, { name: "Reporting", scopes: ["write", "read"] });
    expect(made.status).toBe(201);
    const { api_key = "", ...key } = made.body;
    expect(api_key).toMatch(/^sk_[A-Za-z0-9_-]{44}$/);
    expect(key).toMatchObject({
      id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
      name: "Reporting",
      scopes: ["read", "write"],
      last4: api_key.slice(-4),
      expires_at: null,
      last_used_at: null,
    });
    expect(await listed(program)).toEqual([key]);
    const rows = await env.DB.prepare("select * from api_keys where program_id = ?").bind(program.id).all();
    expect(JSON.stringify(rows.results)).not.toContain(api_key);
    expect((await callApi<{ id: string }>(api_key, "GET", ME)).body.id).toBe(program.id);
    expect((await program.api("GET", ME)).status).toBe(200);
  });

  it("is the actor of what it does, by its id and name, and its making and end are events (EVT-2)", async () => {
    const program = await makeProgram();
    const key = await newKey(program, ["write", "read"], { name: "Shop backend" });
    await makePartner({ ...program, api: key.api }, {}, "invited");
    await program.api("DELETE", `${KEYS}/${key.id}`);
    const [created] = await eventsOf(program, "partner.created");
    expect(created!.actor).toEqual({ type: "api_key", id: key.id, name: "Shop backend" });
    const about = { key_id: key.id, name: "Shop backend", last4: key.api_key.slice(-4) };
    const first = { type: "api_key", name: program.program.api_key_last4 };
    expect(await eventsOf(program, "api_key.created")).toMatchObject([
      { payload: { ...about, scopes: ["read", "write"], expires_at: null }, actor: first },
    ]);
    expect(await eventsOf(program, "api_key.deleted")).toMatchObject([{ payload: about, actor: first }]);
  });

  it("is dead on the next request once it is deleted, wherever it was used a moment ago (ACCESS-1)", async () => {
    const program = await makeProgram();
    const key = await newKey(program);
    expect((await key.api("GET", ME)).status).toBe(200);
    expect((await program.api("DELETE", `${KEYS}/${key.id}`)).body).toEqual({ id: key.id, deleted: true });
    for (const [method, path, body] of [
      ["GET", ME, undefined],
      ["GET", "/api/v1/partners", undefined],
      ["POST", "/api/v1/partners", { email: "late@example.com", slug: "late" }],
      ["POST", KEYS, { name: "x", scopes: ["read"] }],
    ] as const) {
      expect([path, (await key.api(method, path, body)).status]).toEqual([path, 401]);
    }
    expect((await program.api("DELETE", `${KEYS}/${key.id}`)).status).toBe(404);
    expect([
      await listed(program),
      (await program.api<{ total: number }>("GET", "/api/v1/partners")).body.total,
    ]).toEqual([[], 0]);
  });

  it("ends when it expires, to the millisecond, and takes no time that is over", async () => {
    holdClock();
    const program = await makeProgram();
    const ends = Date.now() + HOUR;
    const key = await newKey(program, SCOPES, { expires_at: iso(ends) });
    expect((await key.api("GET", ME)).status).toBe(200);
    vi.setSystemTime(ends - 1);
    expect((await key.api("GET", "/api/v1/partners")).status).toBe(200);
    vi.setSystemTime(ends);
    for (const path of [ME, "/api/v1/partners"]) expect((await key.api("GET", path)).status).toBe(401);
    const made = await key.api("POST", "/api/v1/partners", { email: "late@example.com", slug: "late" });
    expect([made.status, (await listed(program))[0]!.expires_at]).toEqual([401, iso(ends)]);
    for (const expires_at of [iso(ends), "2020-01-01", "soon", 5]) {
      const { status, body } = await program.api<Failure>("POST", KEYS, { name: "x", scopes: ["read"], expires_at });
      expect([status, body.error.details?.[0]?.path]).toEqual([422, "expires_at"]);
    }
  });

  it("notes its use once an hour, and not that of the first key", async () => {
    holdClock();
    const program = await makeProgram();
    const key = await newKey(program);
    const used = async () => (await listed(program))[0]!.last_used_at;
    const start = Date.now();
    await key.api("GET", ME);
    expect(await used()).toBe(iso(start));
    vi.setSystemTime(start + HOUR - 1);
    await key.api("GET", ME);
    expect(await used()).toBe(iso(start));
    vi.setSystemTime(start + HOUR + 1);
    await key.api("GET", ME);
    expect(await used()).toBe(iso(start + HOUR + 1));
  });

  it("stays where the first is replaced: so a key is changed without a gap (ACCESS-3)", async () => {
    const program = await makeProgram();
    const key = await newKey(program);
    await callApi("test-admin-token", "POST", `/admin/programs/${program.id}/api-key`);
    expect([(await program.api("GET", ME)).status, (await key.api("GET", ME)).status]).toEqual([401, 200]);
  });

  it("names its database, as the first does", () => {
    const random = "x".repeat(44);
    expect([shardOfKey(`sk_${random}`), shardOfKey(`sk_3_${random}`)]).toEqual([0, 3]);
  });

  it("is one of at most 50, also where they are made at once, and has a name and scopes", async () => {
    const program = await makeProgram();
    const values = Array.from(
      { length: 48 },
      (_, i) => `('key_${program.id}${i}', '${program.id}', 'n', '["read"]',
      '${program.id}${i}', 'aaaa', '2026-01-01T00:00:00.000Z')`,
    );
    await env.DB.prepare(
      `insert into api_keys (id, program_id, name, scopes, hash, last4, created_at) values ${values.join()}`,
    ).run();
    const made = await Promise.all(
      Array.from({ length: 4 }, () => program.api("POST", KEYS, { name: "One more", scopes: ["read"] })),
    );
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 201, 422, 422]);
    expect(await listed(program)).toHaveLength(50);
    for (const wrong of [
      {},
      { name: "", scopes: ["read"] },
      { name: "x".repeat(101), scopes: ["read"] },
      { name: "x", scopes: [] },
      { name: "x", scopes: ["all"] },
      { name: "x", scopes: ["read", "read"] },
      { name: "x", scopes: ["read"], hash: "x" },
    ]) {
      expect([wrong, (await program.api("POST", KEYS, wrong)).status]).toEqual([wrong, 422]);
    }
  });
});

describe("a key that makes keys (ACCESS-12)", () => {
  it("gives no scope that it lacks", async () => {
    const program = await makeProgram();
    const key = await newKey(program, ["keys", "read"]);
    for (const scopes of [["write"], ["read", "payouts"], SCOPES]) {
      const { status, body } = await key.api<Failure>("POST", KEYS, { name: "More", scopes });
      expect([scopes, status, body.error.code]).toEqual([scopes, 403, "forbidden"]);
      expect(body.error.message).toMatch(/lacks the scope (write|payouts)\./);
    }
    expect(await listed(program)).toHaveLength(1);
    expect((await key.api("POST", KEYS, { name: "As much", scopes: ["read", "keys"] })).status).toBe(201);
  });

  it("makes none that outlives it", async () => {
    const program = await makeProgram();
    const ends = Date.now() + DAY;
    const key = await newKey(program, ["keys"], { expires_at: iso(ends) });
    for (const fields of [{}, { expires_at: null }, { expires_at: iso(ends + 1) }]) {
      const { status, body } = await key.api<Failure>("POST", KEYS, { name: "x", scopes: ["keys"], ...fields });
      expect([status, body.error.code]).toEqual([403, "forbidden"]);
    }
    const until = await key.api("POST", KEYS, { name: "x", scopes: ["keys"], expires_at: iso(ends) });
    expect([until.status, (await listed(program)).length]).toEqual([201, 2]);
  });

  it("is not shown by a stored reply one that outlives it, and is shown any other reply (HTTP-10)", async () => {
    const program = await makeProgram();
    const ends = Date.now() + DAY;
    const key = await newKey(program, SCOPES, { expires_at: iso(ends) });
    const lasting = await newKey(program, SCOPES);
    const repeated = async (by: Pick<TestProgram, "api">, fields: object, once: string) => {
      const body = { name: "CI", scopes: ["keys"], ...fields };
      const reply = await by.api<Key & Failure>("POST", KEYS, body, { "Idempotency-Key": once });
      return [reply.status, reply.headers.get("Idempotent-Replayed"), reply.body.api_key ?? reply.body.error.code];
    };
    for (const [once, fields] of Object.entries({ never: {}, later: { expires_at: iso(ends + 1) } })) {
      const [, , made] = await repeated(program, fields, once);
      expect(await repeated(key, fields, once)).toEqual([403, null, "forbidden"]);
      expect(await repeated(lasting, fields, once)).toEqual([201, "true", made]);
    }
    const until = { expires_at: iso(ends) };
    const [, , made] = await repeated(program, until, "until");
    expect(await repeated(key, until, "until")).toEqual([201, "true", made]);
    const flow = { name: '"api_key":"', action_type: "flat", action_value: 1 };
    const partner = { email: "kim@example.com", slug: "kim", metadata: { api_key: "theirs" } };
    for (const [path, fields] of Object.entries({ "/api/v1/flows": flow, "/api/v1/partners": partner })) {
      const once = { "Idempotency-Key": path };
      expect((await program.api("POST", path, fields, once)).status).toBe(201);
      const other = await key.api("POST", path, fields, once);
      expect([path, other.status, other.headers.get("Idempotent-Replayed")]).toEqual([path, 201, "true"]);
    }
  });

  it("brings nobody into the team where it ends itself, for a member makes keys without end", async () => {
    const program = await makeProgram();
    const [ending, lasting] = [
      await newKey(program, SCOPES, { expires_at: iso(Date.now() + DAY) }),
      await newKey(program, SCOPES),
    ];
    const added = { email: `${program.id}@team.example`.toLowerCase(), role: "viewer" };
    const refused = await ending.api<Failure>("POST", "/api/v1/members", added);
    expect([refused.status, refused.body.error?.code]).toEqual([403, "forbidden"]);
    const { id } = (await lasting.api<{ id: string }>("POST", "/api/v1/members", added)).body;
    const raised = await ending.api<Failure>("PATCH", `/api/v1/members/${id}`, { role: "owner" });
    expect([raised.status, raised.body.error?.code]).toEqual([403, "forbidden"]);
    expect((await ending.api("DELETE", `/api/v1/members/${id}`)).status).toBe(200);
  });

  it("ends itself and what may do no more, and never the first", async () => {
    const program = await makeProgram();
    const key = await newKey(program, ["keys", "read"]);
    const other = await newKey(program, ["read"]);
    for (const scopes of [["read", "write"], ["payouts"], SCOPES] as const) {
      const more = await newKey(program, scopes);
      const { status, body } = await key.api<Failure>("DELETE", `${KEYS}/${more.id}`);
      expect([status, body.error.message]).toEqual([403, expect.stringMatching(/lacks the scope (write|payouts)\./)]);
      expect((await program.api("DELETE", `${KEYS}/${more.id}`)).status).toBe(200);
    }
    const firstId = (await eventsOf(program, "api_key.created"))[0]!.actor as { id: string };
    expect((await key.api("DELETE", `${KEYS}/${firstId.id}`)).status).toBe(404);
    for (const { id } of [other, key]) expect((await key.api("DELETE", `${KEYS}/${id}`)).status).toBe(200);
    expect([(await key.api("GET", KEYS)).status, await listed(program)]).toEqual([401, []]);
  });
});

describe("what a key without a scope cannot reach by another way (ACCESS-12)", () => {
  const payout = { payout_method: "wallet", payout_email: "wallet@example.com" };

  it("payout details: seen in part, neither given nor changed, nor the address that signs in", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, payout);
    const invited = await makePartner(program, payout, "invited");
    const at = `/api/v1/partners/${partner.id}`;
    const key = await newKey(program, ["read", "write"]);
    const shown = [
      await key.api("GET", at),
      await key.api("GET", "/api/v1/partners"),
      await key.api("PATCH", at, { first_name: "Zoe" }),
      await key.api("POST", `/api/v1/partners/${invited.id}/invite`, {}, { "Idempotency-Key": "invite" }),
      await key.api("POST", `/api/v1/partners/${invited.id}/invite`, {}, { "Idempotency-Key": "invite" }),
      await key.api("DELETE", at),
    ];
    for (const { status, body } of shown) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).toContain('"payout_email":"w****t@example.com"');
    }
    expect(shown[4]!.headers.get("Idempotent-Replayed")).toBe("true");
    for (const patch of [
      { payout_email: "thief@example.com" },
      { payout_method: null },
      { email: "thief@example.com" },
    ]) {
      const { status, body } = await key.api<Failure>("PATCH", at, patch);
      expect([patch, status, body.error.message]).toEqual([patch, 403, "This API key lacks the scope payouts."]);
    }
    const made = await key.api<Failure>("POST", "/api/v1/partners", { email: "n@example.com", slug: "n", ...payout });
    expect([made.status, made.body.error.code]).toEqual([403, "forbidden"]);
    const plain = await key.api("POST", "/api/v1/partners", { email: "n@example.com", slug: "n" });
    expect(plain.status).toBe(201);
    const paying = await newKey(program, ["read", "payouts"]);
    expect(JSON.stringify((await paying.api("GET", "/api/v1/partners")).body)).toContain("wallet@example.com");
    const { body } = await program.api<{ email: string; payout_email: string }>("GET", at);
    expect([body.email, body.payout_email]).toEqual([partner.email, "wallet@example.com"]);
  });

  it("the providers' secrets among the settings", async () => {
    const program = await makeProgram();
    const key = await newKey(program, ["read", "write"]);
    for (const secret of ["whsec_other", null]) {
      const patch = { name: "Taken", provider_a_webhook_secret: secret };
      const { status, body } = await key.api<Failure>("PATCH", ME, patch);
      expect([status, body.error.message]).toEqual([403, "This API key lacks the scope keys."]);
    }
    const { body } = await key.api<{ name: string; provider_a_webhook_secret_set: boolean }>("GET", ME);
    expect([body.name, body.provider_a_webhook_secret_set]).toEqual(["Test program", true]);
    expect((await key.api("PATCH", ME, { name: "Renamed" })).status).toBe(200);
  });

  it("the stored reply of a key that may more, which is shown to one that may as much (HTTP-10)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, payout, "invited");
    const at = `/api/v1/partners/${partner.id}/invite`;
    const once = { "Idempotency-Key": "the same" };
    expect((await program.api("POST", at, {}, once)).status).toBe(200);
    const less = await newKey(program, ["read", "write"]);
    const { status, headers, body } = await less.api<Failure>("POST", at, {}, once);
    expect([status, body.error.code, headers.get("Idempotent-Replayed")]).toEqual([403, "forbidden", null]);
    const same = await newKey(program, SCOPES);
    expect((await same.api("POST", at, {}, once)).headers.get("Idempotent-Replayed")).toBe("true");
    // A request that was refused for its scope succeeds under the same idempotency key with a key that has the scope.
    const flow = { name: "f", action_type: "flat", action_value: 1 };
    const [cannot, can] = [await newKey(program, ["read"]), await newKey(program, ["write"])];
    const later = { "Idempotency-Key": "later" };
    expect((await cannot.api("POST", "/api/v1/flows", flow, later)).status).toBe(403);
    expect((await can.api("POST", "/api/v1/flows", flow, later)).status).toBe(201);
    const details = { email: "d@example.com", slug: "d", ...payout };
    const both = { "Idempotency-Key": "both" };
    expect((await can.api("POST", "/api/v1/partners", details, both)).status).toBe(403);
    expect((await program.api("POST", "/api/v1/partners", details, both)).status).toBe(201);
  });
});
