/** FLOW-6: the simulator predicts the real outcome, and does not write. */
import * as fc from "fast-check";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { receiveEvent } from "../../src/core/inbound/receive.ts";
import { makeWorldProgram, worldFlows } from "../support/ledger-world.ts";
import { liveAll, moneyWorld } from "../support/money-world.ts";
import { iso } from "../../src/lib/time.ts";
import { ago, change, flow, pay, seconds } from "../support/applied.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { makePartner, makeProgram, programContext } from "../support/program.ts";

interface SimulationBody {
  payments: { payment_id: string; old_amount_cents: number; new_amount_cents: number; outcome: string }[];
  sums: { currency: string; payments: number; old_amount_cents: number; new_amount_cents: number }[];
  more: boolean;
}

interface Reported extends SimulationBody {
  partners: Record<string, unknown>[];
  [more: string]: unknown;
}

interface Refused {
  error?: { details: { path: string }[] };
}

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 10);

describe("flow simulation (FLOW-6)", () => {
  it("shows old and new amounts per payment and their sums, refunds included, newest first", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await sendA(
      program,
      sessionCompleted({ ref: "jane", amount: 10_000, payment_intent: "pi_s", created: 1_780_000_000 }),
    );
    await sendA(program, chargeRefunded({ charge: "ch_s", payment_intent: "pi_s", amount: 10_000, refunded: 5_000 }));
    await sendA(program, sessionCompleted({ ref: "jane", amount: 500, currency: "jpy", created: 1_780_000_100 }));
    await sendA(program, sessionCompleted({ ref: null, created: 1_780_000_200 }));
    const flow = {
      action_type: "percentage",
      action_value: 50,
      conditions: [{ field: "txn_amount_cents", op: "gt", value: 1_000 }],
    };
    const before = await ledgerOf(program);
    const reply = await program.api<SimulationBody>("POST", "/api/v1/flows/simulate", { flow, last: 10 });
    expect(reply.status).toBe(200);
    expect(reply.body.payments).toMatchObject([
      { outcome: "no_ref", old_amount_cents: 0, new_amount_cents: 0 },
      { old_amount_cents: 100, new_amount_cents: 100 },
      { old_amount_cents: 1_000, new_amount_cents: 2_500 },
    ]);
    expect(reply.body.sums.toSorted((a, b) => (a.currency < b.currency ? -1 : 1))).toEqual([
      { currency: "JPY", payments: 1, old_amount_cents: 100, new_amount_cents: 100 },
      { currency: "USD", payments: 2, old_amount_cents: 1_000, new_amount_cents: 2_500 },
    ]);
    const looked = [];
    for (const last of [1, 2, 3, 4]) {
      const { body } = await program.api<SimulationBody>("POST", "/api/v1/flows/simulate", { flow, last });
      looked.push([body.payments.length, body.more]);
    }
    expect(looked).toEqual([
      [1, true],
      [2, true],
      [3, false],
      [3, false],
    ]);
    expect(await ledgerOf(program)).toEqual(before);
  });

  it("changes nothing that the flow does not, whatever rates and flows have become since", async () => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program, { commission_pct: 10 });
    const asked = async (body: object) => {
      const reply = await program.api<SimulationBody>("POST", "/api/v1/flows/simulate", { ...body, last: 50 });
      expect(reply.status).toBe(200);
      return reply.body.payments.map((row) => [row.old_amount_cents, row.new_amount_cents]);
    };
    await pay(program, slug, 20);
    const vip = await change(program, "POST", "/flows", { ...flow, priority: 9 });
    const bought = { ref: slug, amount: 10_000, created: seconds(ago(0)) };
    await sendA(program, sessionCompleted({ ...bought, email: "kim@x.example" }));
    const kept = await change(program, "POST", "/flows", { ...flow, action_value: 800, priority: 10 });
    await sendA(program, sessionCompleted({ ...bought, email: "lea@x.example", created: seconds(ago(-1)) }));
    await change(program, "DELETE", `/flows/${vip.id}`);
    await change(program, "PATCH", `/flows/${kept.id}`, { active: false });
    await change(program, "PATCH", `/partners/${id}`, { commission_pct: 30 });
    await change(program, "PATCH", "/programs/me", { default_commission_pct: 40 });
    const nobody = [{ field: "customer_email", op: "contains", value: "@nowhere" }];
    const unchanged = [
      [800, 800],
      [700, 700],
      [1_000, 1_000],
    ];
    expect(await asked({ flow: { ...flow, action_value: 1, priority: 99, conditions: nobody } })).toEqual(unchanged);
    expect(await asked({ flow: { ...flow, action_value: 1, priority: 5 } })).toEqual([
      ...unchanged.slice(0, 2),
      [1_000, 1],
    ]);
    expect(await asked({ flow_id: kept.id, flow: { ...flow, conditions: nobody } })).toEqual([
      [800, 700],
      ...unchanged.slice(1),
    ]);
    await program.api("POST", "/api/v1/customers/erase", { email: "kim@x.example" });
    expect(await asked({ flow: { ...flow, action_value: 1, priority: 99 } })).toEqual([
      [800, 1],
      [700, 700],
      [1_000, 1],
    ]);
  });

  it("tries of a flow that exists what a change of it would make, and refuses what that would (FLOW-9, FLOW-12)", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    await pay(program, slug, 20);
    const post = (body: object) =>
      program.api<SimulationBody & Refused>("POST", "/api/v1/flows/simulate", { ...body, last: 5 });
    const asked = async (body: object) =>
      (await post(body)).body.payments.map((row) => [row.old_amount_cents, row.new_amount_cents]);
    const off = await change(program, "POST", "/flows", { ...flow, active: false });
    const flat = { action_type: "flat", action_value: 900 };
    expect(await asked({ flow_id: off.id, flow: flat })).toEqual([[2_000, 2_000]]);
    expect(await asked({ flow_id: off.id, flow: { ...flat, active: true } })).toEqual([[2_000, 900]]);
    expect(await asked({ flow_id: off.id })).toEqual([[2_000, 700]]);
    const leads = await change(program, "POST", "/flows", { ...flow, event: "lead_created" });
    const amount = [{ field: "txn_amount_cents", op: "gt", value: 1 }];
    for (const [changed, path] of [
      [{ action_type: "percentage", action_value: 5 }, "action_type"],
      [{ ...flat, conditions: amount }, "conditions.0.field"],
      [{ ...flat, action_value: 0.5 }, "action_value"],
    ] as const) {
      for (const apply_from of [undefined, ago(30)]) {
        const reply = await post({ flow_id: leads.id, flow: changed, apply_from });
        expect([reply.status, reply.body.error?.details.map((one) => one.path)]).toEqual([422, [`flow.${path}`]]);
      }
      const patched = await program.api<Refused>("PATCH", `/api/v1/flows/${leads.id}`, changed);
      expect([patched.status, patched.body.error?.details.map((one) => one.path)]).toEqual([422, [path]]);
    }
    expect(await asked({ flow_id: leads.id, flow: flat })).toEqual([[2_000, 2_000]]);
  });

  it("lists the partners who earn another amount, the period and the payments whose rule changes", async () => {
    const program = await makeProgram();
    const slugs = Array.from({ length: 21 }, (_, i) => `partner-${i}`);
    for (const slug of slugs) await makePartner(program, { slug });
    await makePartner(program, { slug: "same", commission_pct: 30 });
    for (const [i, slug] of ["same", ...slugs].entries()) {
      const currency = i === 2 ? "jpy" : "usd";
      await sendA(
        program,
        sessionCompleted({ ref: slug, amount: 1_000 + 10 * i, currency, created: 1_780_000_000 + i }),
      );
    }
    const flow = { action_type: "percentage", action_value: 30, conditions: [] };
    const { body } = await program.api<Reported>("POST", "/api/v1/flows/simulate", { flow, last: 100 });
    expect(body).toMatchObject({ partner_count: 21, changed_count: 22, more: false });
    expect([body["from"], body["to"]]).toEqual([iso(1_780_000_000_000), iso(1_780_000_021_000)]);
    // 100 JPY are more than 1.21 USD in major units.
    expect(body.partners.map(({ slug, currency }) => [slug, currency]).slice(0, 2)).toEqual([
      ["partner-1", "JPY"],
      ["partner-20", "USD"],
    ]);
    expect(body.partners).toHaveLength(20);
    expect(body.partners[1]).toMatchObject({ payments: 1, old_amount_cents: 242, new_amount_cents: 363 });
    expect(body.payments.at(-1)).toMatchObject({
      ...{ old_amount_cents: 300, new_amount_cents: 300, rule_changed: true, new_flow_id: "new" },
      old_rate: { source: "partner", action_type: "percentage", action_value: 30 },
      new_rate: { source: "flow", action_type: "percentage", action_value: 30 },
    });
  });

  it("tries what is without a flow, and currencies as PATCH would store them", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    const eur = await change(program, "POST", "/flows", { ...flow, currency: "EUR", apply_from: ago(100) });
    await sendA(program, sessionCompleted({ ref: slug, amount: 10_000, currency: "eur", created: seconds(ago(1)) }));
    const tried = async (given: object) => {
      const body = { flow_id: eur.id, flow: given, last: 5 };
      const reply = await program.api<SimulationBody>("POST", "/api/v1/flows/simulate", body);
      return reply.body.payments.map((row) => [row.old_amount_cents, row.new_amount_cents]);
    };
    expect(await tried({ active: false })).toEqual([[700, 2_000]]);
    expect(await tried({ action_type: "percentage", action_value: 50, currency: null })).toEqual([[700, 5_000]]);
    // The amount of a flow without a currency is in the program's.
    expect(await tried({ currency: null })).toEqual([[700, 2_000]]);
    const added = { flow: { name: "no action" }, last: 5 };
    const { body } = await program.api<Refused>("POST", "/api/v1/flows/simulate", added);
    expect(body.error?.details.map(({ path }) => path)).toEqual(["flow.action_type"]);
  });

  it("looks at fewer payments if the flow compares many of a customer's", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    for (let i = 0; i < 31; i++) {
      await sendA(program, sessionCompleted({ ref: slug, created: 1_780_000_000 + i, payment_intent: `pi_few_${i}` }));
    }
    const conditions = [{ field: "payment_number", op: "lt", value: 1_000 }];
    const few = { ...flow, conditions };
    const { body } = await program.api<SimulationBody>("POST", "/api/v1/flows/simulate", { flow: few, last: 100 });
    expect([body.payments.length, body.more]).toEqual([30, true]);
  });

  it("another program's flow is not found", async () => {
    const [mine, theirs] = [await makeProgram(), await makeProgram()];
    const flow = await theirs.api<{ id: string }>("POST", "/api/v1/flows", {
      name: "x",
      action_type: "flat",
      action_value: 1,
    });
    const reply = await mine.api("POST", "/api/v1/flows/simulate", { flow_id: flow.body.id, last: 1 });
    expect(reply.status).toBe(404);
  });

  it("agrees with what really happens when the same facts meet the flow", async () => {
    await fc.assert(
      fc.asyncProperty(moneyWorld, worldFlows, async (world, flows) => {
        const [added, ...others] = flows;
        if (!added) return;
        const flow = { ...added, active: true };
        const { events } = liveAll(world);
        const [without, withFlow] = [await makeWorldProgram(others), await makeWorldProgram([...others, flow])];
        for (const program of [without, withFlow]) {
          for (const { provider, event } of events) await receiveEvent(programContext(program), provider, event, "{}");
        }
        const simulated = await without.api<SimulationBody>("POST", "/api/v1/flows/simulate", { flow, last: 1_000 });
        expect(simulated.status).toBe(200);
        const keys = new Map((await ledgerOf(without)).payments.map((row) => [row.id, row.provider_transaction_id]));
        const real = Object.fromEntries(
          (await ledgerOf(withFlow)).payments.map((row) => [
            row.provider_transaction_id,
            row.decision?.amount_cents ?? 0,
          ]),
        );
        const reported = Object.fromEntries(
          simulated.body.payments.map((row) => [keys.get(row.payment_id), row.new_amount_cents]),
        );
        expect(reported).toEqual(real);
      }),
      { numRuns: RUNS },
    );
  });
});
