/** E-mails as rows: committed with their cause, sent once, retried, and stopped after the last attempt (MAIL-1 to MAIL-5). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { mailSenders, type MailSender } from "../../src/core/mails/senders.ts";
import { claimMails } from "../../src/core/mails/mails.ts";
import type { Sealer } from "../../src/core/kernel/context.ts";
import { openMailer } from "../../src/core/mails/plan.ts";
import { SecretSealer } from "../../src/lib/seal.ts";
import { consumeMailWakeUps, sendDueMails } from "../../src/outbound/mails.ts";
import { runJob } from "../support/jobs.ts";
import { MAIL_FROM, MAIL_KEY, openMailService, sendersOf, type Answer } from "../support/mail-service.ts";
import { makePartner, makeProgram, testContext } from "../support/program.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

beforeEach(async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  await env.DB.prepare("delete from mails").run();
});
afterEach(() => vi.restoreAllMocks());

interface MailRow {
  id: string;
  program_id: string;
  kind: string;
  recipient: string;
  content: string | null;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  sender: string | null;
  error: string | null;
}

async function rows(): Promise<MailRow[]> {
  const { results } = await env.DB.prepare("select * from mails order by id").all<MailRow>();
  return results;
}

/** Sends as a wake-up does, for the only program with e-mails. */
async function send(senders: readonly MailSender[], now: number): Promise<void> {
  const [row] = await rows();
  if (!row) throw new Error("no e-mail");
  await sendDueMails(testContext(now), row.program_id, { senders, keepsContent: false }, () => now);
}

/** Changes payout details: one e-mail to the owner, one to the partner and one to each address of the wallet. */
async function change(): Promise<{ id: string; owner: string; now: number }> {
  const program = await makeProgram({ name: "Acme" });
  const partner = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
  const { status } = await program.api("PATCH", `/api/v1/partners/${partner.id}`, {
    payout_email: "new@wallet.example",
  });
  expect(status).toBe(200);
  return { id: program.id, owner: program.program.owner_email, now: Date.now() + 1_000 };
}

/** The same, with one of these e-mails only. */
async function changeOne(): ReturnType<typeof change> {
  const changed = await change();
  await env.DB.prepare("delete from mails where id <> (select min(id) from mails)").run();
  return changed;
}

describe("an e-mail (MAIL-1)", () => {
  it("is committed with its change, sealed, and is gone from the row once it is sent", async () => {
    const { now, owner } = await change();
    const stored = await rows();
    expect(stored.map(({ status, kind }) => `${kind} ${status}`)).toEqual(Array(4).fill("payout_details pending"));
    for (const { content } of stored) expect(content).not.toMatch(/Acme|wallet/);
    const service = openMailService("resend");
    await send(sendersOf(service, "resend"), now);
    expect(service.taken.map(({ to }) => to)).toContain(owner);
    expect(new Set(service.taken.map(({ id }) => id))).toEqual(new Set(stored.map(({ id }) => id)));
    for (const { status, content, next_attempt_at } of await rows()) {
      expect([status, content, next_attempt_at]).toEqual(["sent", null, null]);
    }
    await send(sendersOf(service, "resend"), now + HOUR);
    expect(service.requests).toHaveLength(4);
  });

  it("is not there where its change was refused", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
    const other = await makePartner(program);
    const patch = { email: other.email, payout_email: "new@wallet.example" };
    expect((await program.api("PATCH", `/api/v1/partners/${partner.id}`, patch)).status).toBe(409);
    expect(await rows()).toEqual([]);
  });

  it("is found by the minute's job where its wake-up was lost", async () => {
    await change();
    // The tests run as a local deployment, whose log receives the e-mails.
    await runJob("send e-mails", Date.now() + 1_000);
    expect((await rows()).map(({ status, sender }) => `${status} by ${sender}`)).toEqual(Array(4).fill("sent by log"));
  });

  it("is sent once by two invocations at once", async () => {
    const { now } = await change();
    const service = openMailService("postmark");
    const senders = sendersOf(service, "postmark");
    await Promise.all(Array.from({ length: 5 }, () => send(senders, now)));
    expect(service.taken).toHaveLength(4);
  });

  it("wakes nobody else: of a batch the other messages are left", () => {
    const acked: unknown[] = [];
    const message = (body: unknown) => ({ body, ack: () => acked.push(body) }) as unknown as Message;
    const bodies = [
      { delivery_id: "dlv_1", shard: 0 },
      { mails_of: "prog_1" },
      { mails_of: "prog_1" },
      { mails_of: 7 },
    ];
    const woken: string[] = [];
    const left = consumeMailWakeUps({ messages: bodies.map(message) }, (program_id) => woken.push(program_id));
    expect([woken, left.map(({ body }) => body), acked]).toEqual([
      ["prog_1"],
      [bodies[0], bodies[3]],
      [bodies[1], bodies[2]],
    ]);
  });
});

