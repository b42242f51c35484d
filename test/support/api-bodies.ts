/**
 * Makers of the owner's server's reports: bodies of `POST /api/v1/track/…`. Every id is new unless given, amounts are
 * net of tax.
 */
import { uniqueId } from "./vendor.ts";

export interface Customer {
  id?: string;
  email?: string;
}

export interface LeadBody {
  external_id: string;
  ref: string;
  customer: Customer;
  occurred_at?: string;
}

export interface SaleBody {
  external_id: string;
  ref?: string;
  customer?: Customer;
  amount_cents: number;
  currency: string;
  net_of_tax: true;
  items?: { product_id: string; amount_cents: number }[];
  occurred_at?: string;
}

export interface RefundBody {
  external_id: string;
  sale_external_id: string;
  amount_cents: number;
  occurred_at?: string;
}

export function lead(given: Partial<LeadBody> & Pick<LeadBody, "ref">): LeadBody {
  return { external_id: uniqueId("lead_"), customer: { id: uniqueId("user_") }, ...given };
}

export function sale(given: Partial<SaleBody> = {}): SaleBody {
  return { external_id: uniqueId("order_"), amount_cents: 10_000, currency: "USD", net_of_tax: true, ...given };
}

export function refund(given: Partial<RefundBody> & Pick<RefundBody, "sale_external_id">): RefundBody {
  return { external_id: uniqueId("refund_"), amount_cents: 1_000, ...given };
}
