/** E-mails at times of the program's zone: the owner's weekly report (MAIL-12) and the partners' earnings (MAIL-13). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createClaim } from "../../src/core/claims/claims.ts";
import { createManualCommission, updateCommission } from "../../src/core/commissions/commissions.ts";
import { noteRefusals } from "../../src/core/inbound/refusals.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { storeDigests } from "../../src/core/ledger/digests.ts";
import { storeSummaries } from "../../src/core/overview/week.ts";
import { formatMoney } from "../../src/domain/currency.ts";
import { cents } from "../../src/domain/money.ts";
import { startOfDayIn } from "../../src/domain/time-zone.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { runJob, serveAll } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, testContext, type TestProgram, programOfPartner } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { runClockFrom } from "../support/time.ts";
import { signInPartner } from "../support/visitor.ts";

beforeEach(async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  await env.DB.batch(
    ["delete from mails", "delete from mail_rounds", "delete from job_runs", "drop trigger if exists fails"].map(
      (text) => env.DB.prepare(text),
    ),
  );
});
afterEach(() => vi.restoreAllMocks());

const SUMMARIES = "store weekly summaries";
const DIGESTS = "store e-mails of commissions";
const at = (text: string) => Date.parse(`${text}:00.000Z`);

const ctxAt = ({ program }: TestProgram, now: number) => forProgram(testContext(now), program);

interface Earning {
  amount?: number;
  currency?: string;
}

function earn(
  program: TestProgram,
  partner_id: string,
  now: number,
  { amount = 1_000, currency = "EUR" }: Earning = {},
) {
  return createManualCommission(ctxAt(program, now), { partner_id, amount_cents: cents(amount), currency, note: "" });
}

interface MailRow {
  kind: string;
  recipient: string;
  subject_id: string;
  status: string;
}

async function rows(): Promise<MailRow[]> {
  const { results } = await env.DB.prepare(
    `select kind, recipient, subject_id, status from mails where kind in ('weekly_summary', 'commissions_earned') order by subject_id`,
  ).all<MailRow>();
  return results;
}

/** Runs the job at this interval, at instants after `from` up to `to`. */
async function runEvery(job: string, from: number, to: number, step = HOUR): Promise<void> {
  for (let now = from; now <= to; now += step) await runJob(job, now);
}

async function setZone(program: TestProgram, time_zone: string): Promise<void> {
  expect((await program.api("PATCH", "/api/v1/programs/me", { time_zone })).status).toBe(200);
}

