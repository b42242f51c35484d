import { AppError } from "../lib/errors.ts";
import { toBase64, fromBase64 } from "../lib/crypto.ts";
import { ID_PATTERN, ID_PREFIXES, type IdKind } from "../lib/id.ts";

/** The requested page of a list, from the query string. */
export interface PageRequest {
  page: number;
  per_page: number;
  cursor?: string | undefined;
  /** Newest first by default; a cursor continues in the order in which it was made. */
  order?: Order | undefined;
  /** One of the list's sorts, descending unless the order is `oldest`; undefined for the list's own. */
  sort?: string | undefined;
  /** False: the total is 0, uncounted. True: exact, even for a list whose total is capped (`CustomerPage`). */
  counted?: boolean | undefined;
}

export const ORDERS = ["newest", "oldest"] as const;
export type Order = (typeof ORDERS)[number];

export interface Page<T> {
  data: T[];
  total: number;
  page: number;
  per_page: number;
  /** Continues a walk at constant cost; null at the end. */
  next_cursor: string | null;
  /** True if too many rows match to be sorted as requested: they are newest first. */
  isUnsorted?: true;
}

/** The number of rows to read and skip: one more than the page holds, to show whether another page follows. */
export function window({ page, per_page, cursor }: PageRequest): { limit: number; offset: number } {
  return { limit: per_page + 1, offset: cursor === undefined ? (page - 1) * per_page : 0 };
}

/** The id after which a cursor continues, or null. @throws for a cursor of another list */
export function cursorId({ cursor }: Pick<PageRequest, "cursor">, kind: IdKind): string | null {
  if (cursor === undefined) return null;
  const bytes = fromBase64(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  const id = bytes ? new TextDecoder().decode(bytes) : "";
  if (!id.startsWith(`${ID_PREFIXES[kind]}_`) || !ID_PATTERN.test(id)) {
    throw new AppError("validation_failed", "The request is not valid.", {
      details: [{ path: "cursor", message: "This is not a cursor of this list." }],
    });
  }
  return id;
}

/** A page of the rows read with `window`, newest first, with the exact total. */
export function pageOf<Row extends { id: string }, T>(
  request: PageRequest,
  rows: readonly Row[],
  total: number,
  view: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, request.per_page);
  const last = shown.at(-1);
  return {
    data: shown.map(view),
    total,
    page: request.page,
    per_page: request.per_page,
    next_cursor: last && rows.length > request.per_page ? encodeCursor(last.id) : null,
  };
}

/** JSON text of a `T`. */
export type JsonText<T> = string & { readonly says?: T };

/** A page whose objects are still JSON texts made by the database. */
export interface PageOfTexts<T> extends Omit<Page<T>, "data"> {
  texts: JsonText<T>[];
}

/** `pageOf` for rows that are JSON texts of objects with an `id`. */
export function pageOfTexts<T extends { id: string }>(
  request: PageRequest,
  rows: readonly JsonText<T>[],
  total: number,
): PageOfTexts<T> {
  const { page, per_page } = request;
  const texts = rows.slice(0, per_page);
  const last = texts.at(-1);
  const next_cursor = last && rows.length > per_page ? encodeCursor((JSON.parse(last) as T).id) : null;
  return { texts, total, page, per_page, next_cursor };
}

export function encodeCursor(id: string): string {
  return toBase64(new TextEncoder().encode(id)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
