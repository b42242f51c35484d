import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { forgetOld } from "../../src/core/operations/retention.ts";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { DAY, HOUR } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { callApi, makePartner, makeProgram, testContext } from "../support/program.ts";
import { csrfIn, followLink, makeVisitor, signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";

const SESSION = "__Host-session";

async function isSignedIn(visitor: Visitor): Promise<boolean> {
  return (await visitor.get("/switch")).status === 200;
}

async function sessionsOf(program_id: string) {
  const { results } = await env.DB.prepare("select * from sessions where program_id = ?").bind(program_id).all<{
    token_hash: string;
    created_at: string;
    expires_at: string;
  }>();
  return results;
}

describe("the session cookie", () => {
  it("is `HttpOnly; Secure; SameSite=Lax`, of this host alone, and its token is kept only as a hash (PAGE-9)", async () => {
    const { program, id } = await makeProgram();
    const visitor = makeVisitor();
    const { token } = await createLinkByHand(testContext(), program.owner_email);
    const reply = await followLink(visitor, token);
    const line = reply.headers.getSetCookie().find((cookie) => cookie.startsWith(`${SESSION}=`)) ?? "";
    const attributes = line.split("; ").slice(1);
    expect(attributes).toEqual(expect.arrayContaining(["HttpOnly", "Secure", "SameSite=Lax", "Path=/"]));
    expect(line).not.toMatch(/domain=/i);
    const value = visitor.cookies.get(SESSION) ?? "";
    expect(value).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const [row] = await sessionsOf(id);
    expect(JSON.stringify(row)).not.toContain(value);
    expect(value).not.toBe(token);
  });

  it("lasts 12 hours for owners and 14 days for partners, in the database as in the browser (PAGE-3)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const owner = await signInOwner(program);
    const [own] = await sessionsOf(program.id);
    expect(Date.parse(own?.expires_at ?? "") - Date.parse(own?.created_at ?? "")).toBe(12 * HOUR);
    const member = await signInPartner(partner.email);
    const row = (await sessionsOf(program.id)).find(({ token_hash }) => token_hash !== own?.token_hash);
    expect(Date.parse(row?.expires_at ?? "") - Date.parse(row?.created_at ?? "")).toBe(14 * DAY);
    expect(await isSignedIn(owner)).toBe(true);
    await env.DB.prepare("update sessions set expires_at = ? where program_id = ?")
      .bind(new Date(Date.now() - 1).toISOString(), program.id)
      .run();
    expect(await isSignedIn(owner)).toBe(false);
    expect(await isSignedIn(member)).toBe(false);
  });

  it("is new at every sign-in: one planted before it opens nothing, and the old one ends", async () => {
    const program = await makeProgram();
    const planted = "A".repeat(43);
    const visitor = makeVisitor();
    visitor.cookies.set(SESSION, planted);
    await signInOwner(program, visitor);
    const first = visitor.cookies.get(SESSION) ?? "";
    expect(first).not.toBe(planted);
    const attacker = makeVisitor();
    attacker.cookies.set(SESSION, planted);
    expect(await isSignedIn(attacker)).toBe(false);
    const { token } = await createLinkByHand(testContext(), program.program.owner_email);
    await followLink(visitor, token);
    expect(visitor.cookies.get(SESSION)).not.toBe(first);
    attacker.cookies.set(SESSION, first);
    expect(await isSignedIn(attacker)).toBe(false);
    expect(await isSignedIn(visitor)).toBe(true);
  });
});