describe("the owner's week (MAIL-12)", () => {
  // The clocks change on 2027-03-28 in Berlin, on 2027-03-14 in Los Angeles, on 2027-04-04 in Auckland.
  it.each([
    ["UTC", "2027-03-22T07:00", "2027-03-29T07:00"],
    ["Europe/Berlin", "2027-03-22T06:00", "2027-03-29T05:00"],
    ["America/Los_Angeles", "2027-03-08T15:00", "2027-03-15T14:00"],
    ["Pacific/Auckland", "2027-03-28T18:00", "2027-04-04T19:00"],
    ["Asia/Kathmandu", "2027-03-22T01:15", "2027-03-29T01:15"],
  ])("in %s comes on Monday mornings, once", async (time_zone, first, second) => {
    const program = await makeProgram({ time_zone });
    await runJob(SUMMARIES, at(first) - 3 * DAY);
    await runEvery(SUMMARIES, at(first) - DAY, at(first) - 1, 6 * HOUR);
    await runJob(SUMMARIES, at(first) - 1);
    expect(await rows()).toEqual([]);
    await Promise.all([runJob(SUMMARIES, at(first)), runJob(SUMMARIES, at(first))]);
    await runEvery(SUMMARIES, at(first) + MINUTE, at(second) - 1, 12 * HOUR);
    expect((await rows()).map(({ kind, recipient }) => [kind, recipient])).toEqual([
      ["weekly_summary", program.program.owner_email],
    ]);
    await runJob(SUMMARIES, at(second));
    expect(await rows()).toHaveLength(2);
    // Each period begins at the end of the previous one.
    const [one, two] = (await rows()).map(({ subject_id }) => subject_id.split(" "));
    expect(two![0]).toBe(one![1]);
  });

  it("says what waits and what was earned, by currency, and links to switch it off", async () => {
    const [program, partner] = await programOfPartner({ name: "Acme", currency: "EUR" });
    const monday = at("2027-03-22T07:00");
    await runJob(SUMMARIES, monday - 6 * DAY);
    await earn(program, partner.id, monday - 2 * DAY, { amount: 123_456 });
    await earn(program, partner.id, monday - 2 * DAY, { amount: 500, currency: "JPY" });
    await earn(program, partner.id, monday - 8 * DAY, { amount: 99, currency: "USD" });
    await createClaim(ctxAt(program, monday - DAY), partner.id, { order_id: "lost" });
    await runJob(SUMMARIES, monday);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, monday + MINUTE);
    const mail = mailbox.mails.find(({ subject }) => subject === "Your week at Acme")!;
    expect(mail.to).toBe(program.program.owner_email);
    for (const line of [
      "Missing sales: 1 claim",
      "Commissions to approve: 3 commissions",
      "To approve in EUR: 1,234.56 EUR",
      "To approve in JPY: 500 JPY",
      "To approve in USD: 0.99 USD",
      "From 15 Mar 2027 to 21 Mar 2027",
      "Commissions in EUR: 1 of 1,234.56 EUR",
      "Commissions in JPY: 1 of 500 JPY",
    ]) {
      expect(mail.text).toContain(line);
    }
    expect(mail.text).not.toMatch(/Commissions in USD|Applications/);
    expect(mail.headers!["List-Unsubscribe"]).toMatch(/^<https:/);
  });

  it("counts no commission among what waits that approves itself, where the program says so", async () => {
    const [program, partner] = await programOfPartner({ name: "Acme", currency: "EUR", auto_approve_days: 30 });
    const monday = at("2027-03-22T07:00");
    await runJob(SUMMARIES, monday - 6 * DAY);
    await earn(program, partner.id, monday - 2 * DAY, { amount: 5_000 });
    const looked = await earn(program, partner.id, monday - 2 * DAY, { amount: 700 });
    const mailbox = openMailbox();
    const summaryOf = async (week: number) => {
      await runJob(SUMMARIES, week);
      await mailbox.deliver(program.id, week + MINUTE);
      return mailbox.mails.at(-1)!.text;
    };
    expect(await summaryOf(monday)).toContain("All done.");
    const flagged = await program.api("PATCH", `/api/v1/commissions/${looked.id}`, { flagged: true });
    expect(flagged.status).toBe(200);
    const second = await summaryOf(monday + 7 * DAY);
    expect(second).toContain("Flagged commissions: 1 commission\n");
    expect(second).not.toContain("To approve");
  });

  it("names refused webhooks while no verified event has come after, as the pages do", async () => {
    const program = await makeProgram();
    const monday = at("2027-03-22T07:00");
    await runJob(SUMMARIES, monday - DAY);
    await noteRefusals(ctxAt(program, monday - DAY), "provider_a", "time", 1);
    const mailbox = openMailbox();
    await runJob(SUMMARIES, monday);
    await mailbox.deliver(program.id, monday + MINUTE);
    expect(mailbox.mails.at(-1)!.text).toContain("Webhooks refused: from Stripe, last on 21 Mar 2027");
    await noteRefusals(ctxAt(program, monday + DAY), "provider_a", "time", 1);
    await env.DB.prepare("update provider_connections set last_event_at = ? where program_id = ?")
      .bind(iso(monday + 2 * DAY), program.id)
      .run();
    await runJob(SUMMARIES, monday + 7 * DAY);
    await mailbox.deliver(program.id, monday + 7 * DAY + MINUTE);
    expect(mailbox.mails.filter(({ subject }) => subject.startsWith("Your week"))).toHaveLength(1);
  });

  it("is not sent where nothing waits and nothing happened", async () => {
    const program = await makeProgram();
    const monday = at("2027-03-22T07:00");
    await runJob(SUMMARIES, monday - DAY);
    await runJob(SUMMARIES, monday);
    const mailbox = openMailbox();
    expect(await mailbox.deliver(program.id, monday + MINUTE)).toEqual([]);
    expect((await rows()).map(({ status }) => status)).toEqual(["withheld"]);
  });

  it("comes later where no cron ran on Monday, and not twice where the zone changes within the week", async () => {
    const program = await makeProgram({ time_zone: "Pacific/Auckland" });
    const monday = at("2027-03-21T18:00");
    await runJob(SUMMARIES, monday - DAY);
    await runJob(SUMMARIES, monday + 2 * DAY);
    expect(await rows()).toHaveLength(1);
    await setZone(program, "America/Los_Angeles");
    await runEvery(SUMMARIES, monday + 2 * DAY, monday + 7 * DAY + 19 * HOUR);
    expect(await rows()).toHaveLength(1);
    await runEvery(SUMMARIES, monday + 7 * DAY + 20 * HOUR, monday + 8 * DAY);
    expect(await rows()).toHaveLength(2);
  });

  it("is stored with the note of when the next one is, or neither is", async () => {
    await makeProgram();
    const monday = at("2027-03-22T07:00");
    await runJob(SUMMARIES, monday - DAY);
    await env.DB.prepare(
      "create trigger fails before insert on mails begin select raise(abort, 'dies here'); end",
    ).run();
    await expect(serveAll(storeSummaries(testContext(monday)))).rejects.toThrow();
    await env.DB.prepare("drop trigger fails").run();
    expect(await rows()).toEqual([]);
    for (let i = 0; i < 3; i++) await serveAll(storeSummaries(testContext(monday + i)));
    expect(await rows()).toHaveLength(1);
  });
});

