/** Rows of the tables that more than one noun reads. */
import type { InferSelectModel } from "drizzle-orm";
import type {
  commissions,
  events,
  flows,
  partners,
  payments,
  payouts,
  programs,
  webhookEndpoints,
} from "../../db/schema.ts";
import type { Connections } from "./connections.ts";

/** The columns of `programs` but those that only the version before reads. */
export type OwnColumns = Omit<InferSelectModel<typeof programs>, `provider_${string}`>;
export type Program = OwnColumns & { connections: Connections };
export type Partner = InferSelectModel<typeof partners>;
export type Payment = InferSelectModel<typeof payments>;
export type Commission = InferSelectModel<typeof commissions>;
export type Flow = InferSelectModel<typeof flows>;
export type Payout = InferSelectModel<typeof payouts>;
export type Endpoint = InferSelectModel<typeof webhookEndpoints>;
export type AuditEvent = InferSelectModel<typeof events>;
