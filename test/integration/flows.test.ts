import { describe, expect, it } from "vitest";
import { makeProgram, type Reply, type TestProgram } from "../support/program.ts";

interface FlowBody {
  warnings?: unknown[];
  id: string;
  name: string;
  event: string;
  action_type: string;
  action_value: number;
  conditions: { field: string; op: string; value: number | string }[];
  priority: number;
  active: boolean;
  currency: string | null;
  created_at: string;
}

interface ErrorBody {
  error: { code: string; details?: { path: string; message: string }[] };
}

const FLAT = { name: "Flat", action_type: "flat", action_value: 500 };
const PERCENT = { name: "Percent", action_type: "percentage", action_value: 12.5 };

async function makeFlow(program: TestProgram, fields: Record<string, unknown> = {}): Promise<FlowBody> {
  const reply = await program.api<FlowBody>("POST", "/api/v1/flows", { ...FLAT, ...fields });
  if (reply.status !== 201) throw new Error(JSON.stringify(reply.body));
  // Only the reply that saves a flow has them.
  const { warnings: _, ...flow } = reply.body;
  return flow;
}

async function flowEvents(program: TestProgram) {
  const { body } = await program.api<{ data: { type: string; payload: Record<string, unknown> }[] }>(
    "GET",
    "/api/v1/events?per_page=100",
  );
  return body.data.filter(({ type }) => type.startsWith("flow.")).toReversed();
}

function pathsOf(reply: Reply<unknown>): string[] {
  expect(reply.status).toBe(422);
  const { error } = reply.body as ErrorBody;
  expect(error.code).toBe("validation_failed");
  return (error.details ?? []).map(({ path }) => path);
}

