/** The public application page and the address verification (JOIN-1 to JOIN-5). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { proveAddress } from "../../src/core/applications/apply.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { readFailedMails } from "../../src/core/mails/failed-mails.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { JOBS } from "../../src/jobs.ts";
import { runJob } from "../support/jobs.ts";
import {
  makePartner,
  makeProgram,
  programContext,
  testContext,
  type ProgramFields,
  type TestProgram,
} from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { makeApplication, sendForm, stampOf } from "../support/applications.ts";
import { uniqueId } from "../support/vendor.ts";
import { csrfIn, makeVisitor, textOf, type Visitor } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const DAY = 86_400_000;

let mailbox: Mailbox;

beforeEach(() => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  mailbox = openMailbox();
});
afterEach(() => vi.restoreAllMocks());

const FIELDS: ProgramFields = {
  name: "Acme & Sons",
  applications: "review",
  terms: "Bid on no names of ours.",
  terms_version: 3,
  questions: ["Who reads you?", "Anything else? (optional)"],
};

async function makeJoinable(fields: ProgramFields = {}): Promise<TestProgram> {
  return makeProgram({ ...FIELDS, ...fields });
}

/** A visitor of a deployment with e-mail. */
function visit(more: Record<string, unknown> = {}): Visitor {
  return makeVisitor((path, init) => callWith<string>({ ...mailbox.bindings, ...more }, path, init));
}

const address = () => `${uniqueId("jane-")}@applicants.example`;

function fill(fields: Record<string, string> = {}): Record<string, string> {
  return {
    ...{ name: "Jane Roe", email: address(), website: "jane.example.com" },
    ...{ answer_0: "People who bake.", answer_1: "", terms: "on", contact_hours: "" },
    ...fields,
  };
}

/** Opens the page, and sends its form a minute later. */
async function send(program: TestProgram, fields: Record<string, string>, visitor = visit()) {
  await visitor.get(`/join/${program.id}`);
  return visitor.post(`/join/${program.id}`, { opened: await stampOf(program, visitor), ...fields });
}

async function mailTo(program: TestProgram, email: string) {
  return (await mailbox.deliver(program.id, Date.now() + 1_000)).filter(({ to }) => to === email);
}

function linkIn(text: string): string {
  return /https:\/\/service\.example(\/join\/\S+)/.exec(text)?.[1] ?? "";
}

async function follow(link: string, visitor = visit()) {
  const [path = "", query = ""] = link.split("?");
  await visitor.get(link);
  return visitor.post(path, { token: new URLSearchParams(query).get("token") ?? "" });
}

interface Row {
  id: string;
  status: string;
  email: string;
  terms_version: number | null;
  consented_at: string | null;
  partner_id: string | null;
  [field: string]: unknown;
}

async function rowsOf(program: TestProgram, table = "applications"): Promise<Row[]> {
  return (await env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id).all<Row>()).results;
}

async function eventsOf(program: TestProgram): Promise<string[]> {
  const { results } = await env.DB.prepare("select type from events where program_id = ? order by id")
    .bind(program.id)
    .all<{ type: string }>();
  return results.map(({ type }) => type).toSorted();
}

