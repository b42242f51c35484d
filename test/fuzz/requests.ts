/** Requests of the API, made from its OpenAPI document: valid ones, those one step away from it, and hostile ones. */
import fc from "fast-check";
import type { Operation, Parameter } from "../../src/http/openapi/types.ts";
import { PROVIDER_NAMES } from "../../src/providers/registry.ts";
import { ODDITIES } from "../support/odd-shapes.ts";
import { operations } from "../support/openapi.ts";
import { recordOf, valueOf } from "./from-schema.ts";
import {
  contentType,
  hostileBody,
  hostileHeader,
  hostileJson,
  hostileName,
  hostileQuery,
  hostileSegment,
  hostileText,
  oddMethod,
  type Body,
} from "./hostile.ts";
import { changed, piecesOf, textOf, type Change, type JsonText } from "./json-text.ts";
import { place } from "./place.ts";
import { idIn, namesOther } from "./places.ts";

/** A request with the words of `places.ts` still in it. */
export interface Draft {
  method: string;
  path: string;
  headers: [string, string][];
  body: Body;
  /** It concerns the other program's data, so that only a refusal is right. */
  refused: boolean;
}

/** A file's schema only states that it is a text. */
const csvFile: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("email,slug,name", "Email;Code;Status", "customer_id\tpartner_email\tcreated", "a,b,c"),
    fc.array(
      fc.tuple(fc.oneof(fc.constantFrom("a@b.example", place("own", "email")), hostileText), hostileText, hostileText),
      {
        maxLength: 4,
      },
    ),
  )
  .map(([head, rows]) => {
    const separator = /[,;\t]/.exec(head)?.[0] ?? ",";
    return [head, ...rows.map((row) => row.join(separator))].join("\n");
  });

/** Any request of any documented route. Webhooks and clicks have their own makers: a click counts for any program. */
export const apiRequest: fc.Arbitrary<Draft> = fc.oneof(
  ...operations()
    .filter(({ method, path }) => !path.startsWith("/webhooks/") && `${method} ${path}` !== "POST /click")
    .map((one) => requestOf(one.method, one.path, one.operation)),
);

function requestOf(method: string, path: string, operation: Operation): fc.Arbitrary<Draft> {
  const { parameters = [], requestBody, security } = operation;
  const bearer = "operator_token" in (security[0] ?? {}) ? place("own", "operator") : place("own", "key");
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const isJson = type === "application/json";
  const valid: fc.Arbitrary<Draft> = fc
    .record({
      path: addressOf(path, parameters),
      query: recordOf(
        inQuery(parameters).map(({ name, schema }) => [name, schema]),
        inQuery(parameters).flatMap(({ name, required }) => (required ? [name] : [])),
      ),
      body: type === "text/csv" ? csvFile : valueOf(content?.schema ?? {}),
    })
    .map(({ path: at, query, body }) => ({
      method,
      path: withQuery(at, query),
      headers: [
        ...(security.length > 0 ? ([["authorization", `Bearer ${bearer}`]] as [string, string][]) : []),
        ...(type === undefined ? [] : ([["content-type", type]] as [string, string][])),
      ],
      body: type === undefined ? null : isJson ? JSON.stringify(body) : String(body),
      refused: namesOther(at),
    }));
  const changeable = isJson && content?.schema ? valueOf(content.schema) : null;
  return fc.oneof(
    { weight: 3, arbitrary: valid },
    { weight: 5, arbitrary: almost(valid, changeable) },
    { weight: 3, arbitrary: hostile(valid, path) },
  );
}

function inQuery(parameters: Parameter[]): Parameter[] {
  return parameters.filter((one) => one.in === "query");
}