describe("flows", () => {
  it("creates with the defaults, reads, changes and removes, with an audit event for each change (FLOW-7, FLOW-10)", async () => {
    const program = await makeProgram();
    const flow = await makeFlow(program);
    expect(flow).toMatchObject({
      ...FLAT,
      event: "transaction_completed",
      conditions: [],
      priority: 0,
      active: true,
    });
    const conditions = [{ field: "txn_amount_cents", op: "gt", value: 1000 }];
    const patched = await program.api<FlowBody>("PATCH", `/api/v1/flows/${flow.id}`, { conditions, active: false });
    expect([patched.status, patched.body]).toMatchObject([
      200,
      { id: flow.id, conditions, active: false, name: "Flat" },
    ]);
    const replaced = await program.api<FlowBody>("PATCH", `/api/v1/flows/${flow.id}`, { conditions: [] });
    expect(replaced.body.conditions).toEqual([]);
    const got = await program.api<FlowBody>("GET", `/api/v1/flows/${flow.id}`);
    expect([got.status, { ...got.body, warnings: [] }]).toEqual([200, replaced.body]);
    const deleted = await program.api("DELETE", `/api/v1/flows/${flow.id}`);
    expect([deleted.status, deleted.body]).toEqual([200, { id: flow.id, deleted: true }]);
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const gone = await program.api(method, `/api/v1/flows/${flow.id}`, method === "PATCH" ? {} : undefined);
      expect([method, gone.status]).toEqual([method, 404]);
    }
    const seen = await flowEvents(program);
    expect(seen.map(({ type }) => type)).toEqual(["flow.created", "flow.updated", "flow.updated", "flow.deleted"]);
    expect(seen.every(({ payload }) => payload["flow_id"] === flow.id && payload["name"] === "Flat")).toBe(true);
  });

  it("lists by priority descending, the older one first among equals, without pagination (FLOW-8)", async () => {
    const program = await makeProgram();
    const low = await makeFlow(program, { priority: -1.5 });
    const first = await makeFlow(program, { priority: 7 });
    const second = await makeFlow(program, { priority: 7 });
    const high = await makeFlow(program, { priority: 1e9, active: false });
    const list = await program.api<{ data: FlowBody[] }>("GET", "/api/v1/flows");
    expect(Object.keys(list.body)).toEqual(["data"]);
    expect(list.body.data.map(({ id }) => id)).toEqual([high.id, first.id, second.id, low.id]);
  });

  it("judges the action by its type, also where a PATCH changes only one of the two (FLOW-1, FLOW-9)", async () => {
    const program = await makeProgram();
    const refused: [Record<string, unknown>, string][] = [
      [{ ...FLAT, action_value: 1.5 }, "action_value"],
      [{ ...FLAT, action_value: -1 }, "action_value"],
      [{ ...FLAT, action_value: 2 ** 53 }, "action_value"],
      [{ ...FLAT, action_value: "5" }, "action_value"],
      [{ ...PERCENT, action_value: 100.0001 }, "action_value"],
      [{ ...PERCENT, action_value: -0.0001 }, "action_value"],
      [{ ...PERCENT, action_value: 1.00001 }, "action_value"],
      [{ ...FLAT, action_type: "share" }, "action_type"],
      [{ ...FLAT, event: "click" }, "event"],
      [{ ...FLAT, priority: "1" }, "priority"],
      [{ ...FLAT, active: 1 }, "active"],
      [{ ...FLAT, name: "" }, "name"],
      [{ ...FLAT, name: "\ud800" }, "name"],
      [{ ...FLAT, aktive: true }, "aktive"],
      [{ action_type: "flat", action_value: 1 }, "name"],
      [{ name: "x", action_value: 1 }, "action_type"],
      [{ name: "x", action_type: "flat" }, "action_value"],
    ];
    for (const [body, path] of refused) {
      expect(pathsOf(await program.api("POST", "/api/v1/flows", body))).toEqual([path]);
    }
    for (const body of [
      { ...FLAT, action_value: 0 },
      { ...FLAT, action_value: 1e12 },
      { ...PERCENT, action_value: 0.0001 },
      { ...PERCENT, action_value: 100 },
    ]) {
      const made = await program.api<FlowBody>("POST", "/api/v1/flows", body);
      expect([made.status, made.body.action_value]).toEqual([201, body.action_value]);
    }
    const flat = await makeFlow(program, { action_value: 500 });
    const at = `/api/v1/flows/${flat.id}`;
    expect(pathsOf(await program.api("PATCH", at, { action_type: "percentage" }))).toEqual(["action_value"]);
    expect(pathsOf(await program.api("PATCH", at, { action_value: 7.5 }))).toEqual(["action_value"]);
    expect((await program.api("PATCH", at, { action_type: "percentage", action_value: 7.5 })).status).toBe(200);
    expect(pathsOf(await program.api("PATCH", at, { action_type: "flat" }))).toEqual(["action_value"]);
  });

  it("names the condition and the part of it that does not fit (FLOW-1, FLOW-4)", async () => {
    const program = await makeProgram();
    const good = { field: "provider", op: "eq", value: "provider_a" };
    const refused: [Record<string, unknown>, string][] = [
      [{ field: "customer_email", op: "gt", value: "a" }, "op"],
      [{ field: "partner_slug", op: "lt", value: "a" }, "op"],
      [{ field: "txn_amount_cents", op: "contains", value: 1 }, "op"],
      [{ field: "txn_amount_cents", op: "eq", value: "1" }, "value"],
      [{ field: "provider", op: "eq", value: 1 }, "value"],
      [{ field: "provider", op: "eq", value: null }, "value"],
      [{ field: "provider", op: "eq" }, "value"],
      [{ field: "provider", op: "like", value: "x" }, "op"],
      [{ field: "country", op: "eq", value: "x" }, "field"],
      [{ ...good, negate: true }, "negate"],
      [{ field: "provider", op: "in", value: "api" }, "value"],
      [{ field: "provider", op: "eq", value: ["api"] }, "value"],
      [{ field: "provider", op: "in", value: [] }, "value"],
      [{ field: "provider", op: "in", value: Array.from({ length: 101 }, String) }, "value"],
      [{ field: "currency", op: "contains", value: "U" }, "op"],
      [{ field: "payment_number", op: "eq", value: 0 }, "value"],
      [{ field: "payment_number", op: "lte", value: 1_001 }, "value"],
      [{ field: "payment_number", op: "in", value: [1] }, "op"],
      [{ field: "months_since_first_payment", op: "lt", value: -1 }, "value"],
      [{ field: "months_since_first_payment", op: "lt", value: 1.5 }, "value"],
      [{ field: "new_customer", op: "eq", value: "true" }, "value"],
      [{ field: "new_customer", op: "neq", value: true }, "op"],
      [{ field: "ref_source", op: "in", value: ["link", "mail"] }, "value"],
    ];
    for (const [condition, part] of refused) {
      const reply = await program.api("POST", "/api/v1/flows", { ...FLAT, conditions: [good, condition] });
      expect(pathsOf(reply)).toEqual([`conditions.1.${part}`]);
    }
    expect(pathsOf(await program.api("POST", "/api/v1/flows", { ...FLAT, conditions: good }))).toEqual(["conditions"]);
    const twenty = Array.from({ length: 20 }, () => good);
    const flow = await makeFlow(program, { conditions: twenty });
    expect(flow.conditions).toHaveLength(20);
    const over = { conditions: [...twenty, good] };
    expect(pathsOf(await program.api("PATCH", `/api/v1/flows/${flow.id}`, over))).toEqual(["conditions"]);
  });

  it("refuses what no payment can satisfy, and names it (FLOW-13, FLOW-15)", async () => {
    const program = await makeProgram();
    const on = (field: string, op: string, value: unknown) => ({ field, op, value });
    const refused: [Record<string, unknown>, string][] = [
      [{ conditions: [on("provider", "eq", "api"), on("provider", "eq", "provider_a")] }, "conditions.1"],
      [{ conditions: [on("payment_number", "gt", 3), on("payment_number", "lt", 4)] }, "conditions.1"],
      [{ conditions: [on("payment_number", "lt", 1)] }, "conditions.0"],
      [{ conditions: [on("new_customer", "eq", true), on("new_customer", "eq", false)] }, "conditions.1"],
      [{ currency: "EUR", conditions: [on("currency", "eq", "USD")] }, "currency"],
      [{ currency: "EUR", conditions: [on("currency", "not_in", ["eur"])] }, "currency"],
      [{ ...FLAT, conditions: [on("currency", "eq", "EUR")] }, "currency"],
      [{ currency: "eur" }, "currency"],
      [{ starts_at: "2026-11-01", ends_at: "2026-11-01" }, "ends_at"],
      [{ starts_at: "yesterday" }, "starts_at"],
    ];
    for (const [fields, path] of refused) {
      const reply = await program.api("POST", "/api/v1/flows", { ...PERCENT, ...fields });
      expect([fields, pathsOf(reply)]).toEqual([fields, [path]]);
    }
  });

  it("gives a flow with an amount a currency, which stays if the action changes (FLOW-15)", async () => {
    const program = await makeProgram({ currency: "CHF" });
    const amount = { field: "txn_amount_cents", op: "gte", value: 1 };
    const made = [PERCENT, FLAT, { ...FLAT, currency: "JPY" }, { ...PERCENT, conditions: [amount] }];
    const flows: FlowBody[] = [];
    for (const fields of made) flows.push(await makeFlow(program, fields));
    expect(flows.map(({ currency }) => currency)).toEqual([null, "CHF", "JPY", "CHF"]);
    const changed = async (i: number, fields: Record<string, unknown>) =>
      (await program.api<FlowBody>("PATCH", `/api/v1/flows/${flows[i]!.id}`, fields)).body.currency;
    expect([
      await changed(0, FLAT),
      await changed(1, PERCENT),
      await changed(1, { currency: null }),
      await changed(2, { currency: null }),
    ]).toEqual(["CHF", "CHF", null, "CHF"]);
  });

  it("holds at most 100 flows, also where many are created at once (FLOW-1)", async () => {
    const program = await makeProgram();
    const replies: Reply<unknown>[] = [];
    for (let i = 0; i < 96; i += 12) {
      replies.push(
        ...(await Promise.all(Array.from({ length: 12 }, () => program.api("POST", "/api/v1/flows", FLAT)))),
      );
    }
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
    const late = await Promise.all(Array.from({ length: 12 }, () => program.api("POST", "/api/v1/flows", FLAT)));
    expect(late.filter(({ status }) => status === 201)).toHaveLength(4);
    for (const reply of late.filter(({ status }) => status !== 201)) expect(pathsOf(reply)).toEqual(["flows"]);
    const { body } = await program.api<{ data: FlowBody[] }>("GET", "/api/v1/flows");
    expect(body.data).toHaveLength(100);
    expect((await program.api<{ total: number }>("GET", "/api/v1/events?type=flow.created")).body.total).toBe(100);
    await program.api("DELETE", `/api/v1/flows/${body.data[0]?.id}`);
    expect((await program.api("POST", "/api/v1/flows", FLAT)).status).toBe(201);
  });

  it("loses no change where one flow is changed many times at once, and removes it once", async () => {
    const program = await makeProgram();
    const flow = await makeFlow(program);
    const at = `/api/v1/flows/${flow.id}`;
    const fields = ["name", "priority", "action_value", "active"] as const;
    const values = { name: "Other", priority: 3, action_value: 9, active: false };
    const patches = Array.from({ length: 20 }, (_, i) => fields[i % fields.length]!);
    const replies = await Promise.all(patches.map((field) => program.api("PATCH", at, { [field]: values[field] })));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect((await program.api<FlowBody>("GET", at)).body).toMatchObject(values);
    const removals = await Promise.all(Array.from({ length: 5 }, () => program.api("DELETE", at)));
    expect(removals.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404]);
    const types = (await flowEvents(program)).map(({ type }) => type);
    expect(types.filter((type) => type === "flow.updated")).toHaveLength(20);
    expect(types.filter((type) => type === "flow.deleted")).toHaveLength(1);
  });

  it("simulates a new or a changed flow and writes nothing (FLOW-6)", async () => {
    const program = await makeProgram();
    const flow = await makeFlow(program);
    const reply = await program.api("POST", "/api/v1/flows/simulate", {
      flow: { action_type: "percentage", action_value: 5 },
      flow_id: flow.id,
      last: 10,
    });
    const nobody = { partners: [], partner_count: 0, changed_count: 0 };
    const nothing = { ...nobody, payments: [], sums: [], from: null, to: null, more: false };
    expect([reply.status, reply.body]).toEqual([200, nothing]);
    for (const [body, path] of [
      [{ last: 1 }, "flow"],
      [{ flow_id: flow.id, last: 0 }, "last"],
      [{ flow_id: flow.id, last: 1001 }, "last"],
      [{ flow_id: flow.id }, "last"],
      [{ flow: { action_type: "flat", action_value: 1.5 }, last: 1 }, "flow.action_value"],
    ] as const) {
      expect(pathsOf(await program.api("POST", "/api/v1/flows/simulate", body))).toEqual([path]);
    }
    const unknown = { flow_id: "flw_00000000000000000000000000", last: 1 };
    expect((await program.api("POST", "/api/v1/flows/simulate", unknown)).status).toBe(404);
    expect((await program.api<{ data: FlowBody[] }>("GET", "/api/v1/flows")).body.data).toEqual([flow]);
    expect(await flowEvents(program)).toHaveLength(1);
  });
});
