import { sql } from "drizzle-orm";
import { AppError, notFound } from "../../lib/errors.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { offerTo, selectOffer } from "../kernel/offer-rows.ts";
import type { Partner } from "../kernel/rows.ts";
import { untilWon } from "../kernel/races.ts";
import { partnerInvited } from "../partners/partners.ts";
import { invite, selectInvitations } from "./sign-in.ts";

/**
 * E-mails an `invited` partner a link that signs in, and so activates (PART-13). It can be repeated, up to the link
 * limit of an address.
 * @throws `invalid_transition` for a partner of another status, `rate_limited` for the sixth link within 15 minutes,
 * `not_configured` if the service sends no e-mail.
 */
export async function invitePartner(caller: Caller, id: string): Promise<Partner> {
  const address = sql`(select lower(email) from partners where id = ${id} and program_id = ${caller.programId})`;
  return untilWon(async () => {
    const [ctx, [partner], [recent], [group], active] = await prove(
      caller,
      selectPartner(caller, id),
      selectInvitations(caller, address),
      ...selectOffer(caller, id),
    );
    if (!partner || !group) throw notFound("partner");
    if (ctx.mailer === null) throw new AppError("not_configured", "This service sends no e-mail.");
    if (partner.status !== "invited") {
      throw new AppError(
        "invalid_transition",
        `Only invited partners can get an invitation; this one is ${partner.status}.`,
      );
    }
    const offer = offerTo(ctx, partner, group, active);
    const { link, writes } = await invite(ctx, { email: partner.email, partner_id: id }, recent?.links ?? 0);
    await commit(ctx, {
      writes,
      occurrences: [partnerInvited(partner)],
      notices: [{ kind: "invitation", program: ctx.program, partner, link, offer }],
      result: partner,
    });
    return partner;
  });
}
