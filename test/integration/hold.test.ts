/** The hold of a commission: the flow's days, else the group's, else the program's (COM-6). */
import { describe, expect, it } from "vitest";
import { makeApplication } from "../support/applications.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

const DAY = 86_400_000;

async function change(program: TestProgram, method: string, path: string, body: unknown): Promise<{ id: string }> {
  const reply = await program.api<{ id: string }>(method, `/api/v1${path}`, body);
  expect([path, reply.status]).toEqual([path, method === "POST" ? 201 : 200]);
  return reply.body;
}

/** A program that holds commissions for 30 days, and a partner in a group that holds them for 10. */
async function makeHeld() {
  const program = await makeProgram({ auto_approve_days: 30 });
  const group = await change(program, "POST", "/groups", { name: "Trusted", slug: "trusted", hold_days: 10 });
  const partner = await makePartner(program, { group_id: group.id });
  return { program, group, partner };
}

/** Reports a sale of today and gives the days of its hold. */
async function daysHeld(program: TestProgram, ref: string, external_id: string, occurred_at?: string): Promise<number> {
  const sale = {
    external_id,
    ref,
    amount_cents: 10_000,
    currency: "USD",
    net_of_tax: true,
    customer: { id: external_id },
  };
  const body = { ...sale, ...(occurred_at ? { occurred_at } : {}) };
  expect((await program.api("POST", "/api/v1/track/sale", body)).status).toBe(200);
  const { data } = (
    await program.api<{ data: { provider_transaction_id: string; hold_until: string }[] }>("GET", "/api/v1/commissions")
  ).body;
  const { hold_until } = data.find((row) => row.provider_transaction_id === external_id)!;
  return Math.round((Date.parse(hold_until) - Date.now()) / DAY) + 0;
}

describe("the days of the hold", () => {
  it("are the flow's, else the group's, else the program's", async () => {
    const { program, partner } = await makeHeld();
    const other = await makePartner(program);
    const conditions = [{ field: "txn_amount_cents", op: "eq", value: 10_000 }];
    expect([await daysHeld(program, other.slug, "a"), await daysHeld(program, partner.slug, "b")]).toEqual([30, 10]);
    const flow = { name: "Longer", action_type: "percentage", action_value: 5, hold_days: 60, conditions };
    await change(program, "POST", "/flows", flow);
    expect([await daysHeld(program, other.slug, "c"), await daysHeld(program, partner.slug, "d")]).toEqual([60, 60]);
  });

  it("count for later payments if they change, and a move to another group too", async () => {
    const { program, group, partner } = await makeHeld();
    const holdOf = async (id: string) => {
      const { body } = await program.api<{ data: { provider_transaction_id: string; hold_until: string }[] }>(
        "GET",
        "/api/v1/commissions",
      );
      return body.data.find((row) => row.provider_transaction_id === id)!.hold_until;
    };
    await daysHeld(program, partner.slug, "a");
    const before = await holdOf("a");
    await change(program, "PATCH", `/groups/${group.id}`, { hold_days: 20 });
    expect([await daysHeld(program, partner.slug, "b"), await holdOf("a")]).toEqual([20, before]);
    // A payment of before the change, which is reported after it.
    const earlier = new Date(Date.now() - 600_000).toISOString();
    expect(await daysHeld(program, partner.slug, "late", earlier)).toBe(10);
    const { id } = await change(program, "POST", "/groups", { name: "New", slug: "new", hold_days: 0 });
    await change(program, "PATCH", `/partners/${partner.id}`, { group_id: id });
    expect([await daysHeld(program, partner.slug, "c"), await holdOf("a")]).toEqual([0, before]);
  });

  it("are not skipped by a sale that is reported with an old date", async () => {
    const { program, partner } = await makeHeld();
    expect(await daysHeld(program, partner.slug, "old", "2025-01-01T00:00:00.000Z")).toBe(10);
  });

  it("need the scope of payouts to be changed, at a group and at a flow (ACCESS-13)", async () => {
    const { program, group } = await makeHeld();
    const { api_key } = (
      await program.api<{ api_key: string }>("POST", "/api/v1/api-keys", { name: "Writes", scopes: ["read", "write"] })
    ).body;
    const as = (method: string, path: string, body: unknown) =>
      program.api(method, `/api/v1${path}`, body, { authorization: `Bearer ${api_key}` });
    const flow = { name: "x", action_type: "percentage", action_value: 5 };
    expect([
      (await as("PATCH", `/groups/${group.id}`, { hold_days: 0 })).status,
      (await as("POST", "/groups", { name: "y", slug: "y", hold_days: 0 })).status,
      (await as("POST", "/flows", { ...flow, hold_days: 0 })).status,
      (await as("POST", "/flows", flow)).status,
    ]).toEqual([403, 403, 403, 201]);
  });

  it("are made shorter for nobody by a key without the scope of payouts, in whichever way (ACCESS-13)", async () => {
    const { program, group, partner } = await makeHeld();
    const { api_key } = (
      await program.api<{ api_key: string }>("POST", "/api/v1/api-keys", { name: "Writes", scopes: ["read", "write"] })
    ).body;
    const as = (method: string, path: string, body?: unknown) =>
      program.api<{ data: { id: string; is_default: boolean }[] }>(method, `/api/v1${path}`, body, {
        authorization: `Bearer ${api_key}`,
      });
    const [standard] = (await as("GET", "/groups")).body.data.filter((row) => row.is_default);
    const longer = await change(program, "POST", "/groups", { name: "New", slug: "new", hold_days: 40 });
    const none = await change(program, "POST", "/groups", { name: "None", slug: "none", hold_days: 0 });
    const unused = await change(program, "POST", "/groups", { name: "Unused", slug: "unused", hold_days: 50 });
    const flow = { name: "x", action_type: "percentage", action_value: 5 };
    const { id: without } = await change(program, "POST", "/flows", flow);
    const application = await makeApplication(program, { group_slug: "none" });
    const statuses = async (...calls: [string, string, unknown?][]) => {
      const found = [];
      for (const [method, path, body] of calls) found.push((await as(method, path, body)).status);
      return found;
    };
    // Days as before, or more.
    expect(
      await statuses(
        ["POST", "/partners", { email: "a@partners.example", slug: "a", group_id: longer.id }],
        ["PATCH", `/partners/${partner.id}`, { group_id: standard!.id }],
        ["PATCH", `/partners/${partner.id}`, { group_id: longer.id }],
        ["PATCH", `/flows/${without}`, { priority: 1 }],
      ),
    ).toEqual([201, 200, 200, 200]);
    await change(program, "POST", "/flows", { ...flow, hold_days: 60, active: false });
    expect(
      await statuses(
        ["POST", "/partners", { email: "b@partners.example", slug: "b", group_id: group.id }],
        ["PATCH", `/partners/${partner.id}`, { group_id: standard!.id }],
        ["PATCH", `/groups/${none.id}`, { is_default: true }],
        ["DELETE", `/groups/${unused.id}`],
        ["POST", `/applications/${application}/approve`],
        ["POST", "/flows", flow],
        ["PATCH", `/flows/${without}`, { priority: 2 }],
        ["DELETE", `/flows/${without}`],
      ),
    ).toEqual([403, 403, 403, 403, 403, 403, 403, 403]);
  });
});
