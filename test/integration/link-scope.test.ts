/** The accounts that a mailed link opens, and the accounts that a session may switch to. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { countRequest, createLinkByHand, openRequest } from "../../src/core/sessions/sign-in.ts";
import type { MailKind } from "../../src/domain/mail.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { makeApplication } from "../support/applications.ts";
import { NOTICES } from "../support/mail-notices.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { followLink, makeVisitor, requestLink, textOf, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const SESSION = "__Host-session";

/** An address with each role in a team, and as a partner: by name, the account (`identityKey`) and its first page. */
async function makeEverybody(email = `${uniqueId("all")}@people.example`.toLowerCase()) {
  const owned = await makeProgram({ owner_email: email, name: "Owned program" });
  const accounts: Record<string, { as: string; home: string }> = { owner: { as: owned.id, home: "/dashboard" } };
  for (const role of ["finance", "viewer"]) {
    const program = await makeProgram({ name: `Program of ${role}` });
    await program.api("POST", "/api/v1/members", { email, role });
    accounts[role] = { as: program.id, home: "/dashboard" };
  }
  const partner = await makePartner(await makeProgram({ name: "Program of partner" }), { email });
  accounts["partner"] = { as: partner.id, home: "/portal" };
  return { email, owned, accounts };
}

/** Each makes another program send a kind of e-mail with a link to the address, and returns the link's token and account. */
type MadeLink = { token: string; as: string };
const MAILED: Partial<Record<MailKind, (program: TestProgram, email: string) => Promise<MadeLink>>> = {
  invitation: async (program, email) => {
    const { id } = await makePartner(program, { email }, "invited");
    return { token: await mailedBy(program, email, `/partners/${id}/invite`), as: id };
  },
  application_approved: async (program, email) => {
    const application = await makeApplication(program, { email });
    const token = await mailedBy(program, email, `/applications/${application}/approve`, {});
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/partners");
    return { token, as: body.data[0]!.id };
  },
  member_invited: async (program, email) => {
    return { token: await mailedBy(program, email, "/members", { email, role: "owner" }), as: program.id };
  },
};

async function mailedBy(program: TestProgram, email: string, path: string, body?: object): Promise<string> {
  const mailbox = openMailbox();
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
  const init = { method: "POST", headers, ...(body && { body: JSON.stringify(body) }) };
  const { status } = await callWith(mailbox.bindings, `/api/v1${path}`, init);
  if (status >= 300) throw new Error(`${path}: ${status}`);
  const texts = (await mailbox.deliver(program.id)).filter(({ to }) => to === email).map(({ text }) => text);
  return /\/sign-in\?token=([\w-]+)/.exec(texts.join())?.[1] ?? "";
}

async function signedInAs(visitor: Visitor): Promise<string | null> {
  const { status, body } = await visitor.get("/switch");
  if (status !== 200) return null;
  return /value="([^"]+)"[^>]*>(?:(?!<button)[\s\S])*signed in now/.exec(body)?.[1] ?? null;
}

describe("a link that is valid for longer than 15 minutes", () => {
  it("is in each of these e-mails", () => {
    // The link of a partner's own change is no sign-in, and valid for 15 minutes (OUT-25).
    const carrying = Object.values(NOTICES).filter(
      (notice) => "link" in notice && notice.kind !== "payout_change_link",
    );
    expect(Object.keys(MAILED).toSorted()).toEqual(carrying.map(({ kind }) => kind).toSorted());
  });

  it.each(Object.entries(MAILED))(
    "opens the account that it was made for, and no other: %s (PROOF-1)",
    async (_kind, make) => {
      const { email, accounts } = await makeEverybody();
      const program = await makeProgram({ name: "Inviting program", applications: "review" });
      const { token, as } = await make(program, email);
      const shown = textOf((await makeVisitor().get(`/sign-in?token=${token}`)).body);
      expect(shown).toContain("of Inviting program");
      expect(shown).toContain("This link opens one account only");
      for (const name of ["Owned", "of finance", "of viewer", "of partner"]) expect(shown).not.toContain(name);
      for (const other of Object.values(accounts)) {
        const visitor = makeVisitor();
        const { headers } = await followLink(visitor, token, other.as);
        expect([headers.get("location"), visitor.cookies.has(SESSION)]).toEqual([`/sign-in?token=${token}`, false]);
      }
      const visitor = makeVisitor();
      expect((await followLink(visitor, token)).status).toBe(303);
      expect(await signedInAs(visitor)).toBe(as);
      // The link's new session cannot switch to the other accounts either.
      for (const other of Object.values(accounts)) {
        await visitor.get("/switch");
        expect(visitor.html).not.toContain("Owned program");
        const { headers } = await visitor.post("/switch", { as: other.as });
        expect(headers.get("location")).toContain(`/sign-in/again?as=${other.as}`);
      }
      expect(await signedInAs(visitor)).toBe(as);
    },
  );

  it("opens nothing once its account is gone, whoever else the address is (PROOF-1)", async () => {
    const { email } = await makeEverybody();
    const program = await makeProgram();
    const { token, as } = await MAILED.invitation!(program, email);
    await program.api("DELETE", `/api/v1/partners/${as}`);
    const visitor = makeVisitor();
    expect([(await followLink(visitor, token)).status, visitor.cookies.has(SESSION)]).toEqual([410, false]);
  });
});