describe("an attempt that fails (MAIL-2)", () => {
  const first = async (style: "resend" | "postmark", answer: Answer) => {
    const { now } = await changeOne();
    const service = openMailService(style);
    service.answers.push(answer);
    const senders = sendersOf(service, style);
    await send(senders, now);
    return { service, senders, now, row: (await rows())[0]! };
  };

  it.each([
    ["resend", "busy", "pending", 10 * MINUTE],
    ["postmark", "busy", "pending", 10 * MINUTE],
    ["resend", "away", "pending", 10 * MINUTE],
    ["postmark", "away", "pending", 10 * MINUTE],
    ["resend", "no key", "pending", MINUTE],
    ["postmark", "no key", "pending", MINUTE],
    ["resend", "same key", "pending", MINUTE],
    ["resend", "broken", "pending", MINUTE],
    ["resend", "cut", "pending", MINUTE],
    ["postmark", "broken", "unknown", null],
    ["postmark", "cut", "unknown", null],
    ["resend", "bad address", "refused", null],
    ["postmark", "bad address", "refused", null],
    ["postmark", "inactive", "refused", null],
  ] as const)("%s: %s makes it %s", async (style, answer, status, delay) => {
    const { row, now, service, senders } = await first(style, answer);
    const due = delay === null ? null : new Date(now + delay).toISOString();
    expect([row.status, row.next_attempt_at, row.attempt_count]).toEqual([status, due, answer === "busy" ? 0 : 1]);
    expect(row.error).not.toBeNull();
    expect(row.content === null).toBe(status !== "pending");
    expect(row.error).not.toContain(MAIL_KEY);
    // It is finally sent exactly once, or never reported as sent.
    await send(senders, now + 3 * HOUR);
    const [after] = await rows();
    expect(after!.status).toBe(status === "pending" ? "sent" : status);
    expect(service.taken).toHaveLength(status === "refused" || (status === "unknown" && answer === "broken") ? 0 : 1);
  });

  it("is given to the next sender at once, and given up after the last delay", async () => {
    const { now } = await changeOne();
    const service = openMailService("postmark");
    service.answers = Array<Answer>(50).fill("away");
    const bound = vi.fn(() => Promise.reject(Object.assign(new Error("try later"), { code: "E_INTERNAL" })));
    const senders = sendersOf(service, "postmark", { EMAIL: { send: bound } });
    await send(senders, now);
    expect([bound.mock.calls.length, service.requests.length]).toEqual([1, 1]);
    for (let at = now, i = 0; i < 40 && (await rows())[0]!.status === "pending"; i++) {
      at = Date.parse((await rows())[0]!.next_attempt_at!);
      await send(senders, at);
    }
    const [row] = await rows();
    expect([row!.status, row!.content !== null, row!.attempt_count]).toEqual(["failed", true, 9]);
    expect(bound.mock.calls.length + service.requests.length).toBe(9);
  });

  it.each([
    ["breaks off", () => Promise.reject(new Error("Network connection lost."))],
    ["does not answer", () => new Promise<never>(() => {})],
  ])("and of which the platform's binding %s is given to no other, and not again (MAIL-3)", async (_, bound) => {
    const { now } = await changeOne();
    const { setTimeout } = globalThis;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms: number) =>
      setTimeout(work, ms === 15_000 ? 1 : ms)) as typeof setTimeout);
    const service = openMailService("postmark");
    const senders = sendersOf(service, "postmark", { EMAIL: { send: bound } });
    await send(senders, now);
    expect((await rows())[0]).toMatchObject({ status: "unknown", sender: "binding" });
    expect(service.requests).toEqual([]);
  });

  it("and of which another attempt is under way at one sender is given to no other (MAIL-3)", async () => {
    const { now } = await changeOne();
    const service = openMailService("resend");
    service.answers = ["same key"];
    const [http] = sendersOf(service, "resend");
    const next: MailSender = { name: "next", is_repeatable: false, send: vi.fn() };
    await send([http!, next], now);
    expect(next.send).not.toHaveBeenCalled();
    expect((await rows())[0]).toMatchObject({
      status: "pending",
      sender: "resend",
      error: "status 409, concurrent_idempotent_requests",
    });
    await send([http!, next], now + 2 * MINUTE);
    expect(service.taken).toHaveLength(1);
  });

  it("and whose answers are always lost is taken once, and ends before its key is forgotten (MAIL-3)", async () => {
    const { now } = await changeOne();
    const service = openMailService("resend");
    service.answers = Array<Answer>(50).fill("cut");
    const senders = sendersOf(service, "resend");
    let at = now;
    for (let i = 0; i < 40 && (await rows())[0]!.status === "pending"; i++) {
      at = Math.max(at, Date.parse((await rows())[0]!.next_attempt_at!));
      await send(senders, at);
    }
    expect((await rows())[0]!.status).toBe("unknown");
    expect(service.taken).toHaveLength(1);
    expect(service.requests.length).toBeGreaterThan(4);
    expect(at - now).toBeLessThan(24 * HOUR);
  });

  it("after one whose answer was lost is made at the same sender alone, whatever it says since (MAIL-3)", async () => {
    const { now } = await changeOne();
    const service = openMailService("resend");
    service.answers = ["cut", "away", "busy", "no key"];
    const next: MailSender = { name: "next", is_repeatable: false, send: vi.fn() };
    const senders = [...sendersOf(service, "resend"), next];
    for (let at = now, i = 0; i < 10 && (await rows())[0]!.status === "pending"; i++) {
      at = Math.max(at, Date.parse((await rows())[0]!.next_attempt_at!));
      await send(senders, at);
    }
    expect(next.send).not.toHaveBeenCalled();
    expect((await rows())[0]!.status).toBe("sent");
    expect(service.taken).toHaveLength(1);
    expect(service.requests).toHaveLength(5);
  });

  it.each(["away", "busy"] as const)(
    "after one whose answer was lost ends as unknown before its key is forgotten: %s since (MAIL-3)",
    async (answer) => {
      const { now } = await changeOne();
      const service = openMailService("resend");
      service.answers = ["cut", ...Array<Answer>(500).fill(answer)];
      const senders = sendersOf(service, "resend");
      let at = now;
      for (let i = 0; i < 200 && (await rows())[0]!.status === "pending"; i++) {
        at = Math.max(at, Date.parse((await rows())[0]!.next_attempt_at!));
        await send(senders, at);
      }
      expect((await rows())[0]).toMatchObject({ status: "unknown", content: null });
      expect(service.requests.length).toBeGreaterThan(4);
      expect(at - now).toBeLessThan(24 * HOUR);
    },
  );

  it.each([
    ["comes late", "resend", 21 * HOUR],
    ["finds another sender", "postmark", 2 * MINUTE],
  ] as const)("after one whose answer was lost is none where it %s (MAIL-3)", async (_, style, later) => {
    const { now } = await changeOne();
    const service = openMailService("resend");
    service.answers = ["cut"];
    await send(sendersOf(service, "resend"), now);
    const other = openMailService(style);
    await send(sendersOf(other, style), now + later);
    expect(other.requests).toEqual([]);
    expect((await rows())[0]).toMatchObject({ status: "unknown", content: null, sender: "resend" });
  });

  it("waits until the date that the only sender says", async () => {
    const { now } = await changeOne();
    const service = openMailService("postmark");
    service.answers = ["busy", "away"];
    const until = Math.ceil((now + 2 * HOUR) / 1_000) * 1_000;
    service.retryAfter = new Date(until).toUTCString();
    await send(sendersOf(service, "postmark"), now);
    expect((await rows())[0]!.next_attempt_at).toBe(new Date(until).toISOString());
    service.retryAfter = new Date(until + HOUR).toUTCString();
    await send(sendersOf(service, "postmark"), until);
    expect((await rows())[0]).toMatchObject({
      next_attempt_at: new Date(until + HOUR).toISOString(),
      attempt_count: 1,
    });
  });

  it("because there are too many uses up none, whichever sender is asked, for three days", async () => {
    const { now } = await changeOne();
    const service = openMailService("postmark");
    service.answers = Array<Answer>(500).fill("busy");
    const bound = vi.fn(() => Promise.reject(Object.assign(new Error("try later"), { code: "E_RATE_LIMIT_EXCEEDED" })));
    const senders = sendersOf(service, "postmark", { EMAIL: { send: bound } });
    let at = now;
    for (; (await rows())[0]!.status === "pending"; at = Date.parse((await rows())[0]!.next_attempt_at ?? "") || at) {
      await send(senders, at);
      if (at - now < 3 * 24 * HOUR) expect((await rows())[0]!.attempt_count).toBeLessThanOrEqual(2);
    }
    expect((await rows())[0]!.attempt_count).toBeGreaterThanOrEqual(8);
    expect((await rows())[0]!.status).toBe("failed");
    // After that each rejection uses up an attempt, as if the sender were away.
    expect(at - now).toBeGreaterThan(3 * 24 * HOUR);
    expect(at - now).toBeLessThan(6 * 24 * HOUR);
    // The senders take turns, with few calls in all.
    expect(Math.abs(bound.mock.calls.length - service.requests.length)).toBeLessThanOrEqual(2);
    expect(bound.mock.calls.length + service.requests.length).toBeLessThan(120);
  });

  it("because there were too many is made as often as ever once there are fewer", async () => {
    const { now } = await changeOne();
    const service = openMailService("postmark");
    service.answers = [...Array<Answer>(20).fill("busy"), ...Array<Answer>(50).fill("away")];
    const senders = sendersOf(service, "postmark");
    for (
      let at = now;
      (await rows())[0]!.status === "pending";
      at = Date.parse((await rows())[0]!.next_attempt_at ?? "") || at
    ) {
      await send(senders, at);
    }
    expect((await rows())[0]).toMatchObject({ status: "failed", attempt_count: 8 });
    expect(service.requests).toHaveLength(28);
  });

  it("with an address that the platform refuses is not tried again", async () => {
    const { now } = await change();
    const bound = () => Promise.reject(Object.assign(new Error("suppressed"), { code: "E_RECIPIENT_SUPPRESSED" }));
    const senders = mailSenders({ ...MAIL_FROM, EMAIL: { send: bound } }, () =>
      Promise.reject(new Error("no service")),
    );
    await send(senders, now);
    expect((await rows()).map(({ status }) => status)).toEqual(Array(4).fill("refused"));
  });
});

