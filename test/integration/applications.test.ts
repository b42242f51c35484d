/** Pending applications, decisions about them, their removal, and invitations (JOIN-6, JOIN-7, JOIN-8, PART-13). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { proveAddress } from "../../src/core/applications/apply.ts";
import { makeApplication, sendForm } from "../support/applications.ts";
import { sendA } from "../support/ledger.ts";
import { runJob } from "../support/jobs.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { callApi, makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { makeVisitor, signInOwner, textOf } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const DAY = 86_400_000;
const AT = "/dashboard/partners/applications";

let mailbox: Mailbox;

beforeEach(() => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  mailbox = openMailbox();
});
afterEach(() => vi.restoreAllMocks());

const makeJoinable = () => makeProgram({ name: "Acme", applications: "review" });
const address = () => `${uniqueId("jane-")}@applicants.example`;

interface Decided {
  status: string;
  partner_id: string | null;
  error?: { code: string };
}

function decide(program: TestProgram, id: string, how: "approve" | "decline", body?: unknown) {
  return program.api<Decided>("POST", `/api/v1/applications/${id}/${how}`, body);
}

async function mailTo(program: TestProgram, email: string) {
  return (await mailbox.deliver(program.id, Date.now() + 1_000)).filter(({ to }) => to === email);
}

async function typesOf(program: TestProgram): Promise<string[]> {
  const { results } = await env.DB.prepare("select type from events where program_id = ? order by id")
    .bind(program.id)
    .all<{ type: string }>();
  return results.map(({ type }) => type);
}

async function signInBy(text: string) {
  const token = /\/sign-in\?token=(\S+)/.exec(text)?.[1] ?? "";
  const visitor = makeVisitor();
  await visitor.get(`/sign-in?token=${token}`);
  return { visitor, reply: await visitor.post("/sign-in/confirm", { token }) };
}

describe("an application (JOIN-6, JOIN-7)", () => {
  it("that is approved is an active partner, whose e-mail has the link and signs in, once", async () => {
    const program = await makeJoinable();
    const email = address();
    const id = await makeApplication(program, { email, name: "Jane Mary Roe" });
    const { status, body } = await decide(program, id, "approve");
    expect([status, body]).toMatchObject([200, { id, status: "approved", partner_id: expect.any(String) }]);
    expect(JSON.stringify(body)).not.toContain("Jane");
    const partner = (await program.api("GET", `/api/v1/partners/${body.partner_id}`)).body;
    expect(partner).toMatchObject({ email, status: "active", first_name: "Jane Mary", last_name: "Roe" });
    const mail = (await mailTo(program, email)).at(-1)!;
    expect(mail.text).toContain("https://shop.example/?ref=jane-mary-roe");
    expect(mail.html).toContain("?ref=jane-mary-roe");
    const first = await signInBy(mail.text);
    expect(first.reply.headers.get("location")).toBe("/portal");
    expect((await signInBy(mail.text)).reply.status).toBe(410);
    const { body: sale } = await sendA(program, sessionCompleted({ ref: "jane-mary-roe" }));
    expect(sale).toMatchObject({ outcome: "commission" });
  });

  it("that is declined is answered, with the note, and may be sent again", async () => {
    const program = await makeJoinable();
    const email = address();
    const id = await makeApplication(program, { email });
    const { body } = await decide(program, id, "decline", { note: "We take no\ncoupon sites." });
    expect(body).toMatchObject({ status: "declined", partner_id: null });
    const mail = (await mailTo(program, email)).at(-1)!;
    expect(mail.text).toContain("We take no\ncoupon sites.");
    const again = await makeApplication(program, { email });
    expect(again).not.toBe(id);
    const { body: list } = await program.api<{ total: number }>("GET", "/api/v1/applications?status=pending");
    expect(list.total).toBe(1);
  });

  it("is decided once, however many decide at once", async () => {
    const program = await makeJoinable();
    const id = await makeApplication(program);
    const replies = await Promise.all(
      (["approve", "decline", "approve", "decline", "approve"] as const).map((how) => decide(program, id, how)),
    );
    const good = replies.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    for (const { status, body } of replies.filter((reply) => reply !== good[0])) {
      expect([status, body.error?.code]).toEqual([409, "invalid_transition"]);
    }
    const made = (await typesOf(program)).filter((type) => type === "partner.created");
    expect(made).toHaveLength(good[0]!.body.status === "approved" ? 1 : 0);
    const { body } = await program.api<Decided>("GET", `/api/v1/applications/${id}`);
    expect(body.status).toBe(good[0]!.body.status);
  });

  it("cannot be approved where a partner has the address by now", async () => {
    const program = await makeJoinable();
    const email = address();
    const id = await makeApplication(program, { email });
    await makePartner(program, { email: email.toUpperCase() });
    const { status, body } = await decide(program, id, "approve");
    expect([status, body.error?.code]).toEqual([409, "already_exists"]);
    expect((await program.api<Decided>("GET", `/api/v1/applications/${id}`)).body.status).toBe("pending");
  });

  it("is decided with others, each for itself", async () => {
    const program = await makeJoinable();
    const ids = [await makeApplication(program), await makeApplication(program), "app_unknown"];
    await decide(program, ids[1]!, "decline");
    const { body } = await program.api("POST", "/api/v1/applications/bulk", { ids, status: "approved" });
    expect(body).toEqual({
      data: [
        { id: ids[0], ok: true, status: "approved" },
        { id: ids[1], ok: false, error: { code: "invalid_transition", message: expect.any(String) } },
        { id: "app_unknown", ok: false, error: { code: "not_found", message: expect.any(String) } },
      ],
    });
    for (const bad of [
      { ids: [], status: "approved" },
      { ids: ["a", "a"], status: "approved" },
      { ids: ["a"], status: "pending" },
      { ids: ["a"], status: "approved", note: "x" },
      { ids: Array.from({ length: 21 }, (_, i) => `app_${i}`), status: "approved" },
    ]) {
      expect((await program.api("POST", "/api/v1/applications/bulk", bad)).status).toBe(422);
    }
  });

  it("is reported to endpoints without anything that the person wrote", async () => {
    const program = await makeJoinable();
    await program.api("POST", "/api/v1/webhooks", { url: "https://all.example/", events: ["*"] });
    const id = await makeApplication(program, { name: "Zebedee Quince", website: "https://quince.example/" });
    await decide(program, id, "decline", { note: "a private note" });
    const { results } = await env.DB.prepare("select event, body from messages where program_id = ? order by event")
      .bind(program.id)
      .all<{ event: string; body: string }>();
    expect(results.map(({ event }) => event)).toEqual(["applications.declined", "applications.received"]);
    const log = await env.DB.prepare(
      "select group_concat(payload || ifnull(changes, '')) as text from events where program_id = ?",
    )
      .bind(program.id)
      .first<string>("text");
    for (const { body } of [...results, { body: log! }]) {
      expect(body).toContain(id);
      expect(body).not.toMatch(/Zebedee|quince|applicants\.example|private note/);
    }
  });
});

describe("the pages of applications (PAGE-7)", () => {
  it("show who applied, with partners of a similar name and earlier applications, and decide", async () => {
    const program = await makeJoinable();
    const email = address();
    const earlier = await makeApplication(program, { email });
    await decide(program, earlier, "decline");
    await makePartner(program, { first_name: "Jane", last_name: "Roe", slug: "jane-1" });
    const answers = [{ question: "Who reads you?", answer: "<b>Bakers</b>" }];
    const id = await makeApplication(program, { email, name: "jane roe", answers });
    const owner = await signInOwner(program);
    await owner.get(`${AT}/${id}`);
    const text = textOf(owner.html);
    for (const shown of [email, "<b>Bakers</b>", "similar name: Jane Roe", "same address: declined"]) {
      expect(text).toContain(shown);
    }
    const declined = await owner.post(`${AT}/${id}/decline`, { note: "n".repeat(1_001) });
    expect([declined.status, declined.body.includes("n".repeat(1_001))]).toEqual([422, true]);
    const approved = await owner.post(`${AT}/${id}/approve`);
    expect(approved.headers.get("location")).toBe(`${AT}/${id}?done=approved`);
    const twice = await owner.post(`${AT}/${id}/approve`);
    expect([twice.status, textOf(twice.body)]).toEqual([422, expect.stringContaining("is already approved")]);
  });

  it("decide several, after they were shown", async () => {
    const program = await makeJoinable();
    const ids = [await makeApplication(program, { name: "One" }), await makeApplication(program, { name: "Two" })];
    const owner = await signInOwner(program);
    await owner.get(`${AT}?status=pending`);
    const chosen = await owner.post(`${AT}/chosen`, { ids, status: "declined" });
    expect(textOf(chosen.body)).toMatch(/One ?,.*Two ?,/);
    const note = "Not now.";
    const done = await owner.post(`${AT}/chosen/confirmed`, { ids, status: "declined", note });
    expect(done.headers.get("location")).toBe(`${AT}?done=declined`);
    for (const id of ids) expect((await program.api("GET", `/api/v1/applications/${id}`)).body).toMatchObject({ note });
    await owner.get(AT);
    expect((await owner.post(`${AT}/chosen`, { status: "approved" })).status).toBe(422);
    await owner.get(`${AT}/${ids[0]}`);
    const refused = await owner.post(`${AT}/chosen/confirmed`, { ids, status: "approved" });
    expect([refused.status, textOf(refused.body)]).toEqual([422, expect.stringContaining("0 of 2 were approved")]);
  });
});

describe("what applicants wrote (JOIN-8)", () => {
  it("is forgotten 90 days after they were declined, and a day after a link that was never used", async () => {
    const program = await makeJoinable();
    const id = await makeApplication(program, { name: "Gone Girl", website: "https://gone.example/" });
    const kept = await makeApplication(program, { name: "Kept Man" });
    await decide(program, id, "decline", { note: "no" });
    await sendForm(program);
    const drafts = async () =>
      env.DB.prepare("select count(*) from application_drafts where program_id = ?").bind(program.id).first("count(*)");
    await runJob("forget what is not proved", Date.now() + 23 * 3_600_000);
    expect(await drafts()).toBe(1);
    await runJob("forget what is not proved", Date.now() + DAY + 1_000);
    expect(await drafts()).toBe(0);
    await runJob("forget what is past its time", Date.now() + 89 * DAY);
    expect((await program.api("GET", `/api/v1/applications/${id}`)).body).toMatchObject({ name: "Gone Girl" });
    await runJob("forget what is past its time", Date.now() + 91 * DAY);
    const bare = { email: null, name: null, website: null, answers: null, note: null };
    expect((await program.api("GET", `/api/v1/applications/${id}`)).body).toMatchObject({
      status: "declined",
      ...bare,
    });
    expect((await program.api("GET", `/api/v1/applications/${kept}`)).body).toMatchObject({ name: "Kept Man" });
    const owner = await signInOwner(program);
    expect((await owner.get(`${AT}/${id}`)).status).toBe(200);
    expect((await owner.get(AT)).status).toBe(200);
  });

  it("is erased with the person, proved or not, in that program alone", async () => {
    const program = await makeJoinable();
    const other = await makeJoinable();
    const email = address();
    for (const each of [program, other]) {
      await sendForm(each, { email });
      await makeApplication(each, { email });
    }
    await program.api("POST", "/api/v1/customers/erase", { email: email.toUpperCase() });
    const left = async (each: TestProgram) => {
      const sql = `select (select count(*) from applications where program_id = ?1)
        || ' ' || (select count(*) from application_drafts where program_id = ?1)
        || ' ' || (select count(*) > 0 from mails where program_id = ?1 and lower(recipient) = ?2) as n`;
      return env.DB.prepare(sql).bind(each.id, email).first("n");
    };
    expect([await left(program), await left(other)]).toEqual(["0 0 0", "1 1 1"]);
    expect((await program.api<{ total: number }>("GET", "/api/v1/applications")).body.total).toBe(0);
  });

  it.each([
    ["waits", "nobody has the address by then", "gone"],
    ["waits", "the partner still has the address", ""],
    ["was sent", "nobody has the address by then", "gone"],
    ["was sent", "the partner still has the address", ""],
  ])("is in no e-mail of an approval that %s, where %s", async (state, _, moved) => {
    const program = await makeJoinable();
    const email = address();
    const { partner_id } = (await decide(program, await makeApplication(program, { email }), "approve")).body;
    const mailsAbout = async () =>
      (await mailTo(program, email)).filter(({ subject }) => !subject.startsWith("E-mail address of a partner"));
    const sent = state === "waits" ? [] : await mailsAbout();
    if (moved) await program.api("PATCH", `/api/v1/partners/${partner_id}`, { email: `${moved}-${email}` });
    expect((await program.api("POST", "/api/v1/customers/erase", { email })).status).toBe(200);
    // The report that the address was changed (OUT-9) stays.
    const kept = await env.DB.prepare(
      "select count(*) as n from mails where program_id = ? and lower(recipient) = ? and kind <> 'payout_details'",
    )
      .bind(program.id, email)
      .first("n");
    expect([kept, (await mailsAbout()).length]).toEqual([0, sent.length]);
  });
});

describe("an invitation (PART-13)", () => {
  it("signs the partner in once, within seven days, and activates", async () => {
    const program = await makeJoinable();
    const partner = await makePartner(program, { email: address() }, "invited");
    await sendA(program, sessionCompleted({ ref: partner.slug }));
    const invite = await program.api("POST", `/api/v1/partners/${partner.id}/invite`);
    expect([invite.status, invite.body]).toMatchObject([200, { status: "invited" }]);
    const [mail] = await mailTo(program, partner.email);
    expect(mail!.subject).toBe("Acme invites you to become a partner");
    const { expires_at } = (await env.DB.prepare("select expires_at from sign_in_links where email = ?")
      .bind(partner.email)
      .first<{ expires_at: string }>())!;
    expect(Math.round((Date.parse(expires_at) - Date.now()) / DAY)).toBe(7);
    expect((await signInBy(mail!.text)).reply.headers.get("location")).toBe("/portal");
    expect((await signInBy(mail!.text)).reply.status).toBe(410);
    expect((await program.api("GET", `/api/v1/partners/${partner.id}`)).body).toMatchObject({
      status: "active",
      stats: { total_commissions: 1 },
    });
    expect(await typesOf(program)).toContain("partner.invited");
  });

  it("states the rate of the partner, else of the group, and none that a flow for all replaces", async () => {
    const program = await makeJoinable();
    const group = await program.api<{ id: string }>("POST", "/api/v1/groups", {
      ...{ name: "Creators", slug: "creators", commission_pct: 35 },
    });
    const textFor = async (fields: object) => {
      const partner = await makePartner(program, { email: address(), ...fields }, "invited");
      expect((await program.api("POST", `/api/v1/partners/${partner.id}/invite`)).status).toBe(200);
      const [mail] = await mailTo(program, partner.email);
      return mail!.text.replaceAll("\u00A0", " ");
    };
    expect(await textFor({})).toContain("Earn 20 % of every sale.");
    expect(await textFor({ group_id: group.body.id })).toContain("Earn 35 % of every sale.");
    expect(await textFor({ group_id: group.body.id, commission_pct: 40 })).toContain("Earn 40 % of every sale.");
    const rule = { action_type: "percentage", action_value: 50, priority: 1 };
    const first = [{ field: "payment_number", op: "eq", value: 1 }];
    await program.api("POST", "/api/v1/flows", { ...rule, name: "First", conditions: first, priority: 2 });
    expect(await textFor({ commission_pct: 40 })).toContain(
      "Earn 40 % of every sale, or 50 % on each payment that is the customer's first.",
    );
    expect(await textFor({ commission_pct: 60 })).toContain(
      "Partners get 50 % of each payment that is the customer's first. Other payments earn 60 %.",
    );
    await program.api("POST", "/api/v1/flows", { ...rule, name: "All", conditions: [] });
    expect(await textFor({ commission_pct: 40 })).not.toContain("%");
  });

  it("is sent again from the page, and no more than five times in a quarter of an hour", async () => {
    const program = await makeJoinable();
    const partner = await makePartner(program, { email: address() }, "invited");
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/partners/${partner.id}`);
    for (let i = 0; i < 5; i++) {
      const reply = await owner.post(`/dashboard/partners/${partner.id}/invite`);
      expect(reply.headers.get("location")).toBe(`/dashboard/partners/${partner.id}?done=invited`);
    }
    const sixth = await program.api("POST", `/api/v1/partners/${partner.id}/invite`);
    expect([sixth.status, sixth.headers.get("retry-after")]).toEqual([429, "900"]);
    const mails = await mailTo(program, partner.email);
    expect(mails).toHaveLength(5);
    // The first sign-in invalidates the other links.
    expect((await signInBy(mails[1]!.text)).reply.status).toBe(303);
    expect((await signInBy(mails[4]!.text)).reply.status).toBe(410);
  });

  it("is for the invited alone, and needs e-mail", async () => {
    const program = await makeJoinable();
    for (const status of ["active", "deactivated"] as const) {
      const { id } = await makePartner(program, {}, status);
      expect((await program.api("POST", `/api/v1/partners/${id}/invite`)).status).toBe(409);
    }
    const invited = await makePartner(program, {}, "invited");
    const other = await makeJoinable();
    expect((await other.api("POST", `/api/v1/partners/${invited.id}/invite`)).status).toBe(404);
    const reply = await callWith<{ error: { code: string } }>(
      { ENVIRONMENT: "production" },
      `/api/v1/partners/${invited.id}/invite`,
      { method: "POST", headers: { authorization: `Bearer ${program.api_key}` } },
    );
    expect([reply.status, reply.body.error.code]).toEqual([503, "not_configured"]);
  });
});

describe("the settings of applications (JOIN-1)", () => {
  it("count the terms up when their text changes, and only then", async () => {
    const program = await makeProgram();
    const patch = async (body: unknown) =>
      (await program.api<{ terms_version: number }>("PATCH", "/api/v1/programs/me", body)).body.terms_version;
    const versions = [];
    for (const body of [{}, { terms: "A" }, { terms: "A" }, { name: "N" }, { terms: "B" }, { terms: null }]) {
      versions.push(await patch(body));
    }
    expect(versions).toEqual([0, 1, 1, 1, 2, 3]);
  });

  it("give a slug to one program alone", async () => {
    const slug = uniqueId("shop").toLowerCase();
    const [one, two] = [await makeProgram(), await makeProgram()];
    expect((await one.api("PATCH", "/api/v1/programs/me", { slug })).status).toBe(200);
    const taken = await two.api("PATCH", "/api/v1/programs/me", { slug });
    expect([taken.status, taken.body]).toMatchObject([409, { error: { details: [{ path: "slug" }] } }]);
    expect((await one.api("PATCH", "/api/v1/programs/me", { slug: null })).status).toBe(200);
    expect((await two.api("PATCH", "/api/v1/programs/me", { slug })).status).toBe(200);
  });

  it.each([
    { slug: "Upper" },
    { slug: "-x" },
    { slug: one("prog_", 26) },
    { questions: Array.from({ length: 11 }, (_, i) => `q${i}`) },
    { questions: ["same", "same"] },
    { questions: [""] },
    { questions: ["q".repeat(201)] },
    { terms: "t".repeat(10_001) },
    { applications: "open" },
    { terms_version: 4 },
  ])("refuse %j", async (body) => {
    const program = await makeProgram();
    expect((await program.api("PATCH", "/api/v1/programs/me", body)).status).toBe(422);
  });
});

function one(prefix: string, length: number): string {
  return prefix + "a".repeat(length);
}

it("a proof names no program to whoever has no link", async () => {
  expect(await proveAddress(testContext(), "B".repeat(43))).toEqual({ outcome: "link_refused" });
  expect((await callApi(null, "GET", "/api/v1/applications")).status).toBe(401);
});
