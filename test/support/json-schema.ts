/** Judges values by JSON Schema (2020-12), as far as the service's own document uses it. */
export type Schema = object;

type Check = (value: unknown, argument: unknown, schema: Schema, at: Place) => string[];

interface Place {
  path: string;
  /** The document in which a `$ref` is looked up. */
  root: unknown;
}

/** Everything that is wrong with a value, each with its path; an unknown keyword is an error of the schema. */
export function schemaProblems(schema: Schema, value: unknown, root: unknown, path = "$"): string[] {
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    if (ANNOTATIONS.has(keyword)) return [];
    const check = KEYWORDS[keyword];
    if (!check) throw new Error(`the schema of ${path} has an unknown keyword: ${keyword}`);
    return check(value, argument, schema, { path, root });
  });
}

/** What a `#/…` reference leads to. */
export function lookUp(root: unknown, ref: string): unknown {
  const steps = ref.replace(/^#\//, "").split("/");
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], root);
}

const ANNOTATIONS = new Set(["description", "default", "examples", "title"]);

const KEYWORDS: Record<string, Check> = {
  $ref: (value, ref, _, { path, root }) => {
    const target = lookUp(root, ref as string);
    if (target === undefined) throw new Error(`${String(ref)} leads nowhere`);
    return schemaProblems(target as Schema, value, root, path);
  },
  type: (value, type, _, { path }) =>
    [type].flat().some((one) => isOfType(value, one as string))
      ? []
      : [`${path}: ${JSON.stringify(value)} is no ${String(type)}`],
  const: (value, wanted, _, { path }) => (value === wanted ? [] : [`${path}: is not ${String(wanted)}`]),
  enum: (value, values, _, { path }) =>
    (values as unknown[]).includes(value) ? [] : [`${path}: ${JSON.stringify(value)} is not one of ${String(values)}`],
  allOf: (value, all, _, { path, root }) => (all as Schema[]).flatMap((one) => schemaProblems(one, value, root, path)),
  anyOf: (value, any, _, at) => (matches(any, value, at) > 0 ? [] : [`${at.path}: fits none of its choices`]),
  oneOf: (value, any, _, at) => (matches(any, value, at) === 1 ? [] : [`${at.path}: does not fit exactly one choice`]),
  properties: (value, properties, _, { path, root }) =>
    isObject(value)
      ? Object.entries(properties as Record<string, Schema>).flatMap(([name, schema]) =>
          Object.hasOwn(value, name) ? schemaProblems(schema, value[name], root, `${path}.${name}`) : [],
        )
      : [],
  required: (value, names, _, { path }) =>
    isObject(value)
      ? (names as string[]).filter((name) => !(name in value)).map((name) => `${path}.${name}: is missing`)
      : [],
  additionalProperties: (value, allowed, schema, { path, root }) => {
    if (!isObject(value)) return [];
    const known = "properties" in schema ? (schema.properties as object) : {};
    const others = Object.keys(value).filter((name) => !Object.hasOwn(known, name));
    if (allowed === false) return others.map((name) => `${path}.${name}: is not documented`);
    return others.flatMap((name) => schemaProblems(allowed as Schema, value[name], root, `${path}.${name}`));
  },
  items: (value, schema, _, { path, root }) =>
    Array.isArray(value) ? value.flatMap((one, i) => schemaProblems(schema as Schema, one, root, `${path}.${i}`)) : [],
  minItems: (value, min, _, { path }) =>
    !Array.isArray(value) || value.length >= (min as number) ? [] : [`${path}: has too few items`],
  maxItems: (value, max, _, { path }) =>
    !Array.isArray(value) || value.length <= (max as number) ? [] : [`${path}: has too many items`],
  minLength: (value, min, _, { path }) =>
    typeof value !== "string" || value.length >= (min as number) ? [] : [`${path}: is too short`],
  maxLength: (value, max, _, { path }) =>
    typeof value !== "string" || value.length <= (max as number) ? [] : [`${path}: is too long`],
  pattern: (value, pattern, _, { path }) =>
    typeof value !== "string" || new RegExp(pattern as string, "u").test(value)
      ? []
      : [`${path}: does not fit ${String(pattern)}`],
  format: (value, format, _, { path }) => {
    const fits = FORMATS[format as string];
    if (!fits) throw new Error(`the schema of ${path} has an unknown format: ${String(format)}`);
    return typeof value !== "string" || fits(value) ? [] : [`${path}: ${value} is no ${String(format)}`];
  },
  minimum: (value, min, _, { path }) =>
    typeof value !== "number" || value >= (min as number) ? [] : [`${path}: is below ${String(min)}`],
  maximum: (value, max, _, { path }) =>
    typeof value !== "number" || value <= (max as number) ? [] : [`${path}: is above ${String(max)}`],
};

const FORMATS: Record<string, (text: string) => boolean> = {
  "date-time": (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  email: (text) => /^[^@\s]+@[^@\s]+$/.test(text),
  uri: (text) => URL.canParse(text),
};

function matches(choices: unknown, value: unknown, { path, root }: Place): number {
  return (choices as Schema[]).filter((one) => schemaProblems(one, value, root, path).length === 0).length;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}
