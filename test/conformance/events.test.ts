/** Events. How deliveries are sent, signed and retried is in test/unit/send.test.ts and test/integration. */
import { describe, expect, it } from "vitest";
import { OUTBOUND_EVENT_TYPES } from "../../src/domain/event.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { create, deliveriesOf, ENDPOINT, eventsOf } from "../support/conformance.ts";
import { sendB, sendBody } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { saleAt } from "../support/sale.ts";
import { adjustmentUpdated, eventB, transactionCompleted } from "../support/provider-b.ts";

describe("Audit events", () => {
  it("partner.* carry partner_id, email and slug (EVT-3)", async () => {
    const program = await makeProgram();
    const { id: partner_id, email, slug } = await makePartner(program, {}, "active");
    await program.api("DELETE", `/api/v1/partners/${partner_id}`);
    const seen = await eventsOf(program);
    expect(seen.map(({ type }) => type)).toEqual(["partner.created", "partner.updated", "partner.deleted"]);
    for (const { payload } of seen) expect(payload).toMatchObject({ partner_id, email, slug });
  });

  it("webhook.<provider>: a webhook was received, also one that makes no commission", async () => {
    const program = await makeProgram();
    for (const name of VENDOR_NAMES) {
      await sendBody(program, name, saleAt(name, { ref: "nobody", program: program.id }));
    }
    await sendB(program, eventB("customer.updated", { id: "ctm_1", custom_data: { service_program: program.id } }));
    const types = (await eventsOf(program)).map(({ type }) => type);
    expect(types).toEqual([...VENDOR_NAMES.map((name) => `webhook.${name}`), "webhook.provider_b"]);
  });
});

describe("Outbound webhook event types", () => {
  it("each fires when its row says so, to those subscribed to it or to all (HOOK-15)", async () => {
    const program = await makeProgram();
    const all = await create(program, "/api/v1/webhooks", ENDPOINT);
    const subscribed = await Promise.all(
      OUTBOUND_EVENT_TYPES.map(async (type) => {
        const { id } = await create(program, "/api/v1/webhooks", { ...ENDPOINT, events: [type] });
        return { type, id };
      }),
    );
    const partner = await makePartner(program, {}, "active");
    const payment = transactionCompleted({ ref: partner.slug, program: program.id });
    await sendB(program, payment);
    await sendB(program, adjustmentUpdated({ transaction: payment.data.id, amount: 1_000 }));
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { first_name: "New" });
    const sent = (await deliveriesOf(program, all.id)).map(({ event }) => event);
    expect(sent).toEqual([
      "partner.created",
      "partner.updated",
      "commission.created",
      "commission.updated",
      "partner.updated",
    ]);
    for (const { type, id } of subscribed) {
      const own = (await deliveriesOf(program, id)).map(({ event }) => event);
      expect(own).toEqual(sent.filter((event) => event === type));
    }
  });
});

describe("Delivery", () => {
  it("has the body {event, timestamp with milliseconds, data} (HOOK-2)", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/api/v1/webhooks", ENDPOINT);
    const partner = await makePartner(program, {}, "invited");
    const [delivery] = await deliveriesOf(program, id);
    const [audit] = await eventsOf(program, "partner.created");
    expect(delivery?.payload).toEqual({
      event: "partner.created",
      timestamp: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/) as string,
      data: partner,
    });
    expect(delivery?.event_id).toBe(audit?.id);
  });
});
