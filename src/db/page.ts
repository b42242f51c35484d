import { AppError } from "../lib/errors.ts";
import { toBase64, fromBase64 } from "../lib/crypto.ts";
import { ID_PATTERN, ID_PREFIXES, type IdKind } from "../lib/id.ts";

/** Which page of a list is wanted, as the query string said it. */
export interface PageRequest {
  page: number;
  per_page: number;
  cursor?: string | undefined;
  /** Newest first unless it says otherwise; a cursor goes on in the order that it was made in. */
  order?: Order | undefined;
  /**
   * False where the total is not needed: then it is 0, and nothing is counted. True where it has to be exact, of a list too
   * that else counts so far only (`CustomerPage`).
   */
  counted?: boolean | undefined;
}

export const ORDERS = ["newest", "oldest"] as const;
export type Order = (typeof ORDERS)[number];

export interface Page<T> {
  data: T[];
  total: number;
  page: number;
  per_page: number;
  /** For walking on at constant cost; null at the end. */
  next_cursor: string | null;
}

/** How many rows to read and skip: one more than the page holds shows whether anything follows it. */
export function window({ page, per_page, cursor }: PageRequest): { limit: number; offset: number } {
  return { limit: per_page + 1, offset: cursor === undefined ? (page - 1) * per_page : 0 };
}

/** The id of a list of these after which a cursor goes on, or null without one. @throws for a cursor of another list. */
export function cursorId({ cursor }: PageRequest, kind: IdKind): string | null {
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

/** The page made of the rows read with `window`, newest first, and the exact total. */
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

/** A page whose objects are still the JSON texts that the database made of them. */
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

function encodeCursor(id: string): string {
  return toBase64(new TextEncoder().encode(id)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
