/** Provider A's connected accounts: transfers (API v1, form encoded) and accounts (API v2, JSON). */
import * as z from "zod";
import { currencyExponent } from "../../domain/currency.ts";
import { larger, nearestMultiple, NOTHING, type Cents } from "../../domain/money.ts";
import { sha256Hex } from "../../lib/crypto.ts";
import type {
  AccountAnswer,
  AccountOrder,
  Balances,
  ConnectedAccounts,
  FindAnswer,
  IdentifyAnswer,
  SendAnswer,
  Transfers,
  TransferOrder,
  Trouble,
} from "../connect.ts";
import { vendorWords, type Answer, type ApiReach } from "../api-call.ts";
import { signedAmount } from "../wire.ts";
import { call, isTestKey, modeOf } from "./api.ts";

/** The client of provider A's API over HTTP. */
export function providerAConnect(deps: ApiReach): Transfers & ConnectedAccounts {
  return {
    now: deps.now,
    isTestKey,
    transferableAmount,
    freeze,
    send: async (api_key, request, idempotency_key) =>
      readSent(
        await call(deps, api_key, "POST", "/v1/transfers", {
          body: request,
          contentType: "application/x-www-form-urlencoded",
          idempotency_key,
        }),
        request,
      ),
    find: async (api_key, payout_id) => {
      const query = new URLSearchParams({ transfer_group: payout_id, limit: "10" });
      return readFound(await call(deps, api_key, "GET", `/v1/transfers?${query.toString()}`), payout_id);
    },
    balances: async (api_key) => readBalances(await call(deps, api_key, "GET", "/v1/balance")),
    identify: async (api_key) => readIdentity(await call(deps, api_key, "GET", "/v1/account"), api_key),
    createAccount: async (api_key, order) => {
      const body = JSON.stringify(accountBody(order));
      const hash = (await sha256Hex(body)).slice(0, 16);
      const answer = await call(deps, api_key, "POST", "/v2/core/accounts", {
        body,
        contentType: "application/json",
        // Two calls at once, or a repeated one whose answer was lost, create one account.
        idempotency_key: `${order.partner_id}:account:${order.forgotten > 0 ? `${order.forgotten}:` : ""}${hash}`,
      });
      return readAccount(answer, z.object({ id: accountId }), ({ id }) => ({ account_id: id }));
    },
    createLink: async (api_key, { account_id, return_url, refresh_url }) => {
      const answer = await call(deps, api_key, "POST", "/v2/core/account_links", {
        body: JSON.stringify({
          account: account_id,
          use_case: { type: "account_onboarding", account_onboarding: { refresh_url, return_url } },
        }),
        contentType: "application/json",
      });
      return readAccount(answer, z.object({ url: z.url(), expires_at: z.string() }), (link) => link);
    },
  };
}

/** Currencies that the vendor writes with two decimals but moves only in whole units. */
const WHOLE_ALONE = new Set(["ISK", "UGX"]);

/** The vendor requires of currencies with three decimals the last one to be 0, "rounded to the nearest ten". */
function transferableAmount({ amount_cents, currency }: Pick<TransferOrder, "amount_cents" | "currency">): Cents {
  if (WHOLE_ALONE.has(currency)) return nearestMultiple(amount_cents, 100);
  return currencyExponent(currency) === 3 ? nearestMultiple(amount_cents, 10) : amount_cents;
}

/** The form of a transfer, in a fixed order: the vendor compares it with the first request under the same key. */
function freeze(order: TransferOrder): string {
  return new URLSearchParams({
    amount: String(transferableAmount(order)),
    currency: order.currency.toLowerCase(),
    destination: order.account_id,
    transfer_group: order.payout_id,
    description: `Payout ${order.payout_id}`,
    "metadata[payout_id]": order.payout_id,
    "metadata[partner_id]": order.partner_id,
    "metadata[program_id]": order.program_id,
  }).toString();
}

function accountBody({ program_id, partner_id, email, display_name, country }: AccountOrder) {
  return {
    contact_email: email,
    display_name,
    dashboard: "express",
    ...(country === null ? {} : { identity: { country: country.toLowerCase() } }),
    configuration: { recipient: { capabilities: { stripe_balance: { stripe_transfers: { requested: true } } } } },
    defaults: { responsibilities: { fees_collector: "application", losses_collector: "application" } },
    metadata: { partner_id, program_id },
  };
}

const accountId = z.string().regex(/^acct_\w{1,100}$/);
const transfer = z.object({
  object: z.literal("transfer"),
  id: z.string().regex(/^tr_\w{1,100}$/),
  amount: signedAmount,
  currency: z.string(),
  transfer_group: z.string().nullable(),
  destination: z.string().nullish(),
  amount_reversed: signedAmount.default(NOTHING),
});
const transferList = z.object({ object: z.literal("list"), data: z.array(transfer) });
const failure = z.object({
  error: z.object({
    type: z.string().max(100).optional(),
    code: z.string().max(100).optional(),
    message: z.string().optional(),
  }),
});

