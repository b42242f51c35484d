/** A link's effect on sessions, its page, and the same reply for known and unknown addresses. */
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { confirmLink, createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { Bindings } from "../../src/env.ts";
import { openMailbox } from "../support/mailbox.ts";
import { BASE_URL, makePartner, makeProgram, testContext, programOfPartner } from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { csrfIn, followLink, makeVisitor, requestLink, textOf } from "../support/visitor.ts";
import { callWith, SILENT_QUEUE, watchDatabase } from "../support/watched-database.ts";

const SESSION = "__Host-session";

let made = 0;

/** An address that owns a program and is a partner of another. */
async function makeBoth() {
  const email = `both-${Date.now()}-${made++}@example.com`;
  const owned = await makeProgram({ owner_email: email, name: "First program" });
  const partner = await makePartner(await makeProgram({ name: "Second program" }), { email });
  return { email, owned, partner };
}

async function tokenOf(email: string): Promise<string> {
  return (await requestLink(testContext(), email))!.link.token;
}

describe("a link that was used", () => {
  it("ends every other link of its address, whatever account it opens (PAGE-2)", async () => {
    const { email, owned, partner } = await makeBoth();
    const stranger = await makeProgram();
    const others = [await tokenOf(email), (await createLinkByHand(testContext(), email)).token];
    const used = await tokenOf(email.toUpperCase());
    const later = await tokenOf(email);
    const foreign = await tokenOf(stranger.program.owner_email);
    expect((await followLink(makeVisitor(), used, partner.id)).headers.get("location")).toBe("/portal");
    for (const token of [...others, later, used]) {
      for (const as of [owned.id, partner.id]) {
        const visitor = makeVisitor();
        expect((await followLink(visitor, token, as)).status).toBe(410);
        expect(visitor.cookies.has(SESSION)).toBe(false);
      }
    }
    expect((await followLink(makeVisitor(), foreign)).status).toBe(303);
    expect((await followLink(makeVisitor(), await tokenOf(email), owned.id)).status).toBe(303);
  });

  it("is not used by whoever has yet to choose an account: the others stay good until then", async () => {
    const { email, owned } = await makeBoth();
    const [first, second] = [await tokenOf(email), await tokenOf(email)];
    expect((await followLink(makeVisitor(), first)).headers.get("location")).toBe(`/sign-in?token=${first}`);
    expect((await followLink(makeVisitor(), second, owned.id)).status).toBe(303);
  });

  it("wins alone: of two links that are used at the same moment the later one opens nothing", async () => {
    const { email, owned, partner } = await makeBoth();
    const [first, second] = [await tokenOf(email), await tokenOf(email)];
    let between: string | null = null;
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (between !== null || !statements.some((sql) => sql.includes("insert into sessions"))) return;
        between = "";
        between = (await confirmLink(testContext(), second, partner.id)).outcome;
      },
    });
    const slow = await confirmLink({ ...testContext(), db: openDatabase(binding) }, first, owned.id);
    expect([between, slow.outcome]).toEqual(["signed_in", "link_refused"]);
    const { results } = await env.DB.prepare("select audience from sessions where email = ?").bind(email).all();
    expect(results).toEqual([{ audience: "partner" }]);
  });
});

