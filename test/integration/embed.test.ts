/** Links from the owner's site into the portal, and the portal in a frame of that site (EMBED-1 to EMBED-3). */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { sealRecipient } from "../../src/core/payouts/recipient.ts";
import { openPortalLink, readPortalLink } from "../../src/core/sessions/portal-links.ts";
import { maskAddress } from "../../src/domain/mask.ts";
import { framedBy } from "../../src/http/pages/page.tsx";
import type { Bindings } from "../../src/env.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { makeStocked, pageAddress, pageRoutes } from "../support/stocked.ts";
import {
  csrfIn,
  followLink,
  makeVisitor,
  requestLink,
  signInPartner,
  textOf,
  type Visitor,
} from "../support/visitor.ts";

const FRAME = { "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site" };
/** The headers of a form or a link inside the frame. */
const WITHIN = { "sec-fetch-dest": "iframe", "sec-fetch-site": "same-origin" };
/** Tests run in the development environment. */
const FRAMERS = "frame-ancestors http://shop.example:* http://*.shop.example:*;";

const PAID_TO = "jane@wallet.example";

let program: TestProgram;
let jane: Awaited<ReturnType<typeof makePartner>>;

beforeEach(async () => {
  program = await makeProgram();
  jane = await makePartner(program);
});

async function linkOf(id: string): Promise<string> {
  const { status, body } = await program.api<{ url: string }>("POST", `/api/v1/partners/${id}/portal-links`);
  expect(status).toBe(201);
  const { origin, pathname, search } = new URL(body.url);
  expect([origin, pathname]).toEqual(["https://service.example", "/embed"]);
  return `/embed${search}`;
}

const tokenIn = (link: string) => link.slice(link.indexOf("=") + 1);

async function frameOf(id: string, visitor: Visitor = makeVisitor()): Promise<Visitor> {
  const { status, headers } = await visitor.get(await linkOf(id), FRAME);
  expect([status, headers.get("location")]).toEqual([303, "/portal"]);
  return visitor;
}

const where = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get("location")];

