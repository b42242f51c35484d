import { AppError, notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { untilWon } from "../kernel/races.ts";
import type { Partner } from "../kernel/rows.ts";
import { viewPartner } from "../kernel/views.ts";
import { changePartnerRow } from "./change-destination.ts";

/**
 * Ends the hold of a partner's payouts at once, and e-mails the owners (OUT-26). @throws `invalid_transition` without a
 * hold in force
 */
export async function releaseHold(caller: Caller, partner_id: string): Promise<Partner> {
  return untilWon(async () => {
    const [ctx, [before]] = await prove(caller, selectPartner(caller, partner_id));
    if (!before) throw notFound("partner");
    const { slug, payouts_held_until: held_until } = before;
    if (held_until === null || held_until <= iso(ctx.now)) {
      throw new AppError("invalid_transition", "The partner's payouts are not held.");
    }
    const { write, after } = changePartnerRow(ctx, before, { payouts_held_until: null });
    await commit(ctx, {
      writes: [write],
      occurrences: [
        {
          type: "partner.hold_released",
          changes: changesOf("partner", before, after),
          payload: { partner_id, slug, held_until },
          outbound: { event: "partner.updated", data: viewPartner(after) },
        },
      ],
      result: after,
    });
    return after;
  });
}