describe("the page of a link", () => {
  it("names the account that it signs in to: address, role and program (PAGE-2)", async () => {
    const [program, partner] = await programOfPartner({ name: "<i>Acme</i>" });
    const { owner_email } = program.program;
    const owner = await makeVisitor().get(`/sign-in?token=${await tokenOf(owner_email)}`);
    expect(textOf(owner.body)).toContain(`You sign in as ${owner_email} : Owner of <i>Acme</i>`);
    expect(owner.body).not.toContain("<i>");
    const portal = await makeVisitor().get(`/sign-in?token=${await tokenOf(partner.email)}`);
    expect(textOf(portal.body)).toContain(`You sign in as ${partner.email} : Partner of <i>Acme</i>`);
    expect(textOf(portal.body)).toContain("Not your address?");
  });

  it("is the choice among all of them where there are several (PAGE-12)", async () => {
    const { email } = await makeBoth();
    const shown = textOf((await makeVisitor().get(`/sign-in?token=${await tokenOf(email)}`)).body);
    expect(shown).toContain(`The accounts of ${email} : First program Owner Second program Partner Not your address?`);
  });

  it("names nobody for a link that is used, unknown or no token at all", async () => {
    const { program } = await makeProgram();
    const token = await tokenOf(program.owner_email);
    await followLink(makeVisitor(), token);
    for (const bad of [token, "A".repeat(43), "' or 1=1 --"]) {
      const reply = await makeVisitor().get(`/sign-in?token=${encodeURIComponent(bad)}`);
      expect([bad, reply.status, reply.body.includes("@")]).toEqual([bad, 200, false]);
    }
  });

  it("is limited by network address, as the attempts are and apart from them", async () => {
    const RATE_LIMIT_SIGN_IN = playLimiter(limitOf("RATE_LIMIT_SIGN_IN"));
    const { program } = await makeProgram();
    const path = `/sign-in?token=${await tokenOf(program.owner_email)}`;
    const init = { headers: { "cf-connecting-ip": "192.0.2.55" } };
    const look = async () => (await callWith<string>({ RATE_LIMIT_SIGN_IN }, path, init)).status;
    for (let i = 0; i < limitOf("RATE_LIMIT_SIGN_IN"); i++) expect(await look()).toBe(200);
    expect(await look()).toBe(429);
    expect([...RATE_LIMIT_SIGN_IN.used.keys()]).toEqual(["192.0.2.55 look"]);
  });
});

describe("asking for a link", () => {
  /** Requests a link while the database answers only the request count, and gives the outcome. */
  async function ask(email: string, cookie: string, csrf: string) {
    const gate = Promise.withResolvers<void>();
    const { mails, bindings } = openMailbox();
    const { binding, roundTrips } = watchDatabase(env.DB, {
      before: (statements) =>
        statements.some((sql) => sql.includes("insert into sign_in_links")) ? undefined : gate.promise,
    });
    const context = createExecutionContext();
    const body = new FormData();
    body.set("email", email);
    body.set("csrf", csrf);
    const request = new Request(`${BASE_URL}/sign-in`, { method: "POST", body, headers: { cookie } });
    const deployment = { ...(env as unknown as Bindings), DELIVERIES: SILENT_QUEUE, ...bindings, DB: binding };
    const replied = app.fetch(request, deployment, context);
    const response = await Promise.race([replied, scheduler.wait(60_000)]);
    if (!response) throw new Error("the reply waits for more than the count of the request");
    const before = roundTrips.map((trip) => trip.map(({ sql }) => sql));
    const page = (await response.text()).replaceAll(email, "ADDRESS");
    const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
    expect(mails).toEqual([]);
    gate.resolve();
    await waitOnExecutionContext(context);
    return { reply: { status: response.status, headers, page }, before, mails };
  }

  it("does the same before its reply and answers the same bytes, known or not: the rest comes after it (PAGE-2)", async () => {
    const visitor = makeVisitor();
    await visitor.get("/sign-in");
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const { email } = await makeBoth();
    const known = await ask(email, cookie, csrfIn(visitor.html));
    const unknown = await ask(`not-${email}`, cookie, csrfIn(visitor.html));
    expect(known.reply.status).toBe(303);
    expect(unknown.reply).toEqual(known.reply);
    expect(unknown.before).toEqual(known.before);
    expect(unknown.before[0]).toHaveLength(1);
    expect([known.mails.map(({ to }) => to), unknown.mails]).toEqual([[email], []]);
    const token = /token=([\w-]+)/.exec(known.mails[0]!.text)?.[1] ?? "";
    expect((await confirmLink(testContext(), token, null)).outcome).toBe("choose");
  });
});
