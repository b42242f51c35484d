/** E-mails to the owner about pending tasks: each task once, and at most one e-mail of a kind within a day (MAIL-11). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { proveAddress } from "../../src/core/applications/apply.ts";
import { approveApplication } from "../../src/core/applications/decide.ts";
import { createClaim } from "../../src/core/claims/claims.ts";
import { noteRefusals } from "../../src/core/inbound/refusals.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { claimMails } from "../../src/core/mails/mails.ts";
import { mailSenders } from "../../src/core/mails/senders.ts";
import { OWNER_NEEDS } from "../../src/domain/mail.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { sendForm } from "../support/applications.ts";
import { giveCode } from "../support/codes.ts";
import { sendA } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePayingProgram, makePayout, playOutside } from "../support/payouts.ts";
import { call, makePartner, makeProgram, testContext, type TestProgram, programOfPartner } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

beforeEach(async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  await env.DB.prepare("delete from mails").run();
});
afterEach(() => vi.restoreAllMocks());

const NOW = Date.parse("2027-01-29T10:00:00.000Z");

interface MailRow {
  kind: string;
  status: string;
  next_attempt_at: string | null;
}

/** The rows of e-mails about the owner's tasks. */
async function rows(program: TestProgram): Promise<MailRow[]> {
  const { results } = await env.DB.prepare(
    `select kind, status, next_attempt_at from mails
      where program_id = ? and kind in (select value from json_each(?)) order by subject_id`,
  )
    .bind(program.id, JSON.stringify(OWNER_NEEDS))
    .all<MailRow>();
  return results;
}

const at = (program: TestProgram, now: number) => forProgram(testContext(now), program.program);
let claims = 0;
const claim = (program: TestProgram, partner_id: string, now: number) =>
  createClaim(at(program, now), partner_id, { order_id: `order-${claims++}` });

async function apply(program: TestProgram, now: number): Promise<string> {
  const token = await sendForm(program, {}, now);
  const proof = await proveAddress(testContext(now), token!);
  if (proof.outcome !== "proved") throw new Error(proof.outcome);
  return proof.application.id;
}

const subjectsOf = (mailbox: ReturnType<typeof openMailbox>, program: TestProgram) =>
  mailbox.mails.filter(({ to }) => to === program.program.owner_email).map(({ subject }) => subject);

