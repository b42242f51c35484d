import type { JsonSchema, OpenApiDocument, Operation } from "../http/openapi/types.ts";

/** A field of a body or a reply. */
export interface Field {
  /** `conditions[].field`. */
  name: string;
  field: JsonSchema;
  required: boolean;
}

/** The fields of a schema and of its nested schemas; a schema within itself is skipped. */
export function fieldsOf(
  document: OpenApiDocument,
  schema: JsonSchema,
  before = "",
  within: JsonSchema[] = [],
): Field[] {
  const { properties = {}, required = [], items, anyOf = [], oneOf = [] } = resolved(document, schema);
  if (within.includes(schema)) return [];
  const inside = [...within, schema];
  const own = Object.entries(properties).flatMap(([name, field]) => [
    { name: `${before}${name}`, field, required: required.includes(name) },
    ...(field.$ref === undefined || before === "" ? fieldsOf(document, field, `${before}${name}.`, inside) : []),
  ]);
  const nested = [...(items ? [items] : []), ...anyOf, ...oneOf].flatMap((one) =>
    fieldsOf(document, one, items ? before.replace(/\.$/, "[].") : before, inside),
  );
  return [...new Map([...own, ...nested].map((field) => [field.name, field])).values()];
}

/** The permitted callers, in words. */
export function accessOf(security: Operation["security"]): string {
  const [[scheme, scopes = []] = []] = security.map((one) => Object.entries(one)[0]);
  if (scheme === undefined) return "Needs no key.";
  if (scheme === "api_key") {
    const named = scopes.map((scope) => `\`${scope}\``).join(", ");
    return `Needs an API key with the ${scopes.length === 1 ? "scope" : "scopes"} ${named}.`;
  }
  return scheme === "operator_token" ? "Needs the operator's token." : "Verified by the provider's signature.";
}

/** The codes of its refusals. */
export function refusalsOf({ responses }: Operation): string[] {
  return Object.values(responses).flatMap((answer) =>
    "$ref" in answer ? (answer.$ref.split("/").at(-1) ?? "").split("-or-") : [],
  );
}

function resolved(document: OpenApiDocument, schema: JsonSchema): JsonSchema {
  const { $ref } = schema;
  return $ref === undefined ? schema : (document.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {});
}
