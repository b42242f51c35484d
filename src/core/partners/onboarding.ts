import { and, eq, isNull, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { flag, selectRows } from "../../db/rows.ts";
import { partners } from "../../db/schema.ts";
import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import type { AccountAnswer, ConnectedAccounts, OnboardingLink } from "../../providers/connect.ts";
import { nextStamp } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type Reader } from "../kernel/context.ts";
import { accountLinked } from "../kernel/payout-details.ts";
import { openPayingKey } from "../kernel/provider-secrets.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Partner } from "../kernel/rows.ts";
import { NOTHING_TAKEN, takeDetails, takeRest } from "../payouts/take-details.ts";
import { partnerChanged, refuseTooManyChanges } from "./partners.ts";

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
 * event and e-mails, because its user can change the bank account. The portal calls the same verb for the partner.
 * @throws `provider_not_configured` as `openPayingKey`; `validation_failed` with the vendor's message if it refuses;
 * `provider_unavailable` if it cannot be reached; `rate_limited` as a partner's own change of payout details (OUT-9).
 */
export async function startOnboarding(
  caller: Caller,
  partner_id: string,
  input: OnboardingInput,
  accounts: ConnectedAccounts,
): Promise<Onboarding> {
  const { ctx, partner, account_id, api_key, is_new } = await untilWon(async () => {
    const [ctx, [before]] = await prove(caller, caller.db.select().from(partners).where(owned(caller, partner_id)));
    if (!before) throw notFound("partner");
    const key = await openPayingKey(ctx, accounts);
    const { provider_a_account_id: own } = before;
    if (own !== null) return { ctx, partner: before, account_id: own, api_key: key, is_new: false };
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
    const after: Partner = {
      ...before,
      provider_a_account_id: created.account_id,
      updated_at: nextStamp(before.updated_at, ctx.now),
    };
    const taken = await takeDetails(ctx, [after]);
    // If two calls start at once, one stores its account; the other reads again and finds it.
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(partners)
            .set({ provider_a_account_id: after.provider_a_account_id, updated_at: after.updated_at })
            .where(
              and(
                owned(ctx, partner_id),
                eq(partners.updated_at, before.updated_at),
                isNull(partners.provider_a_account_id),
              ),
            ),
          expect: 1,
        },
        ...taken.writes,
      ],
      occurrences: [partnerChanged(before, after, taken), ...taken.occurrences],
    });
    await takeRest(ctx, taken);
    return { ctx, partner: after, account_id: created.account_id, api_key: key, is_new: true };
  });
  const writes = ctx.actor.type === "partner" ? [await refuseTooManyChanges(ctx, partner)] : [];
  const { return_url, refresh_url } = input;
  const link = value(await accounts.createLink(api_key, { account_id, return_url, refresh_url }));
  // The e-mails about a new account are already on their way.
  const payoutDetails = is_new ? null : accountLinked(partner, account_id);
  await commit(ctx, {
    writes,
    occurrences: [{ type: "account_link.created", payload: { partner_id }, payoutDetails }],
  });
  return { partner, is_new, ...link };
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
      caller.db.select().from(partners).where(owned(caller, partner_id)),
      selectRows(caller.db, { open: flag }, sql`select ${open} as open`),
    );
    if (!before) throw notFound("partner");
    if (before.provider_a_account_id !== account_id) throw new AppError("invalid_transition", OTHER_ACCOUNT);
    if (now?.open) throw new AppError("invalid_transition", TRANSFER_OPEN);
    const patch = { provider_a_account_id: null, updated_at: nextStamp(before.updated_at, ctx.now) };
    const after: Partner = { ...before, ...patch };
    await commit(ctx, {
      writes: [
        // A transfer that begins at the same moment is either open before, or uses the destination of its payout.
        refuseWhere(ctx, open),
        {
          statement: ctx.db
            .update(partners)
            .set({ ...patch, accounts_forgotten: before.accounts_forgotten + 1 })
            .where(and(owned(ctx, partner_id), eq(partners.updated_at, before.updated_at))),
          expect: 1,
        },
      ],
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

function owned(ctx: Reader, id: string) {
  return and(eq(partners.id, id), sql`${partners.program_id} = ${ctx.programId}`);
}
