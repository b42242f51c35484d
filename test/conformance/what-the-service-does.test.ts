/** The service as a whole. */
import { describe, expect, it } from "vitest";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { create, deliveriesOf, ENDPOINT, eventsOf, FLOW } from "../support/conformance.ts";
import { sendA, sendBody } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { saleAt } from "../support/sale.ts";

describe("what the service does", () => {
  it("1. Partners are registered; each has a unique slug", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { slug: "jane" });
    expect(partner.slug).toBe("jane");
    const taken = await program.api("POST", "/api/v1/partners", { email: "other@example.com", slug: "jane" });
    expect(taken.status).toBe(409);
  });

  it("3. turns completed payments of every provider into commissions for the referring partner", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program, { slug: "jane" });
    await makePartner(program, { slug: "joe" });
    for (const [i, name] of VENDOR_NAMES.entries()) {
      const sale = saleAt(name, { ref: "jane", program: program.id, amount: 5_000 * (i + 1) });
      expect((await sendBody(program, name, sale)).body.outcome).toBe("commission");
    }
    const made = await eventsOf(program, "commission.created");
    expect(made.map(({ payload }) => [payload["partner_id"], payload["amount_cents"], payload["provider"]])).toEqual(
      VENDOR_NAMES.map((name, i) => [jane.id, 1_000 * (i + 1), name]),
    );
  });

  it("4. decides amounts by flows; else the partner's rate and then the program's default rate apply (FLOW-3)", async () => {
    const program = await makeProgram({ default_commission_pct: 20 });
    await makePartner(program, { slug: "own", commission_pct: 30 });
    await makePartner(program, { slug: "none" });
    await create(program, "/api/v1/flows", {
      ...FLOW,
      conditions: [{ field: "txn_amount_cents", op: "gt", value: 50_000 }],
    });
    for (const [ref, amount] of [
      ["own", 60_000],
      ["own", 10_000],
      ["none", 10_000],
    ] as const) {
      await sendA(program, sessionCompleted({ ref, amount }));
    }
    const made = await eventsOf(program, "commission.created");
    expect(made.map(({ payload }) => payload["amount_cents"])).toEqual([6_000, 3_000, 2_000]);
  });

  it("6. writes every occurrence to an audit log that the API reads", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, {}, "invited");
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { status: "active" });
    await sendA(program, sessionCompleted({ ref: partner.slug }));
    await program.api("DELETE", `/api/v1/partners/${partner.id}`);
    const types = (await eventsOf(program)).map(({ type }) => type);
    expect(types.toSorted()).toEqual(
      ["partner.created", "partner.updated", "webhook.provider_a", "commission.created", "partner.deleted"].toSorted(),
    );
  });

  it("7. has a delivery of each outbound event for every registered endpoint", async () => {
    const program = await makeProgram();
    const endpoints = [
      await create(program, "/api/v1/webhooks", ENDPOINT),
      await create(program, "/api/v1/webhooks", { ...ENDPOINT, events: ["commission.created"] }),
    ];
    const partner = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: partner.slug }));
    const [all, some] = await Promise.all(endpoints.map(({ id }) => deliveriesOf(program, id)));
    expect(all?.map(({ event }) => event)).toEqual(["partner.created", "partner.updated", "commission.created"]);
    expect(some?.map(({ event }) => event)).toEqual(["commission.created"]);
    expect(some?.[0]?.event_id).toBe(all?.[2]?.event_id);
  });

  it("lets all API operations act on the single program that owns the API key (ACCESS-1)", async () => {
    const [one, other] = [await makeProgram(), await makeProgram()];
    const same = { slug: "jane", email: "jane@example.com" };
    const partner = await makePartner(one, same);
    expect((await makePartner(other, same)).id).not.toBe(partner.id);
    expect((await other.api("GET", `/api/v1/partners/${partner.id}`)).status).toBe(404);
    expect((await other.api<{ total: number }>("GET", "/api/v1/partners")).body.total).toBe(1);
    expect((await other.api("PATCH", "/api/v1/programs/me", { name: "Other" })).status).toBe(200);
    expect((await one.api<{ name: string }>("GET", "/api/v1/programs/me")).body.name).toBe("Test program");
  });
});