function readSent(answer: Answer, request: string): SendAnswer {
  if (answer.status === 200) {
    const made = transfer.safeParse(answer.json);
    const asked = new URLSearchParams(request);
    const isOurs =
      made.success &&
      made.data.transfer_group === asked.get("transfer_group") &&
      String(made.data.amount) === asked.get("amount") &&
      made.data.currency === asked.get("currency");
    const is_past = answer.headers.get("idempotent-replayed") === "true" || made.data?.amount_reversed !== NOTHING;
    if (isOurs) return { outcome: "made", transfer_id: made.data.id, is_past };
  }
  const trouble = troubleOf(answer);
  if (isRefusal(answer)) return { outcome: "refused", ...trouble };
  // A server error is stored under the key and repeated; an unreadable answer may hide a transfer.
  const worth_looking = answer.status !== null && answer.status !== 409 && answer.status !== 429;
  return { outcome: "unknown", ...trouble, retry_after_ms: answer.retry_after_ms, worth_looking };
}

function readFound(answer: Answer, payout_id: string): FindAnswer {
  const list = transferList.safeParse(answer.json);
  if (answer.status !== 200 || !list.success) {
    return { outcome: "unknown", ...troubleOf(answer), retry_after_ms: answer.retry_after_ms };
  }
  const { data } = list.data;
  const transfers = data
    .filter((candidate) => candidate.transfer_group === payout_id)
    .map((found) => ({
      transfer_id: found.id,
      amount_cents: found.amount,
      currency: found.currency.toUpperCase(),
      account_id: found.destination ?? null,
      reversed_cents: found.amount_reversed,
    }));
  if (transfers.length > 0) return { outcome: "made", transfers };
  if (data.length === 0) return { outcome: "none" };
  // An unfiltered list gives no information about this payout.
  return { outcome: "unknown", code: "unreadable_answer", message: UNREADABLE, retry_after_ms: null };
}

const balance = z.object({
  object: z.literal("balance"),
  available: z.array(
    z.object({
      amount: signedAmount,
      currency: z.string(),
      source_types: z.record(z.string(), signedAmount).optional(),
    }),
  ),
});

/** A transfer uses the money of one source type, which exceeds the sum if that of another is negative. */
function readBalances(answer: Answer): Balances | null {
  const read = answer.status === 200 ? balance.safeParse(answer.json) : null;
  if (!read?.success) return null;
  return new Map(
    read.data.available.map(({ amount, currency, source_types = {} }) => [
      currency.toUpperCase(),
      Object.values(source_types).reduce(larger, amount),
    ]),
  );
}

const ownAccount = z.object({ object: z.literal("account"), id: accountId });

/** The vendor refuses this to restricted keys, with a message that names their account. */
const NAMED_IN_REFUSAL = /\bon account '(acct_\w{1,100})'/;

function readIdentity(answer: Answer, api_key: string): IdentifyAnswer {
  const read = answer.status === 200 ? ownAccount.safeParse(answer.json) : null;
  const refused = answer.status === 403 ? failure.safeParse(answer.json) : null;
  const id = read?.data?.id ?? NAMED_IN_REFUSAL.exec(refused?.data?.error.message ?? "")?.[1];
  if (id === undefined) return { outcome: "unknown", ...troubleOf(answer), retry_after_ms: answer.retry_after_ms };
  const mode = modeOf(api_key);
  return { outcome: "known", account: mode === undefined ? id : `${id} (${mode})` };
}

function readAccount<T, U>(answer: Answer, shape: z.ZodType<T>, value: (read: T) => U): AccountAnswer<U> {
  if (answer.status === 200 || answer.status === 201) {
    const read = shape.safeParse(answer.json);
    if (read.success) return { outcome: "done", value: value(read.data) };
  }
  return { outcome: isRefusal(answer) ? "refused" : "unavailable", ...troubleOf(answer) };
}

const REFUSING = new Set([400, 401, 402, 403, 404]);

/** Codes and types of a 4xx that only request a later retry. */
const PASSING = new Set(["idempotency_error", "idempotency_key_in_use", "rate_limit", "lock_timeout"]);

/** True if the vendor itself, not a proxy on the way, refuses the request. */
function isRefusal({ status, json }: Answer): boolean {
  const read = failure.safeParse(json);
  if (status === null || !REFUSING.has(status) || !read.success) return false;
  const { type, code } = read.data.error;
  return (type ?? code) !== undefined && !PASSING.has(type ?? "") && !PASSING.has(code ?? "");
}

const UNREADABLE = "The payment provider gave an answer that could not be read.";

/** The vendor's code and message, without keys and whole account ids. */
function troubleOf({ status, json }: Answer): Trouble {
  if (status === null) return { code: "no_answer", message: "The payment provider did not answer." };
  if (status === 401)
    return { code: "api_key_refused", message: "The payment provider does not accept the stored API key." };
  const read = failure.safeParse(json);
  if (!read.success) return { code: `http_${status}`, message: UNREADABLE };
  const { type, code, message } = read.data.error;
  return {
    code: code ?? type ?? `http_${status}`,
    message: vendorWords(message ?? "The payment provider gave no reason."),
  };
}
