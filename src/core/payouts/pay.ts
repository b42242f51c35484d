import { and, eq, sql } from "drizzle-orm";
import { payouts } from "../../db/schema.ts";
import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { isHeldBy, isRepeated, nextReconcile, TRANSFER_LEASE_MS } from "../../domain/payout.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import type { Transfers, Trouble } from "../../providers/connect.ts";
import { commit } from "../kernel/commit.ts";
import { BalanceTooLarge, CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx } from "../kernel/context.ts";
import { openPayingKey, payingKey } from "../kernel/provider-secrets.ts";
import { untilWon } from "../kernel/races.ts";
import type { Payout } from "../kernel/rows.ts";
import { openBalance, type Balance } from "./balance.ts";
import {
  attemptOf,
  openAttempt,
  TAKEN_BACK,
  keyMark,
  resultOfTransfers,
  standingOf,
  type FrozenAttempt,
  type Standing,
} from "./attempt.ts";
import { changePayout, ownedPayout, requireMove, selectPayout } from "./payouts.ts";
import { isHeld, refuseHeld } from "./hold.ts";
import { openRecipient } from "./recipient.ts";
import { mailsAboutPayouts, payCommissions, payoutMoved } from "./rows.ts";

/**
 * Pays a payout through provider A's connected accounts. Attempt number and frozen parameters are stored before the
 * call (OUT-6), so if the process ends after that, the payout stays `processing` with a time at which the cron
 * continues it. Returns it as `paid`, `failed` with the vendor's code, or still `processing`. A balance too small for its
 * first attempt makes it `failed` without one; many payouts can share a `balance`. @throws
 * `invalid_transition` if its status, its method or its recipient does not allow it; `payout_held` during a hold;
 * `provider_not_configured` as `openPayingKey`.
 */
export async function payPayout(
  caller: Caller,
  id: string,
  transfers: Transfers,
  balance: Balance = openBalance(transfers),
): Promise<Payout> {
  const started = await untilWon(async () => {
    const [ctx, [before]] = await prove(caller, selectPayout(caller, id));
    if (!before) throw notFound("payout");
    requireMove(before, "pay");
    refuseHeld(before);
    const account_id = await frozenAccount(ctx, before);
    const api_key = await openPayingKey(ctx, transfers);
    const request = transfers.freeze({
      payout_id: before.id,
      program_id: before.program_id,
      partner_id: before.partner_id,
      amount_cents: before.amount_cents,
      currency: before.currency,
      account_id,
    });
    if (before.attempt === 0 && (await isShort(before, api_key, transfers, balance))) {
      return { payout: await failUnsent(ctx, before), begun: null };
    }
    const { taken_back } = before.attempt_params === null ? {} : attemptOf(before);
    const frozen: FrozenAttempt = { request, key_mark: await keyMark(api_key), taken_back };
    const attempt = {
      status: "processing" as const,
      attempt: before.attempt + 1,
      attempt_params: JSON.stringify(frozen),
      attempt_started_at: iso(ctx.now),
      reconcile_at: leaseFrom(ctx, transfers),
      failure_code: null,
      failure_message: null,
    };
    const { write, after } = changePayout(ctx, before, attempt, { unlessHeld: true });
    await commit(ctx, { writes: [write], occurrences: [payoutMoved("payout.updated", before, after)] });
    return { payout: after, begun: { ctx, api_key } };
  });
  const { payout, begun } = started;
  if (begun === null) return payout;
  const { ctx, api_key } = begun;
  const ended = await pursue(ctx, payout, transfers, { api_key, how: "first" });
  if (ended.status !== "failed") balance.spend(payout);
  return ended;
}

/**
 * True if the vendor reports a balance too small for a payout without an attempt. A restored database lacks
 * earlier attempts, so the vendor must also have no transfer of it (OUT-14).
 */
async function isShort(payout: Payout, api_key: string, transfers: Transfers, balance: Balance): Promise<boolean> {
  if (await balance.covers(api_key, payout)) return false;
  return (await transfers.find(api_key, payout.id)).outcome === "none";
}

