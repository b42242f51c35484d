/**
 * Requests to the vendors' APIs, checked against the vendors' published descriptions: `vendor-a-requests.ts`,
 * `vendor-b-requests.ts`.
 */
import { schemaProblems, type Schema } from "./json-schema.ts";

export interface Reply {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** A request as it arrives. */
export interface Sent {
  method: string;
  url: URL;
  /** The content type of the body; null without one. */
  type: string | null;
  body: string;
}

/** The accepted input of one address of a vendor. Values of a query and of a form are texts. */
export interface Operation {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A part in braces is an id. */
  path: string;
  query: Schema;
  /** A request without it is refused. */
  body?: { type: "application/json" | "application/x-www-form-urlencoded"; schema: Schema };
  /** The longest id in the path; 5000 unless given. */
  longest_id?: number;
}

/** A difference between a request and the vendor's description. */
export interface Misfit {
  why: "address" | "type" | "unknown" | "missing" | "invalid";
  /** The parameter, if there is one. */
  param: string;
  message: string;
}

/** Schemas do not refer to each other: all are compiled against this one root. */
const ROOT = {};

/** The first that a vendor would refuse of a request; null for one that fits an operation. */
export function misfitOf(operations: readonly Operation[], sent: Sent): Misfit | null {
  const operation = operations.find((one) => one.method === sent.method && isAt(one, sent.url.pathname));
  if (!operation) return { why: "address", param: "", message: `nothing at ${sent.method} ${sent.url.pathname}` };
  const { query, body } = operation;
  const [wrong] = schemaProblems(query, nested(sent.url.searchParams), ROOT, "");
  if (wrong !== undefined) return misfit(wrong);
  if (!body) return sent.body === "" ? null : { why: "type", param: "", message: "no body is taken" };
  if (sent.type?.split(";")[0] !== body.type) return { why: "type", param: "", message: `expected ${body.type}` };
  const given = body.type === "application/json" ? parsed(sent.body) : nested(new URLSearchParams(sent.body));
  const [problem] = schemaProblems(body.schema, given, ROOT, "");
  return problem === undefined ? null : misfit(problem);
}

function misfit(problem: string): Misfit {
  const [param, message] = [problem.slice(1).split(":")[0]!, problem.slice(1)];
  if (problem.endsWith(": is not documented")) return { why: "unknown", param, message };
  return { why: problem.endsWith(": is missing") ? "missing" : "invalid", param, message };
}

function isAt({ path, longest_id = 5000 }: Operation, pathname: string): boolean {
  const [wanted, found] = [path.split("/"), pathname.split("/")];
  const isId = (given: string) => given !== "" && given.length <= longest_id;
  const fits = (part: string, i: number) => (part.startsWith("{") ? isId(found[i]!) : part === found[i]);
  return wanted.length === found.length && wanted.every(fits);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

type Texts = string | Texts[] | { [name: string]: Texts };

/**
 * The values of a query or form by their names: `a[b]` is a field of `a`; `a[]` and `a[0]` are items of a list. A name that
 * comes twice has a list, which no schema of one text takes.
 */
export function nested(pairs: Iterable<[string, string]>): Record<string, Texts> {
  const root: Record<string, Texts> = {};
  for (const [name, value] of pairs) {
    const steps = name.replaceAll("]", "").split("[");
    let at = root;
    for (const [i, step] of steps.entries()) {
      const key = step === "" ? String(Object.keys(at).length) : step;
      if (i < steps.length - 1) at = (at[key] ??= {}) as Record<string, Texts>;
      else at[key] = key in at ? [at[key]!, value].flat() : value;
    }
  }
  return Object.fromEntries(Object.entries(root).map(([name, value]) => [name, withLists(value)]));
}

function withLists(value: Texts): Texts {
  if (typeof value === "string" || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, Texts] => [name, withLists(inner)]);
  const isList = entries.every(([name]) => /^\d+$/.test(name));
  return isList ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/** An object with these fields and no others. */
export function closed(properties: Record<string, Schema>, required: readonly string[] = []): Schema {
  return { type: "object", additionalProperties: false, properties, required };
}

export function listOf(items: Schema, limits: { minItems?: number; maxItems?: number } = {}): Schema {
  return { type: "array", items, ...limits };
}

/** A text of 5000 characters at most. */
export const TEXT: Schema = { type: "string", maxLength: 5000 };
/** Whole numbers and truth as they are written in a query or form. */
export const INTEGER: Schema = { type: "string", pattern: "^-?[0-9]+$" };
export const BOOLEAN: Schema = { enum: ["true", "false"] };

/** Whole numbers from 1 to 100 or 200, as they are written. */
export const UP_TO_100: Schema = { type: "string", pattern: "^(?:[1-9][0-9]?|100)$" };
export const UP_TO_200: Schema = { type: "string", pattern: "^(?:[1-9][0-9]?|1[0-9]{2}|200)$" };
