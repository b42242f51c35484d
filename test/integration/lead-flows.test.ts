/** Flows of leads: one flat commission for each lead reported by the owner's server (FLOW-12, FACT-7). */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { lead, refund, report, sale, type LeadBody } from "../support/api.ts";
import { ledgerOf } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { differencesOf } from "../support/reconcile.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";
import { SEED } from "../support/seed.ts";

const HOUR = 3_600_000;
const at = (ms: number) => new Date(Date.now() + ms).toISOString();
const LEADS = { name: "Sign-ups", event: "lead_created", action_type: "flat", action_value: 500 };

async function programOfJane(flow: object | null = LEADS): Promise<TestProgram> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane", email: "jane@partners.example" });
  await makePartner(program, { slug: "bob", email: "bob@partners.example" });
  if (flow) expect((await program.api("POST", "/api/v1/flows", flow)).status).toBe(201);
  return program;
}

/** Just after the creation of the flow, within the limit for future times. */
const signup = (given: Partial<LeadBody> = {}) =>
  lead({ ref: "jane", customer: { id: "u1", email: "kim@shop.example" }, occurred_at: at(2_000), ...given });

/** The result of each lead: its outcome and its commissions. */
async function leads(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return payments
    .filter(({ event }) => event === "lead_created")
    .map(({ id, outcome }) => [
      outcome,
      ...commissions.filter((row) => row.payment_id === id).map(({ kind, amount_cents }) => `${kind} ${amount_cents}`),
    ]);
}

interface Refused {
  error: { code: string; details: { path: string; message: string }[] };
}

