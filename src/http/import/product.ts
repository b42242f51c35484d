import type { ColumnNames } from "./columns.ts";
import type { PartnerStatus } from "../../domain/partner.ts";

/** A product that owners migrate from: its link parameters and its column names. */
export interface ImportProduct {
  name: string;
  /** Query parameters that its links may carry, the usual one first. */
  params: readonly [string, ...string[]];
  /** Its own column names, matched before the common ones; for the code several columns may be used. */
  columns: ColumnNames;
  /** Its links cannot keep working: they use its own domain, or their codes are not slugs. */
  linksEnd?: true;
  /** Words for a partner's state that only this product uses. */
  statuses?: Record<string, PartnerStatus>;
}

/** The products recognized. src/docs/migrate.md has the sources; other columns match by common names, or the owner. */
export const IMPORT_PRODUCTS = {
  rewardful: {
    name: "Rewardful",
    params: ["via"],
    columns: {
      partners: { code: ["token"], payout_email: ["paypal_email", "wise_email"] },
      // A line of its files is a customer; the unprefixed address is the affiliate's.
      customers: {
        customer_id: ["stripe_customer_id", "Imported ID"],
        partner_email: ["Affiliate Email", "email"],
        code: ["token"],
      },
    },
  },
  firstpromoter: {
    name: "FirstPromoter",
    params: ["fpr", "via", "ref", "fp_ref", "deal", "_from", "_by", "_go"],
    columns: {
      partners: { code: ["ref_id", "default_ref_id", "ref_token"] },
      customers: { customer_id: ["uid"], customer_email: ["email"], partner_email: ["promoter_email"] },
    },
  },
  tolt: { name: "Tolt", params: ["ref", "via", "aff"], columns: {} },
  dub: { name: "Dub Partners", params: ["via"], columns: {} },
  affonso: { name: "Affonso", params: ["via"], columns: { partners: { code: ["Tracking Parameter"] } } },
  leaddyno: { name: "LeadDyno", params: ["afmc"], columns: { partners: { code: ["affiliate_code"] } } },
  post_affiliate_pro: {
    name: "Post Affiliate Pro",
    params: ["a_aid"],
    // Its links carry either of the two ids.
    columns: { partners: { email: ["USERNAME"], code: ["REFID", "USERID"], status: ["RSTATUS"] } },
    statuses: { a: "active", p: "invited", d: "deactivated" },
  },
  tapfiliate: { name: "Tapfiliate", params: ["ref"], columns: { partners: { code: ["referral_code"] } } },
  partnerstack: {
    name: "PartnerStack",
    params: ["ps_partner_key"],
    linksEnd: true,
    columns: {
      partners: { code: ["partner_key"] },
      customers: { customer_id: ["customer_key", "provider_key"], code: ["partner_key"] },
    },
  },
  refersion: { name: "Refersion", params: ["rfsn"], linksEnd: true, columns: {} },
  other: { name: "Another product, or a file of your own", params: ["ref", "via"], columns: {} },
} satisfies Record<string, ImportProduct>;

export type ImportProductId = keyof typeof IMPORT_PRODUCTS;

export const IMPORT_PRODUCT_IDS = Object.keys(IMPORT_PRODUCTS) as [ImportProductId, ...ImportProductId[]];

export function importProduct(id: ImportProductId): ImportProduct {
  return IMPORT_PRODUCTS[id];
}

/** A query parameter that the script can read. */
export const LINK_PARAM_PATTERN = /^[A-Za-z0-9_-]{1,32}$/;

/**
 * The `data-param` that keeps a product's or the given parameter's links working; null if none is needed (TRACK-2) or
 * helps.
 */
export function dataParam(id: ImportProductId, given: string | null = null): string | null {
  const { params, linksEnd } = importProduct(id);
  const param = given ?? (linksEnd ? "ref" : params[0]);
  return param === "ref" || param === "via" ? null : `${param}|ref`;
}