describe("the page for applications (JOIN-1)", () => {
  it("is there by the program's id and by its slug, whole without a script, with what is asked", async () => {
    const slug = uniqueId("acme").toLowerCase();
    const program = await makeJoinable({ slug });
    const { body, status } = await visit().get(`/join/${slug}`);
    expect(status).toBe(200);
    expect((await visit().get(`/join/${program.id}`)).status).toBe(200);
    const text = textOf(body);
    for (const shown of ["Acme & Sons", "Who reads you?", "Anything else? optional", "Bid on no names of ours."]) {
      expect(text).toContain(shown);
    }
    const labels = [...body.matchAll(/<label for="([^"]+)"/g)].map(([, id]) => id);
    const inputs = [...body.matchAll(/<(?:input|textarea)\b[^>]*>/g)].map(([tag]) => tag);
    for (const tag of inputs.filter((one) => !one.includes('type="hidden"'))) {
      expect(labels).toContain(/ id="([^"]+)"/.exec(tag)?.[1]);
    }
  });

  it("is no page of a program that takes none, nor of one that is not there", async () => {
    const program = await makeJoinable({ applications: "off" });
    for (const path of [program.id, "prog_01kj41r9q0x5v7n2m8w3d6t4bz", "nobody-has-this", "..%2f", "%00"]) {
      const visitor = visit();
      expect([path, (await visitor.get(`/join/${path}`)).status]).toEqual([path, 404]);
    }
    const open = await makeJoinable();
    const visitor = visit();
    await visitor.get(`/join/${open.id}`);
    expect((await visitor.post(`/join/${program.id}`, fill())).status).toBe(404);
  });

  it("costs one read of the database, and is small", async () => {
    const program = await makeJoinable();
    const { binding, roundTrips } = watchDatabase(env.DB);
    const { body } = await visit({ DB: binding }).get(`/join/${program.id}`);
    expect(roundTrips).toHaveLength(1);
    const stream = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
    expect((await new Response(stream).arrayBuffer()).byteLength).toBeLessThan(4 * 1024);
  });

  it("says so where no e-mail can be sent", async () => {
    const program = await makeJoinable();
    const reply = await callWith<string>({ ENVIRONMENT: "production" }, `/join/${program.id}`);
    expect(reply.status).toBe(503);
  });
});

