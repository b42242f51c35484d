/** Passkeys of members: added on the sessions page, used in place of a link, refused in every other way. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { addPasskey as addPasskeyOf, MOST_PASSKEYS } from "../../src/core/sessions/passkeys.ts";
import { readSession } from "../../src/core/sessions/sessions.ts";
import { iso, MINUTE } from "../../src/lib/time.ts";
import {
  addPasskey,
  askedFor,
  base64url,
  makeAuthenticator,
  removePasskeys,
  usePasskey,
  type Changed,
} from "../support/authenticator.ts";
import { BASE_URL, call, makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import {
  followLink,
  makeVisitor,
  requestLink,
  signInOwner,
  signInPartner,
  textOf,
  type Visitor,
} from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const SESSIONS = "/dashboard/settings/sessions";
const KEY = btoa("the key of this deployment, 32 b");
const REFUSED = "This passkey was not accepted";

const HOSTILE: [what: string, changed: Changed][] = [
  ["made for another site", { origin: "https://service.example.evil" }],
  ["made for another scheme", { origin: "http://service.example" }],
  ["made for another host", { rpId: "example" }],
  ["in a frame of another site", { crossOrigin: true }],
  ["not verified by the device", { flags: 0x01 }],
  ["without anybody present", { flags: 0x04 }],
];

function browser(user_agent: string): Visitor {
  return makeVisitor(async (path, init) => {
    const headers = new Headers(init.headers);
    headers.set("user-agent", user_agent);
    return call<string>(path, { ...init, headers });
  });
}

async function eventsOf(program: TestProgram, type: string) {
  interface Event {
    payload: Record<string, unknown>;
    actor: { type: string; id: string };
  }
  return (await program.api<{ data: Event[] }>("GET", `/api/v1/events?type=${type}`)).body.data;
}

async function countOf(email: string): Promise<number> {
  const row = await env.DB.prepare("select count(*) as n from passkeys where email = ?")
    .bind(email)
    .first<{ n: number }>();
  return row?.n ?? 0;
}

async function withPasskey(options?: Parameters<typeof makeAuthenticator>[0]) {
  const program = await makeProgram();
  const device = await makeAuthenticator(options);
  const visitor = await signInOwner(program);
  expect((await addPasskey(visitor, device)).headers.get("location")).toBe(`${SESSIONS}?done=passkey_added`);
  return { program, device, visitor, email: program.program.owner_email };
}

describe("a passkey (PASS-1)", () => {
  it.each([
    ["ES256", {}],
    ["RS256", { rsa: true }],
    ["one that counts", { counts: true }],
  ])("is added, signs in, is listed and removed: %s", async (_name, options) => {
    const { program, device, email } = await withPasskey(options);
    const visitor = browser("Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0");
    for (let use = 0; use < 2; use++) {
      const reply = await usePasskey(visitor, device);
      expect([reply.status, reply.headers.get("location")]).toEqual([303, "/dashboard"]);
      await visitor.get(SESSIONS);
      await visitor.post("/sign-out");
    }
    expect((await eventsOf(program, "member.signed_in"))[0]).toMatchObject({
      payload: { email, device: "Firefox on Linux" },
      actor: { type: "member", id: email },
    });
    await usePasskey(visitor, device);
    await visitor.get(SESSIONS);
    expect(textOf(visitor.html)).toContain("Passkeys");
    expect(visitor.html).not.toContain("Never");
    await removePasskeys(visitor);
    expect(await countOf(email)).toBe(0);
    const [added] = await eventsOf(program, "passkey.added");
    expect(await eventsOf(program, "passkey.removed")).toMatchObject([{ payload: added!.payload }]);
    expect(added).toMatchObject({ payload: { email }, actor: { type: "member", id: email } });
    expect(textOf((await usePasskey(makeVisitor(), device)).body)).toContain(REFUSED);
  });

  it("leads to any program of its address, and to nobody where there is none left", async () => {
    const { program, device, email } = await withPasskey();
    const second = await makeProgram({ owner_email: email });
    const visitor = makeVisitor();
    const choice = await usePasskey(visitor, device);
    expect(choice.status).toBe(200);
    const credential = /name="credential" value="([^"]+)"/.exec(choice.body)![1]!.replaceAll("&quot;", '"');
    const reply = await visitor.post("/sign-in/passkey", { credential, as: second.program.id });
    expect(reply.headers.get("location")).toBe("/dashboard");
    expect((await visitor.get("/dashboard/settings")).body).toContain(second.program.id);
    for (const { id } of [program.program, second.program]) {
      await env.DB.prepare("update programs set owner_email = ? where id = ?").bind(`new-${email}`, id).run();
    }
    expect(textOf((await usePasskey(makeVisitor(), device)).body)).toContain("no longer has an active account");
  });

  it("ends with the last team of its address, and does not come back with the member (TEAM-3)", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const device = await makeAuthenticator();
    const email = `${uniqueId("kim")}@shop.example`.toLowerCase();
    const join = async ({ api }: TestProgram) =>
      (await api<{ id: string }>("POST", "/api/v1/members", { email, role: "viewer" })).body.id;
    const leave = ({ api }: TestProgram, id: string) => api("DELETE", `/api/v1/members/${id}`);
    const first = await join(program);
    const second = await join(other);
    const visitor = makeVisitor();
    await followLink(visitor, (await requestLink(testContext(), email))!.link.token, program.id);
    await addPasskey(visitor, device);
    await leave(program, first);
    const there = makeVisitor();
    expect((await usePasskey(there, device)).headers.get("location")).toBe("/dashboard");
    expect((await there.get("/dashboard/settings")).body).toContain(other.id);
    // A passkey whose creation began before the removal is not added after it.
    await there.get(SESSIONS);
    const late = JSON.stringify(await (await makeAuthenticator()).create(askedFor(there)));
    const session = (await readSession(testContext(), there.cookies.get("__Host-session")!))!;
    const { challenge } = JSON.parse(atob(JSON.parse(late).response.clientDataJSON)) as { challenge: string };
    const bytes = Uint8Array.from(atob(challenge.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    expect((await leave(other, second)).status).toBe(200);
    const answered = { answer: JSON.parse(late), challenge: bytes, challenged_at: Date.now(), origin: BASE_URL };
    await expect(addPasskeyOf(testContext(), session, answered, null)).rejects.toMatchObject({ code: "forbidden" });
    expect(await countOf(email)).toBe(0);
    expect(await eventsOf(other, "passkey.removed")).toMatchObject([
      { payload: { email }, actor: { type: "api_key" } },
    ]);
    expect(await eventsOf(program, "passkey.removed")).toEqual([]);
    await join(program);
    expect((await usePasskey(makeVisitor(), device)).status).toBe(410);
  });

  it("is good for a team that was joined later for as long as one of before is left (TEAM-3)", async () => {
    const { program, device, email } = await withPasskey();
    const later = await makeProgram({ owner_email: email });
    const choice = await usePasskey(makeVisitor(), device, { as: later.id });
    expect(choice.headers.get("location")).toBe("/dashboard");
    const others = { email: `${uniqueId("new")}@shop.example`, role: "owner" };
    await program.api("POST", "/api/v1/members", others);
    const { data } = (await program.api<{ data: { id: string }[] }>("GET", "/api/v1/members")).body;
    expect((await program.api("DELETE", `/api/v1/members/${data[0]!.id}`)).status).toBe(200);
    expect([(await usePasskey(makeVisitor(), device)).status, await countOf(email)]).toEqual([410, 0]);
    expect(await eventsOf(program, "passkey.removed")).toMatchObject([{ payload: { email } }]);
  });

  it("is refused and ends where it is older than every membership of its address: a removal should have ended it (TEAM-3)", async () => {
    const { program, device, email } = await withPasskey();
    await env.DB.prepare("update program_members set created_at = '2999-01-01T00:00:00.000Z' where program_id = ?")
      .bind(program.id)
      .run();
    expect(textOf((await usePasskey(makeVisitor(), device)).body)).toContain(REFUSED);
    expect([await countOf(email), (await eventsOf(program, "passkey.removed")).length]).toEqual([0, 1]);
  });

  it("is a member's own: not a partner's, nor another member's to remove", async () => {
    const { program, visitor, email } = await withPasskey();
    const partner = await signInPartner((await makePartner(program)).email);
    await partner.get("/portal/details/sessions");
    expect(partner.html).not.toContain("data-passkey");
    expect((await partner.post("/portal/details/sessions/passkeys", { credential: "{}" })).status).toBe(405);
    await visitor.get(SESSIONS);
    const id = /name="id" value="(pky_[^"]+)"/.exec(visitor.html)![1]!;
    const stranger = await signInOwner(await makeProgram());
    await stranger.get(SESSIONS);
    expect((await stranger.post(`${SESSIONS}/passkeys/remove`, { id })).status).toBe(404);
    await partner.get("/portal/details/sessions");
    expect((await partner.post("/portal/details/sessions/passkeys/remove", { id })).status).toBe(405);
    expect(await countOf(email)).toBe(1);
  });

  it(`is one of at most ${MOST_PASSKEYS} of an address`, async () => {
    const { visitor, email } = await withPasskey();
    for (let n = 1; n < MOST_PASSKEYS; n++) await addPasskey(visitor, await makeAuthenticator());
    const reply = await addPasskey(visitor, await makeAuthenticator());
    expect([reply.status, await countOf(email)]).toEqual([409, MOST_PASSKEYS]);
  });
});

describe("adding one (PASS-2)", () => {
  it.each([...HOSTILE, ["an answer of another kind", { type: "webauthn.get" }]] as typeof HOSTILE)(
    "is refused where it is %s",
    async (_what, changed) => {
      const program = await makeProgram();
      const reply = await addPasskey(await signInOwner(program), await makeAuthenticator(), changed);
      expect([reply.status, await countOf(program.program.owner_email)]).toEqual([422, 0]);
    },
  );

  it("is refused for what is no answer, one to another browser's page, and the same credential again", async () => {
    const { visitor, device, email } = await withPasskey();
    await visitor.get(SESSIONS);
    const options = askedFor<Parameters<typeof device.create>[0]>(visitor);
    expect(options.excludeCredentials).toHaveLength(1);
    const good = JSON.stringify(await device.create(options));
    expect((await visitor.post(`${SESSIONS}/passkeys`, { credential: good })).status).toBe(409);
    const other = await signInOwner(await makeProgram());
    await other.get(SESSIONS);
    const long = good.replace('"id":"', `"id":"${"a".repeat(50_000)}`);
    const page = other.html;
    for (const credential of [
      good,
      "",
      "{}",
      "null",
      "[]",
      "{",
      good.slice(0, -9),
      long,
      good.replace('"publicKey":"MF', '"publicKey":"MG'),
      good.replace('"publicKeyAlgorithm":-7', '"publicKeyAlgorithm":-257'),
    ]) {
      const reply = await other.post(`${SESSIONS}/passkeys`, { credential });
      expect([reply.status, credential.slice(0, 40)]).toEqual([422, credential.slice(0, 40)]);
      other.html = page;
    }
    expect(await countOf(email)).toBe(1);
  });

  it("takes a session of the last 15 minutes, by a link or a passkey", async () => {
    const { program, visitor, device, email } = await withPasskey();
    const late = await makeAuthenticator();
    await visitor.get(SESSIONS);
    const credential = JSON.stringify(await late.create(askedFor(visitor)));
    await env.DB.prepare("update sessions set created_at = ? where program_id = ?")
      .bind(iso(Date.now() - 16 * MINUTE), program.program.id)
      .run();
    const { headers } = await visitor.post(`${SESSIONS}/passkeys`, { credential });
    expect(headers.get("location")).toBe(`/sign-in/again?to=${encodeURIComponent(SESSIONS)}`);
    await visitor.get(SESSIONS);
    expect(visitor.html).not.toContain("data-passkey");
    const again = makeVisitor();
    await usePasskey(again, device);
    expect((await addPasskey(again, late)).status).toBe(303);
    expect(await countOf(email)).toBe(2);
  });
});

describe("signing in with one (PASS-3)", () => {
  it.each([
    ...HOSTILE,
    ["an answer of another kind", { type: "webauthn.create" }],
    ["said to be in another database", { userHandle: base64url(new TextEncoder().encode(`z_${"a".repeat(43)}`)) }],
  ] as typeof HOSTILE)("is refused where it is %s", async (_what, changed) => {
    const { device } = await withPasskey();
    const visitor = makeVisitor();
    const reply = await usePasskey(visitor, device, { changed });
    expect([reply.status, textOf(reply.body).includes(REFUSED)]).toEqual([410, true]);
    expect(visitor.cookies.has("__Host-session")).toBe(false);
  });

  it("is refused for another key's signature, an unknown credential and what is no answer", async () => {
    const { device } = await withPasskey();
    const visitor = makeVisitor();
    await visitor.get("/sign-in");
    const page = visitor.html;
    const answer = (await device.get(askedFor(visitor))) as { response: Record<string, string> };
    const strange = (await (await makeAuthenticator()).get(askedFor(visitor))) as typeof answer;
    const forged = { ...answer, response: { ...answer.response, signature: strange.response["signature"] } };
    for (const one of [forged, strange, { ...answer, id: "AAAA" }, { ...answer, response: {} }, null, []]) {
      const reply = await visitor.post("/sign-in/passkey", { credential: JSON.stringify(one) });
      expect([reply.status, textOf(reply.body).includes(REFUSED)]).toEqual([410, true]);
      visitor.html = page;
    }
    const reply = await visitor.post("/sign-in/passkey", { credential: JSON.stringify(answer) });
    expect(reply.headers.get("location")).toBe("/dashboard");
  });

  it("takes an answer once, in the browser that was asked, even where it is sent twice at once", async () => {
    const { device, program } = await withPasskey();
    const visitor = makeVisitor();
    await visitor.get("/sign-in");
    const before = new Map(visitor.cookies);
    const page = visitor.html;
    const credential = JSON.stringify(await device.get(askedFor(visitor)));
    const elsewhere = makeVisitor();
    await elsewhere.get("/sign-in");
    expect((await elsewhere.post("/sign-in/passkey", { credential })).status).toBe(410);
    const copies = [0, 1, 2].map(() => {
      const copy = makeVisitor();
      for (const [name, value] of before) copy.cookies.set(name, value);
      copy.html = page;
      return copy;
    });
    const replies = await Promise.all(copies.map((copy) => copy.post("/sign-in/passkey", { credential })));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([303, 410, 410]);
    expect(await eventsOf(program, "member.signed_in")).toHaveLength(2);
  });

  it("takes none older than the last used, and none after 15 minutes", async () => {
    const { device } = await withPasskey();
    const [first, second, third] = [makeVisitor(), makeVisitor(), makeVisitor()];
    await first.get("/sign-in");
    const older = JSON.stringify(await device.get(askedFor(first)));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + MINUTE });
    try {
      expect((await usePasskey(second, device)).status).toBe(303);
      expect((await first.post("/sign-in/passkey", { credential: older })).status).toBe(410);
      await third.get("/sign-in");
      const late = JSON.stringify(await device.get(askedFor(third)));
      vi.setSystemTime(Date.now() + 16 * MINUTE);
      expect((await third.post("/sign-in/passkey", { credential: late })).status).toBe(410);
      expect((await usePasskey(third, device)).status).toBe(303);
    } finally {
      vi.useRealTimers();
    }
  });

  it("asks with what follows from nothing that the browser has: whoever holds one makes no challenge of later", async () => {
    const at = Date.now();
    const visitor = makeVisitor();
    await visitor.get("/sign-in");
    const cookies = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const challenges = [];
    vi.useFakeTimers({ toFake: ["Date"], now: at });
    try {
      for (const ENCRYPTION_KEY of [KEY, KEY, btoa("another key of a deployment 32 b")]) {
        const { body } = await callWith<string>({ ENCRYPTION_KEY }, "/sign-in", { headers: { cookie: cookies } });
        challenges.push(askedFor<{ challenge: string }>({ ...visitor, html: body }).challenge);
      }
    } finally {
      vi.useRealTimers();
    }
    expect(challenges[1]).toBe(challenges[0]);
    expect(challenges[2]).not.toBe(challenges[0]);
  });

  it("is on no page of a deployment that has no address or no key yet, and the page is there", async () => {
    const { visitor } = await withPasskey();
    for (const bindings of [{ ENVIRONMENT: "production", PUBLIC_URL: "" }, { ENCRYPTION_KEY: "" }]) {
      const elsewhere = makeVisitor((path, init) => callWith<string>(bindings, path, init));
      const signIn = await elsewhere.get("/sign-in");
      for (const [name, value] of visitor.cookies) elsewhere.cookies.set(name, value);
      const sessions = await elsewhere.get(SESSIONS);
      expect([signIn.status, sessions.status]).toEqual([200, 200]);
      expect(`${signIn.body}${sessions.body}`).not.toContain("data-passkey");
    }
  });

  it("refuses a device whose counter does not grow: its key was copied, and the log says so", async () => {
    const { device, program, email } = await withPasskey({ counts: true });
    expect((await usePasskey(makeVisitor(), device)).status).toBe(303);
    expect((await usePasskey(makeVisitor(), device)).status).toBe(303);
    for (const sign_count of [2, 1, 0]) {
      expect((await usePasskey(makeVisitor(), device, { changed: { sign_count } })).status).toBe(410);
    }
    expect((await eventsOf(program, "sign_in.failed")).map(({ payload }) => payload)).toEqual(
      [0, 1, 2].map(() => ({ email, reason: "copied" })),
    );
    expect((await usePasskey(makeVisitor(), device, { changed: { sign_count: 7 } })).status).toBe(303);
  });
});
