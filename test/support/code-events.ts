/** Promotion codes as the providers report them. */
import { eventA, type EventA, type Overrides } from "./provider-a-event.ts";
import { eventB, type EventB, type Overrides as OverridesB } from "./provider-b.ts";
import { uniqueId } from "./vendor.ts";

export interface PromotionCodeOverrides extends Overrides {
  id?: string;
  code?: string;
  coupon?: string;
  /** `old` is the shape before API version 2025-09-30. */
  shape?: "new" | "old";
}

/** The object: as in an event of its own, or expanded in another. */
export function promotionCode({ id, code = "JANE20", coupon = "cou_20off", shape }: PromotionCodeOverrides = {}) {
  const made = { id: coupon, object: "coupon", name: "20% off", percent_off: 20, duration: "repeating", valid: true };
  return {
    id: id ?? uniqueId("promo_"),
    object: "promotion_code",
    active: true,
    code,
    ...(shape === "old" ? { coupon: made } : { promotion: { type: "coupon", coupon } }),
    ...{
      created: 1_780_000_000,
      customer: null,
      expires_at: null,
      livemode: true,
      max_redemptions: null,
      metadata: {},
    },
    restrictions: { first_time_transaction: false, minimum_amount: null, minimum_amount_currency: null },
    times_redeemed: 0,
  };
}

/** `promotion_code.created` by default; `promotion_code.updated` if given. */
export function promotionCodeEvent(overrides: PromotionCodeOverrides, type = "promotion_code.created"): EventA {
  return eventA(type, promotionCode(overrides), overrides);
}

/** `coupon.created` unless another type is given. */
export function couponEvent(overrides: Overrides & { id?: string; name?: string | null }, type = "coupon.created") {
  const { id = uniqueId("cou_"), name = "20% off" } = overrides;
  return eventA(type, { id, object: "coupon", name, percent_off: 20, duration: "once", valid: true }, overrides);
}

export interface DiscountOverrides extends Overrides {
  id?: string;
  promotion_code?: string | null;
  coupon?: string;
  subscription?: string | null;
  shape?: "new" | "old";
}

/** The object: as in an event of its own, or expanded in another. */
export function discount({ id, promotion_code = null, coupon = "cou_20off", subscription, shape }: DiscountOverrides) {
  return {
    id: id ?? uniqueId("di_"),
    object: "discount",
    ...{ checkout_session: null, customer: "cus_1", end: null, invoice: null, invoice_item: null },
    promotion_code,
    ...(shape === "old" ? { coupon: { id: coupon, object: "coupon", name: null } } : {}),
    ...(shape === "old" ? {} : { source: { type: "coupon", coupon } }),
    start: 1_780_000_000,
    subscription: subscription ?? null,
  };
}

export function discountEventA(overrides: DiscountOverrides, type = "customer.discount.created"): EventA {
  return eventA(type, discount(overrides), overrides);
}

/** `discount.created` unless another type is given. */
export function discountEventB(
  overrides: OverridesB & { id?: string; code?: string | null },
  type = "discount.created",
): EventB {
  const { id = uniqueId("dsc_"), code = "JANE20" } = overrides;
  return eventB(
    type,
    {
      id,
      code,
      ...{ type: "percentage", amount: "20", recur: false, status: "active", description: "Jane's", times_used: 0 },
      ...{ enabled_for_checkout: true, currency_code: null, usage_limit: null, custom_data: null, import_meta: null },
      ...{ created_at: "2026-05-01T10:00:00Z", updated_at: "2026-05-01T10:00:00Z" },
    },
    overrides,
  );
}
