/** Resources and their fields. */
import { describe, expect, it } from "vitest";
import {
  create,
  deliveriesOf,
  ENDPOINT,
  eventsOf,
  FLOW,
  refusedPaths,
  TIMESTAMP,
  type Row,
} from "../support/conformance.ts";
import { sendA } from "../support/ledger.ts";
import { callApi, makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

describe("identifiers and timestamps", () => {
  it("each id is an opaque string with a type prefix; all timestamps are ISO 8601 strings (UTC) (HTTP-20, HTTP-21)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const flow = await create(program, "/api/v1/flows", FLOW);
    const endpoint = await create(program, "/api/v1/webhooks", ENDPOINT);
    await sendA(program, sessionCompleted({ ref: partner.slug }));
    const events = await eventsOf(program);
    const commission = events.find(({ type }) => type === "commission.created");
    for (const [id, prefix] of [
      [program.id, "prog_"],
      [flow.id, "flw_"],
      [partner.id, "par_"],
      [commission?.payload["commission_id"], "com_"],
      [events[0]?.id, "evt_"],
      [endpoint.id, "whe_"],
    ] as const) {
      expect(String(id)).toMatch(new RegExp(`^${prefix}[0-9a-z]+$`));
    }
    for (const { created_at } of [partner, flow, endpoint, ...events]) expect(created_at).toMatch(TIMESTAMP);
  });
});

describe("Flow", () => {
  it("has the fields of its table; name, action_type and action_value are required on create (FLOW-7)", async () => {
    const program = await makeProgram();
    const flow = await create(program, "/api/v1/flows", FLOW);
    expect(flow).toMatchObject({
      ...FLOW,
      program_id: program.id,
      event: "transaction_completed",
      conditions: [],
      priority: 0,
      active: true,
    });
    for (const field of ["name", "action_type", "action_value"] as const) {
      const { [field]: _left, ...rest } = FLOW;
      expect(refusedPaths(await program.api("POST", "/api/v1/flows", rest))).toEqual([field]);
    }
    const given = {
      ...FLOW,
      event: "transaction_completed",
      conditions: [{ field: "provider", op: "eq", value: "provider_b" }],
      priority: 12,
      active: false,
    };
    expect(await create(program, "/api/v1/flows", given)).toMatchObject(given);
    expect(refusedPaths(await program.api("POST", "/api/v1/flows", { ...FLOW, event: "refund" }))).toEqual(["event"]);
    for (const output of ["id", "program_id", "created_at"]) {
      expect(refusedPaths(await program.api("POST", "/api/v1/flows", { ...FLOW, [output]: "x" }))).toEqual([output]);
    }
  });

  it("action_type is percentage or flat; action_value is the rate or an amount in cents", async () => {
    const program = await makeProgram();
    for (const [action_type, action_value] of [
      ["percentage", 12.5],
      ["flat", 1_500],
    ] as const) {
      const flow = await create(program, "/api/v1/flows", { ...FLOW, action_type, action_value });
      expect(flow).toMatchObject({ action_type, action_value });
    }
    const share = await program.api("POST", "/api/v1/flows", { ...FLOW, action_type: "share" });
    expect(refusedPaths(share)).toEqual(["action_type"]);
  });

  it("takes every field, op and value of the condition table that fit each other, and no other (FLOW-4)", async () => {
    const program = await makeProgram();
    const numbers = ["eq", "neq", "gt", "lt"].map((op) => ({ field: "txn_amount_cents", op, value: 5_000 }));
    const texts = ["customer_email", "partner_slug", "provider"].flatMap((field) =>
      ["eq", "neq", "contains"].map((op) => ({ field, op, value: "x" })),
    );
    const conditions = [...numbers, ...texts];
    expect((await create(program, "/api/v1/flows", { ...FLOW, conditions }))["conditions"]).toEqual(conditions);
    const misfits = [
      { field: "txn_amount_cents", op: "contains", value: 5 },
      { field: "txn_amount_cents", op: "eq", value: "5" },
      { field: "partner_slug", op: "gt", value: "x" },
      { field: "provider", op: "eq", value: 5 },
      { field: "country", op: "eq", value: "x" },
      { field: "provider", op: "matches", value: "x" },
    ];
    for (const condition of misfits) {
      const [path] = refusedPaths(await program.api("POST", "/api/v1/flows", { ...FLOW, conditions: [condition] }));
      expect(path).toMatch(/^conditions\.0\.(field|op|value)$/);
    }
  });

  it("list items carry id, name, action_type, action_value, priority, active, conditions (FLOW-8)", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/api/v1/flows", FLOW);
    const { body } = await program.api<{ data: Row[] }>("GET", "/api/v1/flows");
    expect(body.data).toEqual([expect.objectContaining({ id, ...FLOW, priority: 0, active: true, conditions: [] })]);
  });
});