/** The path with ids in it: those of the kind that the part before names. */
function addressOf(path: string, parameters: Parameter[]): fc.Arbitrary<string> {
  const names = parameters.filter((one) => one.in === "path").map(({ name }) => name);
  const ids = names.map((name) => {
    // The documents are the same for everybody.
    if (path.startsWith("/docs/")) return fc.oneof(fc.constantFrom("start", "ping.json"), hostileSegment);
    // So are the names of the providers.
    if (name === "provider") return fc.oneof(fc.constantFrom(...PROVIDER_NAMES), hostileSegment);
    const kind = name === "program_id" || path.startsWith("/admin/") ? "program" : kindBefore(path, name);
    // An operator may do anything to any program, and anybody may follow anybody's link.
    const outside = path.startsWith("/admin/") || path.startsWith("/r/");
    return outside ? fc.oneof(fc.constant(place("own", kind)), hostileSegment) : idIn(kind).map(segmentOf);
  });
  return fc
    .tuple(...ids)
    .map((given) => names.reduce((at, name, i) => at.replace(`{${name}}`, () => given[i] ?? ""), path));
}

function kindBefore(path: string, name: string): string {
  return name === "slug" ? "slug" : (path.split(`/{${name}}`)[0]?.split("/").at(-1) ?? "");
}

/** A word of `places.ts` stays one. */
function segmentOf(id: string): string {
  return id.startsWith("{{") ? id : encodeURIComponent(id.toWellFormed()) || "x";
}

function withQuery(path: string, query: Record<string, unknown>): string {
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${segmentOf(String(value))}`);
  return parameters.length === 0 ? path : `${path}?${parameters.join("&")}`;
}

/** A valid request with one thing about it that is not. */
function almost(valid: fc.Arbitrary<Draft>, body: fc.Arbitrary<unknown> | null): fc.Arbitrary<Draft> {
  const change: fc.Arbitrary<Change> = fc.record({
    kind: fc.constantFrom<Change["kind"][]>(
      "replace",
      "replace",
      "replace",
      "remove",
      "double",
      "add",
      "add",
      "wrap",
      "odd",
    ),
    at: fc.nat(1_000),
    value: hostileJson,
    name: hostileName,
    oddity: fc.constantFrom(...ODDITIES),
  });
  const elsewhere = fc.oneof(
    fc.tuple(valid, hostileHeader).map(([draft, header]) => ({ ...draft, headers: withHeader(draft.headers, header) })),
    fc.tuple(valid, hostileQuery).map(([draft, query]) => ({
      ...draft,
      path: `${draft.path}${draft.path.includes("?") ? "&" : "?"}${query}`,
    })),
    fc.tuple(valid, contentType).map(([draft, type]) => ({
      ...draft,
      headers: withHeader(draft.headers, ["content-type", type]),
    })),
  );
  if (!body) return elsewhere;
  const inBody = fc
    .tuple(valid, body, fc.array(change, { minLength: 1, maxLength: 2 }))
    .map(([draft, value, changes]) => ({
      ...draft,
      body: textOf(changes.reduce<JsonText>((pieces, one) => changed(pieces, one), piecesOf(value))),
    }));
  return fc.oneof({ weight: 4, arbitrary: inBody }, { weight: 1, arbitrary: elsewhere });
}

/** A request that only begins at a route's address. */
function hostile(valid: fc.Arbitrary<Draft>, path: string): fc.Arbitrary<Draft> {
  const segments = path.split("/").slice(1);
  return fc
    .record({
      draft: valid,
      body: hostileBody,
      segment: fc.option(hostileSegment, { freq: 3 }),
      at: fc.nat(segments.length),
      query: fc.option(hostileQuery, { freq: 2 }),
      headers: fc.array(hostileHeader, { maxLength: 2 }),
      type: fc.option(contentType, { freq: 2 }),
      method: fc.option(oddMethod, { freq: 3 }),
    })
    .map(({ draft, body, segment, at, query, headers, type, method }) => {
      const parts = draft.path.split("?")[0]?.split("/").slice(1) ?? [];
      if (segment !== null) parts[at] = segment;
      const all = [...headers, ...(type === null ? [] : [["content-type", type] as [string, string]])];
      return {
        method: method ?? draft.method,
        path: `/${parts.join("/")}${query === null ? "" : `?${query}`}`,
        headers: all.reduce(withHeader, draft.headers),
        body,
        refused: draft.refused && namesOther(parts.join("/")),
      };
    });
}

export function withHeader(headers: [string, string][], [name, value]: [string, string]): [string, string][] {
  return [...headers.filter(([other]) => other !== name), [name, value]];
}