describe("a process that ends in an attempt (MAIL-3)", () => {
  it.each([
    ["resend", "is sent again under its key, and taken once", "sent"],
    ["postmark", "is not sent again, for it may have been taken", "unknown"],
  ] as const)("%s: %s", async (style, _, status) => {
    const { id, now } = await change();
    const service = openMailService(style);
    const senders = sendersOf(service, style);
    const claimed = await claimMails(testContext(now), id, senders, 10);
    expect(claimed).toHaveLength(4);
    await send(senders, now + 30_000);
    expect(service.requests).toEqual([]);
    await send(senders, now + 2 * MINUTE);
    expect((await rows()).map((row) => row.status)).toEqual(Array(4).fill(status));
    expect(service.taken).toHaveLength(status === "sent" ? 4 : 0);
  });
});

describe("a process that ends in an attempt, and what its sender says since (MAIL-3)", () => {
  it("is made at no other sender", async () => {
    const { id, now } = await changeOne();
    const service = openMailService("resend");
    service.answers = ["away"];
    const next: MailSender = { name: "next", is_repeatable: false, send: vi.fn() };
    const senders = [...sendersOf(service, "resend"), next];
    expect(await claimMails(testContext(now), id, senders, 10)).toHaveLength(1);
    await send(senders, now + 2 * MINUTE);
    await send(senders, now + HOUR);
    expect(next.send).not.toHaveBeenCalled();
    expect([(await rows())[0]!.status, service.taken.length]).toEqual(["sent", 1]);
  });
});

