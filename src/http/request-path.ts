/**
 * The path and query that a request was sent to. Its host and scheme are whatever its sender wrote: no link is made of
 * them (`lib/public-url.ts`), and nothing else in this folder reads the address of a request (test/lint).
 */
export function pathOf({ url }: Pick<Request, "url">): { pathname: string; search: string } {
  const { pathname, search } = new URL(url);
  return { pathname, search };
}

/** The query of a request, or null where it has none: a click seldom has one, and reading the address costs. */
export function queryOf({ url }: Pick<Request, "url">): URLSearchParams | null {
  const at = url.indexOf("?");
  return at < 0 ? null : new URLSearchParams(url.slice(at));
}
