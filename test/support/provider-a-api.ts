/**
 * Provider A's API as it is on the wire, played in memory: transfers with the vendor's idempotency store and its rules,
 * accounts and onboarding links, error objects, latency and faults. The client under test talks HTTP with it, and each
 * request is checked against the vendor's published description.
 */
import { refusedByA } from "./vendor-a-requests.ts";
import { nested, type Reply } from "./vendor-requests.ts";
import { uniqueId } from "./vendor.ts";

export const VENDOR_URL = "https://api.stripe.com";

const DAY_MS = 86_400_000;

/** The fault of one call. */
export type Fault =
  /** The request never arrives. */
  | "drop_request"
  /** The call is carried out and the answer is lost. */
  | "drop_reply"
  /** The call is carried out and the answer never ends. */
  | "hang"
  /** The call is carried out and the answer is cut off or replaced by a proxy. */
  | "garbage"
  /** The call is carried out, and the transfers in its answer are of another payout. */
  | "wrong_echo"
  /** 429, judged before the idempotency store. */
  | "rate_limit"
  /** 409: another request under the key is under way, somewhere. */
  | "in_use"
  /** 503 from a proxy before the API: the call is neither carried out nor stored. */
  | "gateway"
  /** 500 in the middle, before the transfer was made; stored under the key. */
  | "error_stored"
  /** 500 in the middle, after the transfer was made; stored under the key. */
  | "error_after_effect";

/** `forbidden`: the key may not read the balance. */
type VendorFault = Fault | "forbidden" | null;

export const FAULTS: readonly Fault[] = [
  ...["drop_request", "drop_reply", "hang", "garbage", "wrong_echo", "rate_limit", "in_use", "gateway"],
  ...["error_stored", "error_after_effect"],
] as Fault[];

export interface VendorTransfer {
  id: string;
  object: "transfer";
  amount: number;
  amount_reversed: number;
  balance_transaction: string;
  created: number;
  currency: string;
  description: string | null;
  destination: string;
  destination_payment: string;
  livemode: boolean;
  metadata: Record<string, string>;
  reversals: { object: "list"; data: unknown[]; has_more: boolean; url: string };
  reversed: boolean;
  source_transaction: null;
  source_type: string;
  transfer_group: string | null;
}

export interface VendorCall {
  method: string;
  path: string;
  headers: Headers;
  body: string;
  fault: VendorFault;
  /** Null if there was no answer. */
  status: number | null;
}

interface Stored {
  request: string;
  status: number;
  body: string;
  at: number;
}

/** The capability of an account at the vendor. */
export type AccountState = "active" | "restricted" | "rejected";

