import type { JsonSchema } from "../http/openapi/types.ts";

/** A schema in a few words: `string or null`, `array of Commission`. */
export function typeOf({ $ref, type, anyOf, oneOf, items, format }: JsonSchema): string {
  if ($ref !== undefined) return $ref.split("/").at(-1) ?? "";
  const choices = anyOf ?? oneOf;
  if (choices) return [...new Set(choices.map(typeOf))].join(" or ");
  if (type === "array") return `array of ${typeOf(items ?? {})}`;
  const words = [type ?? "any"].flat().join(" or ");
  return format === "date-time" ? words.replace("string", "timestamp") : words;
}

/** The text of a schema beside its type: its description, allowed values and bounds. */
export function textOf(schema: JsonSchema): string {
  const {
    description = "",
    minimum,
    maximum,
    maxLength,
    pattern,
    format,
    default: preset,
  } = { ...notNull(schema), ...schema };
  const values = valuesOf(schema);
  const from = minimum === undefined ? "" : ` from ${minimum}`;
  const to = maximum === undefined ? "" : ` to ${maximum}`;
  const texts = [
    description,
    values.length > 0 ? `One of ${values.map((value) => `\`${value}\``).join(", ")}.` : "",
    from || to ? `A number${from}${to}.` : "",
    maxLength === undefined ? "" : `At most ${maxLength} characters.`,
    pattern === undefined || format !== undefined ? "" : `Fits \`${pattern}\`.`,
    preset === undefined ? "" : `Default \`${preset}\`.`,
  ];
  return texts.filter(Boolean).join(" ");
}

/** The schema of the value, of a schema of a value or null. */
function notNull({ anyOf = [] }: JsonSchema): JsonSchema {
  const [only, ...others] = anyOf.filter(({ type }) => type !== "null");
  return only && others.length === 0 ? only : {};
}

function valuesOf({ enum: values, anyOf, items }: JsonSchema): string[] {
  if (values) return values.map(String);
  if (anyOf) return anyOf.flatMap(valuesOf);
  return items ? valuesOf(items) : [];
}

export function prettyJson(example: unknown): string {
  return JSON.stringify(example, null, 2);
}
