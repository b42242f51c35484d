/**
 * A payment provider that the service does not have: a folder as `src/providers` has them, and makers of its events.
 * vitest.config.ts adds its line to the list for `test/integration/third-provider.test.ts`.
 */
import * as z from "zod";
import type { Provider } from "../../src/providers/provider.ts";
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

export const providerC = {
  name: "provider_c" as const,
  text: "provider C",
  signature_headers: ["Provider-C-Signature"],
  whyRefused: (input) => checkHeader(SCHEME, input),
  verify: (input) => verifySignature(SCHEME, input),
  parse: (body) => parseWith(envelope, READERS, body),
  claims_programs: false,
  claimedOwner: () => ({ program_id: null, transaction_id: null, subscription_id: null }),
  secrets: {
    webhook_secret: { label: "Signing secret of C", hint: "Provider C shows it once.", removed: "C is refused then." },
  },
  wanted_events: { needed: [{ type: "order.paid", purpose: "every order of C" }], better: [] },
  checkout: {
    intro: "Pass the reference to C as `partner`:",
    snippets: [{ label: "Order of provider C", code: ({ slug }) => `orders.create({ partner: "${slug}" })` }],
  },
  customers: { id_pattern: /^third_[a-z0-9]{1,100}$/, id_prefix: "third_", has_email: false },
  document: {
    description: "Events of C.",
    event: z.looseObject({ id: z.string(), type: z.string(), at: z.string() }),
    example: { id: "c_1", type: "order.paid", at: "2026-03-02T09:30:00Z" },
  },
} satisfies Provider;

export interface EventC {
  id: string;
  type: "order.paid" | "order.refunded";
  at: string;
  order: { id: string; cents: number; [field: string]: unknown };
}

export function orderPaid(given: { id?: string; cents: number; partner: string | null; buyer?: string }): EventC {
  const { id: order_id = uniqueId("ord_"), cents, partner, buyer = uniqueId("third_") } = given;
  return eventC("order.paid", { id: order_id, cents, currency: "USD", partner, buyer });
}

export function orderRefunded(order_id: string, cents: number): EventC {
  return eventC("order.refunded", { id: order_id, cents });
}

function eventC(type: EventC["type"], data: EventC["order"]): EventC {
  return { id: uniqueId("c_"), type, at: new Date().toISOString(), order: data };
}

/** The signature header of a body under a secret. */
export async function signC(body: string, secret: string): Promise<string> {
  const at = nowSeconds();
  return `at=${at},mac=${await hmacHex(secret, `${at}|`, body)}`;
}