export interface VendorApi {
  /** Replaces the global `fetch`, for `VENDOR_URL`. */
  fetch: (url: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** The vendor's clock, ms. */
  now: number;
  transfers: VendorTransfer[];
  accounts: Map<string, { state: AccountState; email: string; body: Record<string, unknown> }>;
  links: Record<string, unknown>[];
  /** Smallest units by lower-case currency; absent: enough. */
  balance: Map<string, number>;
  /** The keys that the vendor accepts, all of one account. */
  keys: Set<string>;
  /** The account that the keys are of. */
  account: string;
  /** Taken one by one, a call each; null lets a call through. Questions about the balance have faults of their own. */
  faults: (Fault | null)[];
  /** All calls but questions about the balance. */
  calls: VendorCall[];
  balanceFaults: VendorFault[];
  balanceCalls: VendorCall[];
  remembersByKey: boolean;
  /** Resolves the answers that hang, as lost connections. */
  latency: () => Promise<void>;
}

export interface VendorOptions {
  now?: number;
  keys?: string[];
  accounts?: Record<string, AccountState>;
  latency?: () => Promise<void>;
  /** Each API key has idempotency keys of its own. */
  remembersByKey?: boolean;
}

export function openVendor(options: VendorOptions = {}): VendorApi {
  const { now = Date.now(), keys = [], accounts = {}, latency, remembersByKey = false } = options;
  const idempotent = new Map<string, Stored | "in_use">();
  const vendor: VendorApi = {
    now,
    transfers: [],
    accounts: new Map(Object.entries(accounts).map(([id, state]) => [id, { state, email: "", body: {} }])),
    links: [],
    balance: new Map(),
    keys: new Set(keys),
    account: uniqueId("acct_"),
    faults: [],
    calls: [],
    balanceFaults: [],
    balanceCalls: [],
    remembersByKey,
    latency: latency ?? (async () => {}),
    fetch: (url, init) => answer(vendor, idempotent, new Request(url, init)),
  };
  return vendor;
}

class Lost extends Error {}

/** Holds look-ups of transfers until the returned function is called. */
export function hideTransfers(vendor: VendorApi): () => void {
  const { fetch } = vendor;
  vendor.fetch = async (url, init) => {
    const request = new Request(url, init);
    const isLookUp = request.method === "GET" && new URL(request.url).pathname === "/v1/transfers";
    return isLookUp ? new Response("upstream connect error", { status: 503 }) : fetch(request);
  };
  return () => void (vendor.fetch = fetch);
}

/** The vendor's account takes money of a transfer back, the whole amount unless given. */
export function takeBack(transfer: VendorTransfer, amount = transfer.amount): void {
  transfer.amount_reversed += amount;
  transfer.reversed = transfer.amount_reversed === transfer.amount;
}

async function answer(
  vendor: VendorApi,
  idempotent: Map<string, Stored | "in_use">,
  request: Request,
): Promise<Response> {
  const url = new URL(request.url);
  const body = new TextDecoder().decode(await request.arrayBuffer());
  const isBalance = url.pathname === "/v1/balance";
  const fault = (isBalance ? vendor.balanceFaults : vendor.faults).shift() ?? null;
  const call: VendorCall = {
    method: request.method,
    path: url.pathname + url.search,
    headers: request.headers,
    body,
    fault,
    status: null,
  };
  (isBalance ? vendor.balanceCalls : vendor.calls).push(call);
  await vendor.latency();
  if (fault === "drop_request") throw new Lost("connection reset");
  const reply = await carryOut(vendor, idempotent, request, url, body, fault);
  await vendor.latency();
  if (fault === "drop_reply") throw new Lost("connection reset");
  if (fault === "hang") return hanging(request.signal);
  if (fault === "garbage") return new Response("<html>502 Bad gateway", { status: 200 });
  call.status = reply.status;
  const group = (name: string, value: unknown) =>
    fault === "wrong_echo" && name === "transfer_group" ? "pay_other" : value;
  return new Response(JSON.stringify(reply.body, group, 2), {
    status: reply.status,
    headers: { "content-type": "application/json", "request-id": uniqueId("req_"), ...reply.headers },
  });
}

/** Headers come, the body never ends; ends as the caller's deadline does. */
function hanging(signal: AbortSignal): Response {
  const body = new ReadableStream({
    start(controller) {
      signal.addEventListener("abort", () => controller.error(new Lost("aborted")));
    },
  });
  return new Response(body, { status: 200, headers: { "content-type": "application/json" } });
}

async function carryOut(
  vendor: VendorApi,
  idempotent: Map<string, Stored | "in_use">,
  request: Request,
  url: URL,
  body: string,
  fault: VendorFault,
): Promise<Reply> {
  if (fault === "gateway") return { status: 503, body: "upstream connect error" };
  const key = /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  if (!vendor.keys.has(key)) {
    return refusal(401, { type: "invalid_request_error", message: `Invalid API Key provided: ${key.slice(0, 8)}****` });
  }
  if (fault === "rate_limit") {
    const limited = refusal(429, { type: "invalid_request_error", code: "rate_limit", message: "Too many requests." });
    return { ...limited, headers: { "retry-after": "2" } };
  }
  // Judged before the idempotency store, and so never stored.
  const refused = refusedByA({ method: request.method, url, type: request.headers.get("content-type"), body });
  if (refused) return refused;
  const route = `${request.method} ${url.pathname}`;
  if (route === "GET /v1/transfers") return listTransfers(vendor, url);
  // The list is empty here: `event-lists.ts` plays it.
  if (route === "GET /v1/events")
    return { status: 200, body: { object: "list", url: "/v1/events", has_more: false, data: [] } };
  if (route === "GET /v1/account") return tellAccount(vendor, key);
  if (route === "GET /v1/balance") return fault === "forbidden" ? forbidden(vendor, key) : tellBalance(vendor, fault);
  const execute = ROUTES[route];
  if (!execute) return refusal(404, { type: "invalid_request_error", message: `Unrecognized request URL (${route}).` });
  const isForm = url.pathname.startsWith("/v1/");
  if (!isForm && request.headers.get("stripe-version") === null) {
    return refusal(400, { code: "missing_api_version", message: "API v2 needs a Stripe-Version header." });
  }
  const params = isForm ? nested(new URLSearchParams(body)) : (JSON.parse(body) as Record<string, unknown>);
  const idempotency_key = request.headers.get("idempotency-key");
  if (idempotency_key === null) return execute.run(vendor, params, fault);
  if (fault === "in_use") return IN_USE;
  const slot = `${vendor.remembersByKey ? key : ""} ${request.method} ${idempotency_key}`;
  const kept = idempotent.get(slot);
  const isForgotten = kept !== undefined && kept !== "in_use" && vendor.now - kept.at >= execute.keptFor;
  if (kept === "in_use") return IN_USE;
  const sent = `${route}\n${body}`;
  if (kept && !isForgotten) {
    if (kept.request !== sent) {
      return refusal(400, {
        type: "idempotency_error",
        message: "Keys for idempotent requests can only be used with the same parameters they were first used with.",
      });
    }
    return { status: kept.status, body: JSON.parse(kept.body), headers: { "idempotent-replayed": "true" } };
  }
  idempotent.set(slot, "in_use");
  await vendor.latency();
  const reply = execute.run(vendor, params, fault);
  idempotent.set(slot, { request: sent, status: reply.status, body: JSON.stringify(reply.body), at: vendor.now });
  return reply;
}

interface Route {
  keptFor: number;
  run: (vendor: VendorApi, params: Record<string, unknown>, fault: VendorFault) => Reply;
}

const ROUTES: Record<string, Route> = {
  "POST /v1/transfers": { keptFor: DAY_MS, run: makeTransfer },
  "POST /v2/core/accounts": { keptFor: 30 * DAY_MS, run: makeAccount },
  "POST /v2/core/account_links": { keptFor: 30 * DAY_MS, run: makeLink },
};

const SERVER_ERROR = refusal(500, { type: "api_error", message: "Something went wrong on the vendor's end." });

const IN_USE = refusal(409, {
  type: "idempotency_error",
  code: "idempotency_key_in_use",
  message: "There is currently another in-progress request using this Idempotent Key.",
});

function refusal(status: number, error: { type?: string; code?: string; message: string; param?: string }): Reply {
  return { status, body: { error } };
}

/** The vendor has ended the decimals of these, and takes two of three decimals. */
const ISK_AND_UGX = new Set(["isk", "ugx"]);
const THREE_DECIMALS = new Set(["bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd"]);

function makeTransfer(vendor: VendorApi, params: Record<string, unknown>, fault: VendorFault): Reply {
  if (fault === "error_stored") return SERVER_ERROR;
  const amount = Number(params.amount);
  const currency = String(params.currency);
  const destination = String(params.destination);
  const account = vendor.accounts.get(destination);
  const refused = (status: number, code: string, message: string) =>
    refusal(status, { type: "invalid_request_error", code, message });
  if (!account) return refused(400, "resource_missing", `No such destination: '${destination}'`);
  if (account.state === "rejected") return refused(403, "account_invalid", "The account was rejected.");
  if (account.state === "restricted") {
    return refused(
      400,
      "insufficient_capabilities_for_transfer",
      "Your destination account needs to have at least one of the following capabilities enabled: transfers",
    );
  }
  const step = ISK_AND_UGX.has(currency) ? 100 : THREE_DECIMALS.has(currency) ? 10 : 1;
  if (amount % step !== 0) {
    const message = `Invalid amount. Amounts in ${currency.toUpperCase()} must be evenly divisible by ${step}.`;
    return refused(400, "invalid_charge_amount_no_decimal_compatible", message);
  }
  const balance = vendor.balance.get(currency) ?? Number.POSITIVE_INFINITY;
  if (balance < amount) {
    return refused(400, "balance_insufficient", "You have insufficient available funds in your account.");
  }
  vendor.balance.set(currency, balance - amount);
  const id = uniqueId("tr_");
  const transfer: VendorTransfer = {
    id,
    object: "transfer",
    amount,
    amount_reversed: 0,
    balance_transaction: uniqueId("txn_"),
    created: Math.floor(vendor.now / 1000),
    currency,
    description: (params.description as string | undefined) ?? null,
    destination,
    destination_payment: uniqueId("py_"),
    livemode: false,
    metadata: (params.metadata as Record<string, string> | undefined) ?? {},
    reversals: { object: "list", data: [], has_more: false, url: `/v1/transfers/${id}/reversals` },
    reversed: false,
    source_transaction: null,
    source_type: "card",
    transfer_group: (params.transfer_group as string | undefined) ?? null,
  };
  vendor.transfers.unshift(transfer);
  return fault === "error_after_effect" ? SERVER_ERROR : { status: 200, body: transfer };
}

function listTransfers(vendor: VendorApi, url: URL): Reply {
  const group = url.searchParams.get("transfer_group");
  const limit = Number(url.searchParams.get("limit") ?? 10);
  const matching = vendor.transfers.filter((transfer) => group === null || transfer.transfer_group === group);
  return {
    status: 200,
    body: { object: "list", url: "/v1/transfers", has_more: matching.length > limit, data: matching.slice(0, limit) },
  };
}

/** "This is a restricted API key, but the required permissions are not available for use by restricted keys." */
function tellAccount(vendor: VendorApi, key: string): Reply {
  const { account } = vendor;
  if (!key.startsWith("rk_")) return { status: 200, body: { id: account, object: "account", country: "US" } };
  return forbidden(vendor, key);
}

function forbidden({ account }: VendorApi, key: string): Reply {
  return refusal(403, {
    type: "invalid_request_error",
    message: `The provided key '${key.slice(0, 8)}****' does not have the required permissions for this endpoint on account '${account}'.`,
  });
}

/** Currencies with enough are left out. */
function tellBalance(vendor: VendorApi, fault: VendorFault): Reply {
  if (fault?.startsWith("error")) return SERVER_ERROR;
  const available = [...vendor.balance].filter(([, amount]) => Number.isFinite(amount));
  return {
    status: 200,
    body: {
      object: "balance",
      available: available.map(([currency, amount]) => ({ amount, currency, source_types: { card: amount } })),
      livemode: false,
      pending: [],
    },
  };
}

function makeAccount(vendor: VendorApi, params: Record<string, unknown>): Reply {
  const { contact_email, display_name, identity, configuration } = params as {
    contact_email?: string;
    display_name?: string;
    identity?: { country?: string };
    configuration?: Record<string, unknown>;
  };
  if (configuration?.recipient === undefined || contact_email === undefined) {
    return refusal(400, {
      code: "invalid_fields",
      message: "contact_email is required for the recipient configuration.",
    });
  }
  if (identity?.country === "xx") {
    return refusal(400, { code: "unsupported_country", message: "Country xx is not supported for this platform." });
  }
  const id = uniqueId("acct_");
  vendor.accounts.set(id, { state: "restricted", email: contact_email, body: params });
  return {
    status: 200,
    body: {
      id,
      object: "v2.core.account",
      applied_configurations: ["recipient"],
      configuration: null,
      contact_email,
      created: new Date(vendor.now).toISOString(),
      dashboard: params.dashboard ?? null,
      defaults: null,
      display_name: display_name ?? null,
      identity: null,
      livemode: false,
      metadata: params.metadata ?? {},
      requirements: null,
    },
  };
}

const LINK_MS = 600_000;

function makeLink(vendor: VendorApi, params: Record<string, unknown>): Reply {
  const account = String(params.account);
  if (!vendor.accounts.has(account)) {
    return refusal(404, { code: "not_found", message: `No such account: ${account}` });
  }
  const link = {
    object: "v2.core.account_link",
    account,
    created: new Date(vendor.now).toISOString(),
    expires_at: new Date(vendor.now + LINK_MS).toISOString(),
    livemode: false,
    url: `https://accounts.stripe.com/r/${account}#${uniqueId("alu_test_")}`,
    use_case: params.use_case,
  };
  vendor.links.push(link);
  return { status: 200, body: link };
}
