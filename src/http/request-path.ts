/**
 * The path and query of the request. The sender chooses the host and the scheme, so links are never built from them
 * (`lib/public-url.ts`), and only this file of the folder reads a request's address (test/lint).
 */
export function pathOf({ url }: Pick<Request, "url">): { pathname: string; search: string } {
  const { pathname, search } = new URL(url);
  return { pathname, search };
}

/** The query with its question mark, or an empty text. Reads the text, as parsing an address is slow. */
export function searchOf({ url }: Pick<Request, "url">): string {
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at);
}

export function queryOf(request: Pick<Request, "url">): URLSearchParams | null {
  const search = searchOf(request);
  return search === "" ? null : new URLSearchParams(search);
}
