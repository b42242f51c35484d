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

/**
 * What a verb takes for a row: `Needed` columns, and as options all others but those `Kept` by the service. A new column is
 * an input until it is named among the kept.
 */
export type InputOf<Row, Kept extends keyof Row, Needed extends Exclude<keyof Row, Kept>> = Pick<Row, Needed> & {
  [K in Exclude<keyof Row, Kept | Needed>]?: Row[K] | undefined;
};