/** Fails the payout without an attempt, and without an e-mail to the partner. */
async function failUnsent(ctx: ProgramCtx, before: Payout): Promise<Payout> {
  const { write, after } = changePayout(ctx, before, { status: "failed", ...TOO_LITTLE }, { unlessHeld: true });
  await commit(ctx, {
    writes: [write],
    occurrences: [payoutMoved("payout.updated", before, after)],
    ownerMails: [{ kind: "payouts_held" }],
  });
  return after;
}

const TOO_LITTLE = {
  failure_code: "balance_insufficient",
  failure_message:
    "The available balance at the payment provider is too small for this payout. Nothing was sent: add funds there, then pay it again.",
};

/** The connected account for which the payout was generated, even if the partner has another one by now. */
async function frozenAccount(ctx: ProgramCtx, payout: Payout): Promise<string> {
  if (payout.method !== TRANSFER_METHOD) {
    throw new AppError("invalid_transition", "Only payouts to connected accounts are paid by a transfer.");
  }
  const account_id = (await openRecipient(ctx, payout))?.provider_a_account_id ?? null;
  if (account_id === null) {
    throw new AppError(
      "invalid_transition",
      "The partner has no connected account yet. The payout uses it as soon as there is one.",
    );
  }
  return account_id;
}

/** A lease counts from the present: later ones of a request or run begin long after its start. */
function leaseFrom(ctx: ProgramCtx, transfers: Transfers): string {
  return iso(Math.max(transfers.now(), ctx.now) + TRANSFER_LEASE_MS);
}

/**
 * Continues an open transfer. The process that moves `reconcile_at` forward holds it for the time of a lease; another
 * finds the row changed and skips it (null). With the owner's statement no transfer is sent, and the statement counts
 * if the transfer cannot be looked up. During a hold of the partner (`isHeldNow`, as read with the payout) it is looked up
 * alone, because the account behind the recipient may be another's by now (OUT-24).
 */
export async function continueTransfer(
  ctx: ProgramCtx,
  payout: Payout,
  transfers: Transfers,
  { word, isHeldNow = false }: { word?: Word; isHeldNow?: boolean } = {},
): Promise<Payout | null> {
  const lease = leaseFrom(ctx, transfers);
  const isSent = !word && !isHeldNow;
  const isClaimed = and(held(ctx, payout), isSent ? sql`not ${isHeld(ctx)}` : undefined);
  try {
    await commit(ctx, {
      writes: [{ statement: ctx.db.update(payouts).set({ reconcile_at: lease }).where(isClaimed), expect: 1 }],
      occurrences: [],
    });
  } catch (error) {
    if (error instanceof CommitConflict) return null;
    throw error;
  }
  const leased = { ...payout, reconcile_at: lease };
  const key = await payingKey(ctx, transfers);
  if (typeof key !== "string") return conclude(ctx, leased, word ?? { ...key, outcome: "open", retry_after_ms: null });
  return pursue(ctx, leased, transfers, { api_key: key, how: isSent ? "again" : "look", word });
}

/** `said`: by the owner. */
type Verdict =
  | { outcome: "made"; transfer_id: string; said?: true }
  | ({ outcome: "refused"; taken_back?: readonly string[] | undefined } & Trouble)
  | ({ outcome: "open"; retry_after_ms: number | null } & Trouble);

/** The owner's statement. */
export type Word = Exclude<Verdict, { outcome: "open" }>;

interface Pursuit {
  api_key: string;
  /** `first`: right after the attempt was stored; `look`: without sending it. */
  how: "first" | "again" | "look";
  word?: Word | undefined;
}

interface Asking extends Pursuit {
  frozen: FrozenAttempt;
  standing: Standing;
}

