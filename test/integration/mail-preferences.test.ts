/** Recipients of e-mails: preferences, one-click unsubscribe, deactivated partners, undelivered e-mails (MAIL-7 to MAIL-9). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { insertMails } from "../../src/core/mails/plan.ts";
import { readSwitchedOff } from "../../src/core/mails/preferences.ts";
import type { Endpoint, Program } from "../../src/core/kernel/rows.ts";
import { runBatch } from "../../src/db/client.ts";
import type { Bindings } from "../../src/env.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { openMailbox } from "../support/mailbox.ts";
import { openMailService, sendersOf, type MailService } from "../support/mail-service.ts";
import { call, makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { callWith } from "../support/watched-database.ts";
import { makeVisitor, signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

beforeEach(async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  await env.DB.prepare("delete from mails").run();
});
afterEach(() => vi.restoreAllMocks());

async function store(program: TestProgram): Promise<void> {
  const ctx = programContext(program);
  const endpoint = {
    id: "whe_1",
    url: "https://hooks.example/x",
    failing_since: "2026-01-01T00:00:00.000Z",
    failure_count: 9,
  } as Endpoint;
  const mails = await ctx.mailer!.compose({ kind: "endpoint_disabled", program: program.program, endpoint });
  await runBatch(ctx.db, await insertMails(ctx, mails));
}

async function statuses(): Promise<string[]> {
  const { results } = await env.DB.prepare("select status from mails order by id").all<{ status: string }>();
  return results.map(({ status }) => status);
}

async function deliver(program: TestProgram, service: MailService, style: string, now = Date.now() + 1_000) {
  const deps = { senders: sendersOf(service, style), keepsContent: false };
  await sendDueMails(testContext(now), program.id, deps, () => now);
}

describe("an e-mail that may be switched off (MAIL-8)", () => {
  it.each(["resend", "postmark"] as const)("has its headers at %s, and one click ends them", async (style) => {
    const program = await makeProgram({ name: "Acme" });
    const service = openMailService(style);
    await store(program);
    await deliver(program, service, style);
    const [mail] = service.taken;
    expect(mail!.headers["List-Unsubscribe-Post"]).toBe("List-Unsubscribe=One-Click");
    const path = new URL(mail!.headers["List-Unsubscribe"]!.slice(1, -1)).pathname;

    const shown = await makeVisitor().get(path);
    expect([shown.status, textOf(shown.body)]).toEqual([200, expect.stringContaining("Stop these e-mails")]);
    await store(program);
    await deliver(program, service, style);
    expect(service.taken).toHaveLength(2);

    // As a mail program does: without cookies, and from any origin.
    const click = await call(path, {
      method: "POST",
      body: new URLSearchParams({ "List-Unsubscribe": "One-Click" }),
      headers: { "sec-fetch-site": "cross-site" },
    });
    expect(click.status).toBe(200);
    await store(program);
    await deliver(program, service, style);
    expect(service.taken).toHaveLength(2);
    expect((await statuses()).at(-1)).toBe("withheld");
    expect(textOf((await makeVisitor().get(path)).body)).not.toContain("Stop these e-mails");

    const visitor = makeVisitor();
    await visitor.get(path);
    const saved = await visitor.post(path, { choices: "1", endpoint_disabled: ["", "on"] });
    expect([saved.status, saved.headers.get("location")]).toEqual([303, `${path}?done=saved`]);
    await store(program);
    await deliver(program, service, style);
    expect(service.taken).toHaveLength(3);
  });

  it("has its headers where the platform's binding sends it", async () => {
    const program = await makeProgram();
    await store(program);
    const mailbox = openMailbox();
    const [mail] = await mailbox.deliver(program.id, Date.now() + 1_000);
    expect(Object.keys(mail!.headers!)).toEqual(["List-Unsubscribe", "List-Unsubscribe-Post"]);
  });

  it.each([
    ["nothing", undefined, undefined],
    ["another form than one", "{}", "application/json"],
    ["a broken form", "no part", "multipart/form-data; boundary=x"],
  ])("is switched by who has the link, and sends %s", async (_, body, type) => {
    const program = await makeProgram();
    const service = openMailService("resend");
    await store(program);
    await deliver(program, service, "resend");
    const path = new URL(service.taken[0]!.headers["List-Unsubscribe"]!.slice(1, -1)).pathname;
    const headers = type === undefined ? {} : { "content-type": type };
    const reply = await call(path, { method: "POST", headers, ...(body === undefined ? {} : { body }) });
    expect(reply.status).toBe(200);
    expect(textOf((await makeVisitor().get(path)).body)).not.toContain("Stop these e-mails");
  });

  it("has a link that works after a rotation of ENCRYPTION_KEY, for as long as the earlier key is there (ACCESS-7)", async () => {
    const program = await makeProgram();
    const service = openMailService("resend");
    await store(program);
    await deliver(program, service, "resend");
    const path = new URL(service.taken[0]!.headers["List-Unsubscribe"]!.slice(1, -1)).pathname;
    // After two rotations both earlier keys still open the link.
    const [ENCRYPTION_KEY, between] = [btoa("n".repeat(32)), btoa("m".repeat(32))];
    const ENCRYPTION_KEY_PREVIOUS = `${between},${env.ENCRYPTION_KEY}`;
    const click = async (bindings: Partial<Bindings>) => {
      const body = new URLSearchParams({ "List-Unsubscribe": "One-Click" });
      return (await callWith(bindings, path, { method: "POST", body })).status;
    };
    expect(await click({ ENCRYPTION_KEY })).toBe(410);
    expect(await click({ ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS })).toBe(200);
    expect(textOf((await makeVisitor().get(path)).body)).not.toContain("Stop these e-mails");
  });

  it("is switched by nobody who has no link", async () => {
    for (const token of ["x", "v2.a.b.c", "%00", "A".repeat(2_000)]) {
      expect((await call(`/unsubscribe/${token}`, { method: "POST", body: new URLSearchParams() })).status).toBe(410);
      expect((await makeVisitor().get(`/unsubscribe/${token}`)).status).toBe(410);
    }
  });
});

describe("a link to unsubscribe is of who it was sent to (MAIL-8)", () => {
  const oneClick = () => ({ method: "POST", body: new URLSearchParams({ "List-Unsubscribe": "One-Click" }) });
  const offOf = async (program: TestProgram, partner_id?: string) => {
    const reader = partner_id ? { audience: "partner" as const, partner_id } : { audience: "owner" as const };
    return [...(await readSwitchedOff(programContext(program), reader))];
  };
  async function linkTo(program: TestProgram, partner?: { id: string; email: string }): Promise<string> {
    const [since, until] = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"];
    const { body } = await program.api<Program>("GET", "/api/v1/programs/me");
    const [mail] = await programContext(program).mailer!.compose(
      partner
        ? { kind: "commissions_earned", program: { ...program.program, ...body }, partner, since, until, earned: [] }
        : { kind: "applications_waiting", program: { ...program.program, ...body }, count: 1 },
    );
    return new URL(mail!.mail.headers!["List-Unsubscribe"]!.slice(1, -1)).pathname;
  }
  /** Replaces the owner by another one. */
  async function succeed(program: TestProgram): Promise<void> {
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/members");
    await program.api("POST", "/api/v1/members", { email: "next@shop.example", role: "owner" });
    expect((await program.api("DELETE", `/api/v1/members/${body.data[0]!.id}`)).status).toBe(200);
  }

  it("switches nothing for the owner who came after them, whose own link does", async () => {
    const program = await makeProgram({ name: "Acme" });
    const old = await linkTo(program);
    await succeed(program);
    const click = await call<string>(old, oneClick());
    expect([click.status, textOf(click.body)]).toEqual([200, expect.stringContaining("no longer sends")]);
    const shown = await makeVisitor().get(old);
    expect([shown.status, shown.body.includes("<form")]).toEqual([200, false]);
    const choices = new URLSearchParams({ choices: "1" });
    expect((await call<string>(old, { method: "POST", body: choices })).status).toBe(200);
    expect(await offOf(program)).toEqual([]);
    expect((await call<string>(await linkTo(program), oneClick())).status).toBe(200);
    expect(await offOf(program)).toEqual(["applications_waiting"]);
  });

  it("switches nothing for a partner who has another address since; in other letters it is the same", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const old = await linkTo(program, partner);
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { email: "other@partners.example" });
    expect((await call<string>(old, oneClick())).status).toBe(200);
    expect(await offOf(program, partner.id)).toEqual([]);
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { email: partner.email.toUpperCase() });
    expect((await call<string>(old, oneClick())).status).toBe(200);
    expect(await offOf(program, partner.id)).toEqual(["commissions_earned"]);
  });
});

