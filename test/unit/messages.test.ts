/** The messages about an invalid request are plain, whatever the error and whichever schema reads it (HTTP-2). */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { DOCUMENTED, requestSchemas } from "../../src/http/openapi/document.ts";
import { detailsOf } from "../../src/http/validate.ts";

const LONG = "x".repeat(100_000);
/** Values of JSON, forms and addresses, in all the wrong places. */
const WRONG: readonly unknown[] = [
  ...[undefined, null, Number.NaN, "", " ", "x", LONG, "\0", -1, 0, 1.5, 0.123456, 1e21, true],
  ...[[], ["", null], Array.from({ length: 5_000 }, () => "x"), {}, { x: 1 }],
];

/** Bodies and queries by their names in the document; those of vendors are read by the vendors' own parsers. */
const SCHEMAS: [string, z.ZodType][] = [
  ...Object.entries(requestSchemas()).filter(([name]) => !/^Provider.*Event$/.test(name)),
  ...DOCUMENTED.flatMap(({ method, path, query }): [string, z.ZodType][] =>
    query ? [[`${method} ${path}`, query]] : [],
  ),
];

/** The messages of the schema with each wrong value as the whole, as each field, and inside of them. */
function messagesOf(schema: z.ZodType, depth = 0): string[] {
  const own = WRONG.flatMap((value) => {
    const read = schema.safeParse(value);
    return read.success ? [] : detailsOf(read.error).map(({ message }) => message);
  });
  return depth > 4 ? own : [...own, ...innerOf(schema).flatMap((inner) => messagesOf(inner, depth + 1))];
}

function innerOf(schema: z.ZodType): z.ZodType[] {
  const { def } = schema as unknown as { def: Record<string, unknown> };
  const shape = schema instanceof z.ZodObject ? Object.values(schema.shape) : [];
  const parts = [def["innerType"], def["element"], def["in"], def["valueType"], def["options"], shape].flat();
  return parts.filter((part): part is z.ZodType => part instanceof z.ZodType && !(part instanceof z.ZodTransform));
}

const NOT_PLAIN = /^(?:Invalid|Too |Unrecognized)|, received|expected |undefined|NaN|\[object/;

describe("what is wrong with", () => {
  it.each(SCHEMAS)("%s is said in plain words (HTTP-2)", (_, schema) => {
    const messages = [...new Set(messagesOf(schema))];
    expect(messages.filter((message) => NOT_PLAIN.test(message) || !/^[A-Z].*\.$/s.test(message))).toEqual([]);
  });

  it.each<[string, z.ZodType, unknown, string]>([
    ["what is missing", z.object({ a: z.string() }), {}, "This is required."],
    ["what is missing of a choice", z.object({ a: z.enum(["b"]) }), {}, "This is required."],
    ["what is missing of several forms", z.object({ a: z.union([z.string(), z.int()]) }), {}, "This is required."],
    ["nothing", z.string(), null, "This is required."],
    ["another type", z.string(), 1, "This must be a text."],
    ["a text for a number", z.number(), "1", "This must be a number."],
    ["a part", z.int(), 1.5, "This must be a whole number."],
    ["an empty text", z.string().min(1), "", "This must not be empty."],
    ["a long text", z.string().max(2), "abc", "This is at most 2 characters long."],
    ["an empty list", z.array(z.string()).min(1), [], "This must have at least 1 item."],
    ["a long list", z.array(z.int()).max(1), [1, 2], "This must have at most 1 item."],
    ["a small number", z.number().min(5), 1, "This must be at least 5."],
    ["a bound that is not included", z.number().gt(0), 0, "This must be more than 0."],
    ["an address", z.email(), "x", "This must be an e-mail address."],
    ["a choice", z.enum(["a", "b"]), "c", "This must be one of a, b."],
    ["one value", z.literal("a"), "c", "This must be a."],
    ["an unknown field", z.strictObject({}), { x: 1 }, "This field is not known."],
    ["a form", z.string().regex(/^a$/), "b", "This does not have the form that is needed here."],
    ["a beginning", z.string().startsWith("a"), "b", "This must begin with a."],
    ["several forms", z.union([z.string(), z.int()]), {}, "This does not have one of the forms that are allowed."],
    ["a refinement without words", z.string().refine(() => false), "x", "This is not valid."],
  ])("%s is %#", (_, schema, value, message) => {
    const { error } = schema.safeParse(value);
    expect(error && detailsOf(error).map((detail) => detail.message)).toEqual([message]);
  });
});