async function pursue(ctx: ProgramCtx, payout: Payout, transfers: Transfers, pursuit: Pursuit): Promise<Payout> {
  const { api_key, word } = pursuit;
  const frozen = attemptOf(payout);
  const standing = await standingOf(frozen, api_key, transfers);
  const asked = await askVendor(payout, { ...pursuit, frozen, standing }, transfers);
  const verdict = word && asked.outcome === "open" && isHeldBy(asked.code) ? word : asked;
  const kept =
    verdict.outcome === "open"
      ? await openAttempt(frozen, standing, api_key, transfers)
      : {
          ...frozen,
          taken_back: verdict.outcome === "refused" ? (verdict.taken_back ?? frozen.taken_back) : undefined,
        };
  const after: Payout = { ...payout, attempt_params: JSON.stringify(kept) };
  return conclude({ ...ctx, now: Math.max(transfers.now(), ctx.now + 1) }, after, verdict);
}

/**
 * The result of an attempt. After a network error, 409 or 5xx the same key is repeated, and the payout stays
 * `processing`; a definitive refusal is `failed` (OUT-6). Except at the very first call for a payout a transfer may
 * already exist, so it is looked up first, and not sent until the vendor has answered that it does not exist: the
 * vendor forgets idempotency keys, its memory of them may end with the API key, and an earlier attempt had another key.
 * The database may have been restored to before the first call, so a call counts as first only as long as the vendor
 * repeats its answer. A found transfer is a fact for any key; a missing one is conclusive only for the key's own
 * account. An answer that the vendor repeats under the key shows the past state; the lookup shows the present one.
 */
async function askVendor(
  payout: Payout,
  { frozen, standing, api_key, how, word }: Asking,
  transfers: Transfers,
): Promise<Verdict> {
  if (standing.is === "other_account") return { ...standing, outcome: "open" };
  const isFirst = how === "first" && payout.attempt === 1;
  const isKnown = isFirst && isRepeated(Date.parse(payout.created_at), transfers.now());
  const found = isKnown ? { outcome: "none" as const } : await transfers.find(api_key, payout.id);
  const said = found.outcome === "made" ? resultOfTransfers(found.transfers, frozen) : null;
  if (said) return said;
  if (standing.is === "unsure") return { ...standing, outcome: "open" };
  // The first attempt has not sent a transfer yet, so it may fail; the next one looks up as well.
  if (found.outcome === "unknown") return { ...found, outcome: isFirst && isHeldBy(found.code) ? "refused" : "open" };
  if (how === "look") return word ? NOT_SENT : ON_HOLD;
  const answer = await transfers.send(api_key, frozen.request, `${payout.id}:${payout.attempt}`);
  if (answer.outcome === "refused" || (answer.outcome === "made" && !answer.is_past)) return answer;
  if (answer.outcome === "made" || answer.worth_looking) {
    const looked = await transfers.find(api_key, payout.id);
    const seen = looked.outcome === "made" ? resultOfTransfers(looked.transfers, frozen) : null;
    if (seen) return seen;
  }
  if (answer.outcome === "made") return NOT_LISTED;
  return { outcome: "open", code: answer.code, message: answer.message, retry_after_ms: answer.retry_after_ms };
}

const NOT_SENT: Verdict = {
  outcome: "open",
  code: "transfer_waits",
  message: "The payment provider can be reached again and has no transfer yet. It is sent within minutes.",
  retry_after_ms: 0,
};

const ON_HOLD: Verdict = {
  outcome: "open",
  code: "payout_held",
  message: "The partner's payouts are held, because their destination changed. It is sent after the hold.",
  retry_after_ms: 0,
};

const NOT_LISTED: Verdict = {
  outcome: "open",
  code: "transfer_not_listed",
  message: "The payment provider reported the transfer as made, but no longer shows it.",
  retry_after_ms: null,
};

/** Looked up again, and recorded once there is room: an error would delay other transfers. */
const NOT_RECORDED: Verdict = {
  outcome: "open",
  code: "balance_too_large",
  message: "The transfer was made but cannot be recorded: the amount paid would exceed 2^51 - 1 smallest units.",
  retry_after_ms: null,
};

