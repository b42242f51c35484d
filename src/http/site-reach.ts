import type { Context } from "hono";
import type { InstallationReach } from "../core/overview/installation.ts";
import type { AppEnv } from "../env.ts";
import { AppError } from "../lib/errors.ts";
import { ownHosts } from "../lib/public-url.ts";
import { SECOND } from "../lib/time.ts";
import { isOverLimit, programKey, RETRY_AFTER_SECONDS } from "./rate-limit.ts";

/** The address of the tracking script (TRACK-15). */
export const scriptUrl = (origin: string): string => `${origin}/service.js`;

/** Fetches pages of an owner's site: within 10 seconds in total, 30 times a minute per program (PROG-12). */
export function siteReachOf({ env }: Pick<Context<AppEnv>, "env">): InstallationReach {
  return {
    fetch: (url, init) => fetch(url, init),
    resolverUrl: env.DNS_RESOLVER_URL,
    ownHosts: ownHosts(env),
    timeoutMs: 10 * SECOND,
    count: async (program_id) => {
      if (!(await isOverLimit(env.RATE_LIMIT_SIGN_IN, programKey(program_id, "site")))) return;
      throw new AppError("rate_limited", "Too many checks of the installation.", { retryAfter: RETRY_AFTER_SECONDS });
    },
  };
}
