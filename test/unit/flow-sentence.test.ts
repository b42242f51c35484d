/** A flow in one sentence (PAGE-33). */
import { describe, expect, it } from "vitest";
import { flowSentence, type Ruled } from "../../src/http/pages/parts/flow-sentence.tsx";
import type { Condition } from "../../src/domain/condition.ts";

const NAMES = { products: new Map([["prod_1", "Pro"]]), groups: new Map([["creators", "Creators"]]) };
const SETTING = { names: NAMES, currency: "EUR", time_zone: "Europe/Berlin" };
const FLOW: Ruled = {
  ...{ event: "transaction_completed", action_type: "percentage", action_value: 30, conditions: [], base: "payment" },
  ...{ currency: null, hold_days: null, starts_at: null, ends_at: null },
};

const is = (field: Condition["field"], op: Condition["op"], value: Condition["value"]): Condition => ({
  field,
  op,
  value,
});

function sentence(fields: Partial<Ruled>): string {
  const parts = flowSentence({ ...FLOW, ...fields }, SETTING);
  return parts
    .map((part) => (typeof part === "string" ? part : `*${part.value}*`))
    .join("")
    .replaceAll("\u00a0", " ");
}

const PRO = is("product_id", "eq", "prod_1");

describe("the sentence of a flow (PAGE-33)", () => {
  it.each<[string, Partial<Ruled>]>([
    ["Partners get *30 %* of each payment.", {}],
    [
      "Partners in *Creators* get *30 %* of *Pro* for *12 months* after the customer's first payment, held for *30 days*.",
      {
        ...{ base: "matching_items", hold_days: 30 },
        conditions: [is("partner_group", "eq", "Creators"), PRO, is("months_since_first_payment", "lt", 12)],
      },
    ],
    [
      "Partners get *20 %* of each payment from *12 months* after the customer's first payment on.",
      { action_value: 20, conditions: [is("months_since_first_payment", "gt", 11)] },
    ],
    [
      "Partners get *30 %* of each payment with *Pro* or *prod_2*.",
      { conditions: [is("product_id", "in", ["prod_1", "prod_2"])] },
    ],
    [
      "Partners get *30 %* of *Pro* in each payment that is the customer's *first*.",
      { base: "matching_items", conditions: [PRO, is("payment_number", "lte", 1)] },
    ],
    [
      "Partners get *30 %* of each payment among the customer's *first 3*.",
      { conditions: [is("payment_number", "lt", 4)] },
    ],
    [
      "Partners get *nothing* for each payment from the customer's *22nd* on.",
      { action_value: 0, conditions: [is("payment_number", "gte", 22)] },
    ],
    [
      "Partners get *nothing* for each payment from *existing customers*.",
      { action_value: 0, conditions: [is("new_customer", "eq", false)] },
    ],
    [
      "Partners get *40.00 EUR* for each lead, *without a hold*.",
      { event: "lead_created", action_type: "flat", action_value: 4_000, currency: "EUR", hold_days: 0 },
    ],
    [
      "Partners get *60 %* of each payment over *100.00 EUR* made from *1 Nov 2026* to *30 Nov 2026*.",
      {
        ...{ action_value: 60, currency: "EUR", conditions: [is("txn_amount_cents", "gt", 10_000)] },
        ...{ starts_at: "2026-10-31T23:00:00.000Z", ends_at: "2026-11-30T23:00:00.000Z" },
      },
    ],
    [
      "Partners get *30 %* of each payment in *USD*.",
      { action_value: 30, currency: "USD", conditions: [is("currency", "in", ["usd", "eur"])] },
    ],
    [
      "Partners get *…* of each payment referred by *a link* or *a promotion code*.",
      { action_value: null, conditions: [is("ref_source", "in", ["link", "code"])] },
    ],
    [
      "Partners outside *Creators* with the slug *a*, *b*, *c* or *17 more* get *30 %* of each payment.",
      {
        conditions: [
          is("partner_group", "neq", "creators"),
          is("partner_slug", "in", ["a", "b", "c", ..."defghijklmnopqrst"]),
        ],
      },
    ],
  ])("%s", (text, fields) => {
    expect(sentence(fields)).toBe(text);
  });
});
