/** Rows of the tables that more than one noun reads. */
import type { InferSelectModel } from "drizzle-orm";
import type {
  apiKeys,
  applications,
  claims,
  commissions,
  events,
  flows,
  partnerCodes,
  partners,
  payments,
  payouts,
  programMembers,
  programs,
  webhookEndpoints,
} from "../../db/schema.ts";
import type { AuditEventType, EventPayloads } from "../../domain/event.ts";
import type { Connections } from "./connections.ts";

export type ProgramColumns = InferSelectModel<typeof programs>;
export type Program = ProgramColumns & { connections: Connections };
/** A key that a program has beside its first. */
export type ApiKey = InferSelectModel<typeof apiKeys>;
/** Who signs in to the dashboard. */
export type Member = InferSelectModel<typeof programMembers>;
export type Application = InferSelectModel<typeof applications>;
/** The columns of `partners` but the one that only the onboarding reads. */
export type Partner = Omit<InferSelectModel<typeof partners>, "accounts_forgotten">;
export type PartnerCode = InferSelectModel<typeof partnerCodes>;
export type Payment = InferSelectModel<typeof payments>;
export type Commission = InferSelectModel<typeof commissions>;
export type Flow = InferSelectModel<typeof flows>;
export type Payout = InferSelectModel<typeof payouts>;
export type Endpoint = InferSelectModel<typeof webhookEndpoints>;
/** What a partner says is theirs. */
export type SaleClaim = InferSelectModel<typeof claims>;
export type AuditEvent = Omit<InferSelectModel<typeof events>, "uncounted">;

/**
 * What a verb takes for a row: `Needed` columns, and as options all others but those `Kept` by the service. A new column is
 * an input until it is named among the kept.
 */
export type InputOf<Row, Kept extends keyof Row, Needed extends Exclude<keyof Row, Kept>> = Pick<Row, Needed> & {
  [K in Exclude<keyof Row, Kept | Needed>]?: Row[K] | undefined;
};

/**
 * A row as one surface shows it (a list, a file, `search`, the portal): the columns `Shown`. All others are named as
 * `LeftOut`: a new column does not compile until it is one of either.
 */
export type Decided<Row, Shown extends keyof Row, LeftOut extends Exclude<keyof Row, Shown>> = Pick<Row, Shown> &
  Undecided<Exclude<keyof Row, Shown | LeftOut>>;

/** The payload of an event about a row, which holds each of its columns but those `LeftOut`, as `Decided` does. */
export type PayloadOf<
  T extends AuditEventType,
  Row,
  LeftOut extends Exclude<keyof Row, keyof EventPayloads[T]>,
> = EventPayloads[T] & Undecided<Exclude<keyof Row, keyof EventPayloads[T] | LeftOut>>;

/** What no row has, for the compiler's message; nothing, where all columns are decided. */
type Undecided<Column> = [Column] extends [never] ? unknown : { "neither shown nor left out": Column };
