/** The members of a program, their changes, and the sessions that end with them (TEAM-2 to TEAM-6). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import type { Actor } from "../../src/domain/actor.ts";
import { MAX_MEMBERS, type MemberRole } from "../../src/domain/member.ts";
import { newId } from "../../src/lib/id.ts";
import type { MailSender, OutgoingMail } from "../../src/core/mails/senders.ts";
import type { MailResult } from "../../src/domain/mail.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, testContext, type ApiRequest, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { followLink, makeVisitor, signInMember, signInOwner, textOf, type Visitor } from "../support/visitor.ts";
import { callApiWith } from "../support/watched-database.ts";

const MEMBERS = "/api/v1/members";

interface Member {
  id: string;
  program_id: string;
  email: string;
  role: MemberRole;
}

interface Refused {
  error: { code: string; details?: { path: string }[] };
}

interface Reported {
  payload: Record<string, unknown>;
  actor: Actor;
  changes?: unknown;
}

function addressOf(name: string): string {
  return `${uniqueId(name)}@shop.example`.toLowerCase();
}

async function add(program: TestProgram, role: MemberRole, email = addressOf(role)): Promise<Member> {
  const { status, body } = await program.api<Member>("POST", MEMBERS, { email, role });
  expect(status).toBe(201);
  return body;
}

async function membersOf(program: TestProgram): Promise<Member[]> {
  return (await program.api<{ data: Member[] }>("GET", MEMBERS)).body.data;
}

async function eventsOf(program: TestProgram, type: string): Promise<Reported[]> {
  return (await program.api<{ data: Reported[] }>("GET", `/api/v1/events?type=${type}`)).body.data;
}

async function contactOf(program: TestProgram): Promise<string> {
  return (await program.api<{ owner_email: string }>("GET", "/api/v1/programs/me")).body.owner_email;
}

async function isSignedIn(visitor: Visitor): Promise<boolean> {
  return (await visitor.get("/dashboard")).status === 200;
}

describe("members (TEAM-1)", () => {
  it("begin with the owner of the program, and are added, changed and removed", async () => {
    const program = await makeProgram();
    const { owner_email } = program.program;
    const [owner] = await membersOf(program);
    expect(owner).toMatchObject({ program_id: program.id, email: owner_email, role: "owner" });
    const member = await add(program, "viewer");
    expect(await membersOf(program)).toEqual([owner, member]);
    const changed = await program.api<Member>("PATCH", `${MEMBERS}/${member.id}`, { role: "finance" });
    expect([changed.status, changed.body.role]).toEqual([200, "finance"]);
    const same = await program.api("PATCH", `${MEMBERS}/${member.id}`, { role: "finance" });
    expect([same.status, same.body]).toEqual([200, changed.body]);
    const removed = await program.api("DELETE", `${MEMBERS}/${member.id}`);
    expect([removed.status, removed.body]).toEqual([200, { id: member.id, deleted: true }]);
    expect(await membersOf(program)).toEqual([owner]);
    expect(await eventsOf(program, "member.changed")).toMatchObject([
      { payload: { member_id: member.id, role: "finance" }, changes: { role: ["viewer", "finance"] } },
    ]);
    expect(await eventsOf(program, "member.removed")).toMatchObject([{ payload: { member_id: member.id } }]);
  });

  it("have an address of their own and a role there is", async () => {
    const program = await makeProgram();
    const { email } = await add(program, "viewer");
    const taken = await program.api<Refused>("POST", MEMBERS, { email: email.toUpperCase(), role: "owner" });
    expect([taken.status, taken.body.error.code, taken.body.error.details?.[0]?.path]).toEqual([
      409,
      "already_exists",
      "email",
    ]);
    for (const body of [
      { email: "x", role: "viewer" },
      { email: addressOf("x") },
      { email: addressOf("x"), role: "x" },
    ]) {
      expect((await program.api("POST", MEMBERS, body)).status).toBe(422);
    }
    const at_once = addressOf("both");
    const replies = await Promise.all(
      [1, 2, 3].map(() => program.api("POST", MEMBERS, { email: at_once, role: "viewer" })),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
    expect(await membersOf(program)).toHaveLength(3);
  });

  it("are at most a hundred", async () => {
    const program = await makeProgram();
    await env.DB.prepare(
      `with recursive n(i) as (select 2 union all select i + 1 from n where i < ?1)
      insert into program_members (id, program_id, email, role, created_at, updated_at)
      select substr(?2, 1, 26) || printf('%04d', i), ?3, 'm' || i || '@shop.example', 'viewer', ?4, ?4 from n`,
    )
      .bind(MAX_MEMBERS - 1, newId("member", Date.now()), program.id, new Date().toISOString())
      .run();
    const adds = [1, 2, 3].map((i) => program.api("POST", MEMBERS, { email: addressOf(`m${i}`), role: "viewer" }));
    expect((await Promise.all(adds)).map(({ status }) => status).toSorted()).toEqual([201, 422, 422]);
    expect(await membersOf(program)).toHaveLength(MAX_MEMBERS);
  });
});

describe("the last owner (TEAM-2)", () => {
  it("is neither removed nor given another role, and the first goes once there is another", async () => {
    const program = await makeProgram();
    const [owner] = await membersOf(program);
    await add(program, "finance");
    for (const reply of [
      await program.api<Refused>("DELETE", `${MEMBERS}/${owner?.id}`),
      await program.api<Refused>("PATCH", `${MEMBERS}/${owner?.id}`, { role: "viewer" }),
    ]) {
      expect([reply.status, reply.body.error.code]).toEqual([409, "invalid_transition"]);
    }
    const second = await add(program, "owner");
    expect((await program.api("DELETE", `${MEMBERS}/${owner?.id}`)).status).toBe(200);
    expect((await program.api("DELETE", `${MEMBERS}/${second.id}`)).status).toBe(409);
  });

  it.each([
    ["removed", (program: TestProgram, id: string) => program.api("DELETE", `${MEMBERS}/${id}`)],
    ["demoted", (program: TestProgram, id: string) => program.api("PATCH", `${MEMBERS}/${id}`, { role: "viewer" })],
  ])("stays where both are %s at once", async (_, go) => {
    for (let round = 0; round < 5; round++) {
      const program = await makeProgram();
      await add(program, "owner");
      const owners = await membersOf(program);
      const replies = await Promise.all(owners.map(({ id }) => go(program, id)));
      expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      const left = (await membersOf(program)).filter(({ role }) => role === "owner");
      expect(left.map(({ email }) => email)).toEqual([await contactOf(program)]);
    }
  });
});

describe("the program's own address (TEAM-5)", () => {
  it("is always an owner's: where that one goes, the oldest other takes its place", async () => {
    const program = await makeProgram();
    const { owner_email } = program.program;
    const [owner] = await membersOf(program);
    await add(program, "viewer");
    const second = await add(program, "owner");
    await add(program, "owner");
    await program.api("PATCH", `${MEMBERS}/${owner?.id}`, { role: "finance" });
    expect(await contactOf(program)).toBe(second.email);
    expect(await eventsOf(program, "program.updated")).toMatchObject([
      { changes: { owner_email: [owner_email, second.email] } },
    ]);
  });

  it("set past the API moves its owner: nobody is locked out, and nobody stays", async () => {
    const program = await makeProgram();
    const { owner_email } = program.program;
    const visitor = await signInOwner(program);
    const [before, after] = [await add(program, "viewer"), addressOf("new")];
    const set = (email: string) =>
      env.DB.prepare("update programs set owner_email = ?, updated_at = '2030-01-01T00:00:00.000Z' where id = ?")
        .bind(email, program.id)
        .run();
    await set(after);
    expect(await isSignedIn(visitor)).toBe(false);
    await expect(createLinkByHand(testContext(), owner_email)).rejects.toMatchObject({ code: "not_found" });
    expect(await isSignedIn(await signInMember(program, after))).toBe(true);
    // The address of a member without the owner role.
    await set(before.email.toUpperCase());
    expect((await membersOf(program)).map(({ email, role }) => [email, role])).toEqual([
      [before.email.toUpperCase(), "owner"],
    ]);
    // An owner's address does not change.
    const other = await add(program, "owner");
    await set(other.email);
    expect((await membersOf(program)).map(({ role }) => role)).toEqual(["owner", "owner"]);
  });
});

describe("a member's sessions (TEAM-3)", () => {
  it.each([
    [
      "another role",
      (program: TestProgram, id: string) => program.api("PATCH", `${MEMBERS}/${id}`, { role: "viewer" }),
    ],
    ["a removal", (program: TestProgram, id: string) => program.api("DELETE", `${MEMBERS}/${id}`)],
  ])("end with %s at once, those of other programs and members stay", async (_, go) => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const { id, email } = await add(program, "finance");
    await add(other, "finance", email);
    const [here, there, owner] = [
      await signInAs(program, email),
      await signInAs(other, email),
      await signInOwner(program),
    ];
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([true, true]);
    expect((await go(program, id)).status).toBe(200);
    expect([await isSignedIn(here), await isSignedIn(there), await isSignedIn(owner)]).toEqual([false, true, true]);
  });

  it("do not come back with the member", async () => {
    const program = await makeProgram();
    const { id, email } = await add(program, "viewer");
    const visitor = await signInMember(program, email);
    const cookies = new Map(visitor.cookies);
    await program.api("DELETE", `${MEMBERS}/${id}`);
    await add(program, "owner", email);
    const again = makeVisitor();
    for (const [name, value] of cookies) again.cookies.set(name, value);
    expect(await isSignedIn(again)).toBe(false);
  });

  it("read the role with every request", async () => {
    const program = await makeProgram();
    const { id, email } = await add(program, "viewer");
    const visitor = await signInMember(program, email);
    expect((await visitor.get("/dashboard/payouts/new")).status).toBe(403);
    await env.DB.prepare("update program_members set role = 'finance' where id = ?").bind(id).run();
    expect((await visitor.get("/dashboard/payouts/new")).status).toBe(200);
  });

  it("are of a member of several programs, who switches between them and has each one's role there", async () => {
    const [program, other] = [await makeProgram({ name: "First shop" }), await makeProgram({ name: "Second shop" })];
    const email = addressOf("both");
    await add(program, "owner", email);
    await add(other, "viewer", email);
    const visitor = await signInAs(program, email);
    expect((await visitor.get("/dashboard/flows/new")).status).toBe(200);
    expect(textOf((await visitor.get("/switch")).body)).toMatch(/Second shop Viewer.*First shop Owner, signed in now/);
    await visitor.post("/switch", { as: other.id });
    expect((await visitor.get("/dashboard/flows/new")).status).toBe(403);
  });

  it("act under the member's own name", async () => {
    const program = await makeProgram();
    const { email } = await add(program, "finance");
    const visitor = await signInMember(program, email);
    await visitor.get("/dashboard/payouts/new");
    const added = await add(program, "owner");
    const owner = await signInMember(program, added.email);
    await owner.get("/dashboard/flows/new");
    await owner.post("/dashboard/flows/new", { name: "x", action_type: "flat", action_value: "1" });
    expect(await eventsOf(program, "flow.created")).toMatchObject([
      { actor: { type: "member", id: added.email, name: added.email } },
    ]);
    const signIns = await eventsOf(program, "member.signed_in");
    expect(signIns.map(({ actor }) => actor.name).toSorted()).toEqual([email, added.email].toSorted());
  });
});

/** Signs in to one of several accounts of the address. */
async function signInAs(program: TestProgram, email: string): Promise<Visitor> {
  const visitor = makeVisitor();
  const { token } = await createLinkByHand(testContext(), email);
  expect((await followLink(visitor, token, program.id)).headers.get("location")).toBe("/dashboard");
  return visitor;
}