describe("what needs the owner (MAIL-11)", () => {
  it("is an application that waits", async () => {
    const program = await makeProgram({ name: "Acme", applications: "review" });
    await apply(program, NOW);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual(["1 application to Acme waits"]);
    const mail = mailbox.mails.find(({ to }) => to === program.program.owner_email)!;
    expect(mail.headers!["List-Unsubscribe-Post"]).toBe("List-Unsubscribe=One-Click");
    expect(mail.text).toContain("/dashboard/partners/applications");
  });

  it("is no application that is a partner's at once", async () => {
    const program = await makeProgram({ applications: "auto" });
    await apply(program, NOW);
    expect(await rows(program)).toEqual([]);
  });

  it("is a claim that waits", async () => {
    const [program, partner] = await programOfPartner({ name: "Acme" });
    await claim(program, partner.id, NOW);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual(["1 claim of a missing sale waits"]);
  });

  it("is for whoever is the owner when it is written (TEAM-5)", async () => {
    const [program, partner] = await programOfPartner({ name: "Acme" });
    const mailbox = openMailbox();
    await claim(program, partner.id, NOW);
    await mailbox.deliver(program.id, NOW + MINUTE);
    await claim(program, partner.id, NOW + HOUR);
    const { owner_email } = program.program;
    const next = `next-${owner_email}`;
    expect((await program.api("POST", "/api/v1/members", { email: next, role: "owner" })).status).toBe(201);
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/members");
    expect((await program.api("DELETE", `/api/v1/members/${body.data[0]!.id}`)).status).toBe(200);
    await mailbox.deliver(program.id, NOW + DAY + MINUTE);
    const aboutClaims = mailbox.mails.filter(({ subject }) => subject.includes("missing sale"));
    expect(aboutClaims.map(({ to }) => to)).toEqual([owner_email, next]);
    const kept = await env.DB.prepare("select recipient from mails where program_id = ? and kind = 'claims_waiting'")
      .bind(program.id)
      .all<{ recipient: string }>();
    expect(kept.results.map(({ recipient }) => recipient).toSorted()).toEqual([next, owner_email].toSorted());
  });

  it("is a payout whose transfer was refused, each time", async () => {
    const world = await makePayingProgram();
    const { program, vendor, account_id } = world;
    vendor.accounts.get(account_id)!.state = "rejected";
    const payout = await makePayout(world);
    playOutside(vendor);
    await program.api("POST", `/api/v1/payouts/${payout.id}/pay`);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, Date.now() + 1_000);
    expect(subjectsOf(mailbox, program)).toEqual([`1 payout of ${program.program.name} cannot be paid`]);
    // The e-mail offers only possible actions: the refused payout cannot be marked as paid.
    const { text } = mailbox.mails.find(({ subject }) => subject.endsWith("cannot be paid"))!;
    expect(text).toContain("Pay a refused payout again, or cancel it and prepare a new one to pay another way.");
    expect((await program.api("POST", `/api/v1/payouts/${payout.id}/mark-paid`)).status).toBe(409);
    await program.api("POST", `/api/v1/payouts/${payout.id}/pay`);
    await mailbox.deliver(program.id, Date.now() + 2_000);
    expect((await rows(program)).map(({ status }) => status)).toEqual(["sent", "pending"]);
  });

  it("are webhooks that are refused: one e-mail a day, however many there are and however seldom the log says so", async () => {
    const program = await makeProgram({ name: "Acme" });
    for (let i = 0; i < 5; i++) await noteRefusals(at(program, NOW + i), "provider_a", "time", 20);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual(["Webhooks to Acme were refused"]);
    expect(mailbox.mails[0]!.text).toContain("100 deliveries refused so far");
    await noteRefusals(at(program, NOW + HOUR / 2), "provider_a", "time", 20);
    expect(await rows(program)).toHaveLength(2);
    await noteRefusals(at(program, NOW + 2 * HOUR), "provider_a", "time", 20);
    expect((await rows(program)).map((row) => row.next_attempt_at)).toEqual([null, iso(NOW + DAY)]);
  });

  it("are events that cannot be read, too, also of the provider's list: none is called a delivery that anybody may have sent", async () => {
    const program = await makeProgram({ name: "Acme" });
    await noteRefusals(at(program, NOW), "provider_a", "unparsable", 2);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual(["Events of Acme were refused"]);
    const { text } = mailbox.mails[0]!;
    expect(text).toContain("Stripe: 2 events refused so far");
    expect(text).toContain("it comes from the provider");
    expect(text).not.toMatch(/deliver|Anyone can send/i);
    // An unverified delivery, which anybody may have sent, changes the e-mail to the general one.
    await noteRefusals(at(program, NOW + DAY), "provider_b", "time", 3);
    await mailbox.deliver(program.id, NOW + DAY + MINUTE);
    const [, second] = mailbox.mails;
    expect(second!.subject).toBe("Webhooks to Acme were refused");
    expect(second!.text).toMatch(/2 events refused so far.*3 deliveries refused so far.*Anyone can send/s);
  });

  /** Stores the time of a provider's last verified event. */
  const verified = (program: TestProgram, provider: string, now: number) =>
    env.DB.prepare("update provider_connections set last_event_at = ? where program_id = ? and provider = ?")
      .bind(iso(now), program.id, provider)
      .run();

  it("are no webhooks of which verified ones came after those that were refused, nor another provider's", async () => {
    const program = await makeProgram({ name: "Acme" });
    await noteRefusals(at(program, NOW), "provider_a", "time", 20);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    await noteRefusals(at(program, NOW + 2 * HOUR), "provider_a", "wrong_signature", 20);
    await verified(program, "provider_a", NOW + 3 * HOUR);
    await mailbox.deliver(program.id, NOW + DAY);
    expect(subjectsOf(mailbox, program)).toEqual(["Webhooks to Acme were refused"]);
    expect((await rows(program)).map(({ status }) => status)).toEqual(["sent", "withheld"]);
    await noteRefusals(at(program, NOW + 2 * DAY), "provider_b", "time", 3);
    await mailbox.deliver(program.id, NOW + 2 * DAY + MINUTE);
    const [, second] = mailbox.mails;
    expect(second!.text).toContain("Paddle: 3 deliveries refused so far");
    expect(second!.text).not.toContain("Stripe");
  });

  it("are webhooks that are refused within the hour of one after which a verified event came", async () => {
    const program = await makeProgram({ name: "Acme" });
    await noteRefusals(at(program, NOW), "provider_a", "time", 1);
    await verified(program, "provider_a", NOW + MINUTE / 2);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    expect((await rows(program)).map(({ status }) => status)).toEqual(["withheld"]);
    await noteRefusals(at(program, NOW + HOUR / 3), "provider_a", "time", 40);
    await mailbox.deliver(program.id, NOW + HOUR / 2);
    expect(subjectsOf(mailbox, program)).toEqual(["Webhooks to Acme were refused"]);
    expect(mailbox.mails[0]!.text).toContain("41 deliveries refused so far");
  });

  it("is a promotion code that nobody has, once for each", async () => {
    const [program, partner] = await programOfPartner({ name: "Acme" });
    await giveCode(program, partner.id, { code: "HELD", provider: "provider_a" });
    const sell = (code: string) => {
      const discounts = [{ promotion_code: { id: `promo_${code}`, code }, coupon: null }];
      return sendA(program, sessionCompleted({ ref: null, object: { discounts } }));
    };
    await sell("HELD");
    expect(await rows(program)).toEqual([]);
    for (const code of ["NEW1", "new1", "NEW2"]) await sell(code);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, Date.now() + 1_000);
    expect(subjectsOf(mailbox, program)).toEqual(["2 promotion codes without a partner"]);
    // Within a second, the latest spelling is unknown.
    expect(mailbox.mails[0]!.text).toMatch(/^NEW2: 1 payment at/m);
    expect(mailbox.mails[0]!.text).toMatch(/^new1: 2 payments at/im);
    await sell("NEW1");
    expect(await rows(program)).toHaveLength(1);
    await sell("NEW3");
    expect(await rows(program)).toHaveLength(2);
    await giveCode(program, partner.id, { code: "NEW3", provider: "provider_a" });
  });

  it("is a promotion code beside a reference that leads to nobody too, and each of several of one payment", async () => {
    const program = await makeProgram({ name: "Acme" });
    const mailbox = openMailbox();
    const sell = (id: string, ...codes: string[]) => {
      const discounts = codes.map((code) => ({ promotion_code: { id: `promo_${code}`, code }, coupon: null }));
      return sendA(program, sessionCompleted({ id, ref: "cart-7", object: { discounts } }));
    };
    await sell("cs_test_1");
    expect(await rows(program)).toEqual([]);
    await sell("cs_test_2", "NEW1");
    await sell("cs_test_3", "NEW1");
    await mailbox.deliver(program.id, Date.now() + 1_000);
    expect(subjectsOf(mailbox, program)).toEqual(["1 promotion code without a partner"]);
    await sell("cs_test_4", "NEW1");
    expect(await rows(program)).toHaveLength(1);
    // The payment's earlier code does not hide a new code.
    await sell("cs_test_4", "NEW1", "NEW2");
    await mailbox.deliver(program.id, Date.now() + DAY + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual([
      "1 promotion code without a partner",
      "2 promotion codes without a partner",
    ]);
  });
});