/** Writes the result of an attempt; if another process was faster, returns the result that it wrote. */
async function conclude(ctx: ProgramCtx, payout: Payout, verdict: Verdict): Promise<Payout> {
  try {
    if (verdict.outcome === "made") return await concludePaid(ctx, payout, verdict);
    const { code, message } = verdict;
    const failed = verdict.outcome === "refused";
    const isHeldNow = failed || (isHeldBy(code) && code !== payout.failure_code);
    const started = Date.parse(payout.attempt_started_at ?? payout.updated_at);
    const changes = {
      status: failed ? ("failed" as const) : ("processing" as const),
      reconcile_at: failed ? null : iso(nextReconcile(started, ctx.now, verdict.retry_after_ms)),
      failure_code: code,
      failure_message: message,
      attempt_params: payout.attempt_params,
      updated_at: nextStamp(payout.updated_at, ctx.now),
    };
    const after: Payout = { ...payout, ...changes };
    await commit(ctx, {
      writes: [{ statement: ctx.db.update(payouts).set(changes).where(held(ctx, payout)), expect: 1 }],
      occurrences: failed ? [payoutMoved("payout.updated", payout, after)] : [],
      mailsAbout: failed ? [mailsAboutPayouts("payout_failed", sql`p.id = ${payout.id}`)] : [],
      ownerMails: isHeldNow ? [{ kind: "payouts_held" }] : [],
      result: after,
    });
    return after;
  } catch (error) {
    if (error instanceof BalanceTooLarge && !("said" in verdict)) return conclude(ctx, payout, NOT_RECORDED);
    if (!(error instanceof CommitConflict)) throw error;
    const [[now]] = await ctx.read(selectPayout(ctx, payout.id));
    const reversed = verdict.outcome === "made" && now ? reversedOf(payout, now, verdict.transfer_id) : null;
    return reversed ? conclude(ctx, reversed, { ...TAKEN_BACK, outcome: "refused" }) : (now ?? payout);
  }
}

/** The payout as its attempt fails, if an event reported the made transfer as reversed before it was recorded. */
function reversedOf(payout: Payout, now: Payout, transfer_id: string): Payout | null {
  if (now.status !== "processing" || now.attempt !== payout.attempt) return null;
  const { reversed = [], taken_back = [], ...frozen } = attemptOf(now);
  if (!reversed.includes(transfer_id)) return null;
  return { ...now, attempt_params: JSON.stringify({ ...frozen, taken_back: [...taken_back, transfer_id] }) };
}

/**
 * An existing transfer is a fact, even if the lease was lost meanwhile; it is written once. One that an event reported
 * as reversed has not paid.
 */
async function concludePaid(
  ctx: ProgramCtx,
  payout: Payout,
  { transfer_id, said }: Extract<Verdict, { outcome: "made" }>,
): Promise<Payout> {
  const changes = {
    status: "paid" as const,
    paid_at: iso(ctx.now),
    reference: transfer_id,
    reconcile_at: null,
    failure_code: null,
    failure_message: null,
    updated_at: nextStamp(payout.updated_at, ctx.now),
  };
  const after: Payout = { ...payout, ...changes };
  const paid = payCommissions(ctx, [payout]);
  const moved = payoutMoved("payout.paid", payout, after);
  if (said) Object.assign(moved.payload, { failure_code: "said_made" });
  await commit(ctx, {
    writes: [
      {
        statement: ctx.db
          .update(payouts)
          .set(changes)
          .where(
            and(
              ownedPayout(ctx, payout.id),
              sql`${payouts.status} = 'processing'`,
              eq(payouts.attempt, payout.attempt),
              sql`not exists (select 1 from json_each(${payouts.attempt_params}, '$.reversed') r
                where r.value = ${transfer_id})`,
            ),
          ),
        expect: 1,
      },
      paid.write,
    ],
    occurrences: [moved],
    selected: [paid.selected],
    mailsAbout: [mailsAboutPayouts("payout_paid", sql`p.id = ${payout.id}`)],
    result: after,
  });
  return after;
}

/** The row as its holder left it: still open, the same attempt, the same lease. */
function held(ctx: ProgramCtx, payout: Payout) {
  return and(
    ownedPayout(ctx, payout.id),
    sql`${payouts.status} = 'processing'`,
    eq(payouts.attempt, payout.attempt),
    eq(payouts.reconcile_at, payout.reconcile_at ?? ""),
  );
}