describe("a new member (TEAM-4)", () => {
  it("gets an e-mail whose link signs in, once", async () => {
    const program = await makeProgram({ name: "Tea & Co" });
    const mailbox = openMailbox();
    const email = addressOf("kim");
    const reply = await callApiWith(mailbox.bindings, program, "POST", MEMBERS, { email, role: "viewer" });
    expect(reply.status).toBe(201);
    const [mail] = (await mailbox.deliver(program.id)).filter(({ to }) => to === email);
    expect(mail?.subject).toContain("Tea & Co");
    expect(mail?.text).toContain("Viewer");
    const token = /\/sign-in\?token=([A-Za-z0-9_-]+)/.exec(mail?.text ?? "")?.[1] ?? "";
    const visitor = makeVisitor();
    expect((await followLink(visitor, token)).headers.get("location")).toBe("/dashboard");
    expect((await followLink(makeVisitor(), token)).status).toBe(410);
  });

  it("signs in by it no more once they are removed, though they are added again (TEAM-3)", async () => {
    const program = await makeProgram();
    const mailbox = openMailbox();
    const email = addressOf("former");
    const viewer = { email, role: "viewer" };
    const { id } = (await callApiWith<Member>(mailbox.bindings, program, "POST", MEMBERS, viewer)).body;
    const [mail] = (await mailbox.deliver(program.id)).filter(({ to }) => to === email);
    const token = /\/sign-in\?token=([A-Za-z0-9_-]+)/.exec(mail?.text ?? "")?.[1] ?? "";
    expect((await program.api("DELETE", `${MEMBERS}/${id}`)).status).toBe(200);
    await add(program, "owner", email);
    expect((await followLink(makeVisitor(), token)).status).toBe(410);
  });

  it("is sent no more links than an address gets", async () => {
    const program = await makeProgram();
    const mailbox = openMailbox();
    const email = addressOf("often");
    const statuses = [];
    for (let i = 0; i < 6; i++) {
      const reply = await callApiWith(mailbox.bindings, program, "POST", MEMBERS, { email, role: "viewer" });
      statuses.push(reply.status);
      const member = (await membersOf(program)).find((one) => one.email === email);
      if (member) await program.api("DELETE", `${MEMBERS}/${member.id}`);
    }
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429]);
  });
});

