/** Resources and their fields. */
import { describe, expect, it } from "vitest";
import { create, deliveriesOf, ENDPOINT, eventsOf, FLOW, refusedPaths, type Row } from "../support/conformance.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

describe("Flow", () => {
  it("takes every field, op and value of the condition table that fit each other, and no other (FLOW-4)", async () => {
    const program = await makeProgram();
    const numbers = ["eq", "neq", "gt", "lt"].map((op) => ({ field: "txn_amount_cents", op, value: 5_000 }));
    const texts = ["customer_email", "partner_slug", "provider"].flatMap((field) =>
      ["eq", "neq", "contains"].map((op) => ({ field, op, value: "x" })),
    );
    const conditions = [...numbers, ...texts];
    for (const one of conditions) {
      expect((await create(program, "/api/v1/flows", { ...FLOW, conditions: [one] }))["conditions"]).toEqual([one]);
    }
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
      hold_until: null,
      partner_id: partner.id,
      amount: 2_000,
      revenue: 10_000,
      status: "pending",
      currency: "USD",
    });
  });
});
