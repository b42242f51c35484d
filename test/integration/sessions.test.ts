/** PAGE-6 and EVT-4: sessions are listed, end one by one or all at once, when idle, and are events. */
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { confirmLink, createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import type { Actor } from "../../src/domain/actor.ts";
import type { Bindings } from "../../src/env.ts";
import { HOUR, iso, MINUTE, SECOND } from "../../src/lib/time.ts";
import { BASE_URL, call, makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import {
  followLink,
  makeVisitor,
  requestLink,
  signInOwner,
  signInPartner,
  textOf,
  type Visitor,
} from "../support/visitor.ts";
import { callWith, SILENT_QUEUE, watchDatabase } from "../support/watched-database.ts";

const SESSION = "__Host-session";
const OWNERS = "/dashboard/settings/sessions";
const PARTNERS = "/portal/details/sessions";

interface Reported {
  type: string;
  payload: Record<string, unknown>;
  actor: Actor;
}

async function eventsOf(program: TestProgram, type: string): Promise<Reported[]> {
  return (await program.api<{ data: Reported[] }>("GET", `/api/v1/events?type=${type}`)).body.data;
}

async function isSignedIn(visitor: Visitor): Promise<boolean> {
  return (await visitor.get("/switch")).status === 200;
}

/** A browser with the user agent of this one. */
function browser(user_agent: string): Visitor {
  return makeVisitor(async (path, init) => {
    const headers = new Headers(init.headers);
    headers.set("user-agent", user_agent);
    return call<string>(path, { ...init, headers });
  });
}

function idsIn({ html }: Visitor): string[] {
  return [...html.matchAll(/name="id" value="(ses_[0-9a-f]{16})"/g)].map(([, id = ""]) => id);
}

async function set(program_id: string, columns: Record<"last_seen_at" | "created_at", string | null>): Promise<void> {
  await env.DB.prepare(
    "update sessions set last_seen_at = ?, created_at = coalesce(?, created_at) where program_id = ?",
  )
    .bind(columns.last_seen_at, columns.created_at, program_id)
    .run();
}

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

describe("the list of sessions (PAGE-6)", () => {
  it("shows the owner and the partner their own: since when, last seen, with what, for which account", async () => {
    const program = await makeProgram({ name: "<b>Acme</b>" });
    const partner = await makePartner(program);
    const hostile = '<script>alert("x")</script>';
    for (const [at, sign] of [
      [OWNERS, (visitor: Visitor) => signInOwner(program, visitor)],
      [PARTNERS, (visitor: Visitor) => signInPartner(partner.email, visitor)],
    ] as const) {
      const visitor = await sign(browser(FIREFOX));
      await sign(browser(hostile));
      const { status, body } = await visitor.get(at);
      expect(status).toBe(200);
      expect(idsIn(visitor)).toHaveLength(2);
      const shown = textOf(body);
      expect(shown).toContain("Firefox on Linux this one");
      expect(shown).toContain("Unknown device");
      expect(shown.match(/this one/g)).toHaveLength(1);
      expect(shown.match(/<b>Acme<\/b> (Owner|Partner)/g)).toHaveLength(2);
      expect(body).not.toContain("alert(");
      expect(body).not.toContain("<b>Acme");
      expect(body).not.toContain(visitor.cookies.get(SESSION));
    }
  });

  it("ends one of them, for its token and as an event, and no other", async () => {
    const program = await makeProgram();
    const [visitor, other, third] = [
      await signInOwner(program),
      await signInOwner(program),
      await signInOwner(program),
    ];
    await other.get(OWNERS);
    const own = /this one[\s\S]*?name="id" value="(ses_\w+)"/.exec(other.html)?.[1] ?? "";
    expect(own).not.toBe("");
    await visitor.get(OWNERS);
    const reply = await visitor.post(`${OWNERS}/end`, { id: own });
    expect([reply.status, reply.headers.get("location")]).toEqual([303, `${OWNERS}?done=ended`]);
    expect([await isSignedIn(visitor), await isSignedIn(other), await isSignedIn(third)]).toEqual([true, false, true]);
    const email = program.program.owner_email;
    expect(await eventsOf(program, "session.ended")).toEqual([
      expect.objectContaining({
        payload: { session_id: own, email },
        actor: { type: "member", id: email, name: email },
      }),
    ]);
    await visitor.get(OWNERS);
    expect((await visitor.post(`${OWNERS}/end`, { id: own })).status).toBe(404);
  });

  it("ends the own one as signing out does", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const visitor = await signInPartner(partner.email);
    await visitor.get(PARTNERS);
    const reply = await visitor.post(`${PARTNERS}/end`, { id: idsIn(visitor)[0] ?? "" });
    expect([reply.headers.get("location"), visitor.cookies.has(SESSION)]).toEqual(["/sign-in", false]);
    const again = await signInPartner(partner.email);
    await again.post("/sign-out");
    const ended = await eventsOf(program, "session.ended");
    expect(ended.map(({ payload, actor }) => [payload["partner_id"], actor.id])).toEqual([
      [partner.id, partner.id],
      [partner.id, partner.id],
    ]);
  });

  it("knows no session of another address", async () => {
    const program = await makeProgram();
    const [owner, portal] = [await signInOwner(program), await signInPartner((await makePartner(program)).email)];
    const stranger = await signInOwner(await makeProgram());
    for (const [visitor, at] of [
      [owner, OWNERS],
      [portal, PARTNERS],
    ] as const) {
      await visitor.get(at);
      const [id = ""] = idsIn(visitor);
      expect(id).not.toBe("");
      await stranger.get(OWNERS);
      expect(idsIn(stranger)).not.toContain(id);
      expect((await stranger.post(`${OWNERS}/end`, { id })).status).toBe(404);
      expect(await isSignedIn(visitor)).toBe(true);
    }
  });
});

describe("signing out everywhere (PAGE-6)", () => {
  it("ends all sessions of the address, of whatever account, and its links; nobody else's", async () => {
    const email = `all-${Date.now()}@example.com`;
    const owned = await makeProgram({ owner_email: email });
    const joined = await makeProgram();
    const partner = await makePartner(joined, { email });
    const link = async () => (await requestLink(testContext(), email))!.link.token;
    const signedIn = async (as: string) => {
      const visitor = makeVisitor();
      await followLink(visitor, await link(), as);
      return visitor;
    };
    const own = [await signedIn(owned.id), await signedIn(owned.id), await signedIn(partner.id)];
    const bystanders = [await signInOwner(joined), await signInPartner((await makePartner(owned)).email)];
    const left = await link();
    await own[2]!.get(PARTNERS);
    expect(idsIn(own[2]!)).toHaveLength(1);
    const reply = await own[2]!.post(`${PARTNERS}/end-all`);
    expect([reply.status, reply.headers.get("location")]).toEqual([303, "/sign-in"]);
    for (const visitor of own) expect(await isSignedIn(visitor)).toBe(false);
    for (const visitor of bystanders) expect(await isSignedIn(visitor)).toBe(true);
    expect((await confirmLink(testContext(), left, owned.id)).outcome).toBe("link_refused");
    expect(await eventsOf(owned, "session.all_ended")).toEqual([
      expect.objectContaining({ payload: { email, sessions: 2 }, actor: { type: "member", id: email, name: email } }),
    ]);
    expect(await eventsOf(joined, "session.all_ended")).toEqual([
      expect.objectContaining({
        payload: { partner_id: partner.id, email, sessions: 1 },
        actor: { type: "partner", id: partner.id, name: email },
      }),
    ]);
  });
});

describe("an idle session (PAGE-3)", () => {
  it("ends for owners after 2 hours, for partners not", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    const portal = await signInPartner((await makePartner(program)).email);
    const idleFor = (ms: number) => set(program.id, { last_seen_at: iso(Date.now() - ms), created_at: null });
    await idleFor(2 * HOUR - MINUTE);
    expect(await isSignedIn(owner)).toBe(true);
    await idleFor(2 * HOUR + SECOND);
    expect([await isSignedIn(owner), await isSignedIn(portal)]).toEqual([false, true]);
    // A late request does not renew the session.
    expect((await owner.get("/dashboard")).headers.get("location")).toBe("/sign-in");
    expect(await isSignedIn(owner)).toBe(false);
  });

  it("that was not used since counts from its sign-in", async () => {
    const program = await makeProgram();
    const visitor = await signInOwner(program);
    await set(program.id, { last_seen_at: null, created_at: iso(Date.now() - HOUR) });
    expect(await isSignedIn(visitor)).toBe(true);
    await set(program.id, { last_seen_at: null, created_at: iso(Date.now() - 3 * HOUR) });
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it("is not listed any more", async () => {
    const program = await makeProgram();
    await signInOwner(program);
    await set(program.id, { last_seen_at: iso(Date.now() - 3 * HOUR), created_at: null });
    const visitor = await signInOwner(program);
    await visitor.get(OWNERS);
    expect(idsIn(visitor)).toHaveLength(1);
  });

  it("is noted as used at most once in five minutes, after the reply", async () => {
    const program = await makeProgram();
    const gate = Promise.withResolvers<void>();
    const { binding, roundTrips } = watchDatabase(env.DB, {
      before: (statements) => (statements.some((sql) => sql.startsWith("update")) ? gate.promise : undefined),
    });
    const visitor = await signInOwner(program);
    const cookie = `${SESSION}=${visitor.cookies.get(SESSION)}`;
    const view = () => callWith<string>({ DB: binding }, "/dashboard/flows", { headers: { cookie } });
    await view();
    const fresh = roundTrips.length;
    const seen = iso(Date.now() - 5 * MINUTE - SECOND);
    await set(program.id, { last_seen_at: seen, created_at: null });
    roundTrips.length = 0;
    const context = createExecutionContext();
    const deployment = { ...(env as unknown as Bindings), DELIVERIES: SILENT_QUEUE, DB: binding };
    const response = await app.fetch(
      new Request(`${BASE_URL}/dashboard/flows`, { headers: { cookie } }),
      deployment,
      context,
    );
    expect(response.status).toBe(200);
    await response.text();
    const last = () =>
      env.DB.prepare("select last_seen_at from sessions where program_id = ?")
        .bind(program.id)
        .first<string>("last_seen_at");
    expect(await last()).toBe(seen);
    gate.resolve();
    await waitOnExecutionContext(context);
    expect(Date.parse((await last()) ?? "")).toBeGreaterThan(Date.parse(seen));
    expect(roundTrips).toHaveLength(fresh + 1);
    roundTrips.length = 0;
    await view();
    expect(roundTrips).toHaveLength(fresh);
  });
});

describe("sign-ins in the audit log (EVT-4)", () => {
  it("are those of members too, with what they sign in with", async () => {
    const program = await makeProgram();
    await signInOwner(program, browser(FIREFOX));
    const email = program.program.owner_email;
    expect(await eventsOf(program, "member.signed_in")).toEqual([
      expect.objectContaining({
        payload: { email, device: "Firefox on Linux" },
        actor: { type: "member", id: email, name: email },
      }),
    ]);
  });

  it("fail as events: a link that is used or expired, once an hour for each address, and no guess", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const { owner_email } = program.program;
    const now = Date.now();
    const failed = async () =>
      (await eventsOf(program, "sign_in.failed")).map(({ payload, actor }) => ({ ...payload, by: actor.id }));
    const ofOwner = { email: owner_email, reason: "used", by: owner_email };
    const used = (await createLinkByHand(testContext(now), owner_email)).token;
    const tries = async (token: string, at = now) => (await confirmLink(testContext(at), token, null)).outcome;
    expect([await tries(used), await tries("A".repeat(43)), await tries("' or 1=1 --")]).toEqual([
      "signed_in",
      "link_refused",
      "link_refused",
    ]);
    expect(await failed()).toEqual([]);
    for (let i = 0; i < 5; i++) expect(await tries(used)).toBe("link_refused");
    const other = (await createLinkByHand(testContext(now), owner_email)).token;
    expect(await tries(other)).toBe("signed_in");
    await Promise.all([tries(other), tries(other), tries(used)]);
    expect(await failed()).toEqual([ofOwner]);
    const expired = (await requestLink(testContext(now - 16 * MINUTE), partner.email))!.link.token;
    expect((await followLink(makeVisitor(), expired)).status).toBe(410);
    const ofPartner = { partner_id: partner.id, email: partner.email, reason: "expired", by: partner.id };
    expect(await failed()).toEqual([ofPartner, ofOwner]);
    await tries(other, now + HOUR + SECOND);
    expect(await failed()).toHaveLength(3);
  });
});
