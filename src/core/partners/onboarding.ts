import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { flag, selectRows } from "../../db/rows.ts";
import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import type { AccountAnswer, ConnectedAccounts, OnboardingLink } from "../../providers/connect.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { accountLinked } from "../kernel/payout-details.ts";
import { openPayingKey } from "../kernel/provider-secrets.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Partner } from "../kernel/rows.ts";
import { NOTHING_TAKEN, takeDetails, takeRest } from "../payouts/take-details.ts";
import { changePartnerRow } from "./change-destination.ts";
import { askForLink, waitsForLink, type Confirmed } from "./own-change.ts";
import { partnerChanged } from "./partners.ts";

export interface OnboardingInput {
  /** The pages to which the vendor sends the partner afterwards, and when the link has expired. */
  return_url: string;
  refresh_url: string;
  /** ISO 3166-1 alpha-2, upper case. */
  country?: string | undefined;
}

export interface Onboarding extends OnboardingLink {
  partner: Partner;
  /** True if this call created the account. */
  is_new: boolean;
}

/**
 * Starts or continues a partner's onboarding at provider A: creates the connected account once and stores its id as
 * `provider_a_account_id` (OUT-15). Every call creates a new single-use link to the vendor's hosted pages, with an
 * event and e-mails, and holds the partner's payouts (OUT-24), because its user can change the bank account.
 * @throws `provider_not_configured` as `openPayingKey`; `validation_failed` with the vendor's message if it refuses;
 * `provider_unavailable` if it cannot be reached.
 */
export async function startOnboarding(
  caller: Caller,
  partner_id: string,
  input: OnboardingInput,
  accounts: ConnectedAccounts,
  confirmed?: Confirmed,
): Promise<Onboarding> {
  const { ctx, account_id, api_key, is_new } = await untilWon(async () => {
    const [ctx, [before]] = await prove(caller, selectPartner(caller, partner_id));
    if (!before) throw notFound("partner");
    // An actor of the portal never gets here without the link.
    if (waitsForLink(ctx, confirmed)) throw new Error("a partner's own onboarding waits for its link");
    // Checks the link before the call to the vendor; the commit below uses it up.
    await confirmed?.spend(before);
    const key = await openPayingKey(ctx, accounts);
    const { provider_a_account_id: own } = before;
    if (own !== null) return { ctx, account_id: own, api_key: key, is_new: false };
    const created = value(
      await accounts.createAccount(key, {
        program_id: before.program_id,
        partner_id,
        email: before.email,
        display_name: [before.first_name, before.last_name].filter(Boolean).join(" ") || before.email,
        country: input.country ?? null,
        forgotten: before.accounts_forgotten,
      }),
    );
    const { account_id } = created;
    const { write, after } = changePartnerRow(ctx, before, { provider_a_account_id: account_id });
    const taken = await takeDetails(ctx, [after]);
    // If two calls start at once, one stores its account; the other reads again and finds it.
    await commit(ctx, {
      writes: [write, ...taken.writes],
      occurrences: [partnerChanged(before, after, taken), ...taken.occurrences],
    });
    await takeRest(ctx, taken);
    return { ctx, account_id, api_key: key, is_new: true };
  });
  const { return_url, refresh_url } = input;
  const link = value(await accounts.createLink(api_key, { account_id, return_url, refresh_url }));
  const partner = await holdForLink(ctx, { partner_id, account_id, is_new, confirmed });
  return { partner, is_new, ...link };
}

interface MadeLink {
  partner_id: string;
  account_id: string;
  is_new: boolean;
  confirmed: Confirmed | undefined;
}

/** The commit before which the link is not returned: the hold, the event, and the e-mails about it. */
async function holdForLink(ctx: ProgramCtx, { partner_id, account_id, is_new, confirmed }: MadeLink): Promise<Partner> {
  return untilWon(async () => {
    const [[before]] = await ctx.read(selectPartner(ctx, partner_id));
    if (!before) throw notFound("partner");
    const { write, after } = changePartnerRow(ctx, before, {}, { leadsElsewhere: true });
    const isHeldLonger = after.payouts_held_until !== before.payouts_held_until;
    await commit(ctx, {
      writes: [...(isHeldLonger ? [write] : []), ...(confirmed ? [await confirmed.spend(before)] : [])],
      occurrences: [
        ...(isHeldLonger ? [partnerChanged(before, after, null)] : []),
        {
          type: "account_link.created",
          payload: { partner_id },
          // The e-mails about a new account are already on their way.
          payoutDetails: is_new ? null : accountLinked(after, account_id),
        },
      ],
    });
    return isHeldLonger ? after : before;
  });
}

/** A partner's own request: the use of its e-mailed link calls the vendor (OUT-25). @throws as `askForLink` */
export async function askForOnboarding(
  ctx: ProgramCtx,
  partner_id: string,
  country: string | null,
  accounts: ConnectedAccounts,
): Promise<void> {
  const [[before]] = await ctx.read(selectPartner(ctx, partner_id));
  if (!before) throw notFound("partner");
  await openPayingKey(ctx, accounts);
  await commit(ctx, { ...(await askForLink(ctx, before, { account: { country } })), occurrences: [] });
}

/**
 * Removes the connected account `account_id` of a partner, because the vendor closed it or because it belongs to an
 * account that the owner no longer uses: the next onboarding creates a new one (OUT-15). Existing payouts keep theirs
 * (OUT-5).
 * @throws `invalid_transition` if the partner has another account by now, or no account, and while a transfer to the
 * partner is open.
 */
export async function forgetAccount(caller: Caller, partner_id: string, account_id: string): Promise<Partner> {
  return untilWon(async () => {
    const open = sql`exists (select 1 from payouts where partner_id = ${partner_id} and status = 'processing'
      and +program_id = ${caller.programId} and method = ${literal(TRANSFER_METHOD)})`;
    const [ctx, [before], [now]] = await prove(
      caller,
      selectPartner(caller, partner_id),
      selectRows(caller.db, { open: flag }, sql`select ${open} as open`),
    );
    if (!before) throw notFound("partner");
    if (before.provider_a_account_id !== account_id) throw new AppError("invalid_transition", OTHER_ACCOUNT);
    if (now?.open) throw new AppError("invalid_transition", TRANSFER_OPEN);
    const accounts_forgotten = before.accounts_forgotten + 1;
    const { write, after } = changePartnerRow(ctx, before, { provider_a_account_id: null }, { accounts_forgotten });
    await commit(ctx, {
      // A transfer that begins at the same moment is either open before, or uses the destination of its payout.
      writes: [refuseWhere(ctx, open), write],
      occurrences: [partnerChanged(before, after, NOTHING_TAKEN)],
      result: after,
    });
    return after;
  });
}

const OTHER_ACCOUNT = "The partner has another connected account, or none. Check the partner again.";
const TRANSFER_OPEN = "A transfer to the partner is open. Forget its account once the transfer is paid or has failed.";

const RETRY_AFTER_SECONDS = 30;

function value<T>(answer: AccountAnswer<T>): T {
  if (answer.outcome === "done") return answer.value;
  if (answer.outcome === "refused") throw invalidField(TRANSFER_METHOD, `${answer.message} (${answer.code})`);
  throw new AppError("provider_unavailable", "The payment provider cannot be reached at the moment.", {
    retryAfter: RETRY_AFTER_SECONDS,
  });
}
