/**
 * Strangers who request sign-in links for an address do not lock out its owner (PAGE-2, HTTP-37), nor the programs that
 * invite it (PART-13, TEAM-4).
 */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { countRequest } from "../../src/core/sessions/sign-in.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, testContext } from "../support/program.ts";
import { playLimiter } from "../support/rate-limits.ts";
import { uniqueId } from "../support/vendor.ts";
import { makeVisitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

let mailbox: Mailbox;

beforeEach(() => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  mailbox = openMailbox();
});

const address = () => `${uniqueId("bob-")}@example.com`;

/** Requests a link on the page, from an address of the network. */
async function askFrom(from: string, email: string): Promise<number> {
  const limiter = playLimiter(Infinity);
  const bindings = { ...mailbox.bindings, RATE_LIMIT_SIGN_IN: limiter, RATE_LIMIT_SIGN_IN_SITE: limiter };
  const visitor = makeVisitor((path, init) => {
    const headers = new Headers(init.headers);
    headers.set("cf-connecting-ip", from);
    return callWith<string>(bindings, path, { ...init, headers });
  });
  await visitor.get("/sign-in");
  return (await visitor.post("/sign-in", { email })).status;
}

const statusesOf = async (asking: readonly Promise<number>[]) => (await Promise.all(asking)).toSorted();

/** Counts a request of a network; false if it is one too many. */
async function countFrom(email: string, network: string, site = network, now = Date.now()): Promise<boolean> {
  return countRequest(testContext(now), email, null, { network, site }).then(
    () => true,
    (error: unknown) => {
      expect(error).toMatchObject({ code: "rate_limited", retryAfter: 900 });
      return false;
    },
  );
}

describe("links of an address that are asked for within 15 minutes (PAGE-2)", () => {
  it("are 5 from one network, also at once, and its owner gets one from another", async () => {
    const { email } = await makePartner(await makeProgram(), { email: address() });
    const hostile = Array.from({ length: 8 }, (_, n) => askFrom(`2001:db8:5:5::${n + 1}`, email.toUpperCase()));
    expect(await statusesOf(hostile)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    mailbox.mails.length = 0;
    expect(await askFrom("203.0.113.80", email)).toBe(200);
    await vi.waitFor(() => expect(mailbox.mails.filter(({ to }) => to === email)).toHaveLength(1));
    const { results } = await env.DB.prepare("select * from sign_in_links where email = ?").bind(email).all();
    expect(new Set(results.map(({ network }) => network)).size).toBe(2);
    for (const part of ["2001:db8", "203.0.113"]) expect(JSON.stringify(results)).not.toContain(part);
  });

  it("are 10 from one site, and 20 in all, of which the second 10 are of sites that asked for none (HTTP-37)", async () => {
    const email = address();
    const asked = [];
    for (let n = 0; n < 12; n++) asked.push(await countFrom(email, `network ${n}`, "site"));
    expect(asked).toEqual([...Array.from({ length: 10 }, () => true), false, false]);
    for (let n = 0; n < 10; n++) expect(await countFrom(email, `other ${n}`)).toBe(true);
    expect([await countFrom(email, "other 0"), await countFrom(email, "one more")]).toEqual([false, false]);
    expect(await countFrom(address(), "one more")).toBe(true);
    expect(await countFrom(email, "network 0", "site", Date.now() + 15 * MINUTE + 1)).toBe(true);
  });

  it("are not counted for the programs that invite the address, nor their invitations for it", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const email = address();
    for (let n = 0; n < 20; n++) await countFrom(email, `network ${n}`);
    expect(await countFrom(email, "one more")).toBe(false);
    const invited = await makePartner(program, { email }, "invited");
    const invite = async () => (await program.api("POST", `/api/v1/partners/${invited.id}/invite`)).status;
    expect(await statusesOf(Array.from({ length: 8 }, invite))).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const member = { email, role: "viewer" };
    expect((await program.api("POST", "/api/v1/members", member)).status).toBe(429);
    expect((await other.api("POST", "/api/v1/members", member)).status).toBe(201);
    const next = address();
    const partner = await makePartner(program, { email: next }, "invited");
    for (let n = 0; n < 5; n++) await program.api("POST", `/api/v1/partners/${partner.id}/invite`);
    expect(await countFrom(next, "network 0")).toBe(true);
  });
});
