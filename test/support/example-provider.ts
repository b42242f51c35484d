/**
 * A payment provider that the service does not have: a folder as `src/providers` has them, and makers of its events.
 * vitest.config.ts adds its line to the list for `test/integration/example-provider.test.ts`.
 */
import * as z from "zod";
import type { Vendor } from "../../src/providers/provider.ts";
import { checkHeader, verifySignature } from "../../src/providers/signature.ts";
import {
  amount,
  carriedRefs,
  currency,
  factsOf,
  id,
  instant,
  optionalText,
  parseWith,
  reader,
  typesRead,
} from "../../src/providers/wire.ts";
import { hmacHex, nowSeconds, uniqueId } from "./vendor.ts";

const SCHEME = { separator: ",", timestamp_key: "at", signature_key: "mac", joiner: "|" };

const envelope = z
  .object({ id, type: id, at: instant })
  .transform((event) => ({ event_id: event.id, event_type: event.type, occurred_at: event.at, test: false }));

const order = z.object({ id, buyer: id, cents: amount, currency, partner: optionalText });

const paid = reader(["order"], order, (data, { occurred_at }) => {
  const refs = carriedRefs(["metadata", data.partner]);
  return factsOf({
    kind: "payment",
    occurred_at,
    key: data.id,
    source: "transaction",
    aliases: [data.id],
    paid: true,
    currency: data.currency,
    base_cents: data.cents,
    gross_cents: data.cents,
    ref: refs[0]?.ref ?? null,
    refs,
    customer_email: null,
    customer_id: data.buyer,
    subscription_id: null,
  });
});

const refunded = reader(["order"], z.object({ id, cents: amount }), (data, { occurred_at, event_id }) =>
  factsOf({
    kind: "adjustment",
    occurred_at,
    adjustment_id: event_id,
    aliases: [data.id],
    mode: "single",
    amount_cents: data.cents,
    net_of_tax: true,
    direction: "deduct",
    stage: 0,
    effective: true,
  }),
);

const READERS = new Map([
  ["order.paid", paid],
  ["order.refunded", refunded],
]);

export const providerExample = {
  name: "provider_example" as const,
  text: "Example Pay",
  reported_by: "webhook" as const,
  kept_by: new Map(),
  signature_headers: ["Provider-Example-Signature"],
  whyRefused: (input) => checkHeader(SCHEME, input),
  verify: (input) => verifySignature(SCHEME, input),
  parse: (body) => parseWith(envelope, READERS, body),
  read_types: typesRead(READERS),
  claims_programs: false,
  claimedOwner: () => ({ program_id: null, transaction_id: null, subscription_id: null }),
  secrets: {
    webhook_secret: {
      label: (name: string) => `Signing secret of ${name}`,
      hint: (name: string) => `${name} shows it once.`,
      removed: "The example is refused then.",
      begins: ["example_"],
    },
  },
  wanted_events: {
    needed: [{ type: "order.paid", purpose: "every order of the example" }],
    better: [{ type: "order.refunded", purpose: "refunds lower the commission" }],
  },
  checkout: {
    intro: "Pass the reference to the example as `partner`:",
    snippets: [{ label: "Order", page: null, server: ({ slug }) => `return orders.create({ partner: "${slug}" });` }],
    payment_links: null,
    payment_elements: null,
  },
  customers: { id_pattern: /^example_[a-z0-9]{1,100}$/, id_prefix: "example_", has_email: false },
  document: {
    description: "Events of the example.",
    event: z.looseObject({ id: z.string(), type: z.string(), at: z.string() }),
    example: { id: "example_evt_1", type: "order.paid", at: "2026-03-02T09:30:00Z" },
  },
} satisfies Vendor;

export interface ExampleEvent {
  id: string;
  type: "order.paid" | "order.refunded";
  at: string;
  order: { id: string; cents: number; [field: string]: unknown };
}

export function orderPaid(given: { id?: string; cents: number; partner: string | null; buyer?: string }): ExampleEvent {
  const { id: order_id = uniqueId("ord_"), cents, partner, buyer = uniqueId("example_") } = given;
  return exampleEvent("order.paid", { id: order_id, cents, currency: "USD", partner, buyer });
}

export function orderRefunded(order_id: string, cents: number): ExampleEvent {
  return exampleEvent("order.refunded", { id: order_id, cents });
}

function exampleEvent(type: ExampleEvent["type"], data: ExampleEvent["order"]): ExampleEvent {
  return { id: uniqueId("example_"), type, at: new Date().toISOString(), order: data };
}

/** The signature header of a body under a secret. */
export async function signExample(body: string, secret: string): Promise<string> {
  const at = nowSeconds();
  return `at=${at},mac=${await hmacHex(secret, `${at}|`, body)}`;
}
