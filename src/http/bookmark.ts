import type { Context, MiddlewareHandler } from "hono";
import type { Copy } from "../core/kernel/context.ts";
import { openForReads, openPrimary, type Bookmarked } from "../core/kernel/database.ts";
import type { AppEnv } from "../env.ts";
import { invalidField } from "../lib/errors.ts";

/** A place in the history of the program's database: on a reply the one it shows, on a request the oldest to show. */
export const BOOKMARK_HEADER = "X-D1-Bookmark";

/** Each writes its event; and what was paid a moment ago must not be in a file for a payout service. */
const EXPORTS = "/export.csv";

/** As the platform makes them; one that is not is refused here, because the platform takes any text. */
export const BOOKMARK_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/** Where a request of the API goes where copies of the database serve reads. */
export interface Replication {
  /** For lists and gets; null for what may write, which stays on the primary. */
  copy: Copy | null;
  primary: Bookmarked;
  /** A place in the history of the database that is no older than anything the reply shows; null where it shows nothing. */
  bookmark(): string | null;
}

/**
 * With `READ_REPLICATION = "on"`: a session for this request, at any copy that is no older than the bookmark it brings,
 * beside the primary; for a write the primary alone. Null where reads are not replicated.
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
    // They sort by age ("bookmarks are lexicographically sortable", D1's documentation).
    bookmark: () =>
      [...shown]
        .map((of) => sources[of].bookmark())
        .filter((bookmark) => bookmark !== null)
        .toSorted()
        .at(-1) ?? null,
  };
}

/** @throws `validation_failed` for a bookmark that cannot be one, whether or not it would be used. */
export const requireBookmarkForm: MiddlewareHandler<AppEnv> = async (c, next) => {
  const bookmark = c.req.header(BOOKMARK_HEADER);
  if (bookmark !== undefined && !BOOKMARK_PATTERN.test(bookmark)) {
    throw invalidField(BOOKMARK_HEADER, "This is not a bookmark of an earlier reply.");
  }
  await next();
};

/** Puts the bookmark on the reply with which what comes next shows nothing older. */
export function tellBookmark(c: Context<AppEnv>, replication: Replication): void {
  const bookmark = replication.bookmark();
  if (bookmark !== null) c.res.headers.set(BOOKMARK_HEADER, bookmark);
}
