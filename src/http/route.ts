import { zValidator } from "@hono/zod-validator";
import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import * as z from "zod";
import type { Caller, Ctx, ProgramCtx, Reader } from "../core/kernel/context.ts";
import type { Scope } from "../domain/scope.ts";
import type { AppEnv } from "../env.ts";
import { AppError, type ErrorCode } from "../lib/errors.ts";
import type { ReplyName } from "./openapi/replies.ts";
import type { RequestName } from "./openapi/request-examples.ts";
import type { Tag } from "./openapi/tags.ts";
import { detailsOf } from "./validate.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** A method and a path as the router spells it: `GET /api/v1/partners/:id`. */
export type Address = `${Method} /${string}`;

/** Never empty: a key without a scope has no rights. */
type Scopes = readonly [Scope, ...Scope[]];

/** The part of a route that the document shows; `openapi/document.ts` adds the common parts of each kind of route. */
export interface Documented {
  method: Method;
  path: string;
  /** The operation's id, by which generated clients call it; it never changes once published (HTTP-31). */
  operation: string;
  tag: Tag;
  /** The scopes that a key needs for a route under /api/v1, all of them (ACCESS-11). */
  scope?: Scopes;
  summary: string;
  description?: string;
  query?: z.ZodObject;
  body?: RequestBody;
  reply: Reply | readonly Reply[];
  /** Errors beside those of the route's kind. */
  errors?: readonly ErrorCode[];
}

/** A body of JSON that must be sent, one that may be left out, or one that only the handler reads. */
type BodyKind = "required" | "optional" | "raw";

export interface RequestBody<S extends z.ZodType = z.ZodType, Kind extends BodyKind = BodyKind> {
  /** The name of the schema in the document. */
  name: string;
  schema: S;
  kind: Kind;
  /** Accepted media types; JSON by default. */
  media_types?: readonly string[];
  /** Only for the document; examples of API routes are in `openapi/request-examples.ts`. */
  example?: unknown;
}

type Status = 200 | 201 | 202 | 204 | 302 | 304;

export interface Reply<S extends Status = Status> {
  status: S;
  description: string;
  schema?: ReplyName;
  /** The media type of a body that is not JSON; several if the address chooses. */
  media_type?: string | readonly string[];
  headers?: Record<string, string>;
}

/** A route that is served. */
export interface Route extends Documented {
  at: Address;
  /** The names of its query parameters; others are refused (HTTP-6). */
  parameters: ReadonlySet<string>;
  /** Whether the reply of a POST is stored in the transaction of its change, for a request that is repeated (HTTP-10). */
  is_stored: boolean;
  respond: (c: Context<AppEnv>) => Promise<Response>;
}

/** A body of JSON: 415 for another media type, 400 for broken JSON, 422 with the field's path. */
export function json<S extends z.ZodType>(name: RequestName, schema: S): RequestBody<S, "required"> {
  return { name, schema, kind: "required" };
}

/** The same for an action that needs no body: an empty one is `{}` (HTTP-22). */
export function optionalJson<S extends z.ZodObject>(name: RequestName, schema: S): RequestBody<S, "optional"> {
  return { name, schema, kind: "optional" };
}

/** A body that the handler reads; `schema` is for the document. Another media type is 415. */
export function raw<S extends z.ZodType>(
  name: RequestName,
  media_types: readonly string[],
  schema: S,
): RequestBody<S, "raw"> {
  return { name, schema, kind: "raw", media_types };
}

/** The body of an action without input: unknown fields are refused (HTTP-6). */
export const NOTHING = optionalJson("Nothing", z.strictObject({}));

/** The reply to a DELETE. */
export function deleted({ id }: { id: string }) {
  return { id, deleted: true as const };
}

/** The view of a POST whose verb already returns its reply. */
export function asIs<T>(result: T): T {
  return result;
}

/** 200 with a JSON body. */
export function ok(schema: ReplyName, description: string): Reply<200> {
  return { status: 200, description, schema };
}

/** 201 with a JSON body. */
export function created(schema: ReplyName, description: string): Reply<201> {
  return { status: 201, description, schema };
}

/** 200 with a file of CSV. */
export function csv(description: string): Reply<200> {
  return { status: 200, description, media_type: "text/csv", headers: { "Content-Disposition": "Names the file." } };
}

type Query = z.ZodObject | undefined;
type Body = RequestBody | undefined;

interface Spec<
  At extends Address,
  Acting,
  Q extends Query,
  B extends Body,
  S extends Status,
  Result,
  View,
> extends Omit<Documented, "method" | "path" | "scope" | "query" | "body"> {
  query?: Q;
  body?: B;
  reply: Reply<S> | readonly Reply<S>[];
  /**
   * Makes the reply's body. A POST's is stored with the change: its verb gives the commit the same result (HTTP-10).
   */
  view?: (result: Result, ctx: Pick<Reader, "may">) => View;
  /** Returns the input of `view`, the body of the reply, or a whole response. */
  handle: (input: Input<At, Q, B, Acting>) => Result | Promise<Result>;
}

