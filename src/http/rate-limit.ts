import type { Context } from "hono";
import type { HashedNetworks } from "../core/kernel/shared-budget.ts";
import { networksOf, type Networks } from "../domain/address.ts";
import type { AppEnv, Bindings } from "../env.ts";
import { hmacSha256, toHex } from "../lib/crypto.ts";
import { AppError } from "../lib/errors.ts";
import { remember, type Remembered } from "../lib/remembered.ts";
import { MINUTE } from "../lib/time.ts";

declare const by: unique symbol;

/** The key that a limit counts by. Only this file makes keys, so that no limiter sees a raw address. */
export type LimitKey<By extends "address" | "api_key" | "program"> = string & { readonly [by]: By };
export type AddressKey = LimitKey<"address">;

/** The `Retry-After` of a 429: all limits are per minute. */
export const RETRY_AFTER_SECONDS = 60;

/** The keys of the caller's networks. */
export type CallerKeys = Record<keyof Networks, AddressKey>;

/** The caller's networks (HTTP-12), for limits, never stored; `at` counts apart. Null outside the platform. */
export function callerKeys(headers: Headers, at?: string): CallerKeys | null {
  const address = headers.get("cf-connecting-ip");
  if (address === null) return null;
  const { network, site } = networksOf(address);
  const keyOf = (of: string) => (at === undefined ? of : `${of} ${at}`) as AddressKey;
  return { network: keyOf(network), site: keyOf(site) };
}

/** Keyed hashes of the caller's networks, of one `scope`, so that others do not compare. Null outside the platform. */
export async function hashNetworks({ req, env }: Pick<Caller, "req" | "env">, scope: string): Promise<HashedNetworks> {
  const { ENCRYPTION_KEY: key } = env;
  const keys = callerKeys(req.raw.headers, scope);
  if (!key || keys === null) return null;
  const hash = async (of: string) =>
    toHex(await hmacSha256(key, JSON.stringify(["network", of]))).slice(0, HASH_DIGITS);
  return { network: await hash(keys.network), site: await hash(keys.site) };
}

/** 128 bits. */
const HASH_DIGITS = 32;

/** The limit key of an API key, from its hash. */
export function apiKeyKey(api_key_hash: string): LimitKey<"api_key"> {
  return api_key_hash as LimitKey<"api_key">;
}

/** The limit key of an action that all users of a program share; each `at` is counted apart. */
export function programKey(program_id: string, at: string): LimitKey<"program"> {
  return `${program_id} ${at}` as LimitKey<"program">;
}

/** Limiters by network, each with the one by site: 8 times as many requests (HTTP-12). */
const SITE_LIMITERS = {
  RATE_LIMIT_FAILED_AUTH: "RATE_LIMIT_FAILED_AUTH_SITE",
  RATE_LIMIT_CLICK: "RATE_LIMIT_CLICK_SITE",
  RATE_LIMIT_CLICK_DETAIL: "RATE_LIMIT_CLICK_DETAIL_SITE",
  RATE_LIMIT_SIGN_IN: "RATE_LIMIT_SIGN_IN_SITE",
} as const satisfies Partial<Record<keyof Bindings, keyof Bindings>>;

/**
 * Counts a request; returns the key over its limit, or null. Those over the network's limit do not count for its site.
 */
export async function countCaller(
  env: Bindings,
  limiter: keyof typeof SITE_LIMITERS,
  headers: Headers,
  at?: string,
): Promise<AddressKey | null> {
  const keys = callerKeys(headers, at);
  if (keys === null) return null;
  if (await isOverLimit(env[limiter], keys.network)) return keys.network;
  if (keys.site === keys.network) return null;
  return (await isOverLimit(env[SITE_LIMITERS[limiter]], keys.site)) ? keys.site : null;
}

/**
 * Counts a request, and whether its key is over. Passes without a working limiter, as other checks guard the same.
 * Writes no row.
 */
export async function isOverLimit(
  limiter: RateLimit | undefined,
  key: LimitKey<"address" | "api_key" | "program">,
): Promise<boolean> {
  if (!limiter) return false;
  try {
    return !(await limiter.limit({ key })).success;
  } catch {
    return false;
  }
}

/**
 * Refusals of failure limiters in this isolate, until when (ms): the platform's counts every call, a check must not.
 */
const refused = new WeakMap<RateLimit, Remembered<AddressKey, true>>();
const MAX_REMEMBERED = 10_000;

type Caller = Pick<Context<AppEnv>, "req" | "env" | "var">;

/**
 * Runs before a secret is compared (HTTP-12): past its failures an address's right secret fails too. @throws
 * `rate_limited`
 */
export function refuseGuesser(caller: Caller, at?: string): void {
  if (isGuesser(caller, at)) throw tooManyFailures();
}

/** Whether the caller has used up its failures, as far as this isolate has seen. Does not count. */
export function isGuesser({ req, env, var: { now } }: Caller, at?: string): boolean {
  const { RATE_LIMIT_FAILED_AUTH: limiter } = env;
  const keys = callerKeys(req.raw.headers, at);
  if (!limiter || keys === null) return false;
  return Object.values(keys).some((key) => refused.get(limiter)?.get(key, now) === true);
}

/** Counts a wrong secret: 30 a minute for each network (HTTP-11) and `at`. @throws `rate_limited` beyond */
export async function countWrongSecret({ req, env, var: { now } }: Caller, at?: string): Promise<void> {
  const { RATE_LIMIT_FAILED_AUTH: limiter } = env;
  const key = await countCaller(env, "RATE_LIMIT_FAILED_AUTH", req.raw.headers, at);
  if (!limiter || key === null) return;
  const keys = refused.get(limiter) ?? remember(MAX_REMEMBERED);
  refused.set(limiter, keys);
  keys.set(key, true, now + MINUTE);
  throw tooManyFailures();
}

function tooManyFailures(): AppError {
  return new AppError("rate_limited", "Too many failed authentications.", { retryAfter: RETRY_AFTER_SECONDS });
}
