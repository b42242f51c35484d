/**
 * The cost of a provider's event does not depend on the number of payments of its program: D1 bills the rows read, and a
 * program grows for years. An event's rows are read by keys; a missing index would silently read the whole program.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ReportKind } from "../../src/providers/provider.ts";
import { PROVIDER_NAMES, type ListedProvider } from "../../src/providers/registry.ts";
import { iso } from "../../src/lib/time.ts";
import { lead, refund, sale, type report } from "../support/api.ts";
import { discountEventA, discountEventB, promotionCodeEvent } from "../support/codes.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { meterDatabase, meterRowsRead, type RowMeter } from "../support/metered-database.ts";
import { plannedByValue } from "../support/planned-by-value.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import * as a from "../support/provider-a.ts";
import * as b from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { callWith } from "../support/watched-database.ts";

/** Sends one event to a program, whose database is D1 unless given. */
type Send = (program: TestProgram, binding?: D1Database) => Promise<Reply<unknown>>;

const ofA =
  (event: a.EventA): Send =>
  (program, DB = env.DB) =>
    sendA(program, event, { DB });
const ofB =
  (event: b.EventB): Send =>
  (program, DB = env.DB) =>
    sendB(program, event, { DB });

const ofServer =
  (kind: ReportKind, body: Parameters<typeof report>[2]): Send =>
  (program, DB = env.DB) =>
    callWith({ DB }, `/api/v1/track/${kind}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${program.api_key}` },
      body: JSON.stringify(body),
    });

let said = 0;
/** Each report of a code has another time. */
const seconds = () => 1_780_000_000 + said++;

/** A customer's story, event by event: a new provider does not compile without its own. */
const STORY_AT: Record<ListedProvider, (ref: string) => Record<string, Send>> = {
  api: (ref) => {
    const [id, external_id] = [uniqueId("user_"), uniqueId("order_")];
    const email = `${id}@shop.example`;
    return {
      "api: lead": ofServer("lead", lead({ ref, customer: { id, email } })),
      "api: sale": ofServer("sale", sale({ external_id, customer: { id, email } })),
      "api: refund": ofServer("refund", refund({ sale_external_id: external_id, amount_cents: 1_000 })),
      "api: lead of who pays elsewhere": ofServer("lead", lead({ ref, customer: { email } })),
    };
  },
  provider_a: (ref) => {
    const [customer, subscription] = [uniqueId("cus_"), uniqueId("sub_")];
    const [payment_intent, charge, invoice] = [uniqueId("pi_"), uniqueId("ch_"), uniqueId("in_")];
    const discount = uniqueId("di_");
    return {
      "A: customer with a reference": ofA(a.customerEvent({ id: customer, ref })),
      "A: session of a subscription": ofA(a.sessionCompleted({ ref, customer, subscription })),
      "A: first invoice": ofA(a.invoicePaid({ id: invoice, customer, subscription, ref })),
      "A: renewal without a reference": ofA(a.invoicePaid({ customer, subscription })),
      "A: what paid the invoice": ofA(a.invoicePaymentPaid({ invoice, payment_intent, charge })),
      "A: refund": ofA(a.chargeRefunded({ payment_intent, charge, refunded: 1_000 })),
      "A: dispute": ofA(a.disputeClosed({ payment_intent, charge, status: "lost" })),
      "A: cancellation": ofA(a.subscriptionDeleted({ id: subscription, customer })),
      "A: one payment": ofA(a.sessionCompleted({ ref })),
      "A: one payment of nobody's": ofA(a.sessionCompleted({})),
      "A: refund that came first": ofA(a.chargeRefunded({ payment_intent: uniqueId("pi_") })),
      "A: what a code is called": ofA(promotionCodeEvent({ id: "promo_rows", code: "ROWS", created: seconds() })),
      "A: what a discount was made from": ofA(discountEventA({ id: discount, promotion_code: "promo_rows" })),
      "A: invoice with a discount": ofA(a.invoicePaid({ object: { discounts: [discount] } })),
    };
  },
  provider_b: (ref) => {
    const [transaction, customer, subscription] = [uniqueId("txn_"), uniqueId("ctm_"), uniqueId("sub_")];
    return {
      "B: transaction": ofB(b.transactionCompleted({ id: transaction, ref, customer, subscription })),
      "B: renewal without a reference": ofB(b.transactionCompleted({ customer, subscription })),
      "B: refund": ofB(b.adjustmentUpdated({ transaction, amount: 1_000 })),
      "B: cancellation": ofB(b.subscriptionCanceled({ id: subscription, customer })),
      "B: what a code is called": ofB(
        discountEventB({ id: "dsc_rows", code: "ROWS", occurred_at: iso(seconds() * 1_000) }),
      ),
      "B: transaction with a code": ofB(b.transactionCompleted({ data: { discount_id: "dsc_rows" } })),
    };
  },
};

/** The stories at all of them; each event is measured by its name. */
function story(ref: string): Record<string, Send> {
  return Object.assign({}, ...PROVIDER_NAMES.map((name) => STORY_AT[name](ref))) as Record<string, Send>;
}

