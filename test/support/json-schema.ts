/** Judges values by JSON Schema (2020-12), as far as the service's own document uses it. */
export type Schema = object;

/** Adds the problems of a value at a path to the list. */
type Judge = (value: unknown, path: string, problems: string[]) => void;

/** Makes the judge of one keyword of a schema; `compile` gives that of a schema inside it. */
type Keyword = (argument: unknown, schema: Schema, compile: Compile) => Judge;
type Compile = (schema: Schema) => Judge;

/**
 * Everything that is wrong with a value, each with its path; an unknown keyword is an error of the schema. `root` is the
 * document in which a `$ref` is looked up. Each schema of a document is read once.
 */
export function schemaProblems(schema: Schema, value: unknown, root: object, path = "$"): string[] {
  const problems: string[] = [];
  judgeOf(schema, root)(value, path, problems);
  return problems;
}

/** The target of a `#/…` reference. */
export function lookUp(root: unknown, ref: string): unknown {
  const steps = ref.replace(/^#\//, "").split("/");
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], root);
}

const judges = new WeakMap<object, WeakMap<Schema, Judge>>();

function judgeOf(schema: Schema, root: object): Judge {
  const known = judges.get(root) ?? new WeakMap<Schema, Judge>();
  judges.set(root, known);
  const compile: Compile = (one) => {
    const made = known.get(one);
    if (made) return made;
    // A recursive schema finds this entry; its keywords are complete when the first value is checked.
    const keywords: Judge[] = [];
    const judge: Judge = (value, path, problems) => keywords.forEach((check) => check(value, path, problems));
    known.set(one, judge);
    for (const [name, argument] of Object.entries(one)) {
      if (ANNOTATIONS.has(name)) continue;
      if (name === "$ref") keywords.push(compile(targetOf(root, argument as string)));
      else if (KEYWORDS[name]) keywords.push(KEYWORDS[name](argument, one, compile));
      else throw new Error(`a schema has an unknown keyword: ${name} in ${JSON.stringify(one)}`);
    }
    return judge;
  };
  return compile(schema);
}

function targetOf(root: object, ref: string): Schema {
  const target = lookUp(root, ref);
  if (typeof target !== "object" || target === null) throw new Error(`${ref} leads nowhere`);
  return target;
}

const ANNOTATIONS = new Set(["$schema", "description", "default", "examples", "title"]);

const KEYWORDS: Record<string, Keyword> = {
  type: (type) => {
    const types = [type].flat() as string[];
    return judged((value) => types.some((one) => isOfType(value, one)), `is no ${types.join(" or ")}`);
  },
  const: (wanted) => judged((value) => value === wanted, `is not ${String(wanted)}`),
  enum: (values) => {
    const allowed = new Set(values as unknown[]);
    return judged((value) => allowed.has(value), `is not one of ${String(values)}`);
  },
  allOf: (all, _, compile) => {
    const parts = (all as Schema[]).map(compile);
    return (value, path, problems) => parts.forEach((judge) => judge(value, path, problems));
  },
  anyOf: (any, _, compile) => chosen(any, compile, (n) => n > 0, "fits none of its choices"),
  oneOf: (any, _, compile) => chosen(any, compile, (n) => n === 1, "does not fit exactly one choice"),
  properties: (properties, _, compile) => {
    const fields = Object.entries(properties as Record<string, Schema>).map(
      ([name, one]) => [name, compile(one)] as const,
    );
    return (value, path, problems) => {
      if (!isObject(value)) return;
      for (const [name, judge] of fields) {
        if (Object.hasOwn(value, name)) judge(value[name], `${path}.${name}`, problems);
      }
    };
  },
  required: (names) => (value, path, problems) => {
    if (!isObject(value)) return;
    for (const name of names as string[]) {
      if (!Object.hasOwn(value, name)) problems.push(`${path}.${name}: is missing`);
    }
  },
  additionalProperties: (allowed, schema, compile) => {
    const known = new Set("properties" in schema ? Object.keys(schema.properties as object) : []);
    const judge = typeof allowed === "boolean" ? null : compile(allowed as Schema);
    return (value, path, problems) => {
      if (allowed === true || !isObject(value)) return;
      for (const name of Object.keys(value)) {
        if (known.has(name)) continue;
        if (judge) judge(value[name], `${path}.${name}`, problems);
        else problems.push(`${path}.${name}: is not documented`);
      }
    };
  },
  prefixItems: (items, _, compile) => {
    const judges = (items as Schema[]).map(compile);
    return (value, path, problems) => {
      if (Array.isArray(value))
        value.slice(0, judges.length).forEach((one, i) => judges[i]!(one, `${path}.${i}`, problems));
    };
  },
  items: (item, schema, compile) => {
    const first = "prefixItems" in schema ? (schema.prefixItems as unknown[]).length : 0;
    if (item === false) return judged((value) => !Array.isArray(value) || value.length <= first, "has too many items");
    const judge = compile(item as Schema);
    return (value, path, problems) => {
      if (Array.isArray(value)) value.slice(first).forEach((one, i) => judge(one, `${path}.${first + i}`, problems));
    };
  },
  minItems: (min) => judged((value) => !Array.isArray(value) || value.length >= (min as number), "has too few items"),
  maxItems: (max) => judged((value) => !Array.isArray(value) || value.length <= (max as number), "has too many items"),
  minLength: (min) => judgedText((text) => lengthOf(text) >= (min as number), "is too short"),
  maxLength: (max) => judgedText((text) => lengthOf(text) <= (max as number), "is too long"),
  pattern: (pattern) => {
    const expression = new RegExp(pattern as string, "u");
    return judgedText((text) => expression.test(text), `does not fit ${String(pattern)}`);
  },
  format: (format) => {
    const fits = FORMATS[format as string];
    if (!fits) throw new Error(`a schema has an unknown format: ${String(format)}`);
    return judgedText(fits, `is no ${String(format)}`);
  },
  minimum: (min) => judged((value) => typeof value !== "number" || value >= (min as number), `is below ${String(min)}`),
  maximum: (max) => judged((value) => typeof value !== "number" || value <= (max as number), `is above ${String(max)}`),
};

const FORMATS: Record<string, (text: string) => boolean> = {
  "date-time": (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  email: (text) => /^[^@\s]+@[^@\s]+$/.test(text),
  uri: (text) => URL.canParse(text),
};

function judged(fits: (value: unknown) => boolean, complaint: string): Judge {
  return (value, path, problems) => {
    if (!fits(value)) problems.push(`${path}: ${JSON.stringify(value)?.slice(0, 200)} ${complaint}`);
  };
}

function judgedText(fits: (text: string) => boolean, complaint: string): Judge {
  return judged((value) => typeof value !== "string" || fits(value), complaint);
}

function chosen(choices: unknown, compile: Compile, fits: (matching: number) => boolean, complaint: string): Judge {
  const parts = (choices as Schema[]).map(compile);
  const matches = (judge: Judge, value: unknown) => {
    const problems: string[] = [];
    judge(value, "", problems);
    return problems.length === 0;
  };
  return judged((value) => fits(parts.filter((judge) => matches(judge, value)).length), complaint);
}

/** JSON Schema counts characters, not halves of them. */
function lengthOf(text: string): number {
  return [...text].length;
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
