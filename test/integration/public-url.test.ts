/** Host and scheme of a request are never used for a link that the service writes (HTTP-19). */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../src/env.ts";
import { makeApplication } from "../support/applications.ts";
import { API_KEY_A, playOutside } from "../support/payouts.ts";
import { makeProgram, type Reply, programOfPartner } from "../support/program.ts";
import { openVendor } from "../support/provider-a-api.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { makeVisitor, signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const ELSEWHERE = "http://evil.example";
const HOSTILE = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http", forwarded: "host=evil.example" };
const OPERATOR = { authorization: "Bearer test-admin-token", "content-type": "application/json" };

const at = (base: string, bindings: Partial<Bindings> = {}) => {
  return <T = string>(path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (base === ELSEWHERE) for (const [name, value] of Object.entries(HOSTILE)) headers.set(name, value);
    return callWith<T>(bindings, path, { ...init, headers }, base);
  };
};

/** A deployment whose operator forgot it. */
const ADMIN_TOKEN = "t".repeat(32);
const FORGOTTEN: Partial<Bindings> = { ENVIRONMENT: "production", PUBLIC_URL: "", ADMIN_TOKEN };

interface Mail {
  text: string;
  html: string;
}

function mailbox(): { sent: Mail[]; bindings: Partial<Bindings> } {
  const sent: Mail[] = [];
  const EMAIL = { send: async (mail: Mail) => void sent.push(mail) } as unknown as SendEmail;
  return { sent, bindings: { EMAIL, EMAIL_FROM: "hello@service.example" } };
}

function allOf({ body, headers }: Reply<unknown>): string {
  return `${JSON.stringify([...headers])} ${typeof body === "string" ? body : JSON.stringify(body)}`;
}

let stocked: Stocked;
let owner: Map<string, string>;
let partner: Map<string, string>;

beforeAll(async () => {
  stocked = await makeStocked();
  owner = (await signInOwner(stocked.program)).cookies;
  partner = (await signInPartner(stocked.partner.email)).cookies;
});

afterEach(() => vi.restoreAllMocks());

const PAGES = pageRoutes("dashboard", "portal").filter(({ method }) => method === "GET");

function visitorAt(path: string, send: ReturnType<typeof at>): Visitor {
  const visitor = makeVisitor(send);
  for (const [name, value] of path.startsWith("/portal") ? partner : owner) visitor.cookies.set(name, value);
  return visitor;
}

describe("a request that names another host (HTTP-19)", () => {
  it.each(PAGES)("is not believed by the page $path", async ({ path }) => {
    const reply = await visitorAt(path, at(ELSEWHERE)).get(pageAddress(path, stocked.ids));
    expect(reply.status).toBe(200);
    expect(allOf(reply)).not.toContain("evil.example");
  });

  it("sees the webhook addresses, the script and the short link under PUBLIC_URL", async () => {
    const page = async (path: string) => (await visitorAt(path, at(ELSEWHERE)).get(path)).body;
    expect(await page("/dashboard/settings/providers")).toContain(
      `https://service.example/webhooks/provider_a?program_id=${stocked.program.id}`,
    );
    expect(await page("/dashboard/settings")).toContain("https://service.example/service.js");
    expect(await page("/dashboard/integration")).toContain(`https://service.example/r/${stocked.program.id}/`);
    expect(await page("/portal/assets")).toContain(`https://service.example/r/${stocked.program.id}/`);
  });

  it("gets a sign-in mail with a link to PUBLIC_URL", async () => {
    const { program } = await makeProgram();
    const { sent, bindings } = mailbox();
    const visitor = makeVisitor(at(ELSEWHERE, bindings));
    await visitor.get("/sign-in");
    expect((await visitor.post("/sign-in", { email: program.owner_email })).status).toBe(200);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.text).toMatch(/https:\/\/service\.example\/sign-in\?token=/);
    expect(JSON.stringify(sent)).not.toContain("evil.example");
  });

  it("gets the operator's sign-in link and the onboarding's way back under PUBLIC_URL", async () => {
    const { program } = await makeProgram();
    const link = await at(ELSEWHERE)<{ url: string }>("/admin/sign-in-links", {
      method: "POST",
      headers: OPERATOR,
      body: JSON.stringify({ email: program.owner_email }),
    });
    expect(link.body.url).toMatch(/^https:\/\/service\.example\/sign-in\?token=/);

    const [paying, { id }] = await programOfPartner({ provider_a_api_key: API_KEY_A, live_only: false });
    playOutside(openVendor({ keys: [API_KEY_A] }));
    const asked = vi.mocked(globalThis.fetch).mock.calls;
    const headers = { authorization: `Bearer ${paying.api_key}` };
    const started = await at(ELSEWHERE)(`/api/v1/partners/${id}/provider-a-account`, { method: "POST", headers });
    expect(started.status).toBe(201);
    const sent = JSON.stringify(asked.map(([, init]) => init?.body));
    expect(sent).toContain("https://service.example/portal");
    expect(sent).not.toContain("evil.example");
  });
});

