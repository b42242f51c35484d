import { sql, type SQL } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { flows, groups } from "../../db/schema.ts";
import { offerOf, type Offer, type OfferGroup } from "../../domain/offer.ts";
import { iso } from "../../lib/time.ts";
import type { ProgramCtx, Reader } from "./context.ts";
import type { Flow, Partner } from "./rows.ts";

/** The columns of `OfferGroup`. */
export const OFFER_GROUP = { slug: groups.slug, commission_pct: groups.commission_pct, hold_days: groups.hold_days };

/** A select of the active flows of the program with this id. */
export function selectActiveFlows(db: Database, program_id: SQL) {
  return db
    .select()
    .from(flows)
    .where(sql`${flows.program_id} = ${program_id} and ${flows.active} = 1`);
}

/** The statements whose rows `offerTo` takes: a partner's group, and the program's active flows. */
export function selectOffer({ db, programId }: Reader, partner_id: string) {
  const group = db.select(OFFER_GROUP).from(groups).where(sql`${groups.program_id} = ${programId}
    and ${groups.id} = (select group_id from partners where id = ${partner_id})`);
  return [group, selectActiveFlows(db, programId)] as const;
}

/** The rates of a partner's later payments (JOIN-10): the partner's own rate takes the place of the group's. */
export function offerTo(
  { program, now }: ProgramCtx,
  { commission_pct }: Pick<Partner, "commission_pct">,
  group: OfferGroup,
  active: readonly Flow[],
): Offer {
  return offerOf(program, { ...group, commission_pct: commission_pct ?? group.commission_pct }, active, iso(now));
}