describe("a link into the portal (EMBED-1)", () => {
  it("opens it in a frame once, with a cookie for that site alone", async () => {
    const link = await linkOf(jane.id);
    const visitor = makeVisitor();
    const reply = await visitor.get(link, FRAME);
    expect(where(reply)).toEqual([303, "/portal"]);
    const cookie = reply.headers.getSetCookie().find((line) => line.startsWith("__Host-framed="));
    for (const part of ["Path=/", "HttpOnly", "Secure", "SameSite=None", "Partitioned"]) expect(cookie).toContain(part);
    expect(visitor.cookies.has("__Host-session")).toBe(false);
    const again = await makeVisitor().get(link, FRAME);
    expect(again.status).toBe(410);
    // Only the program's own site can show the reason in a frame.
    expect(again.headers.get("content-security-policy")).toContain(FRAMERS);
    const unknown = await makeVisitor().get(`/embed?token=${"x".repeat(43)}`, FRAME);
    expect([unknown.status, unknown.headers.get("x-frame-options")]).toEqual([410, "DENY"]);
    expect(unknown.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });

  it("asks first where it is opened as a page, and then opens it once", async () => {
    const link = await linkOf(jane.id);
    const visitor = makeVisitor();
    const asked = await visitor.get(link, { "sec-fetch-dest": "document" });
    expect(asked.status).toBe(200);
    expect(textOf(asked.body)).toContain(`as ${jane.email}`);
    expect((await visitor.get("/portal")).headers.get("location")).toMatch(/^\/sign-in(\?|$)/);
    expect((await visitor.post("/embed", { token: tokenIn(link), csrf: "0" })).status).toBe(403);
    await visitor.get(link);
    expect(where(await visitor.post("/embed", { token: tokenIn(link) }))).toEqual([303, "/portal"]);
    expect((await visitor.get("/portal")).status).toBe(200);
    const other = makeVisitor();
    await other.get("/sign-in");
    expect((await other.post("/embed", { token: tokenIn(link) })).status).toBe(410);
  });

  it("is used by one of two at the same moment, and not after 5 minutes", async () => {
    const [token, late] = [tokenIn(await linkOf(jane.id)), tokenIn(await linkOf(jane.id))];
    const use = (given: string, now = Date.now()) =>
      openPortalLink(testContext(now), given, { framed: true, device: null });
    const opened = await Promise.all([use(token), use(token), use(token)]);
    expect(opened.filter((one) => one !== null)).toHaveLength(1);
    expect(await use(late, Date.now() + 6 * MINUTE)).toBeNull();
    expect((await readPortalLink(testContext(), late))?.isUsable).toBe(true);
    const { results } = await env.DB.prepare("select type from events where program_id = ? and type in (?, ?)")
      .bind(program.id, "portal_link.created", "partner.signed_in")
      .all<{ type: string }>();
    expect(results.map(({ type }) => type).toSorted()).toEqual([
      "partner.signed_in",
      "portal_link.created",
      "portal_link.created",
    ]);
  });

  it("is for an active partner of the program, and makes an invited one active", async () => {
    const gone = await makePartner(program, {}, "deactivated");
    const post = (id: string, of = program) =>
      of.api<{ error: { code: string } }>("POST", `/api/v1/partners/${id}/portal-links`);
    expect((await post(gone.id)).body.error.code).toBe("invalid_transition");
    expect((await post(jane.id, await makeProgram())).status).toBe(404);
    const invited = await makePartner(program, {}, "invited");
    await frameOf(invited.id);
    expect((await program.api<{ status: string }>("GET", `/api/v1/partners/${invited.id}`)).body.status).toBe("active");
    const link = await linkOf(jane.id);
    await program.api("DELETE", `/api/v1/partners/${jane.id}`);
    expect((await makeVisitor().get(link, FRAME)).status).toBe(410);
  });
});

describe("the session that it opens (EMBED-2)", () => {
  it("does all of the portal but what is for who was reached at the address", async () => {
    const stocked = await makeStocked();
    program = stocked.program;
    const frame = await frameOf(stocked.partner.id);
    const routes = pageRoutes("portal");
    expect(routes.length).toBeGreaterThan(8);
    for (const { method, path } of routes) {
      const address = path.replaceAll(/:\w+/g, "x");
      const reply = method === "GET" ? await frame.get(address, WITHIN) : await frame.post(address, {}, WITHIN);
      const isRefused = path.startsWith("/portal/details");
      expect([method, path, reply.status === 403]).toEqual([method, path, isRefused]);
    }
    // A framed page never shows payout details.
    await program.api("PATCH", `/api/v1/partners/${stocked.partner.id}`, {
      ...{ payout_method: "wallet", payout_email: PAID_TO },
    });
    const whole = await signInPartner(stocked.partner.email);
    expect((await whole.get("/portal/details")).body).toContain(PAID_TO);
    for (const { path } of routes.filter(({ method }) => method === "GET")) {
      const { body } = await frame.get(pageAddress(path, stocked.ids), WITHIN);
      expect([path, body.includes(PAID_TO)]).toEqual([path, false]);
    }
    const { body } = await frame.get("/portal", WITHIN);
    expect(body).not.toMatch(/href="\/portal\/details|href="\/switch"|action="\/sign-out"/);
    expect((await frame.get("/switch", WITHIN)).status).toBe(403);
    expect(where(await frame.get("/dashboard", WITHIN))).toEqual([303, "/portal"]);
  });

  it("sees of payouts that exist neither where they go nor to what name, and no link to the details", async () => {
    const stocked = await makeStocked();
    program = stocked.program;
    const shown = maskAddress(PAID_TO);
    const payout_id = stocked.ids["payouts"]!;
    const sealed = await sealRecipient(testContext(), payout_id, {
      ...{ name: "Frozen Name", payout_email: PAID_TO, provider_a_account_id: null },
    });
    await env.DB.prepare("update payouts set method = 'wallet', recipient = ?, recipient_sealed = ? where id = ?")
      .bind(shown, sealed, payout_id)
      .run();
    // Tax data would name the payee.
    await env.DB.prepare("update partners set tax_data_id = null where id = ?").bind(stocked.partner.id).run();
    const whole = await signInPartner(stocked.partner.email);
    expect((await whole.get("/portal/payouts")).body).toContain(shown);
    const statement = (await whole.get(`/portal/payouts/${payout_id}`)).body;
    for (const text of [shown, "Frozen Name"]) expect(statement).toContain(text);
    for (const partner of [stocked.partner, await makePartner(program)]) {
      const frame = await frameOf(partner.id);
      for (const { path } of pageRoutes("portal").filter(({ method }) => method === "GET")) {
        const { body } = await frame.get(pageAddress(path, stocked.ids), WITHIN);
        for (const text of [shown, "Frozen Name", 'href="/portal/details']) {
          expect([path, text, body.includes(text)]).toEqual([path, text, false]);
        }
      }
    }
  });

  it("leads to no other account of the address", async () => {
    const elsewhere = await makeProgram({ owner_email: jane.email });
    await makePartner(elsewhere, { email: jane.email });
    const link = await linkOf(jane.id);
    const visitor = makeVisitor();
    await visitor.get(link);
    await visitor.post("/embed", { token: tokenIn(link) });
    expect((await visitor.get("/portal")).status).toBe(200);
    for (const path of ["/switch", "/portal/details", "/portal/details/sessions"]) {
      expect([path, (await visitor.get(path)).status]).toEqual([path, 403]);
    }
    expect((await visitor.post("/switch", { as: elsewhere.id, csrf: csrfIn(visitor.html) })).status).toBe(403);
    expect(where(await visitor.get("/dashboard"))).toEqual([303, "/portal"]);
  });

  it("ends with the partner's status and address, and when the partner signs out everywhere", async () => {
    const [byPatch, byAddress, everywhere] = [jane, await makePartner(program), await makePartner(program)];
    const frames = await Promise.all([byPatch, byAddress, everywhere].map(({ id }) => frameOf(id)));
    for (const status of ["deactivated", "active"])
      await program.api("PATCH", `/api/v1/partners/${byPatch.id}`, { status });
    for (const email of [`new-${byAddress.email}`, byAddress.email])
      await program.api("PATCH", `/api/v1/partners/${byAddress.id}`, { email });
    const full = await signInPartner(everywhere.email);
    await full.get("/portal/details/sessions");
    await full.post("/portal/details/sessions/end-all");
    for (const frame of frames) expect(where(await frame.get("/portal", WITHIN))).toEqual([303, "/sign-in"]);
  });

  it("is counted where its address signs out everywhere, in the event of its account (EVT-4)", async () => {
    const { email } = jane;
    const [elsewhere, other] = [await makeProgram(), await makePartner(program)];
    const there = await makePartner(elsewhere, { email });
    const frame = await frameOf(jane.id);
    const bystander = await frameOf(other.id);
    const unopened = await linkOf(jane.id);
    const full = makeVisitor();
    await followLink(full, (await requestLink(testContext(), email))!.link.token, there.id);
    await full.get("/portal/details/sessions");
    await full.post("/portal/details/sessions/end-all");
    const eventsOf = async ({ api }: TestProgram) =>
      (await api<{ data: object[] }>("GET", "/api/v1/events?type=session.all_ended")).body.data;
    for (const [of, partner_id] of [
      [program, jane.id],
      [elsewhere, there.id],
    ] as const) {
      expect(await eventsOf(of)).toMatchObject([
        { payload: { partner_id, email, sessions: 1 }, actor: { type: "partner", id: partner_id } },
      ]);
    }
    expect(where(await frame.get("/portal", WITHIN))).toEqual([303, "/sign-in"]);
    expect((await makeVisitor().get(unopened, FRAME)).status).toBe(410);
    expect((await bystander.get("/portal", WITHIN)).status).toBe(200);
  });
});

describe("the portal in a frame (EMBED-3)", () => {
  it("may be framed by the program's domain, and no other page by anybody", async () => {
    const frame = await frameOf(jane.id);
    const shown = await frame.get("/portal/commissions", WITHIN);
    expect(shown.status).toBe(200);
    expect(shown.headers.get("content-security-policy")).toContain(FRAMERS);
    expect(shown.headers.get("x-frame-options")).toBeNull();
    const full = await signInPartner(jane.email);
    const page = await full.get("/portal/commissions");
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(page.headers.get("x-frame-options")).toBe("DENY");
  });

  it("is over https but in development", () => {
    const framers = (ENVIRONMENT: string) => framedBy({ domain: "shop.example" }, { ENVIRONMENT } as Bindings);
    expect(framers("production")).toBe("frame-ancestors https://shop.example https://*.shop.example");
    expect(`${framers("development")};`).toBe(FRAMERS);
  });

  it("uses no other session, and its own nowhere else", async () => {
    const frame = await frameOf(jane.id);
    expect((await frame.get("/portal")).headers.get("location")).toMatch(/^\/sign-in(\?|$)/);
    const full = await signInPartner(jane.email);
    expect(where(await full.get("/portal", WITHIN))).toEqual([303, "/sign-in"]);
    // The two cookies do not accept each other's tokens.
    const swapped = makeVisitor();
    swapped.cookies.set("__Host-session", (await frameOf(jane.id)).cookies.get("__Host-framed")!);
    expect((await swapped.get("/portal")).headers.get("location")).toMatch(/^\/sign-in(\?|$)/);
    swapped.cookies.set("__Host-framed", (await signInPartner(jane.email)).cookies.get("__Host-session")!);
    expect(where(await swapped.get("/portal", WITHIN))).toEqual([303, "/sign-in"]);
  });

  it("has forms that only it can send (PAGE-10)", async () => {
    const frame = await frameOf(jane.id);
    await frame.get("/portal/claims", WITHIN);
    const csrf = csrfIn(frame.html);
    expect((await frame.post("/portal/claims", { order_id: "1", csrf: "" }, WITHIN)).status).toBe(403);
    expect((await frame.post("/portal/claims", { order_id: "1", csrf }, FRAME)).status).toBe(403);
    const other = await frameOf((await makePartner(program)).id);
    await other.get("/portal/claims", WITHIN);
    expect((await frame.post("/portal/claims", { order_id: "1", csrf: csrfIn(other.html) }, WITHIN)).status).toBe(403);
    expect((await program.api<{ total: number }>("GET", "/api/v1/claims")).body.total).toBe(0);
    expect(where(await frame.post("/portal/claims", { order_id: "1", csrf }, WITHIN))).toEqual([
      303,
      "/portal/claims?done=made",
    ]);
  });

  it("is in nobody's frame where the program has no domain", async () => {
    program = await makeProgram({ domain: null });
    const frame = await frameOf((await makePartner(program)).id);
    const shown = await frame.get("/portal", WITHIN);
    expect(shown.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });
});