describe("a flow of leads (FLOW-12)", () => {
  it("gives one commission for each lead, ever: reported again, also at once, it is the same (FACT-7)", async () => {
    const program = await programOfJane();
    const body = signup({ external_id: "l1" });
    const replies = await Promise.all([1, 2, 3].map(() => report(program, "lead", body)));
    replies.push(await report(program, "lead", body));
    for (const reply of replies) expect([reply.status, reply.body.outcome]).toEqual([200, "commission"]);
    expect((await report(program, "lead", { ...body, ref: "bob" })).status).toBe(409);
    expect(await leads(program)).toEqual([["commission", "lead 500"]]);
    // Another report is another lead, even of the same customer.
    await report(program, "lead", signup({ external_id: "l2" }));
    expect(await leads(program)).toHaveLength(2);
  });

  it("is a record like any other: lists, trace, balance, reject, reopen, payout (FACT-7, COM-9)", async () => {
    const program = await programOfJane({ ...LEADS, apply_from: at(-2 * HOUR) });
    await report(program, "lead", signup({ external_id: "l1", occurred_at: at(-HOUR) }));
    const [row] = (await program.api<{ data: Record<string, unknown>[] }>("GET", "/api/v1/commissions")).body.data;
    expect(row).toMatchObject({
      ...{ kind: "lead", provider: "api", amount_cents: 500, txn_amount_cents: 0, currency: "USD", status: "pending" },
      rate: { source: "flow", action_type: "flat", action_value: 500 },
    });
    const [payment] = (await program.api<{ data: Record<string, unknown>[] }>("GET", "/api/v1/payments")).body.data;
    expect(payment).toMatchObject({ event: "lead_created", outcome: "commission", txn_amount_cents: 0 });
    const { body } = await program.api<{ trace: object }>("GET", `/api/v1/payments/${String(payment!["id"])}`);
    expect(body.trace).toMatchObject({ arithmetic: "flat 500 = 500", flows: [{ name: "Sign-ups", conditions: [] }] });
    const set = (status: string) => program.api("PATCH", `/api/v1/commissions/${String(row!["id"])}`, { status });
    for (const status of ["rejected", "pending", "approved"]) expect((await set(status)).status).toBe(200);
    const made = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
    const { id } = made.body.payouts[0]!;
    await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, { reference: "bank 1" });
    const partner = `/api/v1/partners/${String(row!["partner_id"])}`;
    const { body: balance } = await program.api<{ data: object[] }>("GET", `${partner}/balance`);
    expect(balance.data).toMatchObject([{ currency: "USD", paid_cents: 500, pending_cents: 0 }]);
    const { body: one } = await program.api<{ stats: object }>("GET", partner);
    expect(one.stats).toMatchObject({ total_commissions: 1, total_earned_cents: 500 });
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("is alone in giving something for a lead, and gives nothing for a payment", async () => {
    const program = await programOfJane(null);
    expect((await report(program, "lead", signup())).body.outcome).toBe("remembered");
    expect(await leads(program)).toEqual([["no_flow"]]);
    await program.api("POST", "/api/v1/flows", { ...LEADS, action_value: 900 });
    await report(program, "sale", sale({ external_id: "o", ref: "jane", occurred_at: at(3_000) }));
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ kind, amount_cents }) => [kind, amount_cents])).toEqual([["sale", 2_000]]);
  });

  it("decides by the rules of the lead's time; what is decided stays when it is changed or deleted (PAY-16)", async () => {
    const program = await programOfJane();
    const { body: flows } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/flows");
    const flow = `/api/v1/flows/${flows.data[0]!.id}`;
    await report(program, "lead", signup({ external_id: "l1" }));
    await report(program, "lead", signup({ external_id: "l0", occurred_at: at(-HOUR) }));
    await program.api("PATCH", flow, { action_value: 900 });
    await program.api("DELETE", flow);
    const { payments } = await ledgerOf(program);
    for (const { id } of payments) await program.api("POST", `/api/v1/payments/${id}/reprocess`);
    expect((await leads(program)).toSorted()).toEqual([["commission", "lead 500"], ["no_flow"]]);
    // A flow that applies from an earlier time decides the later leads without a flow of their own (FLOW-11).
    await program.api("POST", "/api/v1/flows", { ...LEADS, action_value: 700, apply_from: at(-2 * HOUR) });
    expect((await leads(program)).toSorted()).toEqual([
      ["commission", "lead 500"],
      ["commission", "lead 700"],
    ]);
  });

  it("asks for the customer's address and the partner, and refuses what a lead has not (FLOW-12)", async () => {
    const conditions = [{ field: "customer_email", op: "contains", value: "@corp.example" }];
    const program = await programOfJane({ ...LEADS, conditions });
    await report(program, "lead", signup({ external_id: "l1" }));
    await report(program, "lead", signup({ external_id: "l2", customer: { email: "a@corp.example" } }));
    expect((await leads(program)).toSorted()).toEqual([["commission", "lead 500"], ["no_flow"]]);
    const amount = { field: "txn_amount_cents", op: "gt", value: 1 };
    const vendor = { field: "provider", op: "eq", value: "api" };
    for (const [changed, path] of [
      [{ action_type: "percentage", action_value: 5 }, "action_type"],
      [{ conditions: [...conditions, amount] }, "conditions.1.field"],
      [{ conditions: [vendor] }, "conditions.0.field"],
    ] as const) {
      const made = await program.api<Refused>("POST", "/api/v1/flows", { ...LEADS, ...changed });
      expect([made.status, made.body.error.details.map((one) => one.path)]).toEqual([422, [path]]);
      const simulated = { flow: { ...LEADS, ...changed }, last: 1 };
      expect((await program.api("POST", "/api/v1/flows/simulate", simulated)).status).toBe(422);
    }
    const ofPayments = await program.api<{ id: string }>("POST", "/api/v1/flows", {
      ...{ name: "Large", action_type: "flat", action_value: 5, conditions: [amount] },
    });
    const turned = await program.api("PATCH", `/api/v1/flows/${ofPayments.body.id}`, { event: "lead_created" });
    expect(turned.status).toBe(422);
  });

  it("shows its event and the given conditions alone, and keeps them when it is turned (FLOW-7)", async () => {
    const program = await programOfJane(null);
    const conditions = [{ field: "partner_slug", op: "eq", value: "jane" }];
    const { body: flow } = await program.api<{ id: string }>("POST", "/api/v1/flows", { ...LEADS, conditions });
    expect(flow).toMatchObject({ event: "lead_created", conditions });
    const turned = await program.api("PATCH", `/api/v1/flows/${flow.id}`, { event: "transaction_completed" });
    expect(turned.body).toMatchObject({ event: "transaction_completed", conditions });
    const { body: events } = await program.api<{ data: { payload: object; changes: object }[] }>(
      "GET",
      "/api/v1/events?type=flow.updated",
    );
    expect(events.data).toMatchObject([
      { payload: { conditions }, changes: { event: ["lead_created", "transaction_completed"] } },
    ]);
    expect(Object.keys(events.data[0]!.changes)).toEqual(["event"]);
  });
});