describe("the team's page (TEAM-6)", () => {
  it("adds, changes and removes, and says what it refuses", async () => {
    const program = await makeProgram();
    const at = "/dashboard/settings/team";
    const owner = await signInOwner(program);
    await owner.get(at);
    const email = addressOf("page");
    expect((await owner.post(at, { email, role: "viewer" })).headers.get("location")).toBe(`${at}?done=added`);
    const member = (await membersOf(program)).find((one) => one.email === email);
    await owner.get(at);
    const taken = await owner.post(at, { email, role: "owner" });
    expect([taken.status, textOf(taken.body)]).toEqual([422, expect.stringContaining("taken")]);
    await owner.post(`${at}/${member?.id}`, { role: "finance" });
    expect((await membersOf(program)).map(({ role }) => role)).toEqual(["owner", "finance"]);
    const [self] = await membersOf(program);
    await owner.get(`${at}/${self?.id}/remove`);
    const last = await owner.post(`${at}/${self?.id}/remove`);
    expect([last.status, textOf(last.body)]).toEqual([409, expect.stringContaining("at least one owner")]);
    await owner.get(`${at}/${member?.id}/remove`);
    await owner.post(`${at}/${member?.id}/remove`);
    expect(await membersOf(program)).toEqual([self]);
  });

  it("shows others who is there, and lets them change nothing", async () => {
    const program = await makeProgram();
    const { email } = await add(program, "finance");
    const visitor = await signInMember(program, email);
    const { status, body } = await visitor.get("/dashboard/settings/team");
    expect([status, textOf(body)]).toEqual([200, expect.stringContaining(program.program.owner_email)]);
    expect(body).not.toMatch(/method="post" action="\/dashboard|\/remove"/);
  });
});