describe("the e-mails that a reader chooses (MAIL-7)", () => {
  it("are those of the owner's page; what must be sent is no choice", async () => {
    const program = await makeProgram();
    const visitor = await signInOwner(program);
    const page = await visitor.get("/dashboard/settings/mails");
    expect(page.body).toContain('name="endpoint_disabled"');
    expect(page.body).not.toMatch(/name="(?:payout_details|ledger_differs)"/);
    await visitor.post("/dashboard/settings/mails", { endpoint_disabled: "", payout_details: "" });
    const off = await readSwitchedOff(programContext(program), { audience: "owner" });
    expect([...off]).toEqual(["endpoint_disabled"]);
    expect((await visitor.get("/dashboard/settings/mails")).body).not.toMatch(/endpoint_disabled"[^>]*checked/);
  });

  it("are those of the partner's page, and of no other's", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const visitor = await signInPartner(partner.email);
    const page = await visitor.get("/portal/details/mails");
    expect([page.status, page.body.includes('name="endpoint_disabled"')]).toEqual([200, false]);
    await visitor.post("/portal/details/mails", { endpoint_disabled: "" });
    const owner = await readSwitchedOff(programContext(program), { audience: "owner" });
    expect(owner.size).toBe(0);
  });
});

describe("a deactivated partner (MAIL-7)", () => {
  it("is sent nothing that was stored before but a warning, and the owner still is", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
    const patch = { status: "invited", payout_email: "new@wallet.example" };
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, patch);
    await program.api("POST", `/api/v1/partners/${partner.id}/invite`);
    expect((await program.api("DELETE", `/api/v1/partners/${partner.id}`)).status).toBe(200);
    const service = openMailService("resend");
    await deliver(program, service, "resend");
    const warned = [partner.email, "old@wallet.example", "new@wallet.example", program.program.owner_email];
    expect(service.taken.map(({ to }) => to).toSorted()).toEqual(warned.toSorted());
    expect((await statuses()).toSorted()).toEqual(["sent", "sent", "sent", "sent", "withheld"]);
  });
});

