/** The public application page, its form and the e-mail that follows (JOIN-1 to JOIN-4). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { proveAddress } from "../../src/core/applications/apply.ts";
import { address, fill, linkIn, makeJoinable, playApplicants, rowsOf } from "../support/join.ts";
import { create } from "../support/groups.ts";
import { readFailedMails } from "../../src/core/mails/failed-mails.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { JOBS } from "../../src/jobs.ts";
import { runJob } from "../support/jobs.ts";
import { makePartner, programContext, testContext } from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { makeApplication, stampOf } from "../support/applications.ts";
import { uniqueId } from "../support/vendor.ts";
import { csrfIn, textOf } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const DAY = 86_400_000;

const { visit, send, mailTo } = playApplicants();

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

  it("says what the group of the link earns, how long a click counts and when payouts are due (JOIN-10)", async () => {
    const program = await makeJoinable({
      ...{ default_commission_pct: 15, cookie_days: 45, payout_term: "NET-30", min_payout_cents: 5_000 },
      auto_approve_days: 14,
    });
    await create(program, "/groups", { name: "Club", slug: "Club", commission_pct: 40 });
    const read = async (query = "") => textOf((await visit().get(`/join/${program.id}${query}`)).body);
    const text = await read();
    for (const said of [
      "Earn 15 % of every sale.",
      "A click on your link counts for 45 days. If a customer clicks the links of several partners, the last one counts.",
      "Commissions are on hold for 14 days, in case of refunds.",
      "Payouts are prepared on the first of each month and due 30 days later.",
      "The minimum payout is 50.00 USD. Smaller amounts roll over to the next one.",
    ]) {
      expect(text.replaceAll("\u00a0", " ")).toContain(said);
    }
    expect((await read("?group=club")).replaceAll("\u00a0", " ")).toContain("Earn 40 % of every sale.");
    const flow = { name: "First", action_type: "percentage", action_value: 50 };
    await create(program, "/flows", { ...flow, conditions: [{ field: "new_customer", op: "eq", value: true }] });
    expect((await read()).replaceAll("\u00a0", " ")).toContain(
      "Earn 15 % of every sale, or 50 % on each payment from new customers .",
    );
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/flows");
    const change = async (changes: object) => program.api("PATCH", `/api/v1/flows/${body.data[0]!.id}`, changes);
    await change({ currency: "USD", conditions: [{ field: "txn_amount_cents", op: "gte", value: 29_000 }] });
    expect((await read()).replaceAll("\u00a0", " ")).toContain(
      "Earn 15 % of every sale, or 50 % on each payment of at least 290.00 USD .",
    );
    await change({ action_value: 5 });
    expect((await read()).replaceAll("\u00a0", " ")).toContain(
      "Partners get 5 % of each payment of at least 290.00 USD . Other payments earn 15 %.",
    );
    await create(program, "/flows", { ...flow, action_value: 5 });
    expect((await read()).replaceAll("\u00a0", " ")).toContain(
      "Earn 5 % of every sale, unless a special rate applies.",
    );
  });

  it("promises no hold that a flow for leads may change (JOIN-10)", async () => {
    const program = await makeJoinable({ auto_approve_days: 14 });
    const hold = "Commissions are on hold for";
    const read = async () => textOf((await visit().get(`/join/${program.id}`)).body);
    expect(await read()).toContain(hold);
    const lead = { event: "lead_created", action_type: "flat", action_value: 500 };
    await create(program, "/flows", { ...lead, name: "Leads" });
    expect(await read()).toContain(hold);
    await create(program, "/flows", { ...lead, name: "Longer", hold_days: 90, priority: 1 });
    expect(await read()).not.toContain(hold);
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
    const visitor = visit(limited, { "cf-connecting-ip": "203.0.113.9" });
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