describe("one that cannot be written when it is its turn (MAIL-10)", () => {
  it("keeps nobody from knowing that those beside it have gone out", async () => {
    const { id, now } = await change();
    await env.DB.prepare(
      `insert into mails (id, program_id, kind, recipient, subject_id, status, attempt_count, next_attempt_at, created_at)
        values ('mail_0', ?1, 'weekly_summary', 'o@example.com', '2026-01-05 2026-01-12', 'pending', 0, ?2, ?2)`,
    )
      .bind(id, "2026-01-12T00:00:00.000Z")
      .run();
    const service = openMailService("postmark");
    const compose = () => Promise.reject(new Error("cannot be written"));
    const ctx = { ...testContext(now), mailer: openMailer(compose, () => {}) };
    const deps = { senders: sendersOf(service, "postmark"), keepsContent: false };
    await expect(sendDueMails(ctx, id, deps, () => now)).rejects.toThrow("cannot be written");
    const stored = await rows();
    expect(stored.filter(({ status }) => status === "sent")).toHaveLength(3);
    expect(service.taken).toHaveLength(3);
    expect(stored.find((row) => row.id === "mail_0")).toMatchObject({ status: "sending", attempt_count: 0 });
  });
});

describe("one that no key of the deployment opens (ACCESS-7)", () => {
  it("is no address that was refused: it is sent once the key is there, and given up with its text", async () => {
    const { id, now } = await change();
    const service = openMailService("resend");
    const deps = { senders: sendersOf(service, "resend"), keepsContent: false };
    const sealer: Sealer = new SecretSealer([btoa("w".repeat(32))]);
    const [before] = await rows();
    await env.DB.prepare("delete from mails where id <> ?").bind(before!.id).run();
    const tries = async (at: number, of = sealer) => {
      await sendDueMails({ ...testContext(at), sealer: of }, id, deps, () => at);
      return (await rows())[0]!;
    };
    expect(await tries(now)).toMatchObject({
      status: "pending",
      content: before!.content,
      error: expect.any(String) as string,
    });
    let given = before!;
    for (let at = now + MINUTE; given.status !== "failed" && at < now + 100 * HOUR; at += HOUR) given = await tries(at);
    expect(given).toMatchObject({ status: "failed", content: before!.content });
    expect(service.taken).toEqual([]);
    await env.DB.prepare("update mails set status = 'pending', next_attempt_at = ?, attempt_count = 0")
      .bind(new Date(now).toISOString())
      .run();
    expect(await tries(now, testContext().sealer)).toMatchObject({ status: "sent" });
  });
});

describe("the status of the integrations (MAIL-5)", () => {
  it("says the last attempt that was not taken", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
    const status = async () => (await program.api<{ email: unknown }>("GET", "/api/v1/integrations/status")).body.email;
    expect(await status()).toEqual({ configured: false, last_refusal: null });
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: "new@wallet.example" });
    const service = openMailService("postmark");
    service.answers.push("no key");
    const now = Date.now() + 1_000;
    await send(sendersOf(service, "postmark"), now);
    const refused = { at: new Date(now).toISOString(), reason: "status 401, 10" };
    expect(await status()).toEqual({ configured: false, last_refusal: refused });
  });
});

describe("a deployment without e-mail (MAIL-4)", () => {
  it("has no senders outside development, and stores none", () => {
    const none = () => Promise.reject(new Error("no service"));
    expect(mailSenders({ ENVIRONMENT: "production" }, none)).toEqual([]);
    expect(mailSenders({ ENVIRONMENT: "production", EMAIL_FROM: "a@b.example" }, none)).toEqual([]);
    expect(mailSenders({ ENVIRONMENT: "development" }, none).map(({ name }) => name)).toEqual(["log"]);
  });
});
