/** Someone with accounts in two databases: one sign-in, one session, passkeys of both (DEP-3). */
import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { shardOfToken } from "../../src/domain/shard.ts";
import { MOST_PASSKEYS } from "../../src/core/sessions/passkeys.ts";
import type { Bindings } from "../../src/env.ts";
import { baseContext } from "../../src/http/context.ts";
import { addPasskey, makeAuthenticator, removePasskeys, usePasskey } from "../support/authenticator.ts";
import { testContext } from "../support/program.ts";
import { databaseOn, makeProgramOn } from "../support/shards.ts";
import { followLink, makeVisitor, requestLink, textOf } from "../support/visitor.ts";
import { watchDatabase } from "../support/watched-database.ts";

async function tokenOf(email: string): Promise<string> {
  return (await requestLink(testContext(), email))!.link.token;
}

describe("someone with accounts in both databases", () => {
  it("is shown all of them, chooses one, and moves between them with one session at a time", async () => {
    const email = `both-${Date.now()}@example.com`;
    const first = await makeProgramOn(0, { name: "First", owner_email: email });
    await new Promise((resolve) => setTimeout(resolve, 2));
    const second = await makeProgramOn(1, { name: "Second", owner_email: email });
    const requested = await requestLink(testContext(), email);
    expect(requested?.identities.map(({ program_name }) => program_name)).toEqual(["Second", "First"]);
    const token = requested!.link.token;
    expect(shardOfToken(token)).toBe(1);
    const visitor = makeVisitor();
    const choice = await visitor.get(`/sign-in?token=${token}`);
    expect(textOf(choice.body)).toMatch(/Choose an account.*Second.*First/);
    // The link is in the one database, the session goes to the other.
    const chosen = await visitor.post("/sign-in/confirm", { token, as: first.id });
    expect(chosen.headers.get("location")).toBe("/dashboard");
    expect(textOf((await visitor.get("/dashboard")).body)).toContain("First");
    const old = visitor.cookies.get("__Host-session")!;
    expect(shardOfToken(old)).toBe(0);
    // Used up there, exactly once.
    const again = makeVisitor();
    expect((await followLink(again, token, second.id)).status).toBe(410);

    await visitor.get("/switch");
    expect((await visitor.post("/switch", { as: second.id })).headers.get("location")).toBe("/dashboard");
    expect(textOf((await visitor.get("/dashboard")).body)).toContain("Second");
    expect(shardOfToken(visitor.cookies.get("__Host-session")!)).toBe(1);
    visitor.cookies.set("__Host-session", old);
    expect((await visitor.get("/dashboard")).headers.get("location")).toBe("/sign-in?ended=yes");
    for (const shard of [0, 1] as const) {
      const left = await databaseOn(shard)
        .prepare("select count(*) as n from sessions where email = ?")
        .bind(email)
        .first("n");
      expect([shard, left]).toEqual([shard, shard]);
    }
  });

  it("signs in with a passkey of either database, once, to the program of any, and has ten of both (PASS-1)", async () => {
    const owner_email = `keyed-${Date.now()}@example.com`;
    const programs = [await makeProgramOn(0, { owner_email }), await makeProgramOn(1, { owner_email })] as const;
    const devices = [await makeAuthenticator(), await makeAuthenticator()] as const;
    const visitor = makeVisitor();
    for (const shard of [0, 1] as const) {
      await followLink(visitor, await tokenOf(owner_email), programs[shard].id);
      expect((await addPasskey(visitor, devices[shard])).status).toBe(303);
    }
    for (const { id } of programs) {
      for (const device of devices) {
        const own = makeVisitor();
        expect((await usePasskey(own, device, { as: id })).headers.get("location")).toBe("/dashboard");
        expect((await own.get("/dashboard/settings")).body).toContain(id);
      }
    }
    for (let more = 2; more < MOST_PASSKEYS; more++) await addPasskey(visitor, await makeAuthenticator());
    expect((await addPasskey(visitor, await makeAuthenticator())).status).toBe(409);
    await visitor.get("/dashboard/settings/sessions");
    expect(visitor.html.match(/name="id" value="pky_/g)).toHaveLength(MOST_PASSKEYS);
    await removePasskeys(visitor);
    for (const device of devices) expect((await usePasskey(makeVisitor(), device)).status).toBe(410);
  });

  it("keeps its passkeys where a team of either database is left, and they end with the last (TEAM-3)", async () => {
    const email = `kim-${Date.now()}@example.com`;
    const programs = [await makeProgramOn(0), await makeProgramOn(1)] as const;
    const members = [];
    for (const program of programs) {
      const added = await program.api<{ id: string }>("POST", "/api/v1/members", { email, role: "owner" });
      members.push(`/api/v1/members/${added.body.id}`);
    }
    const visitor = makeVisitor();
    const device = await makeAuthenticator();
    await followLink(visitor, await tokenOf(email), programs[0].id);
    expect((await addPasskey(visitor, device)).status).toBe(303);
    expect((await programs[0].api("DELETE", members[0]!)).status).toBe(200);
    const own = makeVisitor();
    expect((await usePasskey(own, device)).headers.get("location")).toBe("/dashboard");
    expect((await own.get("/dashboard/settings")).body).toContain(programs[1].id);
    expect((await programs[1].api("DELETE", members[1]!)).status).toBe(200);
    const left = await databaseOn(0)
      .prepare("select count(*) as n from passkeys where email = ?")
      .bind(email)
      .first("n");
    expect(left).toBe(0);
  });

  it("uses a link up once, also when both accounts are chosen at the same moment", async () => {
    const email = `race-${Date.now()}@example.com`;
    const programs = [await makeProgramOn(0, { owner_email: email }), await makeProgramOn(1, { owner_email: email })];
    const { confirmLink } = await import("../../src/core/sessions/sign-in.ts");
    const { token } = (await requestLink(testContext(), email))!.link;
    const outcomes = await Promise.all(
      [...programs, ...programs].map(async ({ id }) => (await confirmLink(testContext(), token, id)).outcome),
    );
    expect(outcomes.toSorted()).toEqual(["link_refused", "link_refused", "link_refused", "signed_in"]);
    const counts = await Promise.all(
      ([0, 1] as const).map((shard) =>
        databaseOn(shard).prepare("select count(*) as n from sessions where email = ?").bind(email).first<number>("n"),
      ),
    );
    expect(counts[0]! + counts[1]!).toBe(1);
  });

  it("ends the links of the other database too, and of two used at the same moment one opens a session", async () => {
    const { confirmLink } = await import("../../src/core/sessions/sign-in.ts");
    const moments = [
      { at: 0, statement: /insert into sessions/, outcomes: ["link_refused", "signed_in"] },
      { at: 1, statement: /^update "sign_in_links"/, outcomes: ["signed_in", "link_refused"] },
    ] as const;
    for (const { at, statement, outcomes } of moments) {
      const email = `ends-${Date.now()}-${at}@example.com`;
      const first = await makeProgramOn(0, { owner_email: email });
      const tokens = [await tokenOf(email), await tokenOf(email)];
      await new Promise((resolve) => setTimeout(resolve, 2));
      const second = await makeProgramOn(1, { owner_email: email });
      tokens.push(await tokenOf(email));
      expect(tokens.map(shardOfToken)).toEqual([0, 0, 1]);
      const [idle = "", slow = "", quick = ""] = tokens;
      let between: string | null = null;
      const { binding } = watchDatabase(databaseOn(at), {
        before: async (statements) => {
          if (between !== null || !statements.some((sql) => statement.test(sql))) return;
          between = "";
          between = (await confirmLink(testContext(), quick, second.id)).outcome;
        },
      });
      const all = { ...(env as unknown as Bindings), ...(at === 0 ? { DB: binding } : { DB_1: binding }) };
      const base = baseContext(all, Date.now(), () => {});
      const { outcome } = await confirmLink(base, slow, first.id);
      expect([at, between, outcome]).toEqual([at, ...outcomes]);
      for (const token of [idle, slow, quick]) {
        expect((await confirmLink(testContext(), token, first.id)).outcome).toBe("link_refused");
      }
    }
  });

  it("may ask for five links in 15 minutes, wherever the accounts are", async () => {
    const email = `five-${Date.now()}@example.com`;
    await makeProgramOn(1, { owner_email: email });
    for (const address of [email, `unknown-${email}`]) {
      for (let i = 0; i < 5; i++) await requestLink(testContext(), address);
      await expect(requestLink(testContext(), address)).rejects.toThrow("Too many sign-in links");
    }
  });
});
