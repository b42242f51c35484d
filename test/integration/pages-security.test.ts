/** A page can be read, and its form sent, by its own reader only. */
import { beforeAll, describe, expect, it } from "vitest";
import { returnPath, signInAddress } from "../../src/http/pages/return-to.ts";
import { changeOwnDetails } from "../support/own-change.ts";
import { makePartner } from "../support/program.ts";
import { everythingOf, makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
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

function visitorOf(path: string): Visitor {
  return path.startsWith("/portal") ? member : owner;
}

describe("every page", () => {
  it("is walked", () => {
    expect(GETS.length).toBeGreaterThanOrEqual(30);
    expect(POSTS.length).toBeGreaterThanOrEqual(20);
  });

  it.each(GETS)("$path sends away who is not signed in, or is someone else", async ({ path }) => {
    const address = pageAddress(path, stocked.ids);
    const nobody = await makeVisitor().get(address);
    expect([nobody.status, nobody.headers.get("location")]).toEqual([303, signInAddress(returnPath(address))]);
    const [wrong, home] = path.startsWith("/portal") ? [owner, "/dashboard"] : [member, "/portal"];
    const reply = await wrong.get(address);
    expect([reply.status, reply.headers.get("location")]).toEqual([303, home]);
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
    const seen_at = new Date().toISOString();
    for (const move of ["mark_paid", "cancel", "pay"]) {
      const path = `/dashboard/payouts/matching?move=${move}`;
      expect(textOf((await stranger.get(`${path}&ids=${payouts}`)).body)).toContain("There is no payout to");
      await stranger.get("/switch");
      await stranger.post(path, { ids: payouts ?? "", seen_at });
    }
    await stranger.get("/switch");
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
    const { asked, confirmed } = await changeOwnDetails(stocked.program, me.email, {
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
    expect([asked.status, confirmed.status]).toEqual([303, 200]);
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
