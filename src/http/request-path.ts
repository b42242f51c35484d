/**
 * The path and query of the request. The sender chooses the host and the scheme, so links are never built from them
 * (`lib/public-url.ts`), and only this file of the folder reads a request's address (test/lint).
 */
export function pathOf({ url }: Pick<Request, "url">): { pathname: string; search: string } {
  const { pathname, search } = new URL(url);
  return { pathname, search };
}

/**
 * The query of a request with its question mark, or an empty text. Reads the text directly, because every request needs
 * it and parsing an address is slow.
 */
export function searchOf({ url }: Pick<Request, "url">): string {
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at);
}

/** The query of a request, or null if it is empty. */
export function queryOf(request: Pick<Request, "url">): URLSearchParams | null {
  const search = searchOf(request);
  return search === "" ? null : new URLSearchParams(search);
}
