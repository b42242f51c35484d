/** "Missing sale?": claims of partners, the answers, and the decisions (CLAIM-1 to CLAIM-7). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { forProgram } from "../../src/core/kernel/context.ts";
import { openDatabase } from "../../src/db/client.ts";
import { createClaim } from "../../src/core/claims/claims.ts";
import { claimAnswer, MAX_CLAIMS_A_DAY, MAX_OPEN_CLAIMS, type ClaimAnswer } from "../../src/domain/claim.ts";
import { COUNTED_ELSEWHERE, OUTCOMES, type Outcome } from "../../src/domain/payment.ts";
import { ANSWER_TEXTS } from "../../src/http/pages/parts/claim-words.tsx";
import { OUTCOME_TEXTS } from "../../src/http/pages/parts/words.ts";
import { DAY } from "../../src/lib/time.ts";
import { report, sale } from "../support/api.ts";
import { makeClaim } from "../support/claims.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

interface ClaimBody {
  id: string;
  status: string;
  payment_id: string | null;
  note: string | null;
  payments: { id: string; outcome: string; trace: { outcome: string }; commissions: unknown[] }[];
  error?: { code: string; message: string; details?: { path: string }[] };
}

interface Scene {
  program: TestProgram;
  jane: Awaited<ReturnType<typeof makePartner>>;
}

async function scene(fields = {}): Promise<Scene> {
  const program = await makeProgram(fields);
  return { program, jane: await makePartner(program, { slug: "jane" }) };
}

const get = async (program: TestProgram, id: string) =>
  (await program.api<ClaimBody>("GET", `/api/v1/claims/${id}`)).body;
const grant = (program: TestProgram, id: string, body?: object) =>
  program.api<ClaimBody>("POST", `/api/v1/claims/${id}/grant`, body);
const decline = (program: TestProgram, id: string, body?: object) =>
  program.api<ClaimBody>("POST", `/api/v1/claims/${id}/decline`, body);

/** Makes an unattributed sale to a customer with an id; returns its order id. */
async function soldByNobody(program: TestProgram, fields = {}): Promise<string> {
  const session = sessionCompleted({ ref: null, customer: uniqueId("cus_"), amount: 10_000, ...fields });
  await sendA(program, session);
  return session.data.object.id;
}

const commissionsOf = async (program: TestProgram) =>
  (await ledgerOf(program)).commissions.map(({ partner_id, amount_cents, status }) => {
    return { partner_id, amount_cents, status };
  });

describe("the answer to a claim (CLAIM-3)", () => {
  const answers = Object.keys(ANSWER_TEXTS) as ClaimAnswer[];

  it("has a sentence for every outcome of a payment, for the owner and for the partner", () => {
    expect(answers).toEqual(expect.arrayContaining([...OUTCOMES]));
    for (const outcome of OUTCOMES) {
      expect([outcome, OUTCOME_TEXTS[outcome].why]).toEqual([outcome, expect.stringMatching(/^[A-Z].*\.$/)]);
      expect([outcome, ANSWER_TEXTS[outcome]]).toEqual([outcome, expect.stringMatching(/^[A-Z].*\.$/)]);
    }
    // Each answer has its own text, so that the partner learns the reason.
    expect(new Set(answers.map((answer) => ANSWER_TEXTS[answer])).size).toBe(answers.length);
  });

  it("is the same before a decision, whatever there is, and says nothing of a declined claim by day", () => {
    const payments = [
      null,
      ...["jane", "john", null].flatMap((partner_id) =>
        [null, ...OUTCOMES].map((outcome) => ({ partner_id, outcome })),
      ),
    ];
    for (const payment of payments) {
      const claim = { partner_id: "jane", order_id: "1" };
      expect(claimAnswer({ ...claim, status: "open" }, payment)).toBe("waiting");
      if (payment?.partner_id === "jane") continue;
      expect(claimAnswer({ ...claim, order_id: null, status: "declined" }, payment)).toBe("declined");
      const outcome = payment?.outcome ?? "declined";
      const expected = payment === null ? "not_found" : payment.partner_id ? "of_another" : outcome;
      expect(claimAnswer({ ...claim, status: "declined" }, payment)).toBe(expected);
      // A granted claim stays the partner's before it is settled, unless the payment turns out to be another partner's.
      const isLost = expected === "of_another" || COUNTED_ELSEWHERE.includes(outcome as Outcome);
      for (const order_id of ["1", null])
        expect(claimAnswer({ ...claim, order_id, status: "granted" }, payment)).toBe(isLost ? expected : "granted");
    }
  });
});

