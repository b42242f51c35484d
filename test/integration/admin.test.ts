import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/lib/crypto.ts";
import { iso } from "../../src/lib/time.ts";
import { BASE_URL, callApi, makePartner, makeProgram, type Reply } from "../support/program.ts";
import { followLink, makeVisitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

interface ProgramBody {
  id: string;
  name: string;
  currency: string;
  domain: string | null;
}

interface ErrorBody {
  error: { code: string; details?: { path: string }[] };
}

const TOKEN = "test-admin-token";
const MISSING = "/admin/programs/prog_00000000000000000000000000/api-key";

function operate<T>(method: string, path: string, body?: unknown, token = TOKEN): Promise<Reply<T>> {
  return callApi<T>(token, method, path, body);
}

let made = 0;
async function createProgram(fields: Record<string, unknown> = {}) {
  const body = { name: "Operated", owner_email: `owner${made++}@example.com`, ...fields };
  return operate<{ program: ProgramBody; api_key: string }>("POST", "/admin/programs", body);
}

describe("/admin", () => {
  it("creates programs with the default settings and shows the key only there (ACCESS-5, ACCESS-8)", async () => {
    const { status, body } = await createProgram();
    expect(status).toBe(201);
    expect(body.program).toMatchObject({
      name: "Operated",
      domain: null,
      currency: "USD",
      default_commission_pct: 20,
      payout_term: "NET-15",
      min_payout_cents: 0,
    });
    expect(body.api_key).toMatch(/^sk_[A-Za-z0-9_-]{43}$/);
    expect(body.program.id).toMatch(/^prog_/);
    const me = await callApi<ProgramBody>(body.api_key, "GET", "/api/v1/programs/me");
    expect([me.status, me.body.id]).toEqual([200, body.program.id]);
    const row = await env.DB.prepare("select * from programs where id = ?").bind(body.program.id).first();
    expect(JSON.stringify(row)).not.toContain(body.api_key);
    expect(row?.["api_key_hash"]).toBe(await sha256Hex(body.api_key));
    const given = await createProgram({ domain: "SHOP.example.org", currency: "EUR" });
    expect(given.body.program).toMatchObject({ domain: "shop.example.org", currency: "EUR" });
  });

  it("refuses bodies as the API does", async () => {
    const good = { name: "x", owner_email: "o@example.com" };
    const refused: [string, unknown, string][] = [
      ["/admin/programs", {}, "name"],
      ["/admin/programs", { ...good, owner_email: "o" }, "owner_email"],
      ["/admin/programs", { ...good, currency: "usd" }, "currency"],
      ["/admin/programs", { ...good, domain: "not a name" }, "domain"],
      ["/admin/programs", { ...good, plan: "pro" }, "plan"],
      ["/admin/sign-in-links", {}, "email"],
      ["/admin/sign-in-links", { email: "o@example.com", to: "x" }, "to"],
    ];
    for (const [path, body, field] of refused) {
      const reply = await operate<ErrorBody>("POST", path, body);
      expect([reply.status, reply.body.error.code]).toEqual([422, "validation_failed"]);
      expect(reply.body.error.details?.map((detail) => detail.path)).toContain(field);
    }
    expect((await operate("POST", "/admin/programs", "{")).status).toBe(400);
    expect((await operate("POST", "/admin/programs", `"${"x".repeat(70_000)}"`)).status).toBe(413);
    const form = await callApi(TOKEN, "POST", "/admin/programs", "a=b", { "content-type": "text/plain" });
    expect(form.status).toBe(415);
    expect((await operate("GET", "/admin/nowhere")).status).toBe(404);
    expect((await operate("DELETE", "/admin/programs")).status).toBe(405);
    expect((await operate("GET", "/admin/programs?per_page=101")).status).toBe(422);
    expect((await operate("POST", MISSING)).status).toBe(404);
  });

  it("lists all programs, newest first, page by page (ACCESS-5)", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await createProgram()).body.program.id);
    // The ids order programs of one millisecond.
    ids.sort();
    const list = await operate<{ data: ProgramBody[]; total: number; page: number; next_cursor: string }>(
      "GET",
      "/admin/programs?per_page=2",
    );
    expect(list.body.data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const all = await env.DB.prepare("select count(*) as n from programs").first<number>("n");
    expect(list.body).toMatchObject({ total: all, page: 1, per_page: 2 });
    const next = await operate<{ data: ProgramBody[] }>(
      "GET",
      `/admin/programs?per_page=1&cursor=${list.body.next_cursor}`,
    );
    expect(next.body.data[0]?.id).toBe(ids[0]);
    expect(JSON.stringify(list.body)).not.toMatch(/sk_|api_key_hash/);
  });

  it("issues a new key that kills the old one at once and ends the owners' sessions (ACCESS-3, ACCESS-5)", async () => {
    const { body: first } = await createProgram();
    const stamp = iso(Date.now());
    const session = (audience: string) =>
      env.DB.prepare(
        `insert into sessions (token_hash, audience, email, program_id, created_at, expires_at)
         values (?, ?, 'x@example.com', ?, ?, ?)`,
      ).bind(`${audience} of ${first.program.id}`, audience, first.program.id, stamp, stamp);
    await env.DB.batch([session("owner"), session("partner")]);
    await callApi(first.api_key, "GET", "/api/v1/programs/me");
    const second = await operate<{ program: { api_key_last4: string }; api_key: string }>(
      "POST",
      `/admin/programs/${first.program.id}/api-key`,
    );
    expect(second.status).toBe(201);
    expect(second.body.program.api_key_last4).toBe(second.body.api_key.slice(-4));
    expect((await callApi(first.api_key, "GET", "/api/v1/programs/me")).status).toBe(401);
    expect((await callApi(second.body.api_key, "GET", "/api/v1/programs/me")).status).toBe(200);
    const log = await callApi<{ data: { payload: unknown }[] }>(
      second.body.api_key,
      "GET",
      "/api/v1/events?type=api_key.regenerated",
    );
    expect(log.body.data.map(({ payload }) => payload)).toEqual([
      { program_id: first.program.id, last4: second.body.api_key.slice(-4), actor: "operator" },
    ]);
    const left = await env.DB.prepare("select audience from sessions where program_id = ?")
      .bind(first.program.id)
      .all();
    expect(left.results).toEqual([{ audience: "partner" }]);
  });

  it("leaves exactly one key alive where several are issued at once", async () => {
    const { body } = await createProgram();
    const at = `/admin/programs/${body.program.id}/api-key`;
    const issued = await Promise.all(Array.from({ length: 6 }, () => operate<{ api_key: string }>("POST", at)));
    expect(issued.map(({ status }) => status)).toEqual(issued.map(() => 201));
    const alive = await Promise.all(
      issued.map(({ body: { api_key } }) => callApi(api_key, "GET", "/api/v1/programs/me")),
    );
    expect(alive.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("makes one-time links for owners whatever the case of the address, and keeps only their hash (ACCESS-5)", async () => {
    const email = "Links@Example.com";
    const { body } = await createProgram({ owner_email: email });
    const asked = Date.now();
    const link = await operate<{ url: string; expires_at: string }>("POST", "/admin/sign-in-links", {
      email: "links@EXAMPLE.com",
    });
    expect(link.status).toBe(201);
    const token = new URL(link.body.url).searchParams.get("token") ?? "";
    expect(link.body.url).toBe(`${BASE_URL}/sign-in?token=${token}`);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const since = Date.parse(link.body.expires_at) - 15 * 60_000;
    expect([since >= asked, since <= Date.now()]).toEqual([true, true]);
    const row = await env.DB.prepare("select * from sign_in_links where token_hash = ?")
      .bind(await sha256Hex(token))
      .first();
    expect(row).toMatchObject({
      audience: "owner",
      email: email.toLowerCase(),
      program_id: body.program.id,
      used_at: null,
      expires_at: link.body.expires_at,
    });
    expect(JSON.stringify(row)).not.toContain(token);
    const unknown = await operate<ErrorBody>("POST", "/admin/sign-in-links", { email: "nobody@example.com" });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "not_found"]);
  });

  it("makes them for partners too, who sign in with them; a member with the same address goes first (ACCESS-5)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { email: "Portal@partners.example" });
    const { body, status } = await operate<{ url: string }>("POST", "/admin/sign-in-links", {
      email: "portal@partners.example",
    });
    expect(status).toBe(201);
    const { headers } = await followLink(makeVisitor(), new URL(body.url).searchParams.get("token") ?? "");
    expect(headers.get("location")).toBe("/portal");
    const rows = () =>
      env.DB.prepare("select audience, partner_id from sign_in_links where email = ? order by created_at desc")
        .bind("portal@partners.example")
        .all();
    expect((await rows()).results).toEqual([{ audience: "partner", partner_id: partner.id }]);
    await createProgram({ owner_email: "portal@partners.example" });
    await operate("POST", "/admin/sign-in-links", { email: "portal@partners.example" });
    expect((await rows()).results[0]).toEqual({ audience: "owner", partner_id: null });
    await program.api("DELETE", `/api/v1/partners/${partner.id}`);
  });

  it("makes none for a partner who is deactivated", async () => {
    const program = await makeProgram();
    const { id, email } = await makePartner(program);
    await program.api("DELETE", `/api/v1/partners/${id}`);
    expect((await operate("POST", "/admin/sign-in-links", { email })).status).toBe(404);
  });

  const ROUTES = [
    ["GET", "/admin/programs"],
    ["POST", "/admin/programs"],
    ["POST", MISSING],
    ["POST", "/admin/sign-in-links"],
    ["GET", "/admin"],
    ["GET", "/admin/nowhere"],
  ] as const;

  it("lets nobody in without the token, with a program's key or with a part of the token (ACCESS-4)", async () => {
    const program = await makeProgram();
    for (const [method, path] of ROUTES) {
      for (const token of [null, "", program.api_key, "test-admin-toke", "test-admin-token2", "TEST-ADMIN-TOKEN"]) {
        const reply = await callApi<ErrorBody>(token, method, path);
        expect([path, token, reply.status, reply.body.error.code]).toEqual([path, token, 401, "unauthorized"]);
      }
    }
  });

  it("is not there at all in a deployment without the token, whatever is sent (ACCESS-4)", async () => {
    for (const [method, path] of ROUTES) {
      for (const authorization of ["", "Bearer ", "Bearer undefined", `Bearer ${TOKEN}`]) {
        for (const ADMIN_TOKEN of [undefined, ""]) {
          // The bindings' type does not allow undefined; a deployment without the secret does not have the binding.
          const bindings = { ADMIN_TOKEN } as { ADMIN_TOKEN: string };
          const reply = await callWith<ErrorBody>(bindings, path, { method, headers: { authorization } });
          expect([path, reply.status, reply.body.error.code]).toEqual([path, 404, "not_found"]);
        }
      }
    }
  });
});