describe("a lead that earns (FACT-7)", () => {
  it("gives its amount in the program's currency, which is another at no lead (PROG-3)", async () => {
    const program = await programOfJane(null);
    await report(program, "lead", signup({ occurred_at: at(-HOUR) }));
    const changed = await program.api<Refused>("PATCH", "/api/v1/programs/me", { currency: "JPY" });
    expect([changed.status, changed.body.error.details]).toMatchObject([
      422,
      [{ path: "currency", message: "The currency is locked once a commission or a lead exists." }],
    ]);
    await program.api("POST", "/api/v1/flows", { ...LEADS, apply_from: at(-2 * HOUR) });
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ amount_cents, currency }) => [amount_cents, currency])).toEqual([[500, "USD"]]);
  });

  it("is in the currency of its flow, though the program's is changed while it is reported (FLOW-12)", async () => {
    const program = await programOfJane();
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    let changes = 0;
    const { binding } = watchDatabase(env.DB, {
      async before(statements) {
        if (statements.some((text) => text.startsWith("insert into facts ")) && changes++ === 0) {
          expect((await program.api("PATCH", "/api/v1/programs/me", { currency: "JPY" })).status).toBe(200);
        }
      },
    });
    const body = signup();
    const reply = await callWith({ DB: binding }, "/api/v1/track/lead", {
      method: "POST",
      headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    logged.mockRestore();
    expect([changes > 0, reply.status]).toEqual([true, 503]);
    expect((await report(program, "lead", body)).body.outcome).toBe("commission");
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ amount_cents, currency }) => [amount_cents, currency])).toEqual([[500, "USD"]]);
  });

  it("is its partner's alone: invited, deactivated and the customer's own are as of a payment", async () => {
    const program = await programOfJane();
    const invited = await makePartner(program, { slug: "ida" }, "invited");
    await report(program, "lead", signup({ external_id: "invited", ref: "ida" }));
    expect(await leads(program)).toEqual([["partner_not_active"]]);
    await program.api("PATCH", `/api/v1/partners/${invited.id}`, { status: "active" });
    expect(await leads(program)).toEqual([["commission", "lead 500"]]);
    await program.api("DELETE", `/api/v1/partners/${invited.id}`);
    await report(program, "lead", signup({ external_id: "off", ref: "ida", occurred_at: at(5_000) }));
    await report(program, "lead", signup({ external_id: "own", customer: { email: "Jane+x@partners.example" } }));
    await report(program, "lead", signup({ external_id: "nobody", ref: "nobody" }));
    expect((await leads(program)).map(([outcome]) => outcome).toSorted()).toEqual([
      ...["commission", "commission", "partner_deactivated", "unknown_ref"],
    ]);
    const { commissions } = await ledgerOf(program);
    expect(commissions.filter(({ flagged }) => flagged)).toMatchObject([{ review_reason: "self_referral" }]);
  });

  it("is touched by no refund, also of a sale of the same id", async () => {
    const program = await programOfJane();
    await report(program, "lead", signup({ external_id: "x" }));
    await report(program, "sale", sale({ external_id: "x", ref: "jane", occurred_at: at(2_000) }));
    await report(program, "refund", refund({ sale_external_id: "x", amount_cents: 10_000 }));
    expect(await leads(program)).toEqual([["commission", "lead 500"]]);
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ kind, amount_cents }) => `${kind} ${amount_cents}`).toSorted()).toEqual([
      ...["lead 500", "sale 0"],
    ]);
  });

  it("keeps its money and loses its address in an erasure (JOB-1)", async () => {
    const conditions = [{ field: "customer_email", op: "neq", value: "other@shop.example" }];
    const program = await programOfJane({ ...LEADS, conditions });
    const body = signup({ external_id: "l1" });
    await report(program, "lead", body);
    await report(program, "lead", signup({ external_id: "l2", customer: { email: "other@shop.example" } }));
    for (const email of ["kim@shop.example", "other@shop.example"]) {
      expect((await program.api("POST", "/api/v1/customers/erase", { email })).status).toBe(200);
    }
    const { payments } = await ledgerOf(program);
    for (const { id } of payments) await program.api("POST", `/api/v1/payments/${id}/reprocess`);
    expect((await leads(program)).toSorted()).toEqual([["commission", "lead 500"], ["no_flow"]]);
    const rows = await env.DB.prepare(
      `select data as text from facts where program_id = ?1 union all select subject from fact_subjects
        where program_id = ?1 union all select ifnull(body, '') from provider_events where program_id = ?1
        union all select ifnull(customer_email, '') from commissions where program_id = ?1
        union all select ifnull(customer_email, '') || ifnull(ref, '') from payments where program_id = ?1`,
    )
      .bind(program.id)
      .all<{ text: string }>();
    expect(rows.results.filter(({ text }) => text.includes("shop.example"))).toEqual([]);
    const again = await report(program, "lead", body);
    expect([again.status, again.body.outcome]).toEqual([200, "commission"]);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });
});

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 8);

