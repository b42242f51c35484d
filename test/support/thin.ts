/** Provider A's thin events, which it sends in place of full events if the owner selected them. */
import type { EventA } from "./provider-a-event.ts";
import { uniqueId } from "./vendor.ts";

/** The fields of the vendor's library: `V2.Core.EventNotification`. */
export interface ThinA {
  id: string;
  object: "v2.core.event";
  type: string;
  created: string;
  livemode: boolean;
  context: string | null;
  reason: null;
  related_object: { id?: string; type: string; url: string } | null;
  snapshot_event?: string;
}

/** The vendor's collections, by the `object` of their items. */
const COLLECTIONS: Record<string, string> = {
  "checkout.session": "checkout/sessions",
  invoice: "invoices",
  invoice_payment: "invoice_payments",
  charge: "charges",
  payment_intent: "payment_intents",
  refund: "refunds",
  dispute: "disputes",
  subscription: "subscriptions",
  promotion_code: "promotion_codes",
  coupon: "coupons",
  credit_note: "credit_notes",
  customer: "customers",
  transfer: "transfers",
};

/** The path of an event's object; a discount has no path of its own, only that of its customer. */
export function objectPath({ data: { object } }: EventA): string {
  if (object["object"] === "discount") return `/v1/customers/${String(object["customer"])}/discount`;
  const collection = COLLECTIONS[String(object["object"])];
  if (collection === undefined) throw new Error(`no collection of ${String(object["object"])}`);
  return `/v1/${collection}/${encodeURIComponent(object.id)}`;
}

/** The thin event of the same occurrence; `snapshot` decides whether it names the full event. */
export function thinOfA(
  event: EventA,
  { snapshot = true, ...fields }: Partial<ThinA> & { snapshot?: boolean } = {},
): ThinA {
  const { object } = event.data;
  const type = String(object["object"]);
  return {
    id: uniqueId("evt_65"),
    object: "v2.core.event",
    type: `v1.${event.type}`,
    created: new Date(event.created * 1000).toISOString(),
    livemode: event.livemode,
    ...{ context: null, reason: null },
    related_object: { ...(type === "discount" ? {} : { id: object.id }), type, url: objectPath(event) },
    ...(snapshot ? { snapshot_event: event.id } : {}),
    ...fields,
  };
}
