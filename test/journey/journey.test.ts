/**
 * The whole mission in the real runtime: partner → click → payment webhook → flow → commission → audit event → signed
 * delivery, through the Worker's own handlers, the real Durable Object, D1 and Queue. Only the outside world is played,
 * at the Worker's global `fetch`.
 */
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { playOutsideWorld } from "../support/dns.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { call, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { eventually } from "../support/time.ts";

afterEach(() => vi.restoreAllMocks());

interface Endpoint {
  id: string;
  secret: string;
  deliveries: { id: string; event: string; event_id: string; status: string; attempts: { status_code: number }[] }[];
}

interface Event {
  id: string;
  type: string;
  payload: Record<string, unknown>;
}

describe("the journey of a referral", () => {
  it("ends with a commission explained, logged, and delivered with valid signatures", async () => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    const world = playOutsideWorld({ receivers: { "hooks.example": () => new Response("ok") }, zone: {} });
    vi.spyOn(globalThis, "fetch").mockImplementation(world.fetch as typeof fetch);
    const program = await makeProgram();
    const endpoint = await program.api<Endpoint>("POST", "/api/v1/webhooks", {
      url: "https://hooks.example/in",
      events: ["commission.created"],
    });
    expect(endpoint.status).toBe(201);
    const partner = await program.api<{ id: string }>("POST", "/api/v1/partners", {
      email: "jane@p.example",
      slug: "Jane",
    });
    await program.api("PATCH", `/api/v1/partners/${partner.body.id}`, { status: "active" });
    const flow = await program.api<{ id: string }>("POST", "/api/v1/flows", {
      name: "big orders",
      action_type: "percentage",
      action_value: 30,
      conditions: [{ field: "txn_amount_cents", op: "gt", value: 5_000 }],
    });
    expect(flow.status).toBe(201);

    const click = await call("/click", {
      method: "POST",
      headers: { "content-type": "text/plain", "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0" },
      body: JSON.stringify({
        program_id: program.id,
        ref: "jane",
        landing: "/pricing",
        referrer: "https://blog.example/",
      }),
    });
    expect(click.status).toBe(202);
    expect([{ known: true }, { known: null }]).toContainEqual(click.body);

    const a = await sendA(program, sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000 }));
    const b = await sendB(program, transactionCompleted({ ref: "JANE", amount: 1_000, program: program.id }));
    expect([a.body.outcome, b.body.outcome]).toEqual(["commission", "commission"]);

    const events = await eventually(async () => {
      const page = await program.api<{ data: Event[] }>("GET", "/api/v1/events?per_page=100");
      expect(page.body.data.map(({ type }) => type)).toContain("click");
      return page.body.data;
    });
    expect(events.map(({ type }) => type).toSorted()).toEqual([
      "click",
      "commission.created",
      "commission.created",
      "flow.created",
      "partner.created",
      "partner.updated",
      "webhook.provider_a",
      "webhook.provider_b",
      "webhook_endpoint.created",
    ]);
    expect(events.find(({ type }) => type === "click")?.payload).toMatchObject({
      ref: "Jane",
      landing: "/pricing",
      referrer: "https://blog.example/",
    });

    const { deliveries } = await eventually(async () => {
      const one = await program.api<Endpoint>("GET", `/api/v1/webhooks/${endpoint.body.id}`);
      expect(one.body.deliveries.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
      return one.body;
    });
    expect(deliveries.flatMap(({ attempts }) => attempts.map((attempt) => attempt.status_code))).toEqual([200, 200]);
    const created = events.filter(({ type }) => type === "commission.created");
    expect(deliveries.map(({ event_id }) => event_id).toSorted()).toEqual(created.map(({ id }) => id).toSorted());

    const amounts: number[] = [];
    for (const { text, headers, body } of world.requests) {
      const sent = new Webhook(endpoint.body.secret).verify(text, Object.fromEntries(headers)) as {
        event: string;
        data: { id: string; partner_id: string; amount: number; revenue: number; status: string; currency: string };
      };
      expect(headers.get("X-Service-Signature")).toBe(
        createHmac("sha256", endpoint.body.secret).update(body).digest("hex"),
      );
      expect(sent).toMatchObject({
        event: "commission.created",
        data: { partner_id: partner.body.id, status: "pending", currency: "USD" },
      });
      amounts.push(sent.data.amount);
    }
    // 30 % of 10,000 by the flow; 20 % of 1,000 by the program's default, because no flow matches.
    expect(amounts.toSorted((x, y) => x - y)).toEqual([200, 3_000]);

    const one = await program.api<{ stats: Record<string, number> }>("GET", `/api/v1/partners/${partner.body.id}`);
    expect(one.body.stats).toMatchObject({
      total_commissions: 2,
      total_earned_cents: 3_200,
      pending_cents: 3_200,
      clicks: 1,
    });
    const payments = await program.api<{ data: { id: string; provider: string }[] }>("GET", "/api/v1/payments");
    const paid = payments.body.data.find(({ provider }) => provider === "provider_a")!;
    const traced = await program.api<{ trace: object }>("GET", `/api/v1/payments/${paid.id}`);
    expect(traced.body.trace).toMatchObject({
      outcome: "commission",
      ref: "jane",
      flow_id: flow.body.id,
      flows: [{ matched: true, conditions: [{ field: "txn_amount_cents", saw: 10_000, held: true }] }],
      rate: { source: "flow", action_type: "percentage", action_value: 30 },
      arithmetic: "30 % of 10000 = 3000",
    });
  });
});