describe("what partners earned (MAIL-13)", () => {
  const amountsIn = (text: string) => [...text.matchAll(/^([A-Z]{3}): (.*)$/gm)].map(([, , amount]) => amount);

  it("is one e-mail a day to each, by currency, from the beginning of a day in the zone to the next, also where the clock changes", async () => {
    const zone = "Europe/Berlin";
    const program = await makeProgram({ name: "Acme", currency: "EUR", time_zone: zone });
    const [jane, joe] = [await makePartner(program), await makePartner(program)];
    const start = startOfDayIn(zone, at("2027-03-26T12:00"));
    await runJob(DIGESTS, start + HOUR);
    // A commission at every full hour of five days, of which one has 23: each of another amount.
    const hours = Array.from({ length: 5 * 24 - 1 }, (_, i) => i);
    for (const i of hours) await earn(program, jane.id, start + i * HOUR, { amount: 2 ** (i % 24) });
    await earn(program, joe.id, start + 30 * HOUR, { amount: 7, currency: "JPY" });
    await earn(program, joe.id, start + 31 * HOUR, { amount: 2 });
    const mailbox = openMailbox();
    for (let now = start + HOUR; now <= start + 6 * DAY; now += 3 * HOUR) {
      await runJob(DIGESTS, now);
      await mailbox.deliver(program.id, now + MINUTE);
    }
    const ofJane = mailbox.mails.filter(({ to }) => to === jane.email);
    expect(ofJane.map(({ text }) => /On (.+) you earned/.exec(text)?.[1])).toEqual(
      ["26", "27", "28", "29", "30"].map((day) => `${day} Mar 2027`),
    );
    const days = hours.map((i) => Math.floor((start + i * HOUR - start) / HOUR));
    const starts = [0, 24, 48, 71, 95, 119];
    const sums = starts
      .slice(0, 5)
      .map((from, day) =>
        days.filter((i) => i >= from && i < starts[day + 1]!).reduce((sum, i) => sum + 2 ** (i % 24), 0),
      );
    expect(ofJane.map(({ text }) => amountsIn(text))).toEqual(sums.map((sum) => [formatMoney(cents(sum), "EUR")]));
    const ofJoe = mailbox.mails.filter(({ to }) => to === joe.email);
    expect(ofJoe.map(({ text }) => amountsIn(text))).toEqual([["0.02 EUR", "7 JPY"]]);
    expect(ofJoe[0]!.headers!["List-Unsubscribe-Post"]).toBe("List-Unsubscribe=One-Click");
    expect(ofJoe[0]!.subject).toBe("Your new commissions at Acme");
  });

  it("comes in the morning of the zone, and not before", async () => {
    const [program, partner] = await programOfPartner({ time_zone: "America/Los_Angeles" });
    const start = startOfDayIn("America/Los_Angeles", at("2027-06-10T20:00"));
    await runJob(DIGESTS, start);
    await earn(program, partner.id, start + HOUR);
    await runEvery(DIGESTS, start, start + 31 * HOUR - 1);
    expect(await rows()).toEqual([]);
    await runJob(DIGESTS, start + 31 * HOUR);
    expect(await rows()).toHaveLength(1);
  });

  it("is stored once for each stretch, however often and at once the job runs, and wherever it ends", async () => {
    const program = await makeProgram({ name: "Acme" });
    const partners = [];
    for (let i = 0; i < 4; i++) partners.push(await makePartner(program));
    const start = at("2027-06-10T00:00");
    await runJob(DIGESTS, start);
    for (const { id } of partners) await earn(program, id, start + HOUR);
    const now = start + DAY + 7 * HOUR;
    await env.DB.prepare(
      "create trigger fails before update on mail_rounds when new.since is not old.since begin select raise(abort, 'dies here'); end",
    ).run();
    await expect(serveAll(storeDigests(testContext(now)))).rejects.toThrow();
    expect(await rows()).toEqual([]);
    await env.DB.prepare("drop trigger fails").run();
    await Promise.all(Array.from({ length: 4 }, () => serveAll(storeDigests(testContext(now)))));
    await runJob(DIGESTS, now + MINUTE);
    expect(await rows()).toHaveLength(4);
    const mailbox = openMailbox();
    await Promise.all([mailbox.deliver(program.id, now + MINUTE), mailbox.deliver(program.id, now + MINUTE)]);
    expect(mailbox.mails.map(({ to }) => to).toSorted()).toEqual(partners.map(({ email }) => email).toSorted());
  });

  it("goes on in the middle of many commissions, in bounded parts, and closes the same stretch a day later", async () => {
    const program = await makeProgram();
    const partners = [await makePartner(program), await makePartner(program)];
    const start = at("2027-06-10T00:00");
    await runJob(DIGESTS, start);
    await earn(program, partners[0]!.id, start + HOUR);
    // Events alone: 5,000 that name the second partner.
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
       insert into events (program_id, id, type, payload, created_at)
       select ?1, substr((select min(id) from events where program_id = ?1 and type = 'commission.created'), 1, 14) || printf('z%015d', i),
         'commission.created', json_object('partner_id', ?2), ?3 from n`,
    )
      .bind(program.id, partners[1]!.id, iso(start + HOUR))
      .run();
    const work = storeDigests(testContext(start + DAY + 7 * HOUR))!;
    const [due] = await work.due("");
    expect(await work.serve(due!)).toBe(true);
    const [round] = (
      await env.DB.prepare("select since, until from mail_rounds where kind = 'commissions_earned'").all()
    ).results;
    expect(round).toEqual({ since: iso(start), until: iso(start + DAY) });
    // The process ends here; the next one runs a day later.
    await earn(program, partners[0]!.id, start + DAY + HOUR, { amount: 5 });
    await runJob(DIGESTS, start + 2 * DAY + 7 * HOUR);
    expect((await rows()).map(({ subject_id }) => subject_id).toSorted()).toEqual(
      [
        `${partners[0]!.id} ${iso(start)} ${iso(start + DAY)}`,
        `${partners[1]!.id} ${iso(start)} ${iso(start + DAY)}`,
        `${partners[0]!.id} ${iso(start + DAY)} ${iso(start + 2 * DAY)}`,
      ].toSorted(),
    );
  });

  it("is sent to nobody who is deactivated or has switched it off, and says nothing where all was taken back", async () => {
    const program = await makeProgram();
    const [gone, off, none, stays] = [
      await makePartner(program),
      await makePartner(program),
      await makePartner(program),
      await makePartner(program),
    ];
    const start = at("2027-06-10T00:00");
    await runJob(DIGESTS, start);
    for (const { id } of [gone, off, none, stays]) await earn(program, id, start + HOUR);
    await earn(program, none.id, start + HOUR, { amount: -1_000 });
    const visitor = await signInPartner(off.email);
    await visitor.get("/portal/details/mails");
    await visitor.post("/portal/details/mails", { commissions_earned: "" });
    const now = start + DAY + 7 * HOUR;
    await runJob(DIGESTS, now);
    expect((await program.api("DELETE", `/api/v1/partners/${gone.id}`)).status).toBe(200);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, now + MINUTE);
    expect(mailbox.mails.map(({ to }) => to)).toEqual([stays.email]);
    await earn(program, stays.id, now);
    expect((await program.api("DELETE", `/api/v1/partners/${stays.id}`)).status).toBe(200);
    await runJob(DIGESTS, now + DAY);
    expect(await rows()).toHaveLength(4);
  });

  it("says of what is taken off no more than is true: not all of it was refunded", async () => {
    const [program, partner] = await programOfPartner({ currency: "EUR" });
    const start = at("2027-06-10T00:00");
    await runJob(DIGESTS, start);
    const rejected = await earn(program, partner.id, start - DAY, { amount: 1_000 });
    await earn(program, partner.id, start + HOUR, { amount: 300 });
    await updateCommission(ctxAt(program, start + HOUR), rejected.id, { status: "rejected" });
    const now = start + DAY + 7 * HOUR;
    await runJob(DIGESTS, now);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, now + MINUTE);
    const { text } = mailbox.mails.find(({ to }) => to === partner.email)!;
    expect(amountsIn(text)).toEqual(["-7.00 EUR"]);
    expect(text).toContain("Amounts taken back on these days, for example after a refund, are deducted.");
  });

  it("takes off nothing that the owner has forgiven (COM-4)", async () => {
    runClockFrom(at("2027-06-10T12:00"));
    const [program, partner] = await programOfPartner({ currency: "USD" });
    await runJob(DIGESTS, Date.now());
    const sale = { payment_intent: "pi_1", amount: 25_000 };
    await sendA(program, sessionCompleted({ ...sale, ref: partner.slug }));
    interface Row {
      id: string;
      kind: string;
    }
    const rowOf = async (kind: string) =>
      (await program.api<{ data: Row[] }>("GET", "/api/v1/commissions")).body.data.find((row) => row.kind === kind)!.id;
    const move = (id: string, status: string) => program.api("PATCH", `/api/v1/commissions/${id}`, { status });
    await move(await rowOf("sale"), "approved");
    const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate");
    expect((await program.api("POST", `/api/v1/payouts/${body.payouts[0]!.id}/mark-paid`)).status).toBe(200);
    await sendA(program, chargeRefunded({ ...sale, refunded: 25_000 }));
    expect((await move(await rowOf("clawback"), "rejected")).status).toBe(200);
    const now = at("2027-06-11T07:00");
    await runJob(DIGESTS, now);
    const mailbox = openMailbox();
    await mailbox.deliver(program.id, now + MINUTE);
    const { text } = mailbox.mails.find(({ subject }) => subject.startsWith("Your new commissions"))!;
    expect(amountsIn(text)).toEqual(["50.00 USD"]);
  });

  it("loses and repeats no hour where the zone moves", async () => {
    const [program, partner] = await programOfPartner({ time_zone: "Pacific/Auckland" });
    const start = at("2027-06-10T00:00");
    await runJob(DIGESTS, start);
    const zones = ["America/Los_Angeles", "Pacific/Kiritimati", "UTC", "Asia/Kathmandu"];
    for (let hour = 1; hour <= 5 * 24; hour++) {
      await earn(program, partner.id, start + hour * HOUR, { amount: 1 });
      if (hour % 30 === 0) await setZone(program, zones[hour / 30 - 1]!);
      await runJob(DIGESTS, start + hour * HOUR + MINUTE);
    }
    const stretches = (await rows()).map(({ subject_id }) => subject_id.split(" ").slice(1));
    expect(stretches.length).toBeGreaterThan(2);
    for (const [i, [since]] of stretches.entries()) if (i > 0) expect(since).toBe(stretches[i - 1]![1]);
  });
});