describe("a link that was asked for", () => {
  const made: Record<string, (email: string) => Promise<string>> = {
    "on the sign-in page": async (email) => (await requestLink(testContext(), email))!.link.token,
    "of the operator": async (email) => (await createLinkByHand(testContext(), email)).token,
  };
  it.each(Object.entries(made))("%s opens any account of its address (PROOF-1)", async (_how, make) => {
    const { email, accounts } = await makeEverybody();
    for (const { as, home } of Object.values(accounts)) {
      const { headers } = await followLink(makeVisitor(), await make(email), as);
      expect(headers.get("location")).toBe(home);
      await env.DB.prepare("delete from sign_in_links where email = ?").bind(email).run();
    }
  });
});

describe("switching (PROOF-2)", () => {
  const AGES = {
    now: 0,
    "after 14 minutes": 14 * MINUTE,
    "after 16 minutes": 16 * MINUTE,
    "after 11 hours": 11 * HOUR,
  };

  it("into a team takes a proof of the last 15 minutes, to a partner one of the last 14 days", async () => {
    const { email, accounts } = await makeEverybody();
    const results: string[] = [];
    for (const [age, ms] of Object.entries(AGES)) {
      for (const [from, { as }] of Object.entries(accounts)) {
        for (const [to, target] of Object.entries(accounts)) {
          if (from === to) continue;
          await env.DB.prepare("delete from sign_in_links where email = ?").bind(email).run();
          const visitor = makeVisitor();
          await followLink(visitor, (await createLinkByHand(testContext(), email)).token, as);
          await env.DB.prepare("update sessions set created_at = ?, last_seen_at = ? where email = ?")
            .bind(iso(Date.now() - ms), iso(Date.now()), email)
            .run();
          await visitor.get("/switch");
          const location = (await visitor.post("/switch", { as: target.as })).headers.get("location");
          const isOpen = location === target.home;
          const asks = location === `/sign-in/again?as=${target.as}`;
          results.push(`${age}: ${from} to ${to} ${isOpen ? "is open" : asks ? "asks" : location}`);
          await env.DB.prepare("delete from sessions where email = ?").bind(email).run();
        }
      }
    }
    const names = Object.keys(accounts);
    expect(results).toEqual(
      Object.entries(AGES).flatMap(([age, ms]) =>
        names.flatMap((from) =>
          names.flatMap((to) => {
            if (from === to) return [];
            return `${age}: ${from} to ${to} ${to === "partner" || ms < 15 * MINUTE ? "is open" : "asks"}`;
          }),
        ),
      ),
    );
  });

  it("gives the times of the role that is held from then on, counted from the proof", async () => {
    const { email, accounts } = await makeEverybody();
    const visitor = makeVisitor();
    await followLink(visitor, (await createLinkByHand(testContext(), email)).token, accounts["partner"]!.as);
    const proven = Date.now() - 10 * MINUTE;
    await env.DB.prepare("update sessions set created_at = ? where email = ?").bind(iso(proven), email).run();
    await visitor.get("/switch");
    await visitor.post("/switch", { as: accounts["owner"]!.as });
    const row = await env.DB.prepare("select created_at, expires_at from sessions where email = ?").bind(email).first();
    expect(row).toEqual({ created_at: iso(proven), expires_at: iso(proven + 12 * HOUR) });
    expect((await visitor.get("/dashboard")).status).toBe(200);
    await env.DB.prepare("update sessions set last_seen_at = ? where email = ?")
      .bind(iso(Date.now() - 2 * HOUR), email)
      .run();
    expect((await visitor.get("/dashboard")).headers.get("location")).toMatch(/^\/sign-in/);
  });

  it("goes on after a fresh proof, as the account that was chosen", async () => {
    const { email, accounts } = await makeEverybody();
    const { as } = accounts["owner"]!;
    const visitor = makeVisitor();
    await followLink(visitor, (await createLinkByHand(testContext(), email)).token, accounts["partner"]!.as);
    await env.DB.prepare("update sessions set created_at = ? where email = ?")
      .bind(iso(Date.now() - HOUR), email)
      .run();
    await visitor.get("/switch");
    const again = (await visitor.post("/switch", { as })).headers.get("location")!;
    const { status, body } = await visitor.get(again);
    expect([status, textOf(body)]).toEqual([200, expect.stringContaining("Confirm it's you")]);
    expect(body).toContain(`name="as" value="${as}"`);
    const asked = await countRequest(testContext(), email, "/dashboard/settings");
    const { token } = (await openRequest(testContext(), asked))!.link;
    await visitor.get(`/sign-in?token=${token}&as=${as}`);
    expect(textOf(visitor.html)).toContain(`You sign in as ${email} : Owner of Owned program Not your`);
    const reply = await visitor.post("/sign-in/confirm", { token, as });
    expect(reply.headers.get("location")).toBe("/dashboard/settings");
  });
});

describe("the list of sessions", () => {
  it("names no other program: it is of the account that is signed in (PAGE-6)", async () => {
    const { email, accounts } = await makeEverybody();
    const visitors: Visitor[] = [];
    for (const { as } of Object.values(accounts)) {
      await env.DB.prepare("delete from sign_in_links where email = ?").bind(email).run();
      const visitor = makeVisitor();
      await followLink(visitor, (await createLinkByHand(testContext(), email)).token, as);
      visitors.push(visitor);
    }
    for (const [i, { home }] of Object.values(accounts).entries()) {
      const { body } = await visitors[i]!.get(
        home === "/portal" ? "/portal/details/sessions" : `${home}/settings/sessions`,
      );
      expect(body.match(/name="id" value="ses_/g)).toHaveLength(1);
      const named = ["Owned program", "Program of finance", "Program of viewer", "Program of partner"];
      expect(named.filter((name) => textOf(body).includes(name))).toEqual([named[i]]);
    }
  });
});