/** Rows read for each event of a new customer's story, and for each of them when it comes again. */
async function measure(program: TestProgram, ref: string): Promise<Map<string, ReturnType<RowMeter["taken"]>>> {
  const { binding, taken } = meterRowsRead(env.DB);
  const measured = new Map<string, ReturnType<RowMeter["taken"]>>();
  const events = Object.entries(story(ref));
  const repeated = events.map(([name, send]): [string, Send] => [`${name}, again`, send]);
  for (const [name, send] of [...events, ...repeated]) {
    expect([name, (await send(program, binding)).status]).toEqual([name, 200]);
    measured.set(name, taken());
  }
  return measured;
}

const STORIES = 12;

describe("rows read for a provider's event", () => {
  it("do not grow with the payments, customers and events of the program", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    await measure(program, slug);
    const before = await measure(program, slug);
    for (let i = 0; i < STORIES; i++) for (const send of Object.values(story(slug))) await send(program);
    const after = await measure(program, slug);
    for (const [name, { rows, most }] of after) {
      // Allows for a lost race or one more page of an index; a row for each story would be at least `STORIES`.
      expect.soft(rows, [name, ...most].join("\n")).toBeLessThan(before.get(name)!.rows + STORIES);
    }
  });

  it("are read by statements that are compiled once, not at every run", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    const { binding, statements } = meterRowsRead(env.DB);
    for (const send of Object.values(story(slug))) await send(program, binding);
    expect(statements.size).toBeGreaterThan(30);
    expect(await plannedByValue(env.DB, statements)).toEqual([]);
  });

  it("do not grow with the payments of a customer that carry their own reference", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    const { binding, taken } = meterRowsRead(env.DB);
    const customer = uniqueId("cus_");
    const pay = async () => {
      await ofA(a.sessionCompleted({ ref: slug, customer }))(program, binding);
      return taken().rows;
    };
    const first = [await pay(), await pay(), await pay()];
    for (let i = 0; i < 30; i++) await pay();
    // Each is read once, in the customer's index, because it might have needed the new reference.
    expect(await pay()).toBeLessThan(Math.max(...first) + 4 * 30);
  });

  it("do not grow with the payments of a customer that flows compare (FLOW-14)", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    const conditions = [{ field: "payment_number", op: "lte", value: 3 }];
    await program.api("POST", "/api/v1/flows", {
      name: "first",
      action_type: "percentage",
      action_value: 50,
      conditions,
    });
    const { binding, taken } = meterRowsRead(env.DB);
    const customer = { id: uniqueId("user_"), email: "often@shop.example" };
    await program.api("POST", "/api/v1/track/lead", lead({ ref: slug, customer }));
    const pay = async () => {
      const { ref: _, ...unnamed } = sale({ external_id: uniqueId("order_"), customer });
      await ofServer("sale", unnamed)(program, binding);
      return taken().rows;
    };
    for (let i = 0; i < 5; i++) await pay();
    const few = await pay();
    for (let i = 0; i < 30; i++) await pay();
    expect(await pay()).toBeLessThan(few + 10);
  });
});

/**
 * Rows that an event may write, counts and indexes among them: D1 bills a thousand times as much for one as for a read. Two of a
 * payment of a customer at provider A are its sum and the index of that: by it possible doubles are found.
 */
const WRITTEN: Record<string, number> = {
  "api: lead": 44,
  "api: sale": 50,
  "api: refund": 31,
  "api: lead of who pays elsewhere": 40,
  "A: customer with a reference": 11,
  "A: session of a subscription": 58,
  "A: first invoice": 58,
  "A: renewal without a reference": 53,
  "A: what paid the invoice": 18,
  "A: refund": 33,
  "A: dispute": 35,
  "A: cancellation": 47,
  "A: one payment": 50,
  "A: one payment of nobody's": 28,
  "A: refund that came first": 15,
  "A: what a code is called": 14,
  "A: what a discount was made from": 14,
  "A: invoice with a discount": 39,
  "B: transaction": 59,
  "B: renewal without a reference": 54,
  "B: refund": 30,
  "B: cancellation": 39,
  "B: what a code is called": 12,
  "B: transaction with a code": 36,
};

describe("rows written for a provider's event", () => {
  it("are no more than they were", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    let rows = 0;
    const binding = meterDatabase(env.DB, ({ rows_written }) => void (rows += rows_written));
    for (const send of Object.values(story(slug))) await send(program);
    const written: Record<string, number> = {};
    for (const [name, send] of Object.entries(story(slug))) {
      rows = 0;
      await send(program, binding);
      written[name] = rows;
    }
    expect(Object.keys(WRITTEN), `of each event of the story: ${JSON.stringify(written)}`).toEqual(
      Object.keys(written),
    );
    const tooMany = Object.entries(WRITTEN).filter(([name, most]) => written[name]! > most);
    expect(tooMany.map(([name]) => [name, written[name]])).toEqual([]);
  });
});