describe(`leads and sales under flows of both events (seed ${SEED}, ${RUNS} runs)`, () => {
  it("earn what a simple model gives, in any order, also at once (FACT-7, LAW-1, LAW-2)", async () => {
    const slug = fc.constantFrom("jane", "BOB", "nobody");
    const each = fc.record({ kind: fc.constantFrom("lead" as const, "sale" as const), ref: slug, again: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(each, { minLength: 1, maxLength: 6 }), fc.boolean(), async (story, isJaneOnly) => {
        const conditions = isJaneOnly ? [{ field: "partner_slug", op: "eq", value: "jane" }] : [];
        const program = await programOfJane({ ...LEADS, conditions });
        const bodies = story.flatMap(({ kind, ref, again }, i) => {
          const own = { external_id: `x${i}`, ref, occurred_at: at(2_000) };
          const customer = { id: `u${i}` };
          const body = kind === "lead" ? lead({ ...own, customer }) : sale({ ...own, customer, amount_cents: 1_000 });
          return again ? [[kind, body] as const, [kind, body] as const] : [[kind, body] as const];
        });
        for (const [i, [kind, body]] of bodies.toReversed().entries()) {
          const next = bodies.toReversed()[i + 1];
          await Promise.all([report(program, kind, body), ...(next ? [report(program, ...next)] : [])]);
        }
        const expected = story.flatMap(({ kind, ref }) => {
          if (ref === "nobody" || (kind === "lead" && isJaneOnly && ref !== "jane")) return [];
          return [kind === "lead" ? "lead 500" : "sale 200"];
        });
        const { commissions } = await ledgerOf(program);
        expect(commissions.map((row) => `${row.kind} ${row.amount_cents}`).toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 60_000 + RUNS * 2_000 },
    );
  });
});