describe("e-mails that did not arrive (MAIL-9)", () => {
  it("are on the owner's page, and one that was given up is sent again, once", async () => {
    const program = await makeProgram();
    await store(program);
    const failed =
      "update mails set status = 'failed', next_attempt_at = null, completed_at = created_at, error = 'status 500'";
    await env.DB.prepare(failed).run();
    const [mail] = (await env.DB.prepare("select id from mails").all<{ id: string }>()).results;
    const visitor = await signInOwner(program);
    const at = "/dashboard/settings/mails";
    const again = async (who: Visitor) => {
      await who.get(at);
      return (await who.post(`${at}/${mail!.id}/send-again`)).status;
    };
    expect(textOf((await visitor.get(at)).body)).toContain("Failed");
    expect(await again(visitor)).toBe(303);
    expect(await again(visitor)).toBe(404);
    const service = openMailService("resend");
    await deliver(program, service, "resend");
    expect(service.taken).toHaveLength(1);
    // Another owner cannot resend it, and an e-mail that may have arrived cannot be resent.
    await env.DB.prepare("update mails set status = 'unknown'").run();
    expect(await again(visitor)).toBe(404);
    await env.DB.prepare("update mails set status = 'failed', content = 'x'").run();
    const other = await signInOwner(await makeProgram());
    expect(await again(other)).toBe(404);
  });

  it("are said on the page of a partner whose address is refused, until one arrives", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
    const visitor = await signInOwner(program);
    const service = openMailService("postmark");
    service.answers = Array<"inactive">(4).fill("inactive");
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: "new@wallet.example" });
    await deliver(program, service, "postmark");
    const page = async () => textOf((await visitor.get(`/dashboard/partners/${partner.id}`)).body);
    expect(await page()).toContain("are refused (status 422, 406)");
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: "newer@wallet.example" });
    await deliver(program, service, "postmark", Date.now() + 2_000);
    expect(await page()).not.toContain("are refused");
  });
});
