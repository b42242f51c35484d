import * as z from "zod";
import { ID_PREFIXES, type IdKind } from "../../lib/id.ts";

/** Makes a thing when it is first asked for: what only the document needs costs nothing at a cold start. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * An object that shows exactly the fields of `View`: one that the view has and the schema lacks, or the other way
 * round, does not compile. A field may be described more closely than the view's type does.
 */
export function shows<View>() {
  return <S extends { [K in keyof View]-?: z.core.$ZodType<View[K]> }>(
    shape: S & { [K in Exclude<keyof S, keyof View>]: never },
  ) => z.strictObject<S>(shape);
}

/** One page of a list (HTTP-7). */
export function listOf<T extends z.ZodType>(item: T) {
  return z.strictObject({
    data: z.array(item),
    total: z.int().min(0).describe("How many there are on all pages, exactly."),
    page: z.int(),
    per_page: z.int(),
    next_cursor: z.string().nullable().describe("Send it as `cursor` to get the next page; null on the last one."),
  });
}

/** A whole list, which is never long. */
export function allOf<T extends z.ZodType>(item: T) {
  return z.strictObject({ data: z.array(item) });
}

export function idOf(kind: IdKind) {
  return prefixed(`${ID_PREFIXES[kind]}_`);
}

export function prefixed(prefix: string) {
  return z.string().regex(new RegExp(`^${prefix}`));
}

export const timestamp = z.string().meta({ format: "date-time" });

/** An amount in a reply, which may be a sum. */
export const cents = z.int().brand<"Cents">();

/** What a rule gives: by its type a percentage or an amount. */
export const actionValue = z.number().brand<"Cents" | "Percent">();

export const currencyCode = z.string().meta({ pattern: "^[A-Z]{3}$" });

/** Whatever JSON object. */
export const bag = z.record(z.string(), z.unknown());