describe("the form (JOIN-2)", () => {
  it.each([
    ["name", ""],
    ["name", " "],
    ["email", "no address"],
    ["website", "ftp://files.example.com"],
    ["website", "javascript:alert(1)"],
    ["website", "https://user@example.com"],
    ["answer_0", "  "],
    ["terms", ""],
    ["name", "a".repeat(201)],
    ["answer_1", "a".repeat(2_001)],
    ["name", "a\0b"],
  ])("refuses %s %j beside the field, and loses nothing", async (field, value) => {
    const program = await makeJoinable();
    const fields = fill({ answer_1: "<b>\"typed'</b>", [field]: value });
    const reply = await send(program, fields);
    expect(reply.status).toBe(422);
    expect(reply.body).toMatch(new RegExp(`id="f-${field}(?:-on)?-problem"`));
    for (const [name, text] of Object.entries(fields)) {
      if (["opened", "contact_hours", field].includes(name)) continue;
      const shown = name === "terms" ? "checked" : text.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      expect([name, reply.body.includes(shown.replaceAll('"', "&quot;").replaceAll("'", "&#39;"))]).toEqual([
        name,
        true,
      ]);
    }
    expect(await rowsOf(program, "application_drafts")).toEqual([]);
  });

  it("names what is not filled in, in the list that leads to each field", async () => {
    const program = await makeJoinable({ questions: ["Who reads you?", "Since when?"] });
    const fields = fill({ name: "\u200b", answer_0: "", answer_1: " " });
    const text = textOf((await send(program, fields)).body);
    for (const said of ["Enter your name.", "Please answer: Who reads you?", "Please answer: Since when?"])
      expect(text.split(said)).toHaveLength(3);
  });

  it("of somebody in too much of a hurry, or from before a change of what is asked, is shown again", async () => {
    const program = await makeJoinable();
    const visitor = visit();
    await visitor.get(`/join/${program.id}`);
    const early = await send(program, fill({ opened: await stampOf(program, visitor, -DAY) }), visitor);
    expect([early.status, textOf(early.body)]).toEqual([422, expect.stringContaining("very quick")]);
    const unsigned = `${Date.now() - 60_000}.${"A".repeat(22)}.${"0".repeat(64)}`;
    for (const opened of ["", "1.2", await stampOf(program, visitor, 2 * DAY), unsigned]) {
      const reply = await send(program, fill({ opened }), visitor);
      expect([opened, reply.status]).toEqual([opened, 422]);
      expect(textOf(reply.body)).toContain("has changed since you opened it");
      expect(reply.body).toContain("People who bake.");
    }
    const opened = await stampOf(program, visitor);
    await program.api("PATCH", "/api/v1/programs/me", { terms: "Bid on nothing." });
    const stale = await send(program, fill({ opened }), visitor);
    expect([stale.status, textOf(stale.body)]).toEqual([422, expect.stringContaining("Bid on nothing.")]);
    expect(await rowsOf(program, "application_drafts")).toEqual([]);
  });

  it("that a program filled in is thrown away, with the reply of any other", async () => {
    const program = await makeJoinable();
    const fields = fill();
    const sent = await send(program, { ...fields, contact_hours: "9-5" });
    expect(await rowsOf(program, "application_drafts")).toEqual([]);
    const other = await send(program, fields);
    expect([sent.status, textOf(sent.body)]).toEqual([other.status, textOf(other.body)]);
  });

  it("is stored once for each time it was opened, however often and however fast it is sent", async () => {
    const program = await makeJoinable();
    const visitor = visit();
    await visitor.get(`/join/${program.id}`);
    const fields = fill({ opened: await stampOf(program, visitor) });
    const at = `/join/${program.id}`;
    const wrong = await visitor.post(at, { ...fields, name: "" });
    expect([wrong.status, wrong.body.includes(`value="${fields["opened"]}"`)]).toEqual([422, true]);
    const sent = await Promise.all(
      Array.from({ length: 6 }, () => visitor.post(at, { ...fields, email: address(), csrf: csrfIn(wrong.body) })),
    );
    expect(sent.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 5 }, () => 422)]);
    expect(await rowsOf(program, "application_drafts")).toHaveLength(1);
    await env.DB.prepare("delete from application_drafts where program_id = ?").bind(program.id).run();
    const again = await visitor.post(at, fields);
    expect([again.status, textOf(again.body)]).toEqual([422, expect.stringContaining("You already sent this form")]);
    expect(again.body).toContain("People who bake.");
    const fresh = /name="opened" value="([^"]+)"/.exec(again.body)?.[1];
    expect(fresh).not.toBe(fields["opened"]);
    expect((await visitor.post(at, { ...fields, opened: fresh! })).body).toContain("very quick");
    expect((await visitor.post(at, { ...fields, opened: await stampOf(program, visitor) })).status).toBe(200);
  });

  it("is of the visit that opened it", async () => {
    const program = await makeJoinable();
    const other = visit();
    await other.get(`/join/${program.id}`);
    const reply = await send(program, fill({ opened: await stampOf(program, other) }));
    expect([reply.status, await rowsOf(program, "application_drafts")]).toEqual([422, []]);
    expect(reply.body).toContain("People who bake.");
  });

  it("comes from the page itself", async () => {
    const program = await makeJoinable();
    const fields = fill();
    expect((await visit().post(`/join/${program.id}`, { ...fields, csrf: "x" })).status).toBe(403);
  });

  it("is taken only so often from a network, and for an address, with everything still typed", async () => {
    const program = await makeJoinable();
    const limit = limitOf("RATE_LIMIT_SIGN_IN");
    const limited = { RATE_LIMIT_SIGN_IN: playLimiter(limit) };
    const fields = fill({ email: "nobody" });
    const visitor = makeVisitor((path, init) => {
      const headers = new Headers(init.headers);
      headers.set("cf-connecting-ip", "203.0.113.9");
      return callWith<string>({ ...mailbox.bindings, ...limited }, path, { ...init, headers });
    });
    for (let i = 0; i < limit; i++) expect((await send(program, fields, visitor)).status).toBe(422);
    const refused = await send(program, fields, visitor);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(refused.body).toContain("People who bake.");
    const email = address();
    for (let i = 0; i < 5; i++) expect((await send(program, fill({ email }))).status).toBe(200);
    const sixth = await send(program, fill({ email: email.toUpperCase() }));
    expect([sixth.status, sixth.headers.get("retry-after")]).toEqual([429, "900"]);
    expect(await mailTo(program, email)).toHaveLength(5);
  });
});

