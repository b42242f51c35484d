/** States and transitions. */
import { describe, expect, it } from "vitest";
import { create, deliveriesOf, ENDPOINT, eventsOf, FLOW, type Row } from "../support/conformance.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { adjustmentUpdated, subscriptionCanceled, transactionCompleted } from "../support/provider-b.ts";

const STATUSES = ["invited", "active", "deactivated"] as const;

describe("Partner status", () => {
  it("POST with a valid body: invited, event partner.created (PART-3, PART-11)", async () => {
    const program = await makeProgram();
    const partner = await create(program, "/api/v1/partners", { email: "jane@example.com", slug: "jane" });
    expect(partner["status"]).toBe("invited");
    expect((await eventsOf(program)).map(({ type }) => type)).toEqual(["partner.created"]);
  });

  it("any state, PATCH with a status: the given value, event partner.updated (PART-3, PART-11)", async () => {
    const program = await makeProgram();
    for (const from of STATUSES) {
      for (const to of STATUSES) {
        const { id } = await makePartner(program, {}, from);
        const before = (await eventsOf(program, "partner.updated")).length;
        const patched = await program.api<Row>("PATCH", `/api/v1/partners/${id}`, { status: to });
        expect([from, to, patched.status, patched.body["status"]]).toEqual([from, to, 200, to]);
        const after = await eventsOf(program, "partner.updated");
        expect(after.length).toBe(before + 1);
        expect(after.at(-1)?.payload["partner_id"]).toBe(id);
      }
    }
    const { id } = await makePartner(program);
    expect((await program.api("PATCH", `/api/v1/partners/${id}`, { status: "paused" })).status).toBe(422);
  });

  it("any state, DELETE: deactivated, soft delete; record kept; event partner.deleted (PART-3, PART-11, HOOK-15)", async () => {
    for (const from of STATUSES) {
      const program = await makeProgram();
      const { id } = await makePartner(program, {}, from);
      const deleted = await program.api<Row>("DELETE", `/api/v1/partners/${id}`);
      expect([deleted.status, deleted.body["status"]]).toEqual([200, "deactivated"]);
      const kept = await program.api<Row>("GET", `/api/v1/partners/${id}`);
      expect([kept.status, kept.body["status"]]).toEqual([200, "deactivated"]);
      const [event, ...more] = await eventsOf(program, "partner.deleted");
      expect([event?.payload["partner_id"], more]).toEqual([id, []]);
    }
  });

  it("while deactivated: no commissions from future referrals, existing history is kept (PART-4)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: partner.slug }));
    const at = `/api/v1/partners/${partner.id}`;
    const before = (await program.api<{ stats: unknown }>("GET", at)).body.stats;
    await program.api("DELETE", at);
    const late = await sendA(program, sessionCompleted({ ref: partner.slug }));
    expect(late.body.outcome).toBe("partner_deactivated");
    expect((await program.api<{ stats: unknown }>("GET", at)).body.stats).toEqual(before);
    expect(await eventsOf(program, "commission.created")).toHaveLength(1);
  });

  it("active partners can receive commissions; invited means created but not yet activated (PART-4)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, {}, "invited");
    const waiting = await sendA(program, sessionCompleted({ ref: partner.slug }));
    expect(waiting.body.outcome).toBe("partner_not_active");
    expect(await eventsOf(program, "commission.created")).toEqual([]);
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { status: "active" });
    expect(await eventsOf(program, "commission.created")).toHaveLength(1);
  });
});

describe("Flow and webhook endpoint activity", () => {
  it("Flow, PATCH active: only active flows are evaluated; DELETE: permanently removed (FLOW-2, FLOW-10)", async () => {
    const program = await makeProgram({ default_commission_pct: 20 });
    const partner = await makePartner(program);
    const { id } = await create(program, "/api/v1/flows", FLOW);
    const pay = () => sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000 }));
    await pay();
    await program.api("PATCH", `/api/v1/flows/${id}`, { active: false });
    await pay();
    await program.api("PATCH", `/api/v1/flows/${id}`, { active: true });
    await pay();
    expect((await program.api("DELETE", `/api/v1/flows/${id}`)).status).toBe(200);
    await pay();
    expect((await program.api("GET", `/api/v1/flows/${id}`)).status).toBe(404);
    const amounts = (await eventsOf(program, "commission.created")).map(({ payload }) => payload["amount_cents"]);
    expect(amounts).toEqual([1_000, 2_000, 1_000, 2_000]);
  });

  it("Webhook endpoint, PATCH active: enabled/disabled; DELETE: removed", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/api/v1/webhooks", { ...ENDPOINT, events: ["partner.created"] });
    const at = `/api/v1/webhooks/${id}`;
    await makePartner(program);
    await program.api("PATCH", at, { active: false });
    await makePartner(program);
    await program.api("PATCH", at, { active: true });
    await makePartner(program);
    const sent = (await deliveriesOf(program, id)).map(({ payload }) => payload.data["slug"]);
    const partners = await program.api<{ data: Row[] }>("GET", "/api/v1/partners");
    const slugs = partners.body.data.map(({ slug }) => slug).toReversed();
    expect(sent).toEqual([slugs[0], slugs[2]]);
    expect((await program.api("DELETE", at)).status).toBe(200);
    expect((await program.api("GET", at)).status).toBe(404);
    expect((await program.api<{ data: Row[] }>("GET", "/api/v1/webhooks")).body.data).toEqual([]);
  });
});

describe("Commission", () => {
  it("a completed payment creates a commission, pending (PAY-17)", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/api/v1/webhooks", { ...ENDPOINT, events: ["commission.created"] });
    const partner = await makePartner(program);
    await sendB(program, transactionCompleted({ ref: partner.slug, program: program.id }));
    const [delivery] = await deliveriesOf(program, id);
    expect(delivery?.payload.data["status"]).toBe("pending");
  });

  it("a subscription cancellation flags the commission for review (PAY-11)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const payment = transactionCompleted({ ref: partner.slug, program: program.id, subscription: "sub_1" });
    await sendB(program, payment);
    await sendB(program, subscriptionCanceled({ id: "sub_1", program: program.id }));
    const [created] = await eventsOf(program, "commission.created");
    const [updated, ...more] = await eventsOf(program, "commission.updated");
    expect([created?.payload["flagged"], updated?.payload["flagged"], more]).toEqual([false, true, []]);
    expect(updated?.payload["commission_id"]).toBe(created?.payload["commission_id"]);
  });

  it("an adjustment update recalculates the commission amount (PAY-7)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const payment = transactionCompleted({ ref: partner.slug, program: program.id, amount: 10_000 });
    await sendB(program, payment);
    await sendB(program, adjustmentUpdated({ transaction: payment.data.id, amount: 2_500 }));
    const [updated, ...more] = await eventsOf(program, "commission.updated");
    expect([updated?.payload["amount_cents"], more]).toEqual([1_500, []]);
  });
});
