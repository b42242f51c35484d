/** Events from the providers' lists, of any age and number. */
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { LIST_KEYS, openEventLists, READING, type EventLists } from "../support/event-lists.ts";
import { vendorNamed } from "../../src/providers/registry.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { statusOf } from "../support/list-programs.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import {
  chargeRefunded,
  disputeClosed,
  invoicePaid,
  invoicePaymentSucceeded,
  refundEvent,
  sessionCompleted,
  subscriptionEventA,
} from "../support/provider-a.ts";
import { adjustmentCreated, transactionCompleted } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

/** Provider A counts whole seconds. */
const NOW = Math.floor(Date.now() / 1000) * 1000;
const seconds = (ms: number) => Math.floor(ms / 1000);

let lists: EventLists;
beforeEach(async () => {
  lists = openEventLists();
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
});
afterEach(() => vi.restoreAllMocks());

const read = (now: number) => serveAll(readEventLists(testContext(now), lists.readsOf));

async function shop(): Promise<TestProgram> {
  const program = await makeProgram({
    created_at: iso(NOW - 90 * DAY),
    ...{ provider_a_api_key: LIST_KEYS.provider_a, provider_b_api_key: LIST_KEYS.provider_b },
  });
  await makePartner(program, { slug: "jane" });
  return program;
}

async function earned(program: TestProgram): Promise<number[]> {
  const { body } = await program.api<{ data: { amount_cents: number }[] }>("GET", "/api/v1/commissions");
  return body.data.map(({ amount_cents }) => amount_cents).toSorted((a, b) => a - b);
}

it("what changed a payment since is found, however old the payment is, also with `since` (IN-15, IN-16)", async () => {
  const program = await shop();
  const id = uniqueId("txn_");
  for (const payment_intent of ["pi_1", "pi_2"]) {
    await sendA(program, sessionCompleted({ ref: "jane", payment_intent, created: seconds(NOW - 60 * DAY) }));
  }
  const about = { ref: "jane", program: program.id, occurred_at: iso(NOW - 60 * DAY) };
  await sendB(program, transactionCompleted({ id, ...about }));
  await read(NOW);
  const created = seconds(NOW - HOUR);
  lists.a.push(
    chargeRefunded({ payment_intent: "pi_1", amount: 10_000, refunded: 5_000, created }),
    disputeClosed({ payment_intent: "pi_2", amount: 10_000, created }),
  );
  const refund = { transaction: id, amount: 2_500, status: "approved" as const, occurred_at: iso(NOW - HOUR) };
  lists.b.push(adjustmentCreated(refund));
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    lists.fetch(new Request(input, init).url, init ?? {}),
  );
  for (const provider of READING) {
    const path = `/api/v1/integrations/${provider}/reconcile`;
    expect((await program.api("POST", path, { since: iso(NOW - 2 * HOUR) })).status).toBe(200);
  }
  await read(NOW + MINUTE);
  expect(await earned(program)).toEqual([0, 1_000, 1_500]);
});

it("an event that is longer than a row is taken in without its body, and those beside it (IN-15)", async () => {
  const program = await shop();
  const long = "x".repeat(2_500_000);
  const created = seconds(NOW - HOUR);
  for (const custom_text of ["", long, "", long, long, long, long]) {
    lists.a.push(sessionCompleted({ ref: "jane", created, object: { custom_text } }));
  }
  const about = { ref: "jane", program: program.id, occurred_at: iso(NOW - HOUR) };
  for (let i = 0; i < 5; i++) lists.b.push(transactionCompleted({ ...about, data: { items: [long] } }));
  await read(NOW);
  expect(await earned(program)).toHaveLength(12);
  type Status = Record<string, { read_failure: unknown; complete_until: string }>;
  const { body } = await program.api<Status>("GET", "/api/v1/integrations/status");
  for (const provider of READING) {
    expect(body[provider]).toMatchObject({ read_failure: null, complete_until: iso(NOW - MINUTE) });
  }
});

it("what the provider is not asked to send is no loss where it never came (IN-15)", async () => {
  const program = await shop();
  const created = seconds(NOW - HOUR);
  const ids = { charge: "ch_1", payment_intent: "pi_1", amount: 12_000, created };
  const invoice = { id: "in_1", ref: "jane", customer: "cus_1", subscription: "sub_1", created };
  // A renewal and its refund, as one account makes them.
  const all = [
    subscriptionEventA("customer.subscription.updated", { id: "sub_1", customer: "cus_1", created }),
    invoicePaid(invoice),
    invoicePaymentSucceeded(invoice),
    chargeRefunded({ ...ids, refunded: 3_000 }),
    refundEvent("refund.created", { id: "re_1", ...ids, amount: 3_000 }),
  ];
  const { needed, better } = vendorNamed("provider_a")!.wanted_events;
  const selected = new Set([...needed, ...better].map(({ type }) => type));
  const sent = all.filter(({ type }) => selected.has(type));
  for (const event of sent) expect((await sendA(program, event)).status).toBe(200);
  lists.a.push(...all);
  await read(NOW);
  const recovered = async () => (await statusOf(program)).recovered;
  expect([sent.length, await recovered()]).toEqual([2, 0]);
  const owner = await signInOwner(program);
  const page = async () => textOf((await owner.get("/dashboard/integration")).body);
  expect(await page()).not.toContain("without a webhook");
  // A type counts as sent once one event came; a selected type counts as missing even without any.
  await sendA(program, refundEvent("refund.created", { ...ids, id: "re_2", amount: 1_000 }));
  lists.a.push(
    refundEvent("refund.created", { ...ids, id: "re_3", amount: 1_000 }),
    refundEvent("refund.failed", { ...ids, id: "re_3", amount: 1_000, status: "failed" }),
  );
  await read(NOW + 2 * HOUR);
  expect(await recovered()).toBe(2);
  expect(await page()).toContain("2 events arrived without a webhook");
});
