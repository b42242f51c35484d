/** The products that payments contain, as the owner sees them. */
import { describe, expect, it } from "vitest";
import { listProducts, recordProducts } from "../../src/core/kernel/seen-products.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { sql } from "drizzle-orm";
import { runBatch } from "../../src/db/client.ts";
import { cents } from "../../src/domain/money.ts";
import { DAY } from "../../src/lib/time.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { invoicePaid } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import type { Fact } from "../../src/domain/fact.ts";

const listed = async (program: TestProgram) =>
  (await program.api<{ data: { provider: string; id: string; name: string | null }[] }>("GET", "/api/v1/products")).body
    .data;

describe("the products seen in payments (LINE-3)", () => {
  it("are those of every provider, once, of this program only", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    await sendA(program, invoicePaid({ livemode: true }));
    await sendA(program, invoicePaid({ livemode: true }));
    const event = transactionCompleted();
    await sendB(program, event);
    const [item] = (event.data["details"] as { line_items: { price_id: string; product: { id: string } }[] })
      .line_items;
    const items = [
      { product_id: "plan-pro", amount_cents: 500 },
      { product_id: "for kim@customer.example", amount_cents: 500 },
    ];
    const sale = { external_id: "o", amount_cents: 1_000, currency: "USD", net_of_tax: true, items };
    await program.api("POST", "/api/v1/track/sale", sale);
    const own = await listed(program);
    expect(own.map(({ provider, id, name }) => [provider, id, name]).toSorted()).toEqual(
      [
        ["api", "plan-pro", null],
        ["provider_a", "price_1RwJxfGaouLfVOpU", "Plan"],
        ["provider_a", "prod_Ss45LY8HsRvKY5", "Plan"],
        ["provider_b", item!.price_id, "Plan"],
        ["provider_b", item!.product.id, "Plan"],
      ].toSorted(),
    );
    expect(await listed(other)).toEqual([]);
  });

  it("are not those of test events that do not count", async () => {
    const program = await makeProgram();
    await sendA(program, invoicePaid({ livemode: false }));
    expect(await listed(program)).toEqual([]);
  });

  it("keep the last stated name, and the day they were last seen", async () => {
    const program = await makeProgram();
    const at = (days: number) => forProgram(testContext(Date.now() + days * DAY), program.program);
    const seen = async (days: number, name?: string) => {
      const ctx = at(days);
      const lines = [{ products: ["plan-pro"], amount_cents: cents(1), ...(name ? { names: [name] } : {}) }];
      const facts = [{ kind: "payment", lines } as unknown as Fact];
      await runBatch(ctx.db, recordProducts(ctx, "api", facts, sql`true`));
      const [product] = await listProducts(ctx);
      return [product!.name, Math.round((Date.parse(product!.last_seen_at) - Date.now()) / DAY) + 0];
    };
    expect(await seen(0)).toEqual([null, 0]);
    expect(await seen(0.6, "Pro")).toEqual(["Pro", 1]);
    expect(await seen(0.9)).toEqual(["Pro", 1]);
    expect(await seen(3)).toEqual(["Pro", 3]);
  });
});
