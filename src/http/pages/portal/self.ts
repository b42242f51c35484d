import type { Context } from "hono";
import type { PageEnv } from "../../session.ts";
import type { Partner, Program } from "../../../core/kernel/rows.ts";

/** A partner as the portal shows it to the partner. */
export type Self = Pick<
  Partner,
  | ("id" | "email" | "first_name" | "last_name" | "slug" | "commission_pct")
  | (
      | "payout_method"
      | "payout_email"
      | "provider_a_account_id"
      | "bank_account"
      | "crypto_address"
      | "payouts_held_until"
      | "tax_data_id"
    )
>;

/** The program as the portal shows it. */
export type OwnProgram = Pick<
  Program,
  | "id"
  | "name"
  | "domain"
  | "currency"
  | "default_commission_pct"
  | "payout_term"
  | "min_payout_cents"
  | "min_payouts"
  | "payout_currency"
  | "require_tax_data"
  | "connections"
  | "assets"
  | "sale_amounts"
  | "partner_links"
  | "auto_approve_days"
  | "time_zone"
>;

/** The partner of the session; other sessions cannot enter the portal. */
export function selfOf(c: Context<PageEnv>): Self {
  const { partner } = c.var.session;
  if (!partner) throw new Error("a page of the portal without a partner's session");
  return partner;
}

export function programOf(c: Context<PageEnv>): OwnProgram {
  return c.var.session.program;
}

/** A payout as the session may see it: a session from the owner's link does not see payout details (EMBED-2). */
export function ownPayout<P extends { recipient: string | null }>(
  { var: { session } }: Context<PageEnv>,
  payout: P,
): P {
  return session.limited === null ? payout : { ...payout, recipient: null };
}