describe("a partner's claim", () => {
  const own = async (visitor: Visitor) => textOf((await visitor.get("/portal/claims")).body);

  it("is one, however often it is entered, and the reply is the same whether or not there is such a sale (CLAIM-2, CLAIM-3)", async () => {
    const { program, jane } = await scene();
    const order = await soldByNobody(program);
    const portal = await signInPartner(jane.email);
    const enter = async (fields: Record<string, string>) => {
      await portal.get("/portal/claims");
      const { status, headers } = await portal.post("/portal/claims", fields);
      return [status, headers.get("location")];
    };
    expect(await enter({ order_id: order })).toEqual([303, "/portal/claims?done=made"]);
    expect(await enter({ order_id: "guessed" })).toEqual([303, "/portal/claims?done=made"]);
    expect(await enter({ order_id: ` ${order} ` })).toEqual([303, "/portal/claims?done=known"]);
    expect(await enter({ day: "2026-11-02", email_domain: "Buyer@ACME.example" })).toEqual([
      303,
      "/portal/claims?done=made",
    ]);
    expect(await enter({ day: "2026-11-02", email_domain: "acme.example" })).toEqual([
      303,
      "/portal/claims?done=known",
    ]);
    const listed = await program.api<{ data: ClaimBody[]; total: number }>("GET", "/api/v1/claims?status=open");
    expect(listed.body.total).toBe(3);
    expect((await own(portal)).match(/The program is reviewing it/g)).toHaveLength(3);
  });

  it("is one, entered twice at the same moment (CLAIM-2)", async () => {
    const { program, jane } = await scene();
    const made = await Promise.all(
      [1, 2, 3].map(() => createClaim(programContext(program), jane.id, { order_id: "same" })),
    );
    expect(made.filter((one) => "isNew" in one && one.isNew)).toHaveLength(1);
    expect(new Set(made.map((one) => ("claim" in one ? one.claim.id : ""))).size).toBe(1);
  });

  it("is not needed for a sale that is the partner's own by its order id (CLAIM-2)", async () => {
    const { program, jane } = await scene();
    const session = sessionCompleted({ ref: "jane", payment_status: "unpaid" });
    await sendA(program, session);
    const portal = await signInPartner(jane.email);
    await portal.get("/portal/claims");
    const reply = await portal.post("/portal/claims", { order_id: session.data.object.id });
    expect(reply.status).toBe(200);
    expect(textOf(reply.body)).toContain(ANSWER_TEXTS.unpaid);
    expect((await program.api<{ total: number }>("GET", "/api/v1/claims")).body.total).toBe(0);
    // Another partner does not see the claim.
    const john = await makePartner(program);
    expect(await createClaim(programContext(program), john.id, { order_id: session.data.object.id })).toMatchObject({
      isNew: true,
    });
  });

  it("is refused beside its field where nothing can be read from it, and what was typed stays (CLAIM-2)", async () => {
    const { jane } = await scene();
    const portal = await signInPartner(jane.email);
    for (const [fields, words] of [
      [{}, "Fill this in, or the two fields below"],
      [{ order_id: "buyer@acme.example" }, "This is an e-mail address"],
      [{ day: "2026-02-30", email_domain: "acme.example" }, "This must be a date"],
      [{ day: "2026-11-02", email_domain: "not a domain" }, "This must be a domain"],
      [{ order_id: "x".repeat(256) }, "at most 255 characters"],
    ] as const) {
      await portal.get("/portal/claims");
      const { status, body } = await portal.post("/portal/claims", fields);
      expect([fields, status, textOf(body).includes(words)]).toEqual([fields, 422, true]);
      for (const value of Object.values(fields)) expect(body).toContain(`value="${value}"`);
    }
  });

  it("is refused in words beyond the limits of a partner, who are bounded also at the same moment (CLAIM-4)", async () => {
    const { program, jane } = await scene();
    const at = (days: number) => programContext(program, Date.now() + days * DAY);
    const enter = (days: number, order_id: string) => createClaim(at(days), jane.id, { order_id });
    const flood = await Promise.allSettled(
      Array.from({ length: MAX_CLAIMS_A_DAY + 6 }, (_, i) => enter(0, `flood-${i}`)),
    );
    expect(flood.filter(({ status }) => status === "fulfilled")).toHaveLength(MAX_CLAIMS_A_DAY);
    const portal = await signInPartner(jane.email);
    await portal.get("/portal/claims");
    const refused = await portal.post("/portal/claims", { order_id: "one-more" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, String(DAY / 1000)]);
    expect(refused.body).toContain('value="one-more"');
    for (let i = MAX_CLAIMS_A_DAY; i < MAX_OPEN_CLAIMS; i++) await enter(2 + i, `later-${i}`);
    await expect(enter(99, "too many")).rejects.toMatchObject({ code: "invalid_transition" });
    // A repeated claim does not use up the limit.
    expect(await enter(99, "later-10")).toMatchObject({ isNew: false });
  });
});

