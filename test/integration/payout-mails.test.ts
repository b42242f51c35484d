/** E-mails to partners about their payouts: committed with the move, written when they are sent (MAIL-10). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { mailSenders } from "../../src/core/mails/senders.ts";
import { claimMails } from "../../src/core/mails/mails.ts";
import { openDatabase } from "../../src/db/client.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { MAIL_KEY, MAIL_SERVICE, openMailService } from "../support/mail-service.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { watchDatabase } from "../support/watched-database.ts";

const MINUTE = 60_000;

beforeEach(async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  await env.DB.prepare("delete from mails").run();
});
afterEach(() => vi.restoreAllMocks());

interface Made {
  program: TestProgram;
  partner: { id: string; email: string };
  payout_id: string;
}

function generate(program: TestProgram) {
  return program.api<{ payouts: { id: string; currency: string }[] }>("POST", "/api/v1/payouts/generate");
}

/** A payout of 12.34 EUR and one of 500 JPY to the same partner. */
async function pay(): Promise<Made> {
  const program = await makeProgram({ name: "Acme", currency: "EUR" });
  const partner = await makePartner(program, { payout_method: "bank_transfer" });
  await makeCommissions(program, partner.id, [
    { amount_cents: 1_234, currency: "EUR" },
    { amount_cents: 500, currency: "JPY" },
  ]);
  const generated = await generate(program);
  return { program, partner, payout_id: generated.body.payouts.find(({ currency }) => currency === "EUR")!.id };
}

async function rows(): Promise<{ kind: string; status: string; content: string | null }[]> {
  const { results } = await env.DB.prepare("select kind, status, content from mails order by kind, subject_id").all();
  return results as never;
}

function open(style: "resend" | "postmark") {
  const service = openMailService(style);
  const http = { EMAIL_API_URL: MAIL_SERVICE, EMAIL_API_KEY: MAIL_KEY, EMAIL_API_STYLE: style };
  const senders = mailSenders({ EMAIL_FROM: "a@b.example", ENVIRONMENT: "production", ...http }, service.fetch);
  const send = (program_id: string, now: number) =>
    sendDueMails(testContext(now), program_id, { senders, keepsContent: false }, () => now);
  return { service, senders, send };
}

describe("a payout's e-mails (MAIL-10)", () => {
  it("go to the partner when it is made and when it is paid, each once, by its own currency", async () => {
    const { program, partner, payout_id } = await pay();
    expect((await rows()).map(({ kind, status, content }) => [kind, status, content])).toEqual(
      Array.from({ length: 2 }, () => ["payout_generated", "pending", null]),
    );
    const { service, send } = open("resend");
    const now = Date.now() + 1_000;
    await Promise.all([send(program.id, now), send(program.id, now), send(program.id, now)]);
    expect(service.taken.map(({ to }) => to)).toEqual([partner.email, partner.email]);
    const texts = service.taken.map(({ text }) => /Amount: (.*)/.exec(text)?.[1]).toSorted();
    expect(texts).toEqual([expect.stringContaining("12.34"), expect.stringContaining("500")]);
    const subjects = service.taken.map(({ subject }) => /^Your payout of (\S+) \w{3} at Acme$/.exec(subject)?.[1]);
    expect(subjects.toSorted()).toEqual(["12.34", "500"]);
    expect(service.taken.every(({ headers }) => "List-Unsubscribe" in headers)).toBe(true);

    const paid = await program.api("POST", `/api/v1/payouts/${payout_id}/mark-paid`, { reference: "bank 1" });
    expect(paid.status).toBe(200);
    await send(program.id, Date.now() + 2_000);
    expect(service.taken.at(-1)!.text).toContain("Reference: bank 1");
    expect(service.taken.at(-1)!.subject).toMatch(/^Your payout of .* at Acme was paid$/);
    expect(service.taken).toHaveLength(3);
  });

  it("say what is true when they are sent: nothing of a payout that was canceled, nothing to a deactivated partner", async () => {
    const { program, partner, payout_id } = await pay();
    await program.api("POST", `/api/v1/payouts/${payout_id}/cancel`);
    const { service, send } = open("postmark");
    await send(program.id, Date.now() + 1_000);
    expect(service.taken.map(({ text }) => /Amount: (.*)/.exec(text)?.[1])).toEqual([expect.stringContaining("500")]);
    expect((await rows()).map(({ status }) => status).toSorted()).toEqual(["sent", "withheld"]);

    await program.api("DELETE", `/api/v1/partners/${partner.id}`);
    expect((await generate(program)).body.payouts).toHaveLength(1);
    await send(program.id, Date.now() + 2_000);
    expect(service.taken).toHaveLength(1);
  });

  it.each(["resend", "postmark"] as const)(
    "%s: are sent where a process ended before they were written",
    async (style) => {
      const { program } = await pay();
      const { service, senders, send } = open(style);
      const now = Date.now() + 1_000;
      expect(await claimMails(testContext(now), program.id, senders, 10)).toHaveLength(2);
      await send(program.id, now + 2 * MINUTE);
      expect((await rows()).map((row) => row.status)).toEqual(["sent", "sent"]);
      expect(service.taken).toHaveLength(2);
    },
  );

  it("go to the address that the partner has when they are written, in every attempt", async () => {
    const { program, partner } = await pay();
    const { service, send } = open("postmark");
    const now = Date.now() + 1_000;
    const addresses = [`moved-${partner.email}`, `again-${partner.email}`];
    // A change by the API would add its own e-mails (OUT-9).
    const move = (email: string | undefined) =>
      env.DB.prepare("update partners set email = ? where id = ?").bind(email, partner.id).run();
    await move(addresses[0]);
    service.answers = ["away"];
    await send(program.id, now);
    await move(addresses[1]);
    await send(program.id, now + 20 * MINUTE);
    expect(service.taken.map(({ to }) => to)).toEqual([addresses[0], addresses[0]]);
  });

  it("are not sent by a run whose claim another has taken over before they were written", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { payout_method: "bank_transfer" });
    await makeCommissions(program, partner.id, [{ amount_cents: 500 }]);
    await generate(program);
    const { service, senders, send } = open("postmark");
    const now = Date.now() + 1_000;
    let isTaken = false;
    const watched = watchDatabase(env.DB, {
      before: async (statements) => {
        if (isTaken || !statements.some((text) => text.startsWith("update mails set content"))) return;
        isTaken = true;
        await send(program.id, now + 2 * MINUTE);
      },
    });
    const slow = { ...testContext(now), db: openDatabase(watched.binding) };
    await sendDueMails(slow, program.id, { senders, keepsContent: false }, () => now);
    expect([isTaken, service.taken.length]).toEqual([true, 1]);
    expect((await rows()).map(({ status }) => status)).toEqual(["sent"]);
  });

  it("has the same text in every attempt, whatever changed meanwhile", async () => {
    const { program } = await pay();
    const { service, send } = open("resend");
    service.answers = ["cut", "cut"];
    const now = Date.now() + 1_000;
    await send(program.id, now);
    await program.api("PATCH", "/api/v1/programs/me", { name: "Another name" });
    await send(program.id, now + 2 * MINUTE);
    const bodies = await Promise.all(service.requests.map((request) => request.text()));
    expect(new Set(bodies).size).toBe(2);
    expect(bodies).toHaveLength(4);
    expect(service.taken).toHaveLength(2);
  });
});
