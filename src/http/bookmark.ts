import type { Context } from "hono";
import { openForReads, openForWrites, type Bookmarked } from "../core/database.ts";
import type { AppEnv } from "../env.ts";
import { invalidField } from "../lib/errors.ts";

/** A place in the history of the program's database: on a reply the one it shows, on a request the oldest to show. */
export const BOOKMARK_HEADER = "X-D1-Bookmark";

/** As the platform makes them; one that is not is refused here, because the platform takes any text. */
export const BOOKMARK_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/** Where a request of the API goes where copies of the database serve reads. */
export interface Replication {
  /** For lists and gets; null for what may write, which stays on the primary. */
  copy: Bookmarked | null;
  primary: Bookmarked | null;
}

/**
 * With `READ_REPLICATION = "on"`: a session for this request, at any copy that is no older than the bookmark it brings;
 * for a write the primary, which tells a bookmark of its own. Null where reads are not replicated.
 */
export function replicationOf(c: Context<AppEnv>, shard: number): Replication | null {
  if (c.env.READ_REPLICATION !== "on") return null;
  const isRead = c.req.method === "GET" || c.req.method === "HEAD";
  const after = c.req.header(BOOKMARK_HEADER) ?? null;
  return {
    copy: isRead ? openForReads(c.env, shard, after !== null && BOOKMARK_PATTERN.test(after) ? after : null) : null,
    primary: isRead ? null : openForWrites(c.env, shard),
  };
}

/** @throws `validation_failed` for a bookmark that cannot be one, whether or not it would be used. */
export function requireBookmarkForm(c: Context<AppEnv>): void {
  const bookmark = c.req.header(BOOKMARK_HEADER);
  if (bookmark !== undefined && !BOOKMARK_PATTERN.test(bookmark)) {
    throw invalidField(BOOKMARK_HEADER, "This is not a bookmark of an earlier reply.");
  }
}

/** Puts the bookmark that was reached on the reply. */
export function tellBookmark(c: Context<AppEnv>, { copy, primary }: Replication): void {
  const bookmark = (copy ?? primary)?.bookmark() ?? null;
  if (bookmark !== null) c.res.headers.set(BOOKMARK_HEADER, bookmark);
}