describe("the e-mail that follows (JOIN-4)", () => {
  it("says what holds; the reply is the same, and so is what is written, whatever holds", async () => {
    const program = await makeJoinable();
    const partner = await makePartner(program, { email: address() });
    const gone = await makePartner(program, { email: address() }, "deactivated");
    const waiting = address();
    await makeApplication(program, { email: waiting });
    const replies = new Set<string>();
    for (const email of [address(), waiting, partner.email.toUpperCase(), gone.email]) {
      const before = (await rowsOf(program, "application_drafts")).length;
      const { status, body } = await send(program, fill({ email }));
      replies.add(`${status} ${textOf(body).replace(email, "")}`);
      expect((await rowsOf(program, "application_drafts")).length).toBe(before + 1);
    }
    expect(replies.size).toBe(1);
    const again = (await mailTo(program, waiting)).at(-1);
    expect(again?.text).toContain("still waiting");
    const [known] = await mailTo(program, partner.email.toUpperCase());
    expect(known?.text).toContain("/sign-in");
    const [closed] = await mailTo(program, gone.email);
    expect(closed?.text).toContain("not active");
    for (const mail of [again, known, closed]) expect(mail?.text).not.toContain("/join/");
  });

  it("has a link that stores nothing before it is pressed, and is forgotten after a day (JOIN-3)", async () => {
    const program = await makeJoinable();
    const fields = fill();
    await send(program, fields);
    const [mail] = await mailTo(program, fields["email"]!);
    const link = linkIn(mail!.text);
    expect((await visit().get(link)).status).toBe(200);
    expect(await rowsOf(program)).toEqual([]);
    const token = new URLSearchParams(link.split("?")[1]).get("token")!;
    expect((await proveAddress(testContext(Date.now() + DAY + 1_000), token)).outcome).toBe("link_refused");
  });

  it("is forgotten within a day, and its address with it, whenever the daily jobs run (JOIN-3)", async () => {
    const program = await makeJoinable();
    const forget = async (at: number) => {
      for (const { name } of JOBS.filter((job) => job.name.startsWith("forget "))) await runJob(name, at);
    };
    // The daily deletion has just run.
    await forget(Date.now());
    const fields = fill();
    await send(program, fields);
    expect(await mailTo(program, fields["email"]!)).toHaveLength(1);
    expect(await rowsOf(program, "application_drafts")).toHaveLength(1);
    await forget(Date.now() + DAY + 60_000);
    await env.DB.exec("delete from job_runs");
    expect(await rowsOf(program, "application_drafts")).toEqual([]);
    expect(JSON.stringify(await rowsOf(program, "mails"))).not.toContain(fields["email"]);
  });

  it("is in no list where its e-mail was refused, and is not sent any more once the link is over (JOIN-3)", async () => {
    const program = await makeJoinable();
    const [refused, late] = [address(), address()];
    for (const email of [refused, late]) await send(program, fill({ email }));
    const result = { result: "refused", reason: "no such address" } as const;
    const asked: string[] = [];
    const sender = {
      name: "resend",
      is_repeatable: true,
      send: async ({ to }: { to: string }) => (asked.push(to), result),
    };
    await env.DB.prepare("update mails set next_attempt_at = '9' where recipient = ?").bind(late).run();
    const deps = { senders: [sender], keepsContent: false };
    await sendDueMails(testContext(), program.id, deps, Date.now);
    await env.DB.prepare("update mails set next_attempt_at = created_at where recipient = ?").bind(late).run();
    const later = Date.now() + DAY;
    await sendDueMails(testContext(later), program.id, deps, () => later);
    expect(asked).toEqual([refused]);
    expect(await readFailedMails(programContext(program))).toEqual([]);
    expect(JSON.stringify(await rowsOf(program, "mails"))).not.toContain("@applicants.example");
  });
});

