/** The statements of an event have room for facts of every kind at once, and do not grow with their number. */
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { storeEvent } from "../../src/core/inbound/receive.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import type { Fact } from "../../src/domain/fact.ts";
import { cents } from "../../src/domain/money.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { makePartner, makeProgram, testContext } from "../support/program.ts";

const occurred_at = "2026-06-01T10:00:00.000Z";

/** A fact of each kind. */
function factsOf(n: number): Fact[] {
  const [subscription_id, customer_id, customer_email] = [`sub_${n}`, `cus_${n}`, `c${n}@example.com`];
  const ids = { subscription_id, customer_id };
  const [aliases, codes] = [[`pay_${n}`, `inv_${n}`], [`code_${n}`]];
  const amount = cents(10_000);
  const each: { [Kind in Fact["kind"]]: Omit<Extract<Fact, { kind: Kind }>, "kind" | "occurred_at"> } = {
    payment: {
      ...{ key: `pay_${n}`, source: "transaction", aliases, paid: true, currency: "USD", ref: null, refs: [], codes },
      ...{ base_cents: amount, gross_cents: amount, customer_email, ...ids, items: [] },
    },
    adjustment: {
      ...{ adjustment_id: `adj_${n}`, aliases, mode: "single", amount_cents: amount, net_of_tax: true, stage: 1 },
      ...{ direction: "deduct", effective: true },
    },
    lead: {
      key: `lead_${n}`,
      aliases: [`lead_${n}`],
      currency: "USD",
      ref: "jane",
      refs: [],
      customer_id,
      customer_email,
    },
    attribution: { ref: "jane", ...ids, customer_email, any_provider: true },
    code_use: { codes, ...ids },
    code: { code_id: `code_${n}`, name: `CODE${n}`, parents: [`coupon_${n}`] },
    customer: { customer_id, email: customer_email },
    cancellation: { subscription_id },
    link: { aliases },
    elsewhere: { aliases, program_id: "prog_other" },
  };
  return Object.entries(each).map(([kind, fact]) => ({ kind, occurred_at, ...fact }) as Fact);
}

describe("an event of many facts", () => {
  it.each(VENDOR_NAMES)("of every kind is stored and settled, and repeated: %s", async (provider) => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const ctx = forProgram(testContext(), program.program);
    const facts = Array.from({ length: 30 }, (_, n) => factsOf(n)).flat();
    const event = { event_id: "evt_1", event_type: "sale", occurred_at, facts, ignored: null, test: false };
    const asked = sql`select 'waiting' as what, ${"it"} as data where ${"a"} in (${"a"}, ${"b"})`;
    for (const isNew of [true, false]) {
      const received = await storeEvent(ctx, provider, event, "{}", { before: [], ask: [asked] });
      expect(received).toMatchObject({ isNew, asked: expect.arrayContaining([{ what: "waiting", data: "it" }]) });
    }
  });
});