describe("Partner", () => {
  it("has the fields of its table; email and slug are required, a new partner is invited (PART-9)", async () => {
    const program = await makeProgram();
    const minimal = { email: "jane@example.com", slug: "jane" };
    expect(await create(program, "/api/v1/partners", minimal)).toMatchObject({
      ...minimal,
      program_id: program.id,
      status: "invited",
      commission_pct: null,
      payout_method: null,
      payout_email: null,
      provider_a_account_id: null,
      metadata: null,
    });
    const full = {
      email: "joe@example.com",
      slug: "Joe_2-x",
      first_name: "Joe",
      last_name: "Doe",
      commission_pct: 12.5,
      payout_method: "wallet",
      payout_email: "wallet@example.com",
      metadata: { tier: "gold", nested: { n: [1, null] } },
    };
    const joe = await create(program, "/api/v1/partners", full);
    expect(joe).toMatchObject(full);
    expect((await program.api("GET", `/api/v1/partners/${joe.id}`)).body).toMatchObject(full);
    expect(refusedPaths(await program.api("POST", "/api/v1/partners", {})).toSorted()).toEqual(["email", "slug"]);
    for (const output of ["id", "program_id", "status", "provider_a_account_id", "created_at", "stats"]) {
      const body = { email: "x@example.com", slug: "x", [output]: "x" };
      expect(refusedPaths(await program.api("POST", "/api/v1/partners", body))).toEqual([output]);
    }
  });

  it("slug is a URL-safe identifier; payout_method is one of four or null; metadata is an object or null (PART-1, PART-9)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const at = `/api/v1/partners/${id}`;
    for (const payout_method of ["wallet", "provider_a", "bank_transfer", "crypto", null]) {
      expect((await program.api<Row>("PATCH", at, { payout_method })).body["payout_method"]).toBe(payout_method);
    }
    expect(refusedPaths(await program.api("PATCH", at, { payout_method: "cash" }))).toEqual(["payout_method"]);
    for (const slug of ["", "a b", "ä", "a/b", "a.b", "x".repeat(65), null, 5]) {
      expect(refusedPaths(await program.api("PATCH", at, { slug }))).toEqual(["slug"]);
    }
    for (const metadata of [[], "x", 1]) {
      expect(refusedPaths(await program.api("PATCH", at, { metadata }))).toEqual(["metadata"]);
    }
    expect((await program.api<Row>("PATCH", at, { metadata: null })).body["metadata"]).toBeNull();
  });

  it("stats are on get-one only and are integers: the count, and cents in all and by status (PART-10)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000 }));
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 333 }));
    const one = await program.api<{ stats: Record<string, number> }>("GET", `/api/v1/partners/${partner.id}`);
    expect(one.body.stats).toMatchObject({
      total_commissions: 2,
      total_earned_cents: 2_067,
      pending_cents: 2_067,
      approved_cents: 0,
      paid_cents: 0,
    });
    const list = await program.api<{ data: Row[] }>("GET", "/api/v1/partners");
    expect(list.body.data[0]).not.toHaveProperty("stats");
    expect(partner).not.toHaveProperty("stats");
  });
});

describe("Commission, as seen in payloads", () => {
  it("outbound data has id, partner_id, amount, revenue, status; the audit payload its five fields", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/api/v1/webhooks", { ...ENDPOINT, events: ["commission.created"] });
    const partner = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 12_000, tax: 2_000 }));
    const [audit] = await eventsOf(program, "commission.created");
    expect(audit?.payload).toMatchObject({
      commission_id: expect.stringMatching(/^com_/) as string,
      partner_id: partner.id,
      amount_cents: 2_000,
      txn_amount_cents: 10_000,
      provider: "provider_a",
    });
    const [delivery] = await deliveriesOf(program, id);
    expect(delivery?.payload.data).toEqual({
      id: audit?.payload["commission_id"],
      partner_id: partner.id,
      amount: 2_000,
      revenue: 10_000,
      status: "pending",
      currency: "USD",
    });
  });
});

describe("Webhook endpoint (outbound)", () => {
  it("has the fields of its table; the secret is returned only in the create response", async () => {
    const program = await makeProgram();
    const created = await create(program, "/api/v1/webhooks", { ...ENDPOINT, description: "Orders" });
    expect(created).toMatchObject({ ...ENDPOINT, description: "Orders", active: true });
    expect(typeof created["secret"]).toBe("string");
    const { secret: _secret, ...shown } = created;
    const one = await program.api<Row>("GET", `/api/v1/webhooks/${created.id}`);
    expect(one.body).toMatchObject(shown);
    const list = await program.api<{ data: Row[] }>("GET", "/api/v1/webhooks");
    for (const body of [one.body, list.body.data[0]]) expect(body).not.toHaveProperty("secret");
    const bare = await create(program, "/api/v1/webhooks", { ...ENDPOINT, events: ["partner.created", "payout.paid"] });
    expect(bare).toMatchObject({ events: ["partner.created", "payout.paid"], active: true });
  });
});

describe("Audit event", () => {
  it("has id, program_id, type, payload and created_at (EVT-1)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, {}, "invited");
    const { body } = await program.api<{ data: Row[] }>("GET", "/api/v1/events");
    expect(body.data).toEqual([
      {
        id: expect.stringMatching(/^evt_/) as string,
        program_id: program.id,
        type: "partner.created",
        payload: expect.objectContaining({ partner_id: partner.id }) as object,
        actor: expect.objectContaining({ type: "api_key" }) as object,
        changes: null,
        created_at: expect.stringMatching(TIMESTAMP) as string,
      },
    ]);
  });
});

describe("Program settings", () => {
  it("a new program has the defaults of the table (PROG-1)", async () => {
    const { body } = await callApi<{ program: Row; api_key: string }>("test-admin-token", "POST", "/admin/programs", {
      name: "New",
      owner_email: "owner@example.com",
    });
    const me = await callApi<Row>(body.api_key, "GET", "/api/v1/programs/me");
    expect(me.body).toMatchObject({
      id: expect.stringMatching(/^prog_/) as string,
      name: "New",
      domain: null,
      currency: "USD",
      default_commission_pct: 20,
      payout_term: "NET-15",
      min_payout_cents: 0,
    });
  });
});