describe("the proof of the address (JOIN-5)", () => {
  it("stores the application once, with the terms that were agreed to and when", async () => {
    const program = await makeJoinable();
    const fields = fill();
    await send(program, fields);
    const [mail] = await mailTo(program, fields["email"]!);
    const [draft] = await rowsOf(program, "application_drafts");
    const reply = await follow(linkIn(mail!.text));
    expect([reply.status, textOf(reply.body)]).toEqual([
      200,
      expect.stringContaining("We have received your application"),
    ]);
    const again = await follow(linkIn(mail!.text));
    expect([again.status, textOf(again.body)]).toEqual([200, textOf(reply.body)]);
    const [row, ...others] = await rowsOf(program);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      ...{ status: "pending", name: "Jane Roe", email: fields["email"], website: "https://jane.example.com/" },
      ...{ terms_version: 3, consented_at: draft!["created_at"], partner_id: null },
    });
    expect(JSON.parse(String(row!["answers"]))).toEqual([
      { question: "Who reads you?", answer: "People who bake." },
      { question: "Anything else?", answer: "" },
    ]);
    expect(await eventsOf(program)).toEqual(["applications.received"]);
    expect(await rowsOf(program, "application_drafts")).toEqual([]);
    const mails = await mailTo(program, fields["email"]!);
    expect(mails.map(({ subject }) => subject)).toEqual([
      "Confirm your application to Acme & Sons",
      "Your application to Acme & Sons has arrived",
    ]);
  });

  it("is one however many prove it at once, by one link and by several", async () => {
    const program = await makeJoinable();
    const email = address();
    const tokens = await Promise.all([sendForm(program, { email }), sendForm(program, { email })]);
    const proofs = await Promise.all(
      [...tokens, ...tokens, ...tokens].map((token) => proveAddress(testContext(), token!)),
    );
    expect(await rowsOf(program)).toHaveLength(1);
    expect(await eventsOf(program)).toEqual(["applications.received"]);
    expect(new Set(proofs.map(({ outcome }) => outcome))).toEqual(
      new Set(
        ["proved", "waiting", "link_refused"].filter((outcome) => proofs.some((proof) => proof.outcome === outcome)),
      ),
    );
    expect(proofs.some(({ outcome }) => outcome === "proved")).toBe(true);
  });

  it("makes a partner at once where the program says so, once, active, with the mail that signs in", async () => {
    const program = await makeJoinable({ applications: "auto" });
    await makePartner(program, { slug: "Jane-Roe" });
    const email = address();
    const tokens = await Promise.all([sendForm(program, { email, name: "Jane Roe" }), sendForm(program, { email })]);
    await Promise.all([...tokens, ...tokens].map((token) => proveAddress(testContext(), token!)));
    const { body } = await program.api<{ data: Record<string, unknown>[] }>("GET", `/api/v1/partners?search=${email}`);
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({ status: "active", email });
    const [row] = await rowsOf(program);
    expect(row).toMatchObject({ status: "approved", partner_id: body.data[0]!["id"] });
    expect((await eventsOf(program)).filter((type) => type.startsWith("applications."))).toEqual([
      "applications.approved",
      "applications.received",
    ]);
  });

  it("gives a free slug made of the name", async () => {
    const program = await makeJoinable({ applications: "auto" });
    const slugs = [];
    for (const name of ["Élise Müller", "elise muller", "李小龙"]) {
      const token = await sendForm(program, { name, email: `li.${uniqueId("x")}@applicants.example` });
      const proof = await proveAddress(testContext(), token!);
      if (proof.outcome !== "proved") throw new Error(proof.outcome);
      const path = `/api/v1/partners/${proof.application.partner_id}`;
      slugs.push((await program.api<{ slug: string }>("GET", path)).body.slug);
    }
    expect(slugs).toEqual(["elise-muller", "elise-muller-2", expect.stringMatching(/^li-x/)]);
  });

  it("is refused without a word of whose it was where the link is unknown, and where the program takes none", async () => {
    const program = await makeJoinable();
    const visitor = visit();
    for (const token of ["", "x", "A".repeat(43), `1_${"A".repeat(43)}`, "' or 1=1"]) {
      await visitor.get(`/join/${program.id}/confirm?token=${encodeURIComponent(token)}`);
      const reply = await visitor.post(`/join/${program.id}/confirm`, { token });
      expect([token, reply.status]).toEqual([token, 410]);
    }
    const token = (await sendForm(program))!;
    await visitor.get(`/join/${program.id}/confirm?token=${token}`);
    await program.api("PATCH", "/api/v1/programs/me", { applications: "off" });
    const reply = await visitor.post(`/join/${program.id}/confirm`, { token });
    expect([reply.status, textOf(reply.body)]).toEqual([200, expect.stringContaining("does not accept applications")]);
    expect(await rowsOf(program)).toEqual([]);
  });
});

