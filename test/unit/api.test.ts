/** The owner's server's reports, as facts, and read back from them. */
import { describe, expect, it } from "vitest";
import type { Fact } from "../../src/domain/fact.ts";
import { ownersServer } from "../../src/providers/api/index.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { eventOfApi, lead, refund, sale, type LeadBody } from "../support/api.ts";
import { readerOf } from "../support/parsed.ts";
import { adjustmentUpdated, transactionCompleted } from "../support/provider-b.ts";

const AT = "2026-03-02T09:30:00.000Z";

describe("a report of the owner's server (FACT-1, FACT-3)", () => {
  it("is the same fact as a vendor's event of the same sale", () => {
    const { factsOf } = readerOf(providerB);
    const given = { ref: "jane", amount: 5_000, tax: 0, customer: "u", occurred_at: AT };
    const ofB = factsOf(transactionCompleted({ id: "o", ...given, subscription: null }));
    const order = sale({ external_id: "o", ref: "jane", amount_cents: 5_000, customer: { id: "u" }, occurred_at: AT });
    // The vendor's events state lines, with ids of its own.
    const bare = (facts: readonly Fact[]) => facts.map((fact) => ({ ...fact, lines: undefined }));
    expect(bare(eventOfApi("sale", order).facts)).toEqual(bare(ofB));
    const adjusted = { id: "r", transaction: "o", amount: 700, tax: 0, occurred_at: AT };
    const [back] = factsOf(adjustmentUpdated(adjusted));
    const ofApi = eventOfApi("refund", {
      ...refund({ external_id: "r", sale_external_id: "o", amount_cents: 700, occurred_at: AT }),
    });
    // Reported facts do not have stages.
    expect(bare(ofApi.facts)).toEqual(bare([{ ...back!, stage: 0 } as Fact]));
  });

  it("has an id of its kind, and its time", () => {
    const event = eventOfApi("lead", lead({ external_id: "7", ref: "jane", occurred_at: "2026-03-02T10:30:00+01:00" }));
    expect(event).toMatchObject({
      event_id: "lead:7",
      event_type: "lead",
      occurred_at: AT,
      test: false,
      ignored: null,
    });
    for (const fact of event.facts) expect(fact.occurred_at).toBe(AT);
  });

  it.each<[LeadBody["customer"], string[]]>([
    [{ id: "u" }, ["attribution of u", "lead"]],
    [{ email: "Jo@B.example" }, ["attribution of jo@b.example", "lead"]],
    [
      { id: "u", email: "Jo@B.example" },
      ["attribution of u", "attribution of jo@b.example", "customer u Jo@B.example", "lead"],
    ],
  ])("of a lead of %o binds it by each", (customer, wanted) => {
    const { facts } = eventOfApi("lead", lead({ ref: "jane", customer }));
    const shown = facts.map((fact) => {
      if (fact.kind === "attribution") return `attribution of ${fact.customer_id ?? fact.customer_email}`;
      return fact.kind === "customer" ? `customer ${fact.customer_id} ${fact.email}` : fact.kind;
    });
    expect(shown).toEqual(wanted);
  });
});

describe("what facts say (FACT-2)", () => {
  const items = [{ product_id: "p", amount_cents: 1 }];

  it.each([
    ["sale", sale({ ref: "jane", customer: { id: "u", email: "a@b.example" }, items }), 7],
    ["sale", sale(), 7],
    ["lead", lead({ ref: "jane", customer: { id: "u", email: "a@b.example" } }), 4],
    ["lead", lead({ ref: "jane", customer: { email: "a@b.example" } }), 4],
    ["refund", refund({ sale_external_id: "o" }), 3],
  ] as const)("of a %s is each of its fields", (kind, body, fields) => {
    const { values } = ownersServer.reportedValues(eventOfApi(kind, { ...body, occurred_at: AT }).facts);
    const {
      external_id: _,
      net_of_tax: __,
      customer = {},
      ...given
    } = { net_of_tax: true, ...body } as typeof body & {
      net_of_tax: true;
      customer?: { id?: string; email?: string };
    };
    const flat = {
      ...given,
      occurred_at: AT,
      ...Object.fromEntries(Object.entries(customer).map(([k, v]) => [`customer.${k}`, v])),
    };
    const read = Object.fromEntries([...values].filter(([, value]) => value !== null));
    expect(read).toEqual(
      Object.fromEntries(
        Object.entries(flat).map(([field, value]) => [field, Array.isArray(value) ? JSON.stringify(value) : value]),
      ),
    );
    expect(values.size).toBeLessThanOrEqual(fields);
  });
});