describe("what a claim reads", () => {
  it("is one round trip by keys, and another to keep it (CLAIM-2)", async () => {
    const { program, jane } = await scene();
    for (const input of [{ order_id: await soldByNobody(program) }, { day: "2026-11-02", email_domain: "a.example" }]) {
      const { binding, roundTrips } = watchDatabase(env.DB);
      const ctx = forProgram({ ...testContext(), db: openDatabase(binding) }, program.program);
      await createClaim(ctx, jane.id, input);
      expect(roundTrips).toHaveLength(2);
      for (const { sql, values } of roundTrips[0]!) {
        const plan = await env.DB.prepare(`explain query plan ${sql}`)
          .bind(...values)
          .all<{ detail: string }>();
        const details = plan.results.map(({ detail }) => detail);
        expect(details.filter((line) => /^SCAN (?!CONSTANT|reach\b|named\b|\(subquery|b\b)/.test(line))).toEqual([]);
      }
    }
  });
});

describe("the owner's decision", () => {
  it("finds the payment by every id that a provider gave it, or by the day and the domain (CLAIM-5)", async () => {
    const { program, jane } = await scene();
    const session = sessionCompleted({
      ref: null,
      payment_intent: "pi_named",
      email: "buyer@acme.example",
      created: Date.parse("2026-03-02T23:30:00Z") / 1000,
    });
    await sendA(program, session);
    const transaction = transactionCompleted({ ref: null });
    await sendB(program, transaction);
    await report(program, "sale", sale({ external_id: "order-77", customer: { email: "other@mail.example" } }));
    const { payments } = await ledgerOf(program);
    const byKey = new Map(payments.map((row) => [row.provider_transaction_id, row.id]));
    const a = byKey.get(session.data.object.id);
    for (const [input, id] of [
      [{ order_id: session.data.object.id }, a],
      [{ order_id: "pi_named" }, a],
      [{ order_id: a ?? "" }, a],
      [{ order_id: transaction.data.id }, byKey.get(transaction.data.id)],
      [{ order_id: "order-77" }, byKey.get("order-77")],
      [{ day: "2026-03-03", email_domain: "acme.example" }, a],
    ] as const) {
      const claim = await get(program, await makeClaim(program, jane.id, input));
      expect([input, claim.payments.map((payment) => payment.id)]).toEqual([input, [id]]);
      expect(claim.payments[0]?.trace.outcome).toBe(claim.payments[0]?.outcome);
    }
    const other = await makePartner(program);
    for (const input of [
      { order_id: "nothing" },
      { day: "2026-03-09", email_domain: "acme.example" },
      { day: "2026-03-03", email_domain: "cme.example" },
    ]) {
      expect((await get(program, await makeClaim(program, other.id, input))).payments).toEqual([]);
    }
    // A claim does not match another program's payment.
    const elsewhere = await scene();
    expect(
      (await get(elsewhere.program, await makeClaim(elsewhere.program, elsewhere.jane.id, { order_id: "pi_named" })))
        .payments,
    ).toEqual([]);
  });

  it("to grant makes the payment the partner's, and later ones of its customer, by a remembered reference (CLAIM-5)", async () => {
    const { program, jane } = await scene();
    const [customer, subscription] = [uniqueId("cus_"), uniqueId("sub_")];
    const first = invoicePaid({ ref: null, customer, subscription });
    await sendA(program, first);
    const id = await makeClaim(program, jane.id, { order_id: first.data.object.id });
    const granted = await grant(program, id);
    expect([granted.status, granted.body.status]).toEqual([200, "granted"]);
    expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 2_000, status: "pending" }]);
    await sendA(
      program,
      invoicePaid({ ref: null, customer, subscription, created: Math.floor(Date.now() / 1000) + 60 }),
    );
    expect(await commissionsOf(program)).toHaveLength(2);
    const portal = await signInPartner(jane.email);
    expect(textOf((await portal.get("/portal/claims")).body)).toContain(ANSWER_TEXTS.commission);
    const { payments } = await get(program, id);
    expect(payments[0]?.commissions).toHaveLength(1);
    const { body } = await program.api<{ data: { payload: object; actor: { type: string }; changes: object }[] }>(
      "GET",
      "/api/v1/events?type=claim.granted",
    );
    expect(body.data[0]).toMatchObject({
      payload: { claim_id: id, payment_id: granted.body.payment_id },
      actor: { type: "api_key" },
    });
    expect(JSON.stringify(body.data[0])).not.toContain(first.data.object.id);
  });

  it.each(["first", "last"])(
    "to grant takes no other payment of its customer from another partner (attribution %s) (CLAIM-5)",
    async (attribution) => {
      const { program, jane } = await scene({ attribution });
      const john = await makePartner(program, { slug: "john" });
      const [customer, subscription] = [uniqueId("cus_"), uniqueId("sub_")];
      const paid = (id: string, day: number, ids: { ref?: string; subscription?: string }) =>
        sendA(program, invoicePaid({ id, customer, ...{ ref: null, ...ids }, created: 1_780_000_000 + day * 86_400 }));
      await paid("in_1", 1, { subscription });
      await paid("in_2", 10, { subscription });
      await paid("in_3", 20, { ref: "john" });
      await paid("in_4", 30, {});
      await paid("in_5", 40, { subscription });
      const id = await makeClaim(program, jane.id, { order_id: "in_1" });
      expect((await grant(program, id)).status).toBe(200);
      const { payments } = await ledgerOf(program);
      const of = (partner: { id: string }) =>
        payments.filter((row) => row.partner_id === partner.id).map((row) => row.provider_transaction_id);
      expect([of(jane), of(john)]).toEqual([
        ["in_1", "in_2"],
        ["in_3", "in_4", "in_5"],
      ]);
    },
  );

  it("to grant binds a customer who has an address and no id (CLAIM-5)", async () => {
    const { program, jane } = await scene();
    const order = await soldByNobody(program, { customer: null, email: "guest@acme.example" });
    expect((await grant(program, await makeClaim(program, jane.id, { order_id: order }))).status).toBe(200);
    expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 2_000, status: "pending" }]);
  });

  it("to grant decides again what was refused because the partner was deactivated (CLAIM-5, PART-4)", async () => {
    const { program, jane } = await scene();
    const patch = (status: string) => program.api("PATCH", `/api/v1/partners/${jane.id}`, { status });
    await patch("deactivated");
    const session = sessionCompleted({ ref: "jane" });
    await sendA(program, session);
    await patch("active");
    const id = await makeClaim(program, jane.id, { order_id: session.data.object.id });
    expect((await get(program, id)).payments[0]?.outcome).toBe("partner_deactivated");
    expect((await grant(program, id)).status).toBe(200);
    expect(await commissionsOf(program)).toMatchObject([{ partner_id: jane.id, amount_cents: 2_000 }]);
  });

  it("is refused in words where it cannot be made (CLAIM-5)", async () => {
    const { program, jane } = await scene();
    const john = await makePartner(program, { slug: "john" });
    const theirs = sessionCompleted({ ref: "john" });
    await sendA(program, theirs);
    const nobody = sessionCompleted({ ref: null, customer: null, email: null });
    await sendA(program, nobody);
    const claimOf = (order_id: string) => makeClaim(program, jane.id, { order_id });
    const [lost, anothers, nameless] = [
      await claimOf("lost"),
      await claimOf(theirs.data.object.id),
      await claimOf(nobody.data.object.id),
    ];
    expect((await grant(program, lost)).body.error).toMatchObject({
      code: "validation_failed",
      details: [{ path: "payment_id" }],
    });
    expect((await grant(program, lost, { payment_id: "pmt_none" })).body.error).toMatchObject({
      code: "validation_failed",
      details: [{ path: "payment_id" }],
    });
    expect((await grant(program, anothers)).body.error).toMatchObject({
      code: "invalid_transition",
      message: expect.stringContaining("another partner"),
    });
    expect((await grant(program, nameless)).body.error).toMatchObject({
      code: "invalid_transition",
      message: expect.stringContaining("did not report"),
    });
    await program.api("DELETE", `/api/v1/partners/${jane.id}`);
    expect(
      (await grant(program, lost, { payment_id: (await get(program, anothers)).payments[0]?.id })).body.error,
    ).toMatchObject({ message: expect.stringContaining("deactivated") });
    expect((await grant(program, "clm_none")).status).toBe(404);
    expect((await decline(await makeProgram(), lost)).status).toBe(404);
    expect(await commissionsOf(program)).toEqual([{ partner_id: john.id, amount_cents: 2_000, status: "pending" }]);
    // The refused grants are not stored: each claim is open and can be declined.
    for (const id of [lost, anothers, nameless]) expect((await decline(program, id)).body.status).toBe("declined");
  });

  it("to decline says why, with the owner's note, and not whose the sale is (CLAIM-3, CLAIM-6)", async () => {
    const { program, jane } = await scene();
    await makePartner(program, { slug: "johnny-rival", first_name: "Johnny" });
    const theirs = sessionCompleted({ ref: "johnny-rival", email: "secret@buyer.example" });
    await sendA(program, theirs);
    const order = await soldByNobody(program, { email: "secret@buyer.example" });
    const owner = await signInOwner(program);
    for (const [input, note] of [
      [{ order_id: theirs.data.object.id }, ""],
      [{ order_id: order }, "It came through our newsletter."],
      [{ order_id: "lost" }, ""],
      [{ day: new Date().toISOString().slice(0, 10), email_domain: "buyer.example" }, ""],
    ] as const) {
      const id = await makeClaim(program, jane.id, input);
      await owner.get(`/dashboard/claims/${id}`);
      const reply = await owner.post(`/dashboard/claims/${id}/decline`, { note });
      expect([reply.status, reply.headers.get("location")]).toEqual([303, `/dashboard/claims/${id}?done=declined`]);
    }
    const portal = await signInPartner(jane.email);
    const text = textOf((await portal.get("/portal/claims")).body);
    for (const answer of ["of_another", "no_ref", "not_found", "declined"] as const)
      expect(text).toContain(ANSWER_TEXTS[answer]);
    expect(text).toContain("It came through our newsletter.");
    expect(text).not.toMatch(/johnny|secret/i);
  });

  it("is sent to the partner once, and to none who is deactivated (CLAIM-6)", async () => {
    const { program, jane } = await scene();
    const mailbox = openMailbox();
    const order = await soldByNobody(program, { email: "secret@buyer.example" });
    const post = async (path: string) =>
      callWith(mailbox.bindings, `/api/v1/claims/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${program.api_key}` },
      });
    const [granted, declined, later] = [
      await makeClaim(program, jane.id, { order_id: order }),
      await makeClaim(program, jane.id, { order_id: "lost" }),
      await makeClaim(program, jane.id, { order_id: "later" }),
    ];
    await post(`${granted}/grant`);
    await post(`${declined}/decline`);
    await mailbox.deliver(program.id, Date.now() + 1_000);
    await program.api("DELETE", `/api/v1/partners/${jane.id}`);
    await post(`${later}/decline`);
    const mails = (await mailbox.deliver(program.id)).filter(({ to }) => to === jane.email);
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([
      [jane.email, "Your claim at Test program was granted"],
      [jane.email, "Your claim at Test program was declined"],
    ]);
    expect(mails[0]?.text).toContain(order);
    expect(mails[1]?.text).toContain(ANSWER_TEXTS.not_found);
    expect(JSON.stringify(mails)).not.toContain("secret@");
  });
});

