/** After an API key ends, the links and sessions that it created end too. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { SCOPES } from "../../src/domain/scope.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { newKey } from "../support/keys.ts";
import { callApi, makePartner, makeProgram, type TestProgram, programOfPartner } from "../support/program.ts";
import { holdClock } from "../support/time.ts";
import { makeVisitor } from "../support/visitor.ts";

type Api = Pick<TestProgram, "api">;

const FRAME = { "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site" };
const WITHIN = { "sec-fetch-dest": "iframe", "sec-fetch-site": "same-origin" };

afterEach(() => {
  vi.useRealTimers();
});

/** The ways in which a key ends: a program with the key, and the action that ends it. */
const ENDS: Record<string, () => Promise<{ program: TestProgram; key: Api; end: () => Promise<unknown> }>> = {
  async "expires, after the link was made and before the session is over"() {
    const program = await makeProgram();
    const ends = Date.now() + HOUR;
    const key = await newKey(program, ["read", "write"], { expires_at: iso(ends) });
    // The unused link was created just before the end.
    vi.setSystemTime(ends - MINUTE);
    return { program, key, end: async () => vi.setSystemTime(ends) };
  },
  async "is deleted"() {
    const program = await makeProgram();
    const key = await newKey(program, SCOPES);
    return { program, key, end: () => program.api("DELETE", `/api/v1/api-keys/${key.id}`) };
  },
  async "is the first and is regenerated"() {
    const program = await makeProgram();
    return {
      program,
      key: program,
      end: () => callApi("test-admin-token", "POST", `/admin/programs/${program.id}/api-key`),
    };
  },
};

async function linkBy({ api }: Api, partner_id: string) {
  const { status, body } = await api<{ url: string; expires_at: string }>(
    "POST",
    `/api/v1/partners/${partner_id}/portal-links`,
  );
  expect(status).toBe(201);
  return { at: `/embed${new URL(body.url).search}`, expires_at: body.expires_at };
}

async function openedBy(by: Api, partner_id: string) {
  const frame = makeVisitor();
  const opened = await frame.get((await linkBy(by, partner_id)).at, FRAME);
  expect(opened.status).toBe(303);
  return { frame, cookie: opened.headers.getSetCookie().find((line) => line.startsWith("__Host-framed="))! };
}

describe("portal access that a key gave (ACCESS-12)", () => {
  it.each(Object.keys(ENDS))("ends at the moment the key %s", async (way) => {
    holdClock();
    const { program, key, end } = await ENDS[way]!();
    const partner = await makePartner(program);
    const other = await newKey(program, ["read", "write"]);
    const [unused, others] = [await linkBy(key, partner.id), await linkBy(other, partner.id)];
    const [{ frame }, lasting] = [await openedBy(key, partner.id), await openedBy(other, partner.id)];
    expect((await frame.get("/portal", WITHIN)).status).toBe(200);
    await end();
    const after = await frame.get("/portal", WITHIN);
    expect([after.status, after.headers.get("location")]).toEqual([303, "/sign-in"]);
    expect((await makeVisitor().get(unused.at, FRAME)).status).toBe(410);
    // Another key's link and session are not affected.
    expect((await lasting.frame.get("/portal", WITHIN)).status).toBe(200);
    expect((await makeVisitor().get(others.at, FRAME)).status).toBe(303);
  });

  it("has an end of its own that is no later than that of the key", async () => {
    holdClock();
    const [program, partner] = await programOfPartner();
    const ends = Date.now() + 2 * MINUTE;
    const key = await newKey(program, ["read", "write"], { expires_at: iso(ends) });
    const longer = await newKey(program, ["read", "write"], { expires_at: iso(Date.now() + DAY) });
    expect((await linkBy(key, partner.id)).expires_at).toBe(iso(ends));
    expect((await linkBy(longer, partner.id)).expires_at).toBe(iso(Date.now() + 5 * MINUTE));
    const endOf = async (by: Api) => /Expires=([^;]+)/.exec((await openedBy(by, partner.id)).cookie)?.[1];
    const text = (at: number) => new Date(at).toUTCString();
    expect([await endOf(key), await endOf(longer)]).toEqual([text(ends), text(Date.now() + 12 * HOUR)]);
  });
});

describe("keys and members that a key made (ACCESS-12)", () => {
  it("stay when the key is deleted, and are listed", async () => {
    const program = await makeProgram();
    const key = await newKey(program, SCOPES);
    const made = await key.api<{ id: string; api_key: string }>("POST", "/api/v1/api-keys", {
      name: "Made by a key",
      scopes: ["read"],
    });
    const email = `${program.id}@team.example`.toLowerCase();
    expect((await key.api("POST", "/api/v1/members", { email, role: "viewer" })).status).toBe(201);
    await program.api("DELETE", `/api/v1/api-keys/${key.id}`);
    expect((await callApi(made.body.api_key, "GET", "/api/v1/programs/me")).status).toBe(200);
    const keys = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/api-keys");
    const members = await program.api<{ data: { email: string }[] }>("GET", "/api/v1/members");
    expect(keys.body.data.map(({ id }) => id)).toEqual([made.body.id]);
    expect(members.body.data).toContainEqual(expect.objectContaining({ email }));
  });
});
