/** Schemas and examples of values in replies. */
import * as z from "zod";
import { ID_PREFIXES, type IdKind } from "../lib/id.ts";
import { VENDOR_NAMES } from "../providers/registry.ts";

export function idOf(kind: IdKind) {
  return prefixed(`${ID_PREFIXES[kind]}_`);
}

export function prefixed(prefix: string) {
  return z.string().regex(new RegExp(`^${prefix}`));
}

export const string = () => z.string();
export const nullableString = () => z.string().nullable();

export const timestamp = z.string().meta({ format: "date-time" });

/** An amount in a reply, which may be a sum. */
export const cents = z.int().brand<"Cents">();

/** The value of a rate or a flow: a percentage or an amount, depending on its type. */
export const actionValue = z.number().brand<"Cents" | "Percent">();

/** A decimal text of at most 7 significant digits (OUT-37). */
export const exchangeRate = z.string().brand<"ExchangeRate">();
export const currencyCode = z.string().meta({ pattern: "^[A-Z]{3}$" });

/** Any JSON object. */
export const bag = z.record(z.string(), z.unknown());

/** An example id in the service's format. */
export function exampleId(prefix: string): string {
  return `${prefix}_01kj41r9q0x5v7n2m8w3d6t4bz`;
}

export const EXAMPLE_TIME = "2026-03-02T09:30:00.000Z";
export const EXAMPLE_LATER = "2026-03-31T00:00:00.000Z";
export const [EXAMPLE_PROVIDER] = VENDOR_NAMES;

/** Entries of columns that several tables have. */
export function idColumn(kind: IdKind) {
  return { audit: null, read: () => idOf(kind), example: exampleId(ID_PREFIXES[kind]) } as const;
}

export const INTERNAL = { audit: null } as const;
export const TIME = { audit: null, read: () => timestamp, example: EXAMPLE_TIME } as const;
export const TIME_OR_NULL = { audit: null, read: () => timestamp.nullable(), example: null } as const;
export const CURRENCY = { audit: null, read: () => currencyCode, example: "USD" } as const;
export const CENTS = { audit: null, read: () => cents } as const;