describe("what the page says of a proof is true (JOIN-5)", () => {
  async function linkOf(program: TestProgram, email = address()): Promise<string> {
    await send(program, fill({ email }));
    return linkIn((await mailTo(program, email)).at(-1)!.text);
  }
  const said = async (link: string) => textOf((await follow(link)).body);

  it("of an application that was decided since: the decision, and that its e-mail was sent", async () => {
    const program = await makeJoinable();
    const [declined, approved] = [await linkOf(program), await linkOf(program)];
    for (const link of [declined, approved]) expect(await said(link)).toContain("We have received your application");
    const [first, second] = await rowsOf(program);
    await program.api("POST", `/api/v1/applications/${first!.id}/decline`, {});
    await program.api("POST", `/api/v1/applications/${second!.id}/approve`);
    const texts = [await said(declined), await said(approved)];
    expect(texts.filter((text) => /was declined/.test(text) && !/has arrived|received|review/.test(text))).toHaveLength(
      1,
    );
    expect(texts.filter((text) => /You are a partner/.test(text))).toHaveLength(1);
  });

  it("of a partner who is deactivated: who can help, and no way to sign in, which they cannot", async () => {
    const program = await makeJoinable();
    const email = address();
    const link = await linkOf(program, email);
    const partner = await makePartner(program, { email });
    await program.api("DELETE", `/api/v1/partners/${partner.id}`);
    const { body } = await follow(link);
    expect(textOf(body)).toContain("Ask Acme & Sons to reactivate it");
    expect(body).not.toContain('href="/sign-in"');
    const approved = await linkOf(program);
    await follow(approved);
    const row = (await rowsOf(program)).find(({ status }) => status === "pending")!;
    await program.api("POST", `/api/v1/applications/${row.id}/approve`);
    const [made] = await rowsOf(program);
    await program.api("DELETE", `/api/v1/partners/${made!.partner_id}`);
    expect(await said(approved)).not.toContain("Welcome");
  });

  it("of a program that takes none now: that what was sent is still there until its day is over", async () => {
    const program = await makeJoinable();
    const link = await linkOf(program);
    await program.api("PATCH", "/api/v1/programs/me", { applications: "off" });
    const [path = "", query = ""] = link.split("?");
    const visitor = visit();
    await visitor.get("/sign-in");
    const { body } = await visitor.post(path, { token: new URLSearchParams(query).get("token") ?? "" });
    expect(textOf(body)).toContain("Your application is deleted after 24 hours");
    expect(await rowsOf(program, "application_drafts")).toHaveLength(1);
    await program.api("PATCH", "/api/v1/programs/me", { applications: "review" });
    expect(await said(link)).toContain("We have received your application");
  });
});