describe("the e-mails of a team go to who is in it when they are sent (TEAM-3, TEAM-5)", () => {
  const HOUR = 3_600_000;
  /** Notices of PROOF-4 also go to the former member. */
  const isNoNotice = ({ subject }: { subject: string }) => !subject.startsWith("Security change");

  /** A deployment whose e-mail waits, and whose first owner is removed. */
  async function world() {
    const program = await makeProgram({ name: "Acme" });
    const mailbox = openMailbox();
    const call = (...request: ApiRequest) => callApiWith<Member>(mailbox.bindings, program, ...request);
    const partner = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
    const leave = async () => {
      const [first] = await membersOf(program);
      const next = (await call("POST", MEMBERS, { email: addressOf("next"), role: "owner" })).body;
      expect((await call("DELETE", `${MEMBERS}/${first!.id}`)).status).toBe(200);
      return next;
    };
    const earn = () =>
      call("POST", "/api/v1/commissions", { partner_id: partner.id, amount_cents: 100, note: "thanks" });
    const change = () => call("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: "new@wallet.example" });
    const rows = async () =>
      (
        await env.DB.prepare("select kind, recipient, status from mails where program_id = ? and partner_id is null")
          .bind(program.id)
          .all<{ kind: string; recipient: string; status: string }>()
      ).results;
    return { program, former: program.program.owner_email, ...mailbox, call, leave, earn, change, rows };
  }

  it("one that was stored before goes to who took the place", async () => {
    const { program, former, mails, deliver, leave, change } = await world();
    await change();
    const next = await leave();
    await deliver(program.id);
    const of = (kind: string) => mails.filter(({ subject }) => subject.includes(kind)).map(({ to }) => to);
    expect(of("Payout details changed").filter((to) => !/wallet|partners/.test(to))).toEqual([next.email]);
    expect(mails.filter(isNoNotice).map(({ to }) => to)).not.toContain(former);
  });

  it("one that was written and not taken is written again, with a link of the other's", async () => {
    const { program, former, earn, leave } = await world();
    const now = Date.now();
    const subject = "2026-01-05 2026-01-12";
    await earn();
    await env.DB.prepare(
      `insert into mails (id, program_id, kind, recipient, subject_id, status, attempt_count, next_attempt_at, created_at)
        values (?1, ?2, 'weekly_summary', ?3, ?4, 'pending', 0, ?5, ?5)`,
    )
      .bind(newId("mail", now), program.id, former, subject, new Date(now).toISOString())
      .run();
    const taken: OutgoingMail[] = [];
    const answers: MailResult[] = [{ result: "busy", reason: "later", is_limited: false, retry_after: null }];
    const send = (mail: OutgoingMail) => {
      taken.push(mail);
      return Promise.resolve(answers.shift() ?? ({ result: "accepted" } as const));
    };
    const senders: MailSender[] = [{ name: "one", is_repeatable: true, send }];
    const deps = { senders, keepsContent: false };
    await sendDueMails(testContext(now), program.id, deps, () => now);
    const next = await leave();
    await sendDueMails(testContext(now + HOUR), program.id, deps, () => now + HOUR);
    const summaries = taken.filter(({ to }) => to === former || to === next.email).filter(({ headers }) => headers);
    expect(summaries.map(({ to }) => to)).toEqual([former, next.email]);
    const [old, own] = summaries.map(({ headers }) => new URL(headers!["List-Unsubscribe"]!.slice(1, -1)).pathname);
    expect(own).not.toBe(old);
    const visitor = makeVisitor();
    expect((await visitor.get(own!)).body).toContain("Stop these e-mails");
  });

  it("one that may have been taken for who has left is not handed over again", async () => {
    const { program, former, leave, change, rows } = await world();
    await change();
    const now = Date.now();
    const to: string[] = [];
    const send = (mail: OutgoingMail) => {
      if (isNoNotice(mail)) to.push(mail.to);
      return Promise.resolve({ result: "silent", reason: "no answer" } as const);
    };
    const deps = { senders: [{ name: "one", is_repeatable: true, send }], keepsContent: false };
    await sendDueMails(testContext(now), program.id, deps, () => now);
    expect(to).toContain(former);
    await leave();
    to.length = 0;
    await sendDueMails(testContext(now + HOUR), program.id, deps, () => now + HOUR);
    expect(to).not.toContain(former);
    expect(await rows()).toContainEqual({ kind: "payout_details", recipient: former, status: "unknown" });
  });

  it("an invitation goes to nobody who was removed since", async () => {
    const { program, call, mails, deliver, rows } = await world();
    const stays = (await call("POST", MEMBERS, { email: addressOf("stays"), role: "viewer" })).body;
    const gone = (await call("POST", MEMBERS, { email: addressOf("gone"), role: "viewer" })).body;
    expect((await call("DELETE", `${MEMBERS}/${gone.id}`)).status).toBe(200);
    await deliver(program.id);
    expect(mails.filter(isNoNotice).map(({ to }) => to)).toEqual([stays.email]);
    expect(await rows()).toContainEqual({ kind: "member_invited", recipient: gone.email, status: "withheld" });
  });
});