describe("the end of a session (PAGE-3)", () => {
  it("comes with signing out, for the token itself and not only for the browser", async () => {
    const visitor = await signInOwner(await makeProgram());
    const copy = makeVisitor();
    copy.cookies.set(SESSION, visitor.cookies.get(SESSION) ?? "");
    const reply = await visitor.post("/sign-out");
    expect([reply.status, reply.headers.get("location")]).toEqual([303, "/sign-in"]);
    expect(visitor.cookies.has(SESSION)).toBe(false);
    expect(await isSignedIn(copy)).toBe(false);
  });

  it("comes at once with deactivation, and with an address that changes hands", async () => {
    const program = await makeProgram();
    const [gone, moved] = [await makePartner(program), await makePartner(program)];
    const [first, second] = [await signInPartner(gone.email), await signInPartner(moved.email)];
    expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([true, true]);
    await program.api("PATCH", `/api/v1/partners/${gone.id}`, { status: "deactivated" });
    expect(await isSignedIn(first)).toBe(false);
    await program.api("PATCH", `/api/v1/partners/${gone.id}`, { status: "active" });
    expect(await isSignedIn(first)).toBe(false);
    // This also holds if the partner has the address again by now.
    for (const email of [`new-${moved.email}`, moved.email])
      expect((await program.api("PATCH", `/api/v1/partners/${moved.id}`, { email })).status).toBe(200);
    expect(await isSignedIn(second)).toBe(false);
  });

  it("a row that outlived its partner's deactivation opens nothing", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const visitor = await signInPartner(partner.email);
    await env.DB.prepare("update partners set status = 'deactivated' where id = ?").bind(partner.id).run();
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it("comes for owners with key regeneration; partners stay (ACCESS-3, PAGE-3)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const owner = await signInOwner(program);
    const member = await signInPartner(partner.email);
    const path = `/admin/programs/${program.id}/api-key`;
    expect((await callApi("test-admin-token", "POST", path)).status).toBe(201);
    expect(await isSignedIn(owner)).toBe(false);
    expect(await isSignedIn(member)).toBe(true);
  });

  it("retention forgets what nobody can use any more, and nothing else", async () => {
    const program = await makeProgram();
    const visitor = await signInOwner(program);
    await serveAll(forgetOld(testContext(Date.now() + HOUR)));
    expect(await isSignedIn(visitor)).toBe(true);
    const links = "select count(*) as n from sign_in_links where program_id = ?";
    expect(await env.DB.prepare(links).bind(program.id).first("n")).toBe(0);
    await serveAll(forgetOld(testContext(Date.now() + 13 * HOUR)));
    expect(await sessionsOf(program.id)).toEqual([]);
  });
});

describe("forms (PAGE-10)", () => {
  it("are refused without the token of their session, with another's, and from another site", async () => {
    const program = await makeProgram();
    const visitor = await signInOwner(program);
    const other = await signInOwner(await makeProgram());
    const token = csrfIn(visitor.html);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(token).not.toBe(csrfIn(other.html));
    const cookie = `${SESSION}=${visitor.cookies.get(SESSION)}`;
    for (const [fields, headers] of [
      [{ csrf: "" }, {}],
      [{ csrf: csrfIn(other.html) }, {}],
      [{ csrf: visitor.cookies.get(SESSION) ?? "" }, {}],
      [{ csrf: token }, { "sec-fetch-site": "cross-site" }],
      [{ csrf: token }, { "sec-fetch-site": "same-site" }],
    ] as const) {
      expect((await visitor.post("/sign-out", fields, headers)).status).toBe(403);
    }
    const { exports } = await import("cloudflare:workers");
    for (const body of [undefined, JSON.stringify({ csrf: token }), `csrf[]=${token}`]) {
      const init = { method: "POST", headers: { cookie }, redirect: "manual" as const, ...(body ? { body } : {}) };
      const reply = await exports.default.fetch(new Request("https://service.example/sign-out", init));
      expect(reply.status).toBe(403);
      await reply.text();
    }
    expect(await isSignedIn(visitor)).toBe(true);
    expect((await visitor.post("/sign-out", { csrf: token })).status).toBe(303);
  });

  it("before a session are refused too: nobody is signed in as someone else by a form from elsewhere", async () => {
    const { program } = await makeProgram();
    const { token } = await createLinkByHand(testContext(), program.owner_email);
    const victim = makeVisitor();
    expect((await victim.post("/sign-in/confirm", { token })).status).toBe(403);
    const attacker = makeVisitor();
    await attacker.get("/sign-in");
    await victim.get("/sign-in");
    const forged = await victim.post("/sign-in/confirm", { token, csrf: csrfIn(attacker.html) });
    expect([forged.status, victim.cookies.has(SESSION)]).toEqual([403, false]);
  });
});
