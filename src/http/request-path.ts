/**
 * The path and query that a request was sent to. Its host and scheme are whatever its sender wrote: no link is made of
 * them (`lib/public-url.ts`), and nothing else in this folder reads the address of a request (test/lint).
 */
export function pathOf({ url }: Pick<Request, "url">): { pathname: string; search: string } {
  const { pathname, search } = new URL(url);
  return { pathname, search };
}

/** The query of a request with its question mark, or nothing: every request has it looked at, and reading the address costs. */
export function searchOf({ url }: Pick<Request, "url">): string {
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at);
}

/** The query of a request, or null where it has none. */
export function queryOf(request: Pick<Request, "url">): URLSearchParams | null {
  const search = searchOf(request);
  return search === "" ? null : new URLSearchParams(search);
}
