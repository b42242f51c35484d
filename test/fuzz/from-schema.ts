/** Values that fit a JSON Schema of the OpenAPI document, as an owner's server would send them. */
import fc from "fast-check";
import type { JsonSchema } from "../../src/http/openapi/types.ts";
import { lookUp } from "../support/json-schema.ts";
import { servedDocument } from "../support/openapi.ts";
import { place } from "./place.ts";
import { idIn } from "./places.ts";

/** `name` is that of the field, for formats that the schema lacks: an id, a time, an address. */
export function valueOf(schema: JsonSchema, name = ""): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valueOf(lookUp(servedDocument(), schema.$ref) as JsonSchema, name);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map((one) => valueOf(one, name)));
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => valueOf({ ...schema, type }, name)));
  const make = TYPES[schema.type ?? ""];
  return make ? make(schema, name) : fc.jsonValue({ maxDepth: 2 });
}

const TYPES: Record<string, (schema: JsonSchema, name: string) => fc.Arbitrary<unknown>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: ({ minimum = -1_000, maximum = 1_000_000 }) => fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 40) }),
  number: ({ minimum = 0, maximum = 100 }) =>
    fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(minimum, maximum, minimum + 0.0001)),
  string: (schema, name) => named(name) ?? textOf(schema),
  array: (schema, name) => {
    if (name === "conditions") return CONDITIONS;
    const { minItems = 0, maxItems = 4 } = schema as { minItems?: number; maxItems?: number };
    const item = valueOf(schema.items ?? {}, name);
    return fc.uniqueArray(item, { minLength: minItems, maxLength: Math.min(maxItems, 4), selector: JSON.stringify });
  },
  object: ({ properties, required = [] }) => {
    if (!properties) return fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
    return recordOf(Object.entries(properties), required);
  },
};

/** The required fields and a few others: with all of them, one is wrong for a reason that no schema states. */
export function recordOf(
  properties: [string, JsonSchema][],
  required: string[],
): fc.Arbitrary<Record<string, unknown>> {
  const optional = properties.map(([name]) => name).filter((name) => !required.includes(name));
  const all = fc.record(Object.fromEntries(properties.map(([name, schema]) => [name, valueOf(schema, name)])));
  return fc
    .tuple(all, fc.subarray(optional, { maxLength: Math.min(3, optional.length) }))
    .map(([values, chosen]) => Object.fromEntries([...required, ...chosen].map((name) => [name, values[name]])));
}

/** Valid combinations of operators and values with a field, which the schema lacks. */
const CONDITIONS = fc.constantFrom(
  [],
  [{ field: "txn_amount_cents", op: "gt", value: 100 }],
  [{ field: "customer_email", op: "contains", value: "@" }],
  [
    { field: "provider", op: "eq", value: "provider_a" },
    { field: "partner_slug", op: "neq", value: "x" },
  ],
);

function textOf({ format, pattern, minLength = 0, maxLength = 60 }: JsonSchema): fc.Arbitrary<string> {
  if (format === "email") return NEW_EMAIL;
  if (format === "date-time") return TIMES;
  if (format === "uri") return fc.constantFrom("https://shop.example.com/done", "http://localhost:3000/");
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, "u"), { size: "medium" });
  const max = Math.min(maxLength, 60);
  return fc.string({ unit: "grapheme", minLength, maxLength: max }).map((text) => text.slice(0, max));
}

/** One that is there already is a conflict. */
const NEW_EMAIL = fc.nat(1e9).map((n) => `p${n}@partners.example`);

const TIMES = fc.constantFrom(
  ..."2026-01-01 2026-02-28 2026-03-31T23:59:59Z 2026-06-01T00:00:00.000+02:00 2020-01-01 2026-11-20T10:00".split(" "),
);

/** A text by the format of its name. */
function named(name: string): fc.Arbitrary<string> | null {
  const kind = KINDS[name];
  if (kind !== undefined) return idIn(kind);
  if (/^(from|to|since|period_start|period_end)$/.test(name)) return TIMES;
  if (name === "url") return fc.constantFrom("https://receiver.example.com/a", "https://hooks.example.org:8443/x?y=1");
  if (name === "domain") return fc.constantFrom("shop.example", "www.shop.example.co.uk", "SHOP.example");
  if (name === "currency") return fc.constantFrom("USD", "EUR", "JPY", "KWD");
  if (name === "email") return fc.oneof(NEW_EMAIL, NEW_EMAIL, fc.constant(place("own", "email")));
  if (name === "country") return fc.constantFrom("DE", "US");
  return null;
}

const KINDS: Record<string, string> = {
  partner_id: "partners",
  payout_id: "payouts",
  flow_id: "flows",
  program_id: "program",
  ids: "commissions",
  id: "partners",
  delivery_id: "deliveries",
};
