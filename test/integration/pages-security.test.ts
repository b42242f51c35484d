import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { partnerCreate } from "../../src/http/api/partners.ts";
import { returnPath, signInAddress } from "../../src/http/pages/return-to.ts";
import { clicksOf } from "../support/clicks.ts";
import { makePartner } from "../support/program.ts";
import { everythingOf, freeTexts, makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { csrfIn, makeVisitor, signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

let stocked: Stocked;
let other: Stocked;
let owner: Visitor;
let stranger: Visitor;
let member: Visitor;

beforeAll(async () => {
  [stocked, other] = [await makeStocked(), await makeStocked()];
  owner = await signInOwner(stocked.program);
  stranger = await signInOwner(other.program);
  member = await signInPartner(stocked.partner.email);
});

const GETS = pageRoutes("dashboard", "portal").filter(({ method }) => method === "GET");
const POSTS = pageRoutes("dashboard", "portal").filter(({ method }) => method === "POST");

/** Pages on which the script asks for what a form would do. */
const SHOW_PREVIEWS = ["/dashboard/flows", "/dashboard/partners/import"];

function visitorOf(path: string): Visitor {
  return path.startsWith("/portal") ? member : owner;
}

describe("every page", () => {
  it("is walked", () => {
    expect(GETS.length).toBeGreaterThanOrEqual(30);
    expect(POSTS.length).toBeGreaterThanOrEqual(20);
  });

  it.each(GETS)("$path answers its own reader", async ({ path }) => {
    const reply = await visitorOf(path).get(pageAddress(path, stocked.ids));
    expect(reply.status).toBe(200);
  });

  it.each(GETS)("$path sends away who is not signed in, or is someone else", async ({ path }) => {
    const address = pageAddress(path, stocked.ids);
    const nobody = await makeVisitor().get(address);
    expect([nobody.status, nobody.headers.get("location")]).toEqual([303, signInAddress(returnPath(address))]);
    const [wrong, home] = path.startsWith("/portal") ? [owner, "/dashboard"] : [member, "/portal"];
    const reply = await wrong.get(address);
    expect([reply.status, reply.headers.get("location")]).toEqual([303, home]);
  });

  it.each(GETS.filter(({ path }) => !path.endsWith(".csv")))(
    "$path carries the policy and nothing that it forbids",
    async ({ path }) => {
      const { headers, body } = await visitorOf(path).get(pageAddress(path, stocked.ids));
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; " +
          "frame-ancestors 'none'; base-uri 'none'" +
          (SHOW_PREVIEWS.includes(path) ? "; connect-src 'self'" : ""),
      );
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("access-control-allow-origin")).toBeNull();
      expect(body).toMatch(/^<!doctype html><html lang="en">/);
      expect(body.match(/<script\b[^>]*>[^<]/)).toBeNull();
      expect(body.match(/<style\b|\sstyle=|\son[a-z]+=|javascript:/i)).toBeNull();
      expect(body.match(/<h1[\s>]/g)).toHaveLength(1);
      expect(body).not.toContain("[object");
      const prose = textOf(body.replaceAll(/<pre[\s\S]*?<\/pre>/g, ""));
      expect(prose.replace("the reference, or null", "")).not.toMatch(/\b(undefined|NaN|null)\b/);
    },
  );

  it("answers an unknown address with a page, 404", async () => {
    const reply = await owner.get("/dashboard/nowhere");
    expect(reply.status).toBe(404);
    expect(reply.headers.get("content-type")).toContain("text/html");
    expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});

describe("every form (PAGE-10)", () => {
  it.each(POSTS)("$path without its token changes nothing, 403", async ({ path }) => {
    const before = await everythingOf(stocked.program.id);
    const visitor = visitorOf(path);
    const address = pageAddress(path, stocked.ids);
    for (const csrf of ["", "0".repeat(64), csrfIn(stranger.html)]) {
      const reply = await visitor.post(address, { csrf, name: "x", status: "approved", confirmed: "yes" });
      expect([path, reply.status]).toEqual([path, 403]);
      expect(reply.headers.get("content-type")).toContain("text/html");
    }
    expect(await everythingOf(stocked.program.id)).toBe(before);
  });

  it.each(POSTS)("$path without a session is sent to sign in", async ({ path }) => {
    const before = await everythingOf(stocked.program.id);
    const reply = await makeVisitor().post(pageAddress(path, stocked.ids), { csrf: csrfIn(owner.html) });
    expect([reply.status, reply.headers.get("location")?.split("?")[0]]).toEqual([303, "/sign-in"]);
    expect(await everythingOf(stocked.program.id)).toBe(before);
  });
});

describe("another program's objects (HTTP-5)", () => {
  // Providers and their secrets have the same names in every program.
  const named = (path: string) =>
    path.startsWith("/dashboard") && path.includes(":") && !/\/(?:secrets|integration)\//.test(path);

  it.each(GETS.filter(({ path }) => named(path)))("$path is not found", async ({ path }) => {
    const reply = await stranger.get(pageAddress(path, stocked.ids));
    expect(reply.status).toBe(404);
    expect(reply.body).not.toContain(stocked.partner.email);
  });

  it.each(POSTS.filter(({ path }) => named(path)))("$path is not found and does not change", async ({ path }) => {
    await stranger.get("/switch");
    const before = await everythingOf(stocked.program.id);
    const fields = {
      status: "rejected",
      active: "false",
      email: "x@example.com",
      slug: "x",
      url: "https://x.example/",
    };
    const reply = await stranger.post(pageAddress(path, stocked.ids), { ...fields, name: "x", action_type: "flat" });
    expect([path, reply.status]).toEqual([path, 404]);
    expect(await everythingOf(stocked.program.id)).toBe(before);
  });

  it("cannot be reached through what forms name either", async () => {
    await stranger.get("/switch");
    const before = await everythingOf(stocked.program.id);
    const { commissions, payouts, partners } = stocked.ids;
    const bulk = await stranger.post("/dashboard/commissions/bulk", { ids: commissions ?? "", status: "approved" });
    expect(textOf(bulk.body)).toContain("No such commission");
    expect((await stranger.post("/dashboard/payouts/chosen", { ids: payouts ?? "", move: "mark_paid" })).status).toBe(
      404,
    );
    await stranger.get("/switch");
    const confirmed = await stranger.post("/dashboard/payouts/chosen/confirmed", {
      ids: payouts ?? "",
      move: "mark_paid",
    });
    expect(textOf(confirmed.body)).toContain("No such payout");
    const manual = await stranger.post("/dashboard/commissions/new", {
      partner_id: partners ?? "",
      amount: "5",
      note: "x",
    });
    expect(manual.status).toBe(422);
    const list = await stranger.get(`/dashboard/commissions?partner_id=${partners}`);
    expect(textOf(list.body)).toContain("No commission matches");
    expect(await everythingOf(stocked.program.id)).toBe(before);
  });
});

describe("the portal (PAGE-8)", () => {
  it("shows a partner the partner's own and nobody else's, at every address and with others' ids", async () => {
    const neighbor = await makePartner(stocked.program);
    const visitor = await signInPartner(neighbor.email);
    const { payouts } = stocked.ids;
    const theirs = [stocked.partner.email, stocked.partner.id, ...Object.values(stocked.ids)];
    const queries = ["", `?payout_id=${payouts}`, `?partner_id=${stocked.partner.id}`];
    for (const { path } of GETS.filter((route) => route.path.startsWith("/portal"))) {
      const address = pageAddress(path, stocked.ids);
      for (const query of queries) {
        const { status, body } = await visitor.get(address + query);
        expect([address, status]).toEqual([address, address === path ? 200 : 404]);
        expect([address, theirs.filter((text) => body.includes(`>${text}`) || body.includes(`/${text}`))]).toEqual([
          address,
          [],
        ]);
        expect([address, body.includes("42.00")]).toEqual([address, false]);
      }
    }
    expect(textOf((await visitor.get(`/portal/commissions?payout_id=${payouts}`)).body)).toContain("No commission");
    expect(textOf((await member.get("/portal/commissions")).body)).toContain("42.00 USD");
  });

  it("lets a partner change the partner's own payout details and name and nothing else, whatever the form says (PAGE-8)", async () => {
    const me = await makePartner(stocked.program);
    const visitor = await signInPartner(me.email);
    await visitor.get("/portal/details");
    const reply = await visitor.post("/portal/details", {
      payout_method: "wallet",
      payout_email: "wallet@example.com",
      first_name: "Zoë",
      last_name: "",
      slug: "evil",
      id: stocked.partner.id,
      partner_id: stocked.partner.id,
      commission_pct: "100",
      status: "active",
      email: "evil@example.com",
    });
    expect(reply.status).toBe(303);
    const path = (id: string) => `/api/v1/partners/${id}`;
    const mine = (await stocked.program.api("GET", path(me.id))).body;
    expect(mine).toMatchObject({ payout_method: "wallet", payout_email: "wallet@example.com" });
    expect(mine).toMatchObject({ first_name: "Zoë", last_name: null });
    expect(mine).toMatchObject({ commission_pct: null, email: me.email, slug: me.slug });
    const others = (await stocked.program.api("GET", path(stocked.partner.id))).body;
    expect(others).toMatchObject({ payout_method: null, payout_email: null });
  });

  it("never shows a customer's address (PAGE-8)", async () => {
    for (const { path } of GETS.filter((route) => route.path.startsWith("/portal"))) {
      expect((await member.get(path)).body).not.toContain("buyer@example.com");
    }
  });
});

describe("script and markup in every text field (PAGE-10)", () => {
  const HOSTILE = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><b>&amp;{{7*7}}`;

  it("are shown as text on every page", async () => {
    const hostile = await makeStocked({ name: HOSTILE, note: HOSTILE });
    expect(freeTexts(partnerCreate, { name: HOSTILE, note: HOSTILE })).toMatchObject({ last_name: HOSTILE });
    const short = z.strictObject({ short: z.string().max(40) });
    expect(freeTexts(short, { name: HOSTILE, note: HOSTILE })).toEqual({ short: HOSTILE.slice(0, 40) });
    expect(await clicksOf(hostile.program.id)).toMatchObject([{ payload: { referrer: `https://${HOSTILE}` } }]);
    const rejected = hostile.ids["commissions"] ?? "";
    await hostile.program.api("PATCH", `/api/v1/commissions/${rejected}`, { status: "rejected", reason: HOSTILE });
    const boss = await signInOwner(hostile.program);
    const partner = await signInPartner(hostile.partner.email);
    let shown = 0;
    for (const { path } of GETS) {
      const visitor = path.startsWith("/portal") ? partner : boss;
      const reply = await visitor.get(pageAddress(path, hostile.ids));
      expect([path, reply.status]).toEqual([path, 200]);
      if (path.endsWith(".csv")) continue;
      expect(reply.body).not.toMatch(/<script>|<img src=x|<b>|"'>/);
      if (reply.body.includes("&lt;script&gt;alert(1)")) shown++;
    }
    // Each of them has at least the program's name.
    expect(shown).toBe(GETS.filter(({ path }) => !path.endsWith(".csv")).length);
    for (const address of ["/dashboard?done=<script>", `/dashboard/partners?search=${encodeURIComponent(HOSTILE)}`]) {
      expect((await boss.get(address)).body).not.toMatch(/<script>|<img src=x/);
    }
  });
});
