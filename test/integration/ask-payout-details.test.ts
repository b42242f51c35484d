/** E-mails that ask partners for payout details (OUT-30), and payouts only for partners who have them (OUT-2). */
import { describe, expect, it } from "vitest";
import { askPayoutDetails } from "../../src/core/payouts/ask-details.ts";
import { openMailbox } from "../support/mailbox.ts";
import { newKey } from "../support/keys.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";

const DAY = 86_400_000;
const WALLET = { payout_method: "wallet", payout_email: "wanda@wallet.example" };

/** Partners without payout details, each with an approved commission. */
async function lacking(program: TestProgram, count = 1, amount_cents = 1_000) {
  const partners = await Promise.all(Array.from({ length: count }, () => makePartner(program)));
  for (const { id } of partners) await makeCommissions(program, id, [{ amount_cents }]);
  return partners;
}

const ask = (program: TestProgram, body: object = {}) =>
  program.api<Record<string, number>>("POST", "/api/v1/partners/ask-payout-details", body);

async function askedEvents(program: TestProgram): Promise<string[]> {
  const { body } = await program.api<{ data: { payload: { partner_id: string } }[] }>(
    "GET",
    "/api/v1/events?type=payout_details.asked&per_page=100",
  );
  return body.data.map(({ payload }) => payload.partner_id).toSorted();
}

describe("POST /partners/ask-payout-details (OUT-30)", () => {
  it("e-mails each active partner whose money waits for payout details, once, with a link to the portal", async () => {
    const program = await makeProgram({ name: "Acme" });
    const [ada, grace] = await lacking(program, 2);
    const payable = await makePartner(program, WALLET);
    await makeCommissions(program, payable.id, [{}]);
    await makePartner(program);
    const { status, body } = await ask(program);
    expect([status, body]).toEqual([200, { asked: 2, asked_recently: 0, not_active: 0, has_details: 0, remaining: 0 }]);
    const mails = await openMailbox().deliver(program.id);
    const asking = mails.filter(({ subject }) => subject === "Acme needs your payout details");
    expect(asking.map(({ to }) => to).toSorted()).toEqual([ada!.email, grace!.email].toSorted());
    expect(asking[0]!.text).toContain("https://service.example/portal/details");
    expect(await askedEvents(program)).toEqual([ada!.id, grace!.id].toSorted());
  });

  it("asks for a payout that waits without details, and nobody below the minimum", async () => {
    const program = await makeProgram({ min_payout_cents: 500 });
    await lacking(program);
    await lacking(program, 1, 499);
    await program.api("POST", "/api/v1/payouts/generate");
    expect((await ask(program)).body).toMatchObject({ asked: 1 });
  });

  it("asks a partner once in seven days, by two calls at once too", async () => {
    const program = await makeProgram();
    const partners = await lacking(program, 3);
    const replies = await Promise.all([ask(program), ask(program), ask(program, { ids: [partners[0]!.id] })]);
    expect(replies.reduce((sum, { body }) => sum + body["asked"]!, 0)).toBe(3);
    expect((await ask(program)).body).toMatchObject({ asked: 0, asked_recently: 3 });
    const early = programContext(program, Date.now() + 6 * DAY);
    expect(await askPayoutDetails(early, {})).toMatchObject({ asked: 0, asked_recently: 3 });
    expect(await askPayoutDetails(programContext(program, Date.now() + 8 * DAY), {})).toMatchObject({ asked: 3 });
    expect(await askedEvents(program)).toHaveLength(6);
  });

  it("asks the named partners, and says how many it did not ask and why", async () => {
    const program = await makeProgram();
    const [ada] = await lacking(program);
    const named = [ada!, await makePartner(program), await makePartner(program, WALLET)];
    const gone = await makePartner(program, {}, "deactivated");
    const ids = [...named, gone].map(({ id }) => id);
    expect((await ask(program, { ids })).body).toEqual({
      ...{ asked: 2, asked_recently: 0, not_active: 1, has_details: 1, remaining: 0 },
    });
    const other = await makePartner(await makeProgram());
    const refused = await ask(program, { ids: [ada!.id, other.id] });
    expect([refused.status, refused.body]).toMatchObject([422, { error: { details: [{ path: "ids.1" }] } }]);
  });

  it("sends no e-mail to a partner who has added details in the meantime", async () => {
    const program = await makeProgram();
    const [ada] = await lacking(program);
    await ask(program);
    await program.api("PATCH", `/api/v1/partners/${ada!.id}`, WALLET);
    const subjects = (await openMailbox().deliver(program.id)).map(({ subject }) => subject);
    expect(subjects.filter((subject) => subject.includes("needs your payout details"))).toEqual([]);
  });

  it("does it for hundreds of partners, in steps that are each complete", async () => {
    const program = await makeProgram();
    await lacking(program, 520);
    expect((await ask(program)).body).toMatchObject({ asked: 520, remaining: 0 });
    expect((await ask(program)).body).toMatchObject({ asked: 0, asked_recently: 520 });
  });

  it("needs the scope `payouts`", async () => {
    const program = await makeProgram();
    const { api } = await newKey(program, ["read", "write"]);
    expect((await api("POST", "/api/v1/partners/ask-payout-details", {})).status).toBe(403);
  });

  it("is refused by a service without e-mail", async () => {
    const program = await makeProgram();
    await lacking(program);
    const ctx = { ...programContext(program), mailer: null };
    await expect(askPayoutDetails(ctx, {})).rejects.toMatchObject({ code: "not_configured" });
    expect(await askedEvents(program)).toEqual([]);
  });
});

describe("`require_details` (OUT-12)", () => {
  it("skips partners without payout details, after the other reasons", async () => {
    const program = await makeProgram({ min_payout_cents: 500 });
    const payable = await makePartner(program, WALLET);
    await makeCommissions(program, payable.id, [{ amount_cents: 700 }]);
    const [ada] = await lacking(program);
    const [poor] = await lacking(program, 1, 100);
    const generate = (fields: object) =>
      program.api<{ payouts: { partner_id: string }[]; skipped: object[]; totals: object[]; without_details: object }>(
        "POST",
        "/api/v1/payouts/generate",
        fields,
      );
    for (const fields of [{ require_details: true, dry_run: true }, { require_details: true }]) {
      const { body } = await generate(fields);
      expect(body.payouts.map(({ partner_id }) => partner_id)).toEqual([payable.id]);
      expect(body.skipped).toMatchObject(
        [
          { partner_id: ada!.id, reason: "details_missing" },
          { partner_id: poor!.id, reason: "below_minimum" },
        ].toSorted((a, b) => (a.partner_id < b.partner_id ? -1 : 1)),
      );
      expect(body.totals).toEqual([
        { currency: "USD", payouts: 1, amount_cents: 700, skipped: 2, skipped_cents: 1_100 },
      ]);
      expect(body.without_details).toMatchObject({ partners: 0 });
    }
    expect((await generate({})).body).toMatchObject({
      payouts: [{ partner_id: ada!.id }],
      without_details: { partners: 1 },
    });
  });
});
