import * as z from "zod";

/** Makes a value on first use, so that parts that only the document needs do not slow down a cold start. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** An object schema with exactly the fields of `View`: others do not compile. One may be described more closely. */
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