/** A handler's input: the acting caller, and the request as the schemas parsed it. */
interface Input<At extends Address, Q extends Query, B extends Body, Acting> {
  ctx: Acting;
  params: Params<At>;
  query: Q extends z.ZodObject ? z.output<Q> : undefined;
  body: B extends RequestBody<infer S, "required" | "optional"> ? z.output<S> : undefined;
  c: Context<AppEnv>;
}

/** The parameters of a path, by name. */
type Params<Path extends string> = { [Name in ParamName<Path>]: string };
type ParamName<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamName<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/**
 * Declares a route of the API. The router, the scopes of keys, the known parameters, the document, the typed client and
 * the tests that visit every route are made from this declaration alone.
 */
export function route<
  const At extends `${Method} /api/v1/${string}`,
  const S extends Status,
  Result,
  View = Result,
  Q extends Query = undefined,
  B extends Body = undefined,
>(at: At, spec: Spec<At, Caller, Q, B, S, Result, View> & { scope: Scopes }): Route {
  return serve(at, spec, (c) => c.var.ctx);
}

/** A route of the operator, with the operator's context. */
export function operatorRoute<
  const At extends `${Method} /admin/${string}`,
  const S extends Status,
  Result,
  View = Result,
  Q extends Query = undefined,
  B extends Body = undefined,
>(at: At, spec: Spec<At, Ctx, Q, B, S, Result, View>): Route {
  return serve(at, spec, (c) => c.var.operator);
}

/** The route that answers a request; undefined if no route has its address, or if it was not made here. */
export function routeOf(c: Context<AppEnv>): Route | undefined {
  // If several routes share an address, the first answers.
  return matchedRoutes(c)
    .map(({ handler }) => routes.get(handler))
    .find((one) => one !== undefined);
}

const routes = new WeakMap<object, Route>();

interface AnySpec extends Omit<Documented, "method" | "path" | "query" | "body"> {
  query?: Query;
  body?: Body;
  view?: (result: never, ctx: Pick<Reader, "may">) => unknown;
  handle: (input: never) => unknown;
}

function serve(
  at: Address,
  { view: given, handle, query, body, ...documented }: AnySpec,
  actingOf: (c: Context<AppEnv>) => unknown,
): Route {
  const [method, path] = at.split(" ") as [Method, string];
  const status = [documented.reply].flat()[0]?.status as ContentfulStatusCode;
  const view = given as ((result: unknown, ctx: ProgramCtx) => unknown) | undefined;
  const stored = view && method === "POST" ? { view, status } : undefined;
  const checkQuery = query && zValidator("query", query, refuse);
  async function respond(c: Context<AppEnv>): Promise<Response> {
    await checkQuery?.(c as never, async () => {});
    const input = {
      ctx: actingOf(c),
      params: c.req.param(),
      body: body && (await readBody(c, body)),
      query: query && c.req.valid("query" as never),
      c,
    };
    if (stored) c.set("reply", stored);
    const result = await handle(input as never);
    if (result instanceof Response) return result;
    return c.json(view ? view(result, actingOf(c) as ProgramCtx) : result, status);
  }
  const parameters = new Set(Object.keys(query?.shape ?? {}));
  const taken = { ...(query ? { query } : {}), ...(body ? { body } : {}) };
  const made = { ...documented, ...taken, at, method, path, parameters, is_stored: stored !== undefined, respond };
  routes.set(respond, made);
  return made;
}

function readBody(c: Context<AppEnv>, { schema, kind, media_types = [] }: RequestBody): unknown {
  if (kind !== "raw") return readJson(c, kind === "optional").then((value) => checked(schema, value));
  if (!media_types.includes(mediaTypeOf(c) ?? "")) {
    throw new AppError("unsupported_media_type", `Send the file as ${media_types.join(" or ")}.`);
  }
  return undefined;
}

const JSON_TYPE = "application/json";

/** Some clients do not declare the length: only reading shows whether there is a body. */
async function readJson(c: Context<AppEnv>, isOptional: boolean): Promise<unknown> {
  const text = await c.req.text();
  const isJson = mediaTypeOf(c) === JSON_TYPE;
  if (isOptional ? text.trim() === "" : text === "" && !isJson) return {};
  if (!isJson) throw new AppError("unsupported_media_type", "Send the body as application/json.");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new AppError("invalid_json", "The body is not valid JSON.");
  }
}

function mediaTypeOf(c: Context<AppEnv>): string | undefined {
  return c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
}

function checked(schema: z.ZodType, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value);
  refuse({ success, error });
  return data;
}

function refuse(result: { success: boolean; error?: unknown }): void {
  if (result.success) return;
  throw new AppError("validation_failed", "The request is not valid.", {
    details: detailsOf(result.error as z.core.$ZodError),
  });
}
