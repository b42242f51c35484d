/** Passkeys of a person in teams of two databases end with the last team that they were added in (TEAM-3). */
import { describe, expect, it } from "vitest";
import { addPasskey, askedFor, makeAuthenticator, usePasskey } from "../support/authenticator.ts";
import { testContext, type TestProgram } from "../support/program.ts";
import { away, databaseOn, makeProgramOn } from "../support/shards.ts";
import { uniqueId } from "../support/vendor.ts";
import { followLink, makeVisitor, requestLink, type Visitor } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const MEMBERS = "/api/v1/members";
const SESSIONS = "/dashboard/settings/sessions";

async function join({ api }: TestProgram, email: string): Promise<string> {
  const { status, body } = await api<{ id: string }>("POST", MEMBERS, { email, role: "viewer" });
  expect(status).toBe(201);
  return body.id;
}

/** A device with a passkey that is added in the program, and so is in its database. */
async function deviceOf(program: TestProgram, email: string) {
  const [visitor, device] = [makeVisitor(), await makeAuthenticator()];
  await followLink(visitor, (await requestLink(testContext(), email))!.link.token, program.id);
  expect((await addPasskey(visitor, device)).status).toBe(303);
  return device;
}

const leave = ({ api }: TestProgram, id: string) => api("DELETE", `${MEMBERS}/${id}`);

function leaveWithout(shard: 0 | 1, { api_key }: TestProgram, id: string) {
  const bindings = shard === 0 ? { DB: away(0) } : { DB_1: away(1) };
  const headers = { authorization: `Bearer ${api_key}` };
  return callWith(bindings, `${MEMBERS}/${id}`, { method: "DELETE", headers });
}

async function keptOn(shard: 0 | 1, email: string) {
  return databaseOn(shard).prepare("select count(*) as n from passkeys where email = ?").bind(email).first("n");
}

async function removedIn({ api }: TestProgram) {
  return (await api<{ data: object[] }>("GET", "/api/v1/events?type=passkey.removed")).body.data;
}

const isIn = async (visitor: Visitor) => (await visitor.get("/dashboard")).status === 200;

describe.each([0, 1] as const)("a passkey in database %i", (home) => {
  const other = home === 0 ? 1 : 0;
  const address = () => `${uniqueId("kim-")}@example.com`.toLowerCase();

  /** A member who was removed and added again, and whose passkey survived because the other database was away. */
  async function comeBack() {
    const email = address();
    const program = await makeProgramOn(home);
    const id = await join(program, email);
    const device = await deviceOf(program, email);
    expect((await leaveWithout(other, program, id)).status).toBe(200);
    await join(program, email);
    return { email, program, device };
  }

  it("opens nothing after a removal while the other database was away, and ends where it is tried", async () => {
    const { email, program, device } = await comeBack();
    const visitor = makeVisitor();
    expect([(await usePasskey(visitor, device)).status, await isIn(visitor)]).toEqual([410, false]);
    expect(await keptOn(home, email)).toBe(0);
    expect(await removedIn(program)).toMatchObject([{ payload: { email } }]);
  });

  it("that opens nothing is not listed, and the same device is added again", async () => {
    const { email, program, device } = await comeBack();
    const visitor = makeVisitor();
    await followLink(visitor, (await requestLink(testContext(), email))!.link.token, program.id);
    expect((await visitor.get(SESSIONS)).body).not.toContain('name="id" value="pky_');
    expect(askedFor(visitor)).toMatchObject({ excludeCredentials: [] });
    expect((await addPasskey(visitor, device)).status).toBe(303);
    expect((await visitor.get(SESSIONS)).body).toContain('name="id" value="pky_');
    expect([await keptOn(home, email), (await removedIn(program)).length]).toEqual([1, 1]);
    expect((await usePasskey(makeVisitor(), device)).headers.get("location")).toBe("/dashboard");
  });

  it("is no reason to answer a removal with an error: no database answers after it", async () => {
    const email = address();
    const program = await makeProgramOn(home);
    const id = await join(program, email);
    let removed = false;
    const untilRemoved = (shard: 0 | 1) =>
      watchDatabase(databaseOn(shard), {
        before: (statements) => {
          if (removed) throw new Error("the database is away");
          removed = statements.some((sql) => sql.startsWith('delete from "program_members"'));
        },
      }).binding;
    const headers = { authorization: `Bearer ${program.api_key}` };
    const bindings = { DB: untilRemoved(0), DB_1: untilRemoved(1) };
    const reply = await callWith(bindings, `${MEMBERS}/${id}`, { method: "DELETE", headers });
    expect([removed, reply.status]).toEqual([true, 200]);
  });

  it("opens nothing after a removal from the other database's team while its own was away", async () => {
    const email = address();
    const [first, last] = [await makeProgramOn(home), await makeProgramOn(other)];
    const ids = [await join(first, email), await join(last, email)] as const;
    const device = await deviceOf(first, email);
    expect((await leave(first, ids[0])).status).toBe(200);
    expect((await usePasskey(makeVisitor(), device)).headers.get("location")).toBe("/dashboard");
    expect((await leaveWithout(home, last, ids[1])).status).toBe(200);
    await join(last, email);
    expect([(await usePasskey(makeVisitor(), device)).status, await keptOn(home, email)]).toEqual([410, 0]);
  });

  it("ends with two removals at once, as an event of the program that it was added in", async () => {
    const email = address();
    const programs = [await makeProgramOn(home), await makeProgramOn(other)] as const;
    const ids = [await join(programs[0], email), await join(programs[1], email)] as const;
    const device = await deviceOf(programs[0], email);
    const replies = await Promise.all([leave(programs[0], ids[0]), leave(programs[1], ids[1])]);
    expect([replies.map(({ status }) => status), await keptOn(home, email)]).toEqual([[200, 200], 0]);
    expect(await removedIn(programs[0])).toMatchObject([{ payload: { email } }]);
    expect(await removedIn(programs[1])).toEqual([]);
    await join(programs[1], email);
    expect((await usePasskey(makeVisitor(), device)).status).toBe(410);
  });

  it("opens no team that was joined after it was added, once the one of before is left", async () => {
    const email = address();
    const [first, later] = [await makeProgramOn(home), await makeProgramOn(other)];
    const id = await join(first, email);
    const device = await deviceOf(first, email);
    await join(later, email);
    expect((await usePasskey(makeVisitor(), device, { as: later.id })).headers.get("location")).toBe("/dashboard");
    expect((await leave(first, id)).status).toBe(200);
    expect([(await usePasskey(makeVisitor(), device)).status, await keptOn(home, email)]).toEqual([410, 0]);
    expect(await removedIn(first)).toMatchObject([{ payload: { email }, actor: { type: "api_key" } }]);
  });
});
