/** The preview of a rule that applies from an earlier time, and its refusals (FLOW-6, FLOW-11). */
import { describe, expect, it } from "vitest";
import { MINUTE, ago, amounts, change, flow, pay, seconds } from "../support/applied.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionAsyncSucceeded, sessionCompleted } from "../support/provider-a.ts";

describe("the preview (FLOW-6)", () => {
  type Preview = {
    payments: { payment_id: string; old_amount_cents: number; new_amount_cents: number }[];
    sums: unknown;
    more: boolean;
  };

  /** The number of payments in a preview with each limit, and whether it reports that there are more. */
  const looked = async (program: TestProgram, apply_from: string, lasts: number[]) => {
    const found: [number, boolean][] = [];
    for (const last of lasts) {
      const asked = { default_commission_pct: 5, apply_from, last };
      const { body } = await program.api<Preview>("POST", "/api/v1/flows/simulate", asked);
      found.push([body.payments.length, body.more]);
    }
    return found;
  };

  it("says what is then done, of flows and rates, and changes nothing", async () => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program);
    for (const minutes of [40, 20, 10]) await pay(program, slug, minutes);
    const { id: flow_id } = await change(program, "POST", "/flows", { ...flow, active: false });
    const since = { apply_from: ago(30) };
    const ofFlow = { action_type: "flat", action_value: 900, active: true } as const;
    for (const [method, path, body, preview] of [
      ["PATCH", "/programs/me", { default_commission_pct: 5 }, { default_commission_pct: 5 }],
      ["PATCH", `/partners/${id}`, { commission_pct: 7 }, { partner_id: id, commission_pct: 7 }],
      ["PATCH", `/partners/${id}`, { commission_pct: null }, { partner_id: id, commission_pct: null }],
      ["PATCH", `/flows/${flow_id}`, ofFlow, { flow_id, flow: ofFlow }],
      ["POST", "/flows", { ...flow, priority: 2 }, { flow: { ...flow, priority: 2 } }],
      ["PATCH", `/flows/${flow_id}`, { active: false }, { flow_id, flow: { ...ofFlow, active: false } }],
    ] as const) {
      const before = await amounts(program);
      const asked = await program.api<Preview>("POST", "/api/v1/flows/simulate", { ...preview, ...since, last: 50 });
      expect([preview, asked.status]).toEqual([preview, 200]);
      expect(await amounts(program)).toEqual(before);
      await change(program, method, path, { ...body, ...since });
      const [, ...after] = await amounts(program);
      const { payments, sums } = asked.body;
      expect(payments.map((one) => one.old_amount_cents).toReversed()).toEqual(before.slice(1));
      expect([preview, payments.map((one) => one.new_amount_cents).toReversed()]).toEqual([preview, after]);
      expect(sums).toMatchObject([{ currency: "USD", payments: 2 }]);
    }
  });

  it("says whether there are more payments since then than it looked at", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    for (const minutes of [60, 40, 20, 10]) await pay(program, slug, minutes);
    expect(await looked(program, ago(50), [2, 3, 4])).toEqual([
      [2, true],
      [3, false],
      [3, false],
    ]);
  });

  it("says so too of what was paid since then and first heard of long before", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    const days = (count: number) => ago(count * 24 * 60);
    const delayed = { ref: slug, id: "cs_delayed", amount: 10_000 };
    await sendA(program, sessionCompleted({ ...delayed, payment_status: "unpaid", created: seconds(days(6)) }));
    for (const count of [5, 4]) await pay(program, slug, count * 24 * 60);
    await sendA(program, sessionAsyncSucceeded({ ...delayed, created: seconds(days(2)) }));
    expect(await looked(program, days(3).slice(0, 10), [1, 2, 3])).toEqual([
      [0, true],
      [1, false],
      [1, false],
    ]);
  });

  it("is refused without a time, for two rules, and for another program's partner", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const { id } = await makePartner(other);
    for (const [body, expected] of [
      [{ default_commission_pct: 5 }, 422],
      [{ default_commission_pct: 5, flow, apply_from: ago(1) }, 422],
      [{ partner_id: id, apply_from: ago(1) }, 422],
      [{ flow, apply_from: new Date(Date.now() + MINUTE).toISOString() }, 422],
      [{ partner_id: id, commission_pct: 5, apply_from: ago(1) }, 404],
    ] as const) {
      const { status } = await program.api("POST", "/api/v1/flows/simulate", { ...body, last: 10 });
      expect([body, status]).toEqual([body, expected]);
    }
  });
});

describe("refusals", () => {
  it.each([
    ["in the future", { commission_pct: 5, apply_from: new Date(Date.now() + 60 * MINUTE).toISOString() }],
    ["that is no time", { commission_pct: 5, apply_from: "yesterday" }],
    ["that is a number", { commission_pct: 5, apply_from: 1 }],
    ["without a rate", { first_name: "Jane", apply_from: "2026-01-01" }],
  ])("a time %s is refused, and nothing is changed", async (_, body) => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program);
    await pay(program, slug, 20);
    const { status, body: reply } = await program.api<{ error: { details: { path: string }[] } }>(
      "PATCH",
      `/api/v1/partners/${id}`,
      body,
    );
    expect([status, reply.error.details.map(({ path }) => path)]).toEqual([422, ["apply_from"]]);
    expect(await amounts(program)).toEqual([2_000]);
  });

  it("so it is at the program and at flows, at what has no time, and at another program's flow", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const { id } = await change(other, "POST", "/flows", flow);
    const future = new Date(Date.now() + 60 * MINUTE).toISOString();
    for (const [method, path, body, expected] of [
      ["PATCH", "/programs/me", { default_commission_pct: 5, apply_from: future }, 422],
      ["PATCH", "/programs/me", { name: "Other", apply_from: ago(1) }, 422],
      ["POST", "/flows", { ...flow, apply_from: future }, 422],
      ["POST", "/partners", { email: "a@b.example", slug: "a", commission_pct: 5, apply_from: ago(1) }, 422],
      ["PATCH", `/flows/${id}`, { apply_from: ago(1) }, 404],
    ] as const) {
      expect([path, (await program.api(method, `/api/v1${path}`, body)).status]).toEqual([path, expected]);
    }
  });
});
