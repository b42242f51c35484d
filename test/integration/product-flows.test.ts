/** Flows with conditions on products: the payments that they match, and the lines that they count. */
import { sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { HOUR } from "../../src/lib/time.ts";
import { orders } from "../support/any-order.ts";
import { LIST_KEYS, openEventLists, type EventLists } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA, sendB, settleRest } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type ProgramFields, type TestProgram } from "../support/program.ts";
import { chargeRefunded, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import {
  adjustmentUpdated,
  transactionCompleted,
  type EventB,
  type TransactionOverrides,
} from "../support/provider-b.ts";
import { refusedByA } from "../support/vendor-a-requests.ts";

const PRO = { field: "product_id", op: "eq", value: "pro_pro" };
const MATCHING = { action_type: "percentage", action_value: 50, conditions: [PRO], base: "matching_items" };

async function shop(flow: Record<string, unknown> = MATCHING, fields: ProgramFields = {}) {
  const program = await makeProgram({ default_commission_pct: 10, ...fields });
  await makePartner(program, { slug: "jane" });
  const reply = await program.api<FlowBody>("POST", "/api/v1/flows", { name: "Pro", ...flow });
  expect([reply.status, reply.body]).toMatchObject([201, {}]);
  return Object.assign(program, { flow: reply.body });
}
type FlowBody = { id: string; warnings: { path: string; message: string }[] };

/** A transaction of a line of each product: net amount, and tax on top. */
function sold(lines: Record<string, number>, { id = "txn_1", tax = 0, ...more }: TransactionOverrides = {}): EventB {
  const amounts = Object.entries(lines);
  const amount = amounts.reduce((sum, [, one]) => sum + one, 0) + tax;
  const event = transactionCompleted({ id, ref: "jane", amount, tax, ...more });
  const details = event.data["details"] as Record<string, unknown>;
  const line_items = amounts.map(([product, one], i) => ({
    id: `txnitm_${product}`,
    price_id: `pri_${product}`,
    product: { id: `pro_${product}`, name: product },
    // The first line has all of the tax.
    totals: { total: String(one + (i === 0 ? tax : 0)), tax: i === 0 ? String(tax) : "0" },
  }));
  return { ...event, data: { ...event.data, details: { ...details, line_items } } };
}

/** A refund of these lines, or without them of the whole. */
function refunded(id: string, amount: number, lines: Record<string, number> = {}): EventB {
  const items = Object.entries(lines).map(([product, one]) => ({
    item_id: `txnitm_${product}`,
    totals: { total: String(one), tax: "0" },
  }));
  return adjustmentUpdated({ id, transaction: "txn_1", amount, data: { items } });
}

/** The event, now, with ids of this program's own: a refund goes to the program that has its transaction. */
function ofOwn(program: TestProgram, event: EventB): EventB {
  const text = JSON.stringify(event).replaceAll(/"(?:txn|adj|evt)_\w+/g, (id) => `${id}_${program.id.slice(-8)}`);
  return { ...(JSON.parse(text) as EventB), occurred_at: new Date().toISOString() };
}

async function earned(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return {
    outcome: payments[0]?.outcome,
    amounts: commissions.map(({ amount_cents }) => amount_cents),
    bases: commissions.map(({ base_cents }) => base_cents),
    arithmetic: payments[0]?.decision?.arithmetic,
  };
}

describe("a flow of matching items (LINE-5, LINE-6)", () => {
  it.each<[string, EventB[], Record<string, unknown>]>([
    ["the lines of its products", [sold({ pro: 6_000, basic: 4_000 })], { amounts: [3_000], bases: [6_000] }],
    ["net of tax", [sold({ pro: 6_000, basic: 4_000 }, { tax: 1_900 })], { amounts: [3_000], bases: [6_000] }],
    ["at most the payment, less a credit", [sold({ pro: 6_000, basic: -2_000 })], { amounts: [2_000], bases: [4_000] }],
    [
      "in another currency",
      [sold({ pro: 6_000, basic: 4_000 }, { currency: "JPY" })],
      { amounts: [3_000], bases: [6_000] },
    ],
    [
      "less a refund of its line",
      [sold({ pro: 6_000, basic: 4_000 }), refunded("adj_1", 2_000, { pro: 2_000 })],
      { amounts: [2_000], arithmetic: "50 % of (6000 - 2000) = 2000" },
    ],
    [
      "not less a refund of another line",
      [sold({ pro: 6_000, basic: 4_000 }), refunded("adj_1", 4_000, { basic: 4_000 })],
      { amounts: [3_000], arithmetic: "50 % of 6000 = 3000" },
    ],
    [
      "less its share of a refund that names no line",
      [sold({ pro: 6_000, basic: 4_000 }), refunded("adj_1", 5_000)],
      { amounts: [1_500] },
    ],
    [
      "less both",
      [sold({ pro: 6_000, basic: 4_000 }), refunded("adj_1", 2_000, { pro: 2_000 }), refunded("adj_2", 4_000)],
      { amounts: [1_000] },
    ],
    ["nothing after a full refund", [sold({ pro: 6_000, basic: 4_000 }), refunded("adj_1", 10_000)], { amounts: [0] }],
  ])("counts %s, in any order", async (_, events, wanted) => {
    for (const order of orders(events)) {
      const program = await shop();
      for (const event of order) await sendB(program, ofOwn(program, event));
      expect(await earned(program)).toMatchObject({ outcome: "commission", ...wanted });
    }
  });

  it("earns nothing of a sum of 0 or less, with a flat amount too, and no later flow is tried", async () => {
    for (const action of [{}, { action_type: "flat", action_value: 500 }]) {
      const program = await shop({ ...MATCHING, ...action });
      await sendB(program, sold({ pro: -1_000, basic: 4_000 }));
      expect(await earned(program)).toMatchObject({ outcome: "zero_amount", amounts: [] });
    }
  });

  it("counts all lines if its conditions only exclude products", async () => {
    const program = await shop({ ...MATCHING, conditions: [{ field: "product_id", op: "neq", value: "pro_other" }] });
    await sendB(program, sold({ pro: 6_000, basic: 4_000 }));
    expect(await earned(program)).toMatchObject({ amounts: [5_000], bases: [10_000] });
  });

  it("counts the payment if the sale states no line, or an empty list of them (LINE-1)", async () => {
    const program = await shop({ ...MATCHING, conditions: [{ ...PRO, op: "neq" }] });
    const sale = { amount_cents: 10_000, currency: "USD", net_of_tax: true, ref: "jane" };
    await program.api("POST", "/api/v1/track/sale", { external_id: "none", ...sale });
    const empty = { external_id: "empty", ...sale, items: [] };
    for (let i = 0; i < 2; i++) {
      const reply = await program.api("POST", "/api/v1/track/sale", empty);
      expect([reply.status, reply.body]).toMatchObject([200, { outcome: "commission" }]);
    }
    expect((await earned(program)).amounts).toEqual([5_000, 5_000]);
  });

  it("is refused without a condition on products", async () => {
    const program = await shop();
    const flow = { name: "x", action_type: "percentage", action_value: 5, base: "matching_items" };
    const reply = await program.api<{ error: { details: { path: string }[] } }>("POST", "/api/v1/flows", flow);
    expect([reply.status, reply.body.error.details.map(({ path }) => path)]).toEqual([422, ["base"]]);
    const patched = await program.api("PATCH", `/api/v1/flows/${program.flow.id}`, { conditions: [] });
    expect(patched.status).toBe(422);
  });
});

describe("a condition on products (LINE-4)", () => {
  const matchedBy = async (condition: Record<string, unknown>, event = sold({ pro: 6_000, basic: 4_000 })) => {
    const flow = { action_type: "percentage", action_value: 50, conditions: [{ field: "product_id", ...condition }] };
    const program = await shop(flow);
    await sendB(program, event);
    return (await earned(program)).amounts[0] === 5_000;
  };

  it.each<[Record<string, unknown>, boolean]>([
    [{ op: "eq", value: "pro_pro" }, true],
    [{ op: "eq", value: "PRI_basic" }, true],
    [{ op: "eq", value: "pro_other" }, false],
    [{ op: "in", value: ["pro_other", "pro_basic"] }, true],
    [{ op: "in", value: ["pro_other"] }, false],
    [{ op: "neq", value: "pro_pro" }, false],
    [{ op: "neq", value: "pro_other" }, true],
    [{ op: "not_in", value: ["pro_other", "pro_basic"] }, false],
    [{ op: "not_in", value: ["pro_other"] }, true],
  ])("%o holds: %s", async (condition, held) => {
    expect(await matchedBy(condition)).toBe(held);
  });

  it.each([
    ["eq", false],
    ["neq", true],
  ])("of unknown products: %s holds: %s, and the trace says so", async (op, held) => {
    const program = await shop({ ...MATCHING, conditions: [{ ...PRO, op }] });
    await sendA(program, sessionCompleted({ ref: "jane", livemode: true }));
    const [payment] = (await ledgerOf(program)).payments;
    expect(payment!.decision!.flows).toMatchObject([{ matched: held, conditions: [{ saw: null, held }] }]);
    expect(await earned(program)).toMatchObject({ amounts: [held ? 5_000 : 1_000], bases: [null] });
  });

  it("is saved with a warning if no payment has contained the product", async () => {
    const program = await shop();
    expect(program.flow.warnings).toEqual([
      { path: "conditions.0.value", message: "No payment has contained pro_pro yet." },
    ]);
    await sendB(program, sold({ pro: 6_000 }));
    const conditions = [PRO, { field: "product_id", op: "not_in", value: ["pri_pro", "pri_lost"] }];
    const { body } = await program.api<FlowBody>("PATCH", `/api/v1/flows/${program.flow.id}`, { conditions });
    expect(body.warnings.map(({ message }) => message)).toEqual(["No payment has contained pri_lost yet."]);
  });

  it("can be simulated on past payments, with what it would count", async () => {
    const program = await shop({ ...MATCHING, active: false });
    await sendB(program, sold({ pro: 6_000, basic: 4_000 }));
    const simulate = async (body: Record<string, unknown>) => {
      const reply = await program.api<{ payments: { old_amount_cents: number; new_amount_cents: number }[] }>(
        ...(["POST", "/api/v1/flows/simulate", { last: 10, ...body }] as const),
      );
      return reply.body.payments.map(({ old_amount_cents, new_amount_cents }) => [old_amount_cents, new_amount_cents]);
    };
    expect(await simulate({ flow_id: program.flow.id })).toEqual([[1_000, 3_000]]);
    const { base: _, ...whole } = MATCHING;
    expect(await simulate({ flow: whole })).toEqual([[1_000, 5_000]]);
    const other = { ...MATCHING, conditions: [{ ...PRO, value: "pro_other" }] };
    expect(await simulate({ flow: other })).toEqual([[1_000, 1_000]]);
  });

  it("keeps the recorded rule and its base after an erasure, and lowers it by later refunds", async () => {
    const program = await shop();
    const email = "kim@customer.example";
    await program.api("POST", "/api/v1/track/sale", {
      ...{
        external_id: "o",
        amount_cents: 10_000,
        currency: "USD",
        net_of_tax: true,
        ref: "jane",
        customer: { email },
      },
      items: [
        { product_id: "pro_pro", amount_cents: 6_000 },
        { product_id: "pro_basic", amount_cents: 4_000 },
      ],
    });
    await program.api("POST", "/api/v1/customers/erase", { email });
    await program.api("PATCH", `/api/v1/flows/${program.flow.id}`, { active: false });
    const refund = { external_id: "r", sale_external_id: "o", amount_cents: 5_000 };
    await program.api("POST", "/api/v1/track/refund", refund);
    expect(await earned(program)).toMatchObject({ amounts: [1_500], bases: [6_000] });
  });
});

describe("the lines of a session (LINE-7)", () => {
  const NOW = Date.now();
  let lists: EventLists;
  let asked: URL[];
  beforeEach(async () => {
    lists = openEventLists();
    asked = [];
    const { fetch } = lists;
    lists.fetch = async (url, init) => {
      if (!new URL(url).pathname.endsWith("/line_items")) return fetch(url, init);
      asked.push(new URL(url));
      const line = (id: string, amount_total: number) => ({
        ...{ id: `li_${id}`, object: "item", amount_total, amount_tax: 0, description: id },
        price: { id: `price_${id}`, product: `pro_${id}`, nickname: null },
      });
      return Response.json({ object: "list", data: [line("pro", 6_000), line("basic", 4_000)], has_more: false });
    };
    await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
  });
  const KEY = { provider_a_api_key: LIST_KEYS.provider_a };
  const read = (now = NOW) => serveAll(readEventLists(testContext(now), lists.readsOf));
  const bought = () => sessionCompleted({ id: "cs_live_1", ref: "jane", livemode: true });

  it("are asked for once if a flow needs them, and change a commission that is not paid", async () => {
    const program = await shop(MATCHING, KEY);
    await sendA(program, bought());
    expect(await earned(program)).toMatchObject({ amounts: [1_000] });
    await read();
    await read(NOW + HOUR);
    expect(asked.map(({ pathname }) => pathname)).toEqual(["/v1/checkout/sessions/cs_live_1/line_items"]);
    expect(asked.map((url) => refusedByA({ method: "GET", url, type: null, body: "" }))).toEqual([null]);
    expect(await earned(program)).toMatchObject({ amounts: [3_000], bases: [6_000] });
    const seen = await program.api<{ data: { id: string; name: string }[] }>("GET", "/api/v1/products");
    expect(seen.body.data.map(({ id, name }) => `${id} ${name}`)).toContain("pro_pro pro");
  });

  it("give a difference to one that is paid", async () => {
    const program = await shop(MATCHING, KEY);
    await sendA(program, bought());
    await testContext().db.run(sql`update commissions set status = 'paid' where program_id = ${program.id}`);
    await read();
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ kind, amount_cents }) => `${kind} ${amount_cents}`).toSorted()).toEqual([
      "clawback 2000",
      "sale 1000",
    ]);
  });

  it("are asked for when a flow is applied from an earlier time", async () => {
    const program = await shop({ ...MATCHING, active: false }, KEY);
    await sendA(program, bought());
    await read();
    expect(asked).toEqual([]);
    const change = { active: true, apply_from: new Date(NOW - 24 * HOUR).toISOString() };
    await program.api("PATCH", `/api/v1/flows/${program.flow.id}`, change);
    await settleRest(program);
    await read(NOW + HOUR);
    expect(asked).toHaveLength(1);
    expect(await earned(program)).toMatchObject({ amounts: [3_000] });
  });

  it("are not asked for without such a flow, without a key, or if an invoice states them", async () => {
    for (const [flow, fields] of [
      [{ action_type: "flat", action_value: 500 }, KEY],
      [MATCHING, {}],
    ] as const) {
      const program = await shop(flow, fields);
      await sendA(program, bought());
      await read();
      expect(asked).toEqual([]);
    }
    const program = await shop(MATCHING, KEY);
    const invoice = invoicePaid({ id: "in_1", livemode: true });
    await sendA(program, sessionCompleted({ invoice: "in_1", ref: "jane", livemode: true }));
    await sendA(program, invoice);
    await read();
    expect(asked).toEqual([]);
    expect((await ledgerOf(program)).payments).toMatchObject([{ decision: { lines: [{ amount_cents: 10_000 }] } }]);
  });

  it("are lowered in proportion by a refund of the charge", async () => {
    const program = await shop(MATCHING, KEY);
    await sendA(program, sessionCompleted({ id: "cs_live_1", ref: "jane", livemode: true, payment_intent: "pi_1" }));
    await read();
    await sendA(program, chargeRefunded({ payment_intent: "pi_1", refunded: 5_000, livemode: true }));
    expect(await earned(program)).toMatchObject({ amounts: [1_500], bases: [6_000] });
  });
});
