/** Rate limiters whose minute does not end: how many requests a test manages in a minute plays no part. */
import wranglerToml from "../../wrangler.toml?raw";

type Limited = "FAILED_AUTH" | "CLICK" | "CLICK_DETAIL" | "SIGN_IN";
export type LimiterName = `RATE_LIMIT_${"API" | Limited | `${Limited}_SITE`}`;

/** How many requests a minute a limiter of `wrangler.toml` lets through. */
export function limitOf(name: LimiterName): number {
  const found = new RegExp(
    `name = "${name}"\\nnamespace_id = "\\d+"\\nsimple = \\{ limit = (\\d+), period = 60 \\}`,
  ).exec(wranglerToml);
  if (!found) throw new Error(`wrangler.toml has no limiter ${name}`);
  return Number(found[1]);
}

export interface PlayedLimiter extends RateLimit {
  /** Requests counted so far, by key. */
  used: Map<string, number>;
}

/** A limiter that counts as the platform's does; `used.clear()` begins another minute. */
export function playLimiter(limit: number): PlayedLimiter {
  const used = new Map<string, number>();
  return {
    used,
    limit: async ({ key }) => {
      const count = (used.get(key) ?? 0) + 1;
      used.set(key, count);
      return { success: count <= limit };
    },
  };
}