describe("a deployment without PUBLIC_URL", () => {
  const service = at("https://affiliates.example", FORGOTTEN);

  it("says so at /healthz (HTTP-18)", async () => {
    const { status, body } = await service<{ error: { code: string; message: string } }>("/healthz");
    expect([status, body.error.code, body.error.message]).toEqual([
      503,
      "not_configured",
      "The variable PUBLIC_URL is not set.",
    ]);
    const wrong = { ...FORGOTTEN, PUBLIC_URL: "http://affiliates.example" };
    expect((await callWith(wrong, "/healthz")).status).toBe(503);
  });

  it("answers 503 `not_configured` where a link is written, and makes and sends nothing then (HTTP-25)", async () => {
    const { program } = await makeProgram();
    const { sent, bindings } = mailbox();
    const rows = async () =>
      (await env.DB.prepare("select * from sign_in_links where email = ?").bind(program.owner_email).all()).results;
    const visitor = makeVisitor(at("https://affiliates.example", { ...FORGOTTEN, ...bindings }));
    await visitor.get("/sign-in");
    expect((await visitor.post("/sign-in", { email: program.owner_email })).status).toBe(503);
    expect(visitor.html).toContain("PUBLIC_URL");
    const body = JSON.stringify({ email: program.owner_email });
    const link = await service<{ error: { code: string } }>("/admin/sign-in-links", {
      method: "POST",
      headers: { ...OPERATOR, authorization: `Bearer ${ADMIN_TOKEN}` },
      body,
    });
    expect([link.status, link.body.error.code]).toEqual([503, "not_configured"]);
    expect([sent, await rows()]).toEqual([[], []]);
    for (const path of ["/dashboard/settings", "/dashboard/integration", "/portal/assets"]) {
      expect([path, (await visitorAt(path, service).get(path)).status]).toEqual([path, 503]);
    }
    const onboarding = `/api/v1/partners/${stocked.partner.id}/provider-a-account`;
    const headers = { authorization: `Bearer ${stocked.program.api_key}` };
    const started = await service<{ error: { code: string } }>(onboarding, { method: "POST", headers });
    expect([started.status, started.body.error.code]).toEqual([503, "not_configured"]);
    const portal = `/api/v1/partners/${stocked.partner.id}/portal-links`;
    const linked = await service<{ error: { code: string } }>(portal, { method: "POST", headers });
    expect([linked.status, linked.body.error.code]).toEqual([503, "not_configured"]);
  });

  it("answers 503 where an e-mail is for the link in it, and changes nothing then (HTTP-25)", async () => {
    const [program, invited] = await programOfPartner({}, {}, "invited");
    const applications = [await makeApplication(program), await makeApplication(program)] as const;
    const { sent, bindings } = mailbox();
    const mailing = at("https://affiliates.example", { ...FORGOTTEN, ...bindings });
    const rowsOf = async () => {
      const tables = ["program_members", "partners", "applications", "sign_in_links", "mails", "events"];
      const found = tables.map((table) =>
        env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id),
      );
      return (await env.DB.batch(found)).map(({ results }) => results);
    };
    const before = await rowsOf();
    const post = (path: string, body: object = {}) =>
      mailing<{ error?: { code: string } }>(`/api/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    for (const [path, body] of [
      ["/members", { email: "new@team.example", role: "viewer" }],
      [`/partners/${invited.id}/invite`, {}],
      [`/applications/${applications[0]}/approve`, {}],
      ["/applications/bulk", { ids: applications, status: "approved" }],
    ] as const) {
      const reply = await post(path, body);
      expect([path, reply.status, reply.body.error?.code]).toEqual([path, 503, "not_configured"]);
    }
    expect(await rowsOf()).toEqual(before);
    expect(sent).toEqual([]);
    expect((await post(`/applications/${applications[0]}/decline`)).status).toBe(200);
  });

  it("goes on with all else: the API, the pages without links", async () => {
    const headers = { authorization: `Bearer ${stocked.program.api_key}` };
    expect((await service("/api/v1/partners", { headers })).status).toBe(200);
    expect((await visitorAt("/dashboard", service).get("/dashboard")).status).toBe(200);
  });
});