describe("decisions at the same moment", () => {
  it("are one: of two who decide the second reads what the first did (CLAIM-5)", async () => {
    const { program, jane } = await scene();
    const order = await soldByNobody(program);
    const id = await makeClaim(program, jane.id, { order_id: order });
    const replies = await Promise.all([
      grant(program, id),
      decline(program, id),
      grant(program, id),
      decline(program, id),
    ]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    const { status } = await get(program, id);
    expect(await commissionsOf(program)).toHaveLength(status === "granted" ? 1 : 0);
    const counted = await env.DB.prepare(
      "select count(*) as n from events where program_id = ? and type in ('claim.granted', 'claim.declined')",
    )
      .bind(program.id)
      .first<{ n: number }>();
    expect(counted?.n).toBe(1);
  });

  it("give the payment to one of two partners who claim it (CLAIM-5, LAW-3)", async () => {
    const { program, jane } = await scene();
    const john = await makePartner(program);
    const order = await soldByNobody(program);
    const ids = await Promise.all([jane, john].map(({ id }) => makeClaim(program, id, { order_id: order })));
    const replies = await Promise.all(ids.map((id) => grant(program, id)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const winner = replies[0]?.status === 200 ? jane : john;
    expect(await commissionsOf(program)).toEqual([{ partner_id: winner.id, amount_cents: 2_000, status: "pending" }]);
  });

  it("come to what is left of a payment that is refunded beside (CLAIM-5, LAW-2)", async () => {
    const { program, jane } = await scene();
    const payment_intent = uniqueId("pi_");
    const order = await soldByNobody(program, { payment_intent });
    const id = await makeClaim(program, jane.id, { order_id: order });
    const [granted] = await Promise.all([
      grant(program, id),
      sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 4_000 })),
    ]);
    expect(granted.status).toBe(200);
    const rows = await commissionsOf(program);
    expect(rows.reduce((sum, row) => sum + row.amount_cents, 0)).toBe(1_200);
  });
});