describe("a flood of what needs the owner (MAIL-11)", () => {
  it("is one e-mail within a day, with the number; what came after it is in the next", async () => {
    const program = await makeProgram({ name: "Acme", applications: "review" });
    const mailbox = openMailbox();
    for (let i = 0; i < 3; i++) await apply(program, NOW + i * 1_000);
    await mailbox.deliver(program.id, NOW + MINUTE);
    for (let i = 0; i < 4; i++) {
      await apply(program, NOW + (i + 1) * HOUR);
      await mailbox.deliver(program.id, NOW + (i + 1) * HOUR + MINUTE);
    }
    expect(subjectsOf(mailbox, program)).toEqual(["3 applications to Acme wait"]);
    expect((await rows(program)).map((row) => row.next_attempt_at)).toEqual([null, iso(NOW + DAY)]);
    await mailbox.deliver(program.id, NOW + DAY - 1);
    expect(subjectsOf(mailbox, program)).toHaveLength(1);
    await mailbox.deliver(program.id, NOW + DAY);
    expect(subjectsOf(mailbox, program)).toEqual(["3 applications to Acme wait", "7 applications to Acme wait"]);
    // Without new tasks there is not another e-mail. After a day without one, the next is sent at once.
    await mailbox.deliver(program.id, NOW + 5 * DAY);
    expect(await rows(program)).toHaveLength(2);
    await apply(program, NOW + 5 * DAY);
    await mailbox.deliver(program.id, NOW + 5 * DAY + MINUTE);
    expect(subjectsOf(mailbox, program)).toHaveLength(3);
  });

  it("says nothing of what is decided by then", async () => {
    const program = await makeProgram({ applications: "review" });
    await approveApplication(at(program, NOW + 1), await apply(program, NOW));
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual([]);
    expect((await rows(program)).map(({ status }) => status)).toEqual(["withheld"]);
    // The first e-mail was withheld, so the next one does not wait for a day.
    for (const now of [NOW, NOW + HOUR]) {
      await apply(program, now);
      await mailbox.deliver(program.id, now + MINUTE);
    }
    expect(subjectsOf(mailbox, program)).toHaveLength(1);
    expect((await rows(program)).map((row) => row.status)).toEqual(["withheld", "sent", "pending"]);
    expect((await rows(program)).at(-1)!.next_attempt_at).toBe(iso(NOW + DAY + 1));
  });

  it("of one kind holds back no other, nor another program's", async () => {
    const program = await makeProgram({ applications: "review" });
    const other = await makeProgram({ applications: "review" });
    const partner = await makePartner(program);
    for (let i = 0; i < 2; i++) await Promise.all([apply(program, NOW + i), claim(program, partner.id, NOW + i)]);
    await apply(other, NOW);
    expect((await rows(program)).map(({ kind }) => kind).toSorted()).toEqual([
      "applications_waiting",
      "claims_waiting",
    ]);
    expect(await rows(other)).toHaveLength(1);
  });

  it("that comes while the e-mail is written is in the next one, whatever ends in between", async () => {
    const program = await makeProgram({ name: "Acme", applications: "review" });
    await apply(program, NOW);
    const senders = mailSenders({ ...openMailbox().bindings, ENVIRONMENT: "production" }, () =>
      Promise.reject(new Error("none")),
    );
    // A process claims all due e-mails and ends before it has written or sent one.
    await claimMails(testContext(NOW + MINUTE), program.id, senders, 10);
    await apply(program, NOW + MINUTE);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + 10 * MINUTE);
    await mailbox.deliver(program.id, NOW + DAY + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual(["2 applications to Acme wait", "2 applications to Acme wait"]);
  });

  it("is switched off with one click, one kind alone", async () => {
    const [program, partner] = await programOfPartner({ name: "Acme", applications: "review" });
    await apply(program, NOW);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, NOW + MINUTE);
    const link = mailbox.mails.find(({ subject }) => subject.includes("waits"))!.headers!["List-Unsubscribe"]!;
    const body = new URLSearchParams({ "List-Unsubscribe": "One-Click" });
    expect((await call(new URL(link.slice(1, -1)).pathname, { method: "POST", body })).status).toBe(200);
    await apply(program, NOW + 2 * DAY);
    await claim(program, partner.id, NOW + 2 * DAY);
    await mailbox.deliver(program.id, NOW + 2 * DAY + MINUTE);
    expect(subjectsOf(mailbox, program)).toEqual(["1 application to Acme waits", "1 claim of a missing sale waits"]);
    // If the owner has unsubscribed, the rows are as rare as the e-mails would be.
    for (let hour = 1; hour < 4; hour++) {
      await apply(program, NOW + 2 * DAY + hour * HOUR);
      await mailbox.deliver(program.id, NOW + 2 * DAY + hour * HOUR + MINUTE);
    }
    expect((await rows(program)).filter(({ kind }) => kind === "applications_waiting")).toHaveLength(3);
  });
});
