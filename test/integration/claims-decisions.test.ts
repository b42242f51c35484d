/** Decisions on claims: the payment that is found, the effects of a grant, and two decisions at once (CLAIM-5, CLAIM-6). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ANSWER_TEXTS } from "../../src/http/pages/parts/claim-words.tsx";
import { report, sale } from "../support/api.ts";
import { commissionsOf, decline, getClaim, grant, makeClaim, makeScene, soldByNobody } from "../support/claims.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { chargeRefunded, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

describe("the owner's decision", () => {
  it("finds the payment by every id that a provider gave it, or by the day and the domain (CLAIM-5)", async () => {
    const { program, jane } = await makeScene();
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
      const claim = await getClaim(program, await makeClaim(program, jane.id, input));
      expect([input, claim.payments.map((payment) => payment.id)]).toEqual([input, [id]]);
      expect(claim.payments[0]?.trace.outcome).toBe(claim.payments[0]?.outcome);
    }
    const other = await makePartner(program);
    for (const input of [
      { order_id: "nothing" },
      { day: "2026-03-09", email_domain: "acme.example" },
      { day: "2026-03-03", email_domain: "cme.example" },
    ]) {
      expect((await getClaim(program, await makeClaim(program, other.id, input))).payments).toEqual([]);
    }
    // A claim does not match another program's payment.
    const elsewhere = await makeScene();
    expect(
      (
        await getClaim(
          elsewhere.program,
          await makeClaim(elsewhere.program, elsewhere.jane.id, { order_id: "pi_named" }),
        )
      ).payments,
    ).toEqual([]);
  });

  it("to grant makes the payment the partner's, and later ones of its customer, by a remembered reference (CLAIM-5)", async () => {
    const { program, jane } = await makeScene();
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
    const { payments } = await getClaim(program, id);
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
      const { program, jane } = await makeScene({ attribution });
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
    const { program, jane } = await makeScene();
    const order = await soldByNobody(program, { customer: null, email: "guest@acme.example" });
    expect((await grant(program, await makeClaim(program, jane.id, { order_id: order }))).status).toBe(200);
    expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 2_000, status: "pending" }]);
  });

  it("to grant decides again what was refused because the partner was deactivated (CLAIM-5, PART-4)", async () => {
    const { program, jane } = await makeScene();
    const patch = (status: string) => program.api("PATCH", `/api/v1/partners/${jane.id}`, { status });
    await patch("deactivated");
    const session = sessionCompleted({ ref: "jane" });
    await sendA(program, session);
    await patch("active");
    const id = await makeClaim(program, jane.id, { order_id: session.data.object.id });
    expect((await getClaim(program, id)).payments[0]?.outcome).toBe("partner_deactivated");
    expect((await grant(program, id)).status).toBe(200);
    expect(await commissionsOf(program)).toMatchObject([{ partner_id: jane.id, amount_cents: 2_000 }]);
  });

  it("is refused in words where it cannot be made (CLAIM-5)", async () => {
    const { program, jane } = await makeScene();
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
      (await grant(program, lost, { payment_id: (await getClaim(program, anothers)).payments[0]?.id })).body.error,
    ).toMatchObject({ message: expect.stringContaining("deactivated") });
    expect((await grant(program, "clm_none")).status).toBe(404);
    expect((await decline(await makeProgram(), lost)).status).toBe(404);
    expect(await commissionsOf(program)).toEqual([{ partner_id: john.id, amount_cents: 2_000, status: "pending" }]);
    // The refused grants are not stored: each claim is open and can be declined.
    for (const id of [lost, anothers, nameless]) expect((await decline(program, id)).body.status).toBe("declined");
  });

  it("to decline says why, with the owner's note, and not whose the sale is (CLAIM-3, CLAIM-6)", async () => {
    const { program, jane } = await makeScene();
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
      // A commission by hand, and then one by an approval, would pay twice.
      expect((await owner.get(`/dashboard/claims/${id}`)).body).not.toContain("Credit a partner by hand");
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
    const { program, jane } = await makeScene();
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
      [jane.email, "Your claim at Test program was approved"],
      [jane.email, "Your claim at Test program was declined"],
    ]);
    expect(mails[0]?.text).toContain(order);
    expect(mails[1]?.text).toContain(ANSWER_TEXTS.not_found);
    expect(JSON.stringify(mails)).not.toContain("secret@");
  });
});

describe("decisions at the same moment", () => {
  it("are one: of two who decide the second reads what the first did (CLAIM-5)", async () => {
    const { program, jane } = await makeScene();
    const order = await soldByNobody(program);
    const id = await makeClaim(program, jane.id, { order_id: order });
    const replies = await Promise.all([
      grant(program, id),
      decline(program, id),
      grant(program, id),
      decline(program, id),
    ]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    const { status } = await getClaim(program, id);
    expect(await commissionsOf(program)).toHaveLength(status === "granted" ? 1 : 0);
    const counted = await env.DB.prepare(
      "select count(*) as n from events where program_id = ? and type in ('claim.granted', 'claim.declined')",
    )
      .bind(program.id)
      .first<{ n: number }>();
    expect(counted?.n).toBe(1);
  });

  it("give the payment to one of two partners who claim it (CLAIM-5, LAW-3)", async () => {
    const { program, jane } = await makeScene();
    const john = await makePartner(program);
    const order = await soldByNobody(program);
    const ids = await Promise.all([jane, john].map(({ id }) => makeClaim(program, id, { order_id: order })));
    const replies = await Promise.all(ids.map((id) => grant(program, id)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const winner = replies[0]?.status === 200 ? jane : john;
    expect(await commissionsOf(program)).toEqual([{ partner_id: winner.id, amount_cents: 2_000, status: "pending" }]);
  });

  it("come to what is left of a payment that is refunded beside (CLAIM-5, LAW-2)", async () => {
    const { program, jane } = await makeScene();
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
