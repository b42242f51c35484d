import type { CodeFact } from "../provider.ts";
import { aliasesOf, carriedCodes } from "../wire.ts";
import type { Coupon, Discount, PromotionCode } from "./schema.ts";

/** The codes that a payment's or subscription's discounts carry, and the names of those codes. */
export interface DiscountsRead {
  carried: { codes?: string[] };
  names: CodeFact[];
}

/**
 * Discounts, each once: an expanded one's code, then coupon; else the id, which `customer.discount.created` explains.
 */
export function discountsOf(discounts: readonly (Discount | null | undefined)[], occurred_at: string): DiscountsRead {
  const there = discounts.filter((one) => one !== null && one !== undefined);
  const codes = there.flatMap((one) => {
    const parents = parentsOf(one);
    return parents.length > 0 ? parents : [one.id];
  });
  const names = there.flatMap((one) => [
    ...namesOfDiscount(one, occurred_at),
    ...namesOfPromotionCode(one.promotion_code, occurred_at),
    ...namesOfCoupon(couponOf(one), occurred_at),
  ]);
  const each = new Map(names.map((fact) => [JSON.stringify(fact), fact]));
  return { carried: carriedCodes(codes), names: [...each.values()] };
}

/** The promotion code and coupon from which a discount was made. */
function namesOfDiscount(discount: Discount, occurred_at: string): CodeFact[] {
  const parents = parentsOf(discount);
  if (!discount.id || parents.length === 0) return [];
  const { customer } = discount;
  return [
    {
      kind: "code",
      occurred_at,
      code_id: discount.id,
      name: null,
      parents,
      ...(customer ? { customer_id: customer } : {}),
    },
  ];
}

/** The name that a customer types; empty for an id alone. */
export function namesOfPromotionCode(promotion: PromotionCode | null, occurred_at: string): CodeFact[] {
  if (!promotion?.code) return [];
  const coupon = promotion.promotion?.coupon ?? promotion.coupon;
  return [
    { kind: "code", occurred_at, code_id: promotion.id, name: promotion.code, parents: aliasesOf(coupon?.id) },
    ...namesOfCoupon(coupon, occurred_at),
  ];
}

export function namesOfCoupon(coupon: Coupon | null, occurred_at: string): CodeFact[] {
  if (!coupon?.name) return [];
  return [{ kind: "code", occurred_at, code_id: coupon.id, name: coupon.name, parents: [] }];
}

function couponOf({ source, coupon, promotion_code }: Discount): Coupon | null {
  return source?.coupon ?? coupon ?? promotion_code?.promotion?.coupon ?? promotion_code?.coupon ?? null;
}

function parentsOf(discount: Discount): string[] {
  return aliasesOf(discount.promotion_code?.id, couponOf(discount)?.id);
}
