/**
 * Reports of the owner's server, as the service receives them.
 *
 *     await report(program, "sale", sale({ ref: "jane", amount_cents: 12_000 }));
 */
import type { ProviderEvent, ReportKind } from "../../src/providers/provider.ts";
import { ownersServer } from "../../src/providers/api/index.ts";
import { leadReport, refundReport, saleReport } from "../../src/http/api/facts.ts";
import type { LeadBody, RefundBody, SaleBody } from "./api-bodies.ts";
import type { Reply, TestProgram } from "./program.ts";

export * from "./api-bodies.ts";

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
  return ownersServer.eventOf(report, occurred_at ?? new Date().toISOString(), "USD");
}
