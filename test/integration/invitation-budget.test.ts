/** All kinds of invitations share a limit on e-mailed addresses that have not signed in (MAIL-15). */
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { removeMember } from "../../src/core/sessions/members.ts";
import { invitePartner } from "../../src/core/sessions/invite.ts";
import { HOUR, iso } from "../../src/lib/time.ts";
import { makeApplication } from "../support/applications.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { callApi, makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInMember, signInPartner } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const DAY = 24 * HOUR;
let mailbox: Mailbox;

beforeAll(() => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  mailbox = openMailbox();
});
afterAll(() => vi.restoreAllMocks());

const address = () => `${uniqueId("stranger-")}@elsewhere.example`;

/** Stores invitations that were e-mailed at a time, alternately to partners and to members. */
async function invited(program: TestProgram, count: number, at = Date.now() - HOUR): Promise<void> {
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)
    insert into mails (id, program_id, kind, recipient, status, attempt_count, created_at)
      select ?2 || ?3 || i, ?2, iif(i % 2, 'invitation', 'member_invited'), 'ann' || i || '@elsewhere.example', 'sent', 1, ?3
      from n`,
  )
    .bind(count, program.id, iso(at))
    .run();
}

interface Answer {
  status: number;
  retry_after: string | null;
  body: { error?: { code: string; message: string } };
}

async function post(program: TestProgram, path: string, body: object = {}): Promise<Answer> {
  const reply = await callWith<Answer["body"]>(mailbox.bindings, `/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: reply.status, retry_after: reply.headers.get("retry-after"), body: reply.body };
}

const invite = async (program: TestProgram) => {
  const { id } = await makePartner(program, { email: address() }, "invited");
  return post(program, `/partners/${id}/invite`);
};
const add = (program: TestProgram) => post(program, "/members", { email: address(), role: "viewer" });

/** The security e-mail about a new member is not an invitation. */
const mailsOf = (program: TestProgram) =>
  env.DB.prepare("select count(*) as n from mails where program_id = ? and kind <> 'security'")
    .bind(program.id)
    .first("n");

describe("the invitations of a program within 24 hours (MAIL-15)", () => {
  it.each([
    ["partners", invite, 200],
    ["members", add, 201],
  ])(
    "to %s are 429 beyond 200 that have not signed in, with the time until there is room; other programs go on",
    async (_, send, ok) => {
      const program = await makeProgram();
      await invited(program, 199);
      expect((await send(program)).status).toBe(ok);
      const refused = await send(program);
      expect([refused.status, refused.body.error?.code]).toEqual([429, "rate_limited"]);
      expect(Number(refused.retry_after)).toBeGreaterThan(22 * 3_600);
      expect(Number(refused.retry_after)).toBeLessThanOrEqual(23 * 3_600);
      expect(await mailsOf(program)).toBe(200);
      expect((await send(await makeProgram())).status).toBe(ok);
    },
  );

  it("leave no member, link or event where they are refused, and are sent once the others are a day old", async () => {
    const program = await makeProgram();
    await invited(program, 100, Date.now() - DAY + 60_000);
    await invited(program, 100);
    const partner = await makePartner(program, { email: address() }, "invited");
    const state = () =>
      env.DB.prepare(
        `select (select count(*) from program_members where program_id = ?1) || ' '
          || (select count(*) from sign_in_links where program_id = ?1) || ' '
          || (select count(*) from events where program_id = ?1) as state`,
      )
        .bind(program.id)
        .first("state");
    const before = await state();
    expect((await add(program)).status).toBe(429);
    expect((await post(program, `/partners/${partner.id}/invite`)).status).toBe(429);
    expect(await state()).toBe(before);
    const later = programContext(program, Date.now() + 61_000);
    expect((await invitePartner(later, partner.id)).id).toBe(partner.id);
  });

  it("that are sent at once are no more than there is room for", async () => {
    const program = await makeProgram();
    await invited(program, 197);
    const sent = await Promise.all([
      ...Array.from({ length: 4 }, () => add(program)),
      ...Array.from({ length: 4 }, () => invite(program)),
    ]);
    expect(sent.filter(({ status }) => status < 300)).toHaveLength(3);
    expect(sent.filter(({ status }) => status === 429)).toHaveLength(5);
  });

  it("do not count once the address has signed in to the program, and count for who is removed again", async () => {
    const program = await makeProgram();
    const [member, partner] = [address(), await makePartner(program, { email: address() }, "invited")];
    expect((await post(program, "/members", { email: member, role: "viewer" })).status).toBe(201);
    expect((await post(program, `/partners/${partner.id}/invite`)).status).toBe(200);
    await invited(program, 198);
    expect((await add(program)).status).toBe(429);
    await signInMember(program, member);
    await signInPartner(partner.email);
    expect([(await add(program)).status, (await invite(program)).status]).toEqual([201, 200]);
    const added = await callApi<{ data: { id: string; email: string }[] }>(program.api_key, "GET", "/api/v1/members");
    const removed = added.body.data.filter(({ email }) => email.startsWith("stranger-") && email !== member);
    for (const { id } of removed) await removeMember(programContext(program), id);
    expect((await add(program)).status).toBe(429);
  });

  it("are apart from what an applicant gets, whose address is proved", async () => {
    const program = await makeProgram({ applications: "review" });
    const id = await makeApplication(program);
    await invited(program, 200);
    expect((await post(program, `/applications/${id}/approve`)).status).toBe(200);
  });
});