describe("an erasure (CLAIM-7, JOB-1)", () => {
  it("forgets which sale claims were about where it was the customer's, and no other", async () => {
    const { program, jane } = await scene();
    const created = Date.parse("2026-03-02T12:00:00Z") / 1000;
    const mine = await soldByNobody(program, { email: "gone@private.example", created });
    const shared = await soldByNobody(program, { email: "gone@mail.example", created });
    await soldByNobody(program, { email: "stays@mail.example", created });
    const day = "2026-03-02";
    const byOrder = await makeClaim(program, jane.id, { order_id: mine });
    await decline(program, byOrder, { note: "no" });
    const byDay = await makeClaim(program, jane.id, { day, email_domain: "private.example" });
    const ofMany = await makeClaim(program, jane.id, { day, email_domain: "mail.example" });
    const other = await makeClaim(program, jane.id, { order_id: shared });
    for (const email of ["gone@private.example", "gone@mail.example"]) {
      await program.api("POST", "/api/v1/customers/erase", { email });
    }
    const nothing = { order_id: null, day: null, email_domain: null };
    expect(await get(program, byOrder)).toMatchObject({ ...nothing, status: "declined", note: "no" });
    expect(await get(program, byDay)).toMatchObject({ ...nothing, status: "open" });
    expect(await get(program, other)).toMatchObject(nothing);
    expect(await get(program, ofMany)).toMatchObject({ day, email_domain: "mail.example" });
    const portal = await signInPartner(jane.email);
    const text = textOf((await portal.get("/portal/claims")).body);
    expect(text).not.toContain("private.example");
    expect(text).toContain("Erased with its customer");
  });
});
