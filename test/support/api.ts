/**
 * Makers of what the owner's server reports: bodies of `POST /api/v1/track/…`. Every id is new unless given, amounts are net
 * of tax.
 *
 *     await report(program, "sale", sale({ ref: "jane", amount_cents: 12_000 }));
 */
import type { ProviderEvent, ReportKind } from "../../src/providers/provider.ts";
import { ownersServer } from "../../src/providers/api/index.ts";
import { leadReport, refundReport, saleReport } from "../../src/http/api/facts.ts";
import type { Reply, TestProgram } from "./program.ts";
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

export interface Taken {
  received: true;
  outcome: string;
}

/** A fact of the owner's server, by the program's key. */
export function report(
  program: Pick<TestProgram, "api">,
  kind: ReportKind,
  body: LeadBody | SaleBody | RefundBody,
): Promise<Reply<Taken>> {
  return program.api("POST", `/api/v1/track/${kind}`, body);
}

const BODIES = { lead: leadReport, sale: saleReport, refund: refundReport };

/** The event that a body is, as the route reads it. */
export function eventOfApi(kind: ReportKind, body: LeadBody | SaleBody | RefundBody): ProviderEvent {
  const { report, occurred_at } = BODIES[kind].parse(body);
  return ownersServer.eventOf(report, occurred_at ?? new Date().toISOString());
}
