import type { Context, MiddlewareHandler } from "hono";
import type { Copy } from "../core/kernel/context.ts";
import { openForReads, openPrimary, type Bookmarked } from "../core/kernel/database.ts";
import type { AppEnv } from "../env.ts";
import { invalidField } from "../lib/errors.ts";

/** A place in the database's history: a reply sends the shown one, a request the oldest accepted one. */
export const BOOKMARK_HEADER = "X-D1-Bookmark";

/** Each export writes its event, and a file for a payout service must not list a payout that was paid a moment ago. */
const EXPORTS = "/export.csv";

/** The form of the platform's bookmarks. Others are refused here, because the platform accepts any text. */
export const BOOKMARK_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/** The databases of an API request if copies serve reads. */
export interface Replication {
  /** The copy of a list or get; null for a request that may write, which stays on the primary. */
  copy: Copy | null;
  primary: Bookmarked;
  /** A place no older than anything in the reply; null if it has read no database. */
  bookmark(): string | null;
}

/**
 * Opens the primary and, for reads, a copy as new as the request's bookmark. Null unless `READ_REPLICATION` is `"on"`.
 */
export function replicationOf(c: Context<AppEnv>, shard: number): Replication | null {
  const primary = c.env.READ_REPLICATION === "on" ? openPrimary(c.env, shard) : null;
  if (!primary) return null;
  const isRead = (c.req.method === "GET" || c.req.method === "HEAD") && !c.req.path.endsWith(EXPORTS);
  const after = c.req.header(BOOKMARK_HEADER) ?? null;
  const copy = isRead
    ? openForReads(c.env, shard, after !== null && BOOKMARK_PATTERN.test(after) ? after : null)
    : null;
  if (!copy) return { copy: null, primary, bookmark: () => primary.bookmark() };
  const sources = { copy, primary };
  const shown = new Set<keyof typeof sources>();
  return {
    copy: { db: copy.db, onShown: (of) => shown.add(of) },
    primary,
    // Bookmarks sort by age ("bookmarks are lexicographically sortable", D1's documentation).
    bookmark: () =>
      [...shown]
        .map((of) => sources[of].bookmark())
        .filter((bookmark) => bookmark !== null)
        .toSorted()
        .at(-1) ?? null,
  };
}

/** @throws `validation_failed` for a malformed bookmark, even if it would not be used. */
export const requireBookmarkForm: MiddlewareHandler<AppEnv> = async (c, next) => {
  const bookmark = c.req.header(BOOKMARK_HEADER);
  if (bookmark !== undefined && !BOOKMARK_PATTERN.test(bookmark)) {
    throw invalidField(BOOKMARK_HEADER, "This is not a bookmark of an earlier reply.");
  }
  await next();
};

/** Puts the bookmark on the reply. A request that sends it back gets no older data. */
export function tellBookmark(c: Context<AppEnv>, replication: Replication): void {
  const bookmark = replication.bookmark();
  if (bookmark !== null) c.res.headers.set(BOOKMARK_HEADER, bookmark);
}
