/**
 * Whether a key has used up its limit. A limiter that is not set up, or that fails, lets the request pass: what it
 * guards is guarded by more than its number, and a limit is not worth an outage. Nothing is stored.
 */
export async function isOverLimit(limiter: RateLimit | undefined, key: string): Promise<boolean> {
  if (!limiter) return false;
  try {
    return !(await limiter.limit({ key })).success;
  } catch {
    return false;
  }
}
