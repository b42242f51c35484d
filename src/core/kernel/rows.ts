/** Rows of the tables that more than one noun reads. */
import type { ProgramColumns } from "../../resources/program.ts";
import type { Connections } from "./connections.ts";

export type { Application } from "../../resources/application.ts";
export type { SaleClaim } from "../../resources/claim.ts";
export type { PartnerCode } from "../../resources/code.ts";
export type { Product } from "../../resources/product.ts";
export type { Commission } from "../../resources/commission.ts";
export type { Endpoint } from "../../resources/endpoint.ts";
export type { AuditEvent } from "../../resources/event.ts";
export type { Flow } from "../../resources/flow.ts";
export type { Group } from "../../resources/group.ts";
export type { Partner } from "../../resources/partner.ts";
export type { Payment } from "../../resources/payment.ts";
export type { Payout, PayoutRow } from "../../resources/payout.ts";
export type { PayoutExport } from "../../resources/payout-export.ts";
export type { ProgramColumns } from "../../resources/program.ts";
export type { ApiKey, Member } from "../../resources/team.ts";

export type Program = ProgramColumns & { connections: Connections };

/** The columns `Shown` of a row; all others must be in `LeftOut`, so that erasure decides about a new column. */
export type Decided<Row, Shown extends keyof Row, LeftOut extends Exclude<keyof Row, Shown>> = Pick<Row, Shown> &
  Undecided<Exclude<keyof Row, Shown | LeftOut>>;

/** A property that no row has, for the compiler's message; `unknown` if all columns are decided. */
type Undecided<Column> = [Column] extends [never] ? unknown : { "neither shown nor left out": Column };
