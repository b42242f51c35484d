/** The overview shows the owner's pending tasks that the state counts of lists do not include. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { noteRefusals } from "../../src/core/inbound/refusals.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { DAY, iso, MINUTE, SECOND } from "../../src/lib/time.ts";
import { giveCode } from "../support/codes.ts";
import { sendA } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function refusedOn(owner: Visitor): () => Promise<string | undefined> {
  return async () => /Webhooks of Stripe refused (\d+) so far/.exec(textOf((await owner.get("/dashboard")).body))?.[1];
}

/** Reads whether the overview has the task to prepare payouts, and whether a run would make one. */
async function preparedBy(program: TestProgram): Promise<() => Promise<boolean[]>> {
  const owner = await signInOwner(program);
  return async () => {
    const { body } = await program.api<{ payouts: unknown[] }>("POST", "/api/v1/payouts/generate", { dry_run: true });
    return [/Prepare payouts Ready to pay/.test(textOf((await owner.get("/dashboard")).body)), body.payouts.length > 0];
  };
}

describe("what waits without being decided (PAGE-16)", () => {
  it("is a payout whose transfer waits for an API key, counted and linked", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await makeCommissions(program, partner.id, [{}, { currency: "JPY" }, { currency: "EUR" }]);
    const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
    const failures = ["other_account", "no_answer", "api_key_refused"];
    for (const [i, failure_code] of failures.entries()) {
      await env.DB.prepare("update payouts set status = 'processing', failure_code = ? where id = ?")
        .bind(failure_code, body.payouts[i]!.id)
        .run();
    }
    const page = (await (await signInOwner(program)).get("/dashboard")).body;
    expect(page).toMatch(/href="\/dashboard\/payouts\?status=processing">2 payouts</);
    expect(textOf(page)).not.toContain("All done");
  });

  it("is a payout to prepare, once a partner who can be paid reaches the minimum of the currency (OUT-2)", async () => {
    const program = await makeProgram({ min_payout_cents: 2_000, min_payouts: { JPY: 900 } });
    const [ada, grace] = [await makePartner(program), await makePartner(program)];
    const invited = await makePartner(program, {}, "invited");
    const named = await preparedBy(program);
    const [results, earn] = [
      [] as boolean[][],
      async (partner: { id: string }, amount_cents: number, currency = "USD") => {
        await makeCommissions(program, partner.id, [{ amount_cents, currency }]);
        results.push(await named());
      },
    ];
    await earn(ada, 1_999);
    await earn(grace, 1_500);
    await earn(invited, 9_000);
    await earn(grace, 899, "JPY");
    await earn(grace, 1, "JPY");
    expect(results).toEqual([...Array.from({ length: 4 }, () => [false, false]), [true, true]]);
    // Debts of one partner do not lower the payout of another.
    await earn(ada, -9_000, "JPY");
    expect(results.at(-1)).toEqual([true, true]);
  });

  it("is no payout to prepare if all that reaches the minimum is disputed (PAY-10, OUT-2)", async () => {
    const program = await makeProgram({ min_payout_cents: 2_000 });
    const { id } = await makePartner(program);
    const named = await preparedBy(program);
    await makeCommissions(program, id, [
      { amount_cents: 1_500 },
      { amount_cents: 9_000, flagged: true, review_reason: "disputed" },
    ]);
    expect(await named()).toEqual([false, false]);
    await makeCommissions(program, id, [{ amount_cents: 500 }]);
    expect(await named()).toEqual([true, true]);
    // A disputed debt lowers no other sum.
    await makeCommissions(program, id, [{ amount_cents: -9_500, flagged: true, review_reason: "disputed" }]);
    expect(await named()).toEqual([true, true]);
  });

  it("is a payout to prepare once a converted sum reaches the minimum of the payout currency (OUT-36)", async () => {
    const program = await makeProgram({ min_payout_cents: 2_000, payout_currency: "EUR", min_payouts: { EUR: 1_500 } });
    const { id } = await makePartner(program);
    const named = await preparedBy(program);
    await makeCommissions(program, id, [{ amount_cents: 2_400 }, { amount_cents: 90_000, currency: "GBP" }]);
    expect(await named()).toEqual([false, false]);
    await program.api("PUT", "/api/v1/rates", { base: "EUR", rates: { USD: "2" } });
    expect(await named()).toEqual([false, false]);
    await makeCommissions(program, id, [{ amount_cents: 300, currency: "EUR" }]);
    expect(await named()).toEqual([true, true]);
    await makeCommissions(program, id, [{ amount_cents: -2, currency: "USD" }]);
    expect(await named()).toEqual([false, false]);
  });

  it("is a payout on hold, beside those to pay (OUT-24)", async () => {
    const program = await makeProgram();
    const partners = [await makePartner(program), await makePartner(program), await makePartner(program)];
    for (const { id } of partners) await makeCommissions(program, id, [{}]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    await env.DB.prepare("update partners set payouts_held_until = ? where id = ?")
      .bind(iso(Date.now() + DAY), partners[0]!.id)
      .run();
    const page = (await (await signInOwner(program)).get("/dashboard")).body;
    expect(page).toMatch(/href="\/dashboard\/payouts\?status=pending">2 payouts</);
    expect(page).toMatch(/href="\/dashboard\/payouts\?status=pending">1 payout on hold</);
  });

  it("are codes that nobody has, beside an unknown reference too, until somebody has them", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const discounts = [{ promotion_code: { id: "promo_x", code: "NEW1" }, coupon: null }];
    for (const ref of [null, "cart-7"]) await sendA(program, sessionCompleted({ ref, object: { discounts } }));
    const owner = await signInOwner(program);
    expect((await owner.get("/dashboard")).body).toMatch(/href="\/dashboard\/payments\/codes">1 code</);
    await giveCode(program, partner.id, { code: "NEW1", provider: "provider_a" });
    expect((await owner.get("/dashboard")).body).not.toContain('href="/dashboard/payments/codes">1');
  });

  it("are the owner's exchange rates from a week before they expire, with a payout currency (OUT-37)", async () => {
    const program = await makeProgram({ payout_currency: "EUR" });
    const owner = await signInOwner(program);
    const named = async () =>
      /Exchange rates (?:expire soon|expired)/.exec(textOf((await owner.get("/dashboard")).body))?.[0];
    const put = async (days: number) => {
      await program.api("PUT", "/api/v1/rates", { base: "EUR", rates: { USD: "1.1" } });
      await env.DB.prepare("update exchange_rates set rated_at = ? where program_id = ?")
        .bind(iso(Date.now() - days * DAY), program.id)
        .run();
    };
    expect(await named()).toBeUndefined();
    await put(27.9);
    expect(await named()).toBeUndefined();
    await put(28.1);
    expect(await named()).toBe("Exchange rates expire soon");
    await put(35.1);
    expect(await named()).toBe("Exchange rates expired");
    await program.api("PATCH", "/api/v1/programs/me", { payout_currency: null });
    expect(await named()).toBeUndefined();
  });

  it("are webhooks refused within a week, while no verified event has come after", async () => {
    const program = await makeProgram();
    const refused = refusedOn(await signInOwner(program));
    await noteRefusals(forProgram(testContext(Date.now() - 8 * DAY), program.program), "provider_a", "time", 1);
    expect(await refused()).toBeUndefined();
    await noteRefusals(programContext(program), "provider_a", "wrong_signature", 2);
    expect(await refused()).toBe("3");
    vi.setSystemTime(Date.now() + 2 * MINUTE);
    await sendA(program, sessionCompleted({ ref: null }));
    expect(await refused()).toBeUndefined();
  });

  // A program is cached for 10 seconds, and the time of its last event is stored to the minute.
  it.each([2, 20])(
    "are none where a verified event came within a minute of the one before them, %i seconds apart, nor is there an e-mail (MAIL-11)",
    async (seconds) => {
      vi.spyOn(console, "info").mockImplementation(() => {});
      const program = await makeProgram();
      const refused = refusedOn(await signInOwner(program));
      const start = Date.now();
      const later = (times: number) => vi.setSystemTime(start + times * seconds * SECOND);
      const sell = async () => expect((await sendA(program, sessionCompleted({ ref: null }))).status).toBe(200);
      await sell();
      later(1);
      await noteRefusals(programContext(program), "provider_a", "wrong_signature", 1);
      expect(await refused()).toBe("1");
      later(2);
      await sell();
      expect(await refused()).toBeUndefined();
      const mailbox = openMailbox();
      await mailbox.deliver(program.id, Date.now() + MINUTE);
      expect(mailbox.mails).toEqual([]);
      const { results } = await env.DB.prepare("select kind, status from mails where program_id = ?")
        .bind(program.id)
        .all();
      expect(results).toEqual([{ kind: "webhooks_refused", status: "withheld" }]);
    },
  );
});
