import * as z from "zod";
import { sentEvent, SENT_EVENT_TYPES, type SentEventType } from "../../domain/event.ts";
import type { ErrorCode } from "../../lib/errors.ts";
import { statusOf } from "../errors.ts";
import { VENDORS } from "../../providers/registry.ts";
import { BOOKMARK_HEADER, BOOKMARK_PATTERN } from "../bookmark.ts";
import type { Documented, Reply, RequestBody } from "../route.ts";
import { ROUTES } from "../routes.ts";
import { ERRORS, errorsOf, securityOf, takesBookmark, takesIdempotencyKey } from "./errors.ts";
import { pathExample } from "./example-id.ts";
import { replyExample, sentExample } from "./example-states.ts";
import { REPLY_EXAMPLES } from "./examples.ts";
import { EXAMPLE_TIME } from "../../resources/output.ts";
import { REQUEST_EXAMPLES } from "./request-examples.ts";
import { describeSchema, parameterText } from "./field-texts.ts";
import { replies } from "./replies.ts";
import { OUTSIDE } from "./outside.ts";
import { TAGS } from "./tags.ts";
import type { Answer, Content, Headers, JsonSchema, OpenApiDocument, Operation, Parameter } from "./types.ts";

export const DOCUMENTED: readonly Documented[] = [...ROUTES, ...OUTSIDE];

const INTRODUCTION = `Every API operation acts on the program that owns the API key, which is sent as \`Authorization: Bearer <API_KEY>\`. Bodies are JSON; unknown fields and query parameters are refused. Amounts are integers in the smallest unit of their currency. Times are ISO 8601 in UTC.

**Scopes**: the program's first key may do everything. Further keys (\`POST /api/v1/api-keys\`) have one or more of the scopes \`read\`, \`write\`, \`payouts\` (approve commissions, pay, and see and change payout details) and \`keys\` (create keys, and see or change secrets). Each operation names the scopes it needs. Without one of them, the answer is 403 \`forbidden\` with the name of the scope, and nothing is done. Without \`payouts\`, payout details are masked.

**Pagination**: lists take \`page\`, \`per_page\` (at most 100) and \`cursor\`, and return \`{data, total, page, per_page, next_cursor}\`.

**Idempotency**: repeating a POST is safe with the header \`Idempotency-Key\`: the same key and body within 24 hours get the stored reply again, marked \`Idempotent-Replayed: true\`.

**Errors**: every error is \`{error: {code, message, details?, request_id}}\`. Every reply carries \`X-Request-Id\`. Objects of other programs and unknown paths are 404; a known path with the wrong method is 405 with \`Allow\`.

**Reading your own writes**: where the deployment reads from replicas of its database, lists and gets may lag by a moment. Each reply then carries \`X-D1-Bookmark\`; send it with a later request, and what you read is at least as new as that reply. Elsewhere reads are always current, and there is no such header.

**Rate limits**: 3,000 requests a minute per key, 30 failed authentications a minute per network, and separate limits for clicks. Beyond a limit, the answer is 429 with \`Retry-After\`. Bodies may have at most 64 KiB (1 MiB for inbound webhooks and imports, 4 KiB for clicks).

**Outbound webhooks**: these are POSTs of \`{event, timestamp, data}\`, signed: \`X-Service-Signature\` is the hex HMAC-SHA256 of the raw body, keyed with the endpoint's secret; the Standard Webhooks headers are sent as well. An endpoint must answer 2xx within 5 seconds; otherwise the delivery is tried again after 5 minutes, 30 minutes, 2 hours and 12 hours.`;

/** The document of the whole service, made again on every call from the schemas that validate. */
export function buildDocument(): OpenApiDocument {
  const responses: Record<string, Answer> = {};
  const paths: OpenApiDocument["paths"] = {};
  for (const route of DOCUMENTED) {
    const path = route.path.replaceAll(/:([a-z_]+)/g, "{$1}");
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route, responses);
  }
  return {
    openapi: "3.1.1",
    info: { title: "Affiliate program service", version: "1", description: INTRODUCTION },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    "x-tagGroups": tagGroups(),
    paths,
    webhooks: outboundWebhooks(),
    components: {
      schemas: {
        ...componentsOf(requestSchemas(), "input"),
        ...componentsOf(replies(), "output"),
      },
      responses,
      headers: {
        "X-Request-Id": { description: "The id of this request.", schema: { type: "string" } },
        "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
        "Idempotent-Replayed": {
          description: "On a reply that was stored under the request's `Idempotency-Key`.",
          schema: { type: "string", const: "true" },
        },
        [BOOKMARK_HEADER]: {
          description:
            "Where the deployment reads from replicas: how new this reply is. Send it with later requests to read nothing older.",
          schema: { type: "string", pattern: BOOKMARK_PATTERN.source },
        },
      },
      securitySchemes: {
        api_key: {
          type: "http",
          scheme: "bearer",
          description: "An API key of the program; each operation lists the scopes that it needs.",
        },
        operator_token: { type: "http", scheme: "bearer", description: "The deployment's ADMIN_TOKEN." },
        ...Object.fromEntries(
          VENDORS.map(({ name, signature_headers }) => [
            `${name}_signature`,
            { type: "apiKey", in: "header", name: signature_headers[0] },
          ]),
        ),
      },
    },
  };
}

/** The owner's sections, the operator's, and those that need no key. */
function tagGroups(): OpenApiDocument["x-tagGroups"] {
  const groups = { api_key: "API", operator_token: "Operator", none: "Without a key" };
  const tagsOf = (scheme: string) =>
    Object.keys(TAGS).filter((tag) =>
      DOCUMENTED.some((route) => route.tag === tag && (securityOf(route) ?? "none") === scheme),
    );
  return Object.entries(groups).map(([scheme, name]) => ({ name, tags: tagsOf(scheme) }));
}

function operationOf(route: Documented, responses: Record<string, Answer>): Operation {
  const { tag, summary, description, body } = route;
  const parameters = parametersOf(route);
  const answers = Object.fromEntries([route.reply].flat().map((reply) => [reply.status, answerOf(route, reply)]));
  const refusals = Map.groupBy(errorsOf(route), statusOf);
  return {
    operationId: route.operation,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityRequirement(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: body.kind !== "optional",
            content: contentOf(body.media_types, ref(body.name), exampleOf(body)),
          },
        }
      : {}),
    responses: {
      ...answers,
      ...Object.fromEntries([...refusals].map(([status, codes]) => [status, refusal(codes, responses)])),
    },
  };
}

function securityRequirement(route: Documented): Record<string, string[]>[] {
  const bearer = securityOf(route);
  if (bearer !== null) return [{ [bearer]: bearer === "api_key" ? [...(route.scope ?? [])] : [] }];
  return route.tag === "Inbound" ? [{ [`${route.path.split("/").at(-1)}_signature`]: [] }] : [];
}

function parametersOf(route: Documented): Parameter[] {
  const inPath = [...route.path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]): Parameter => ({
    name,
    in: "path",
    required: true,
    ...textOf("path", name, route.path),
    example: pathExample(name, route.path),
    schema: { type: "string" },
  }));
  const inQuery = route.query ? queryParameters(route.query, route.path) : [];
  const key: Parameter = {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "Makes it safe to repeat the request within 24 hours.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  };
  const bookmark: Parameter = {
    name: BOOKMARK_HEADER,
    in: "header",
    required: false,
    description: "The value from an earlier reply; what is read is at least as new. Lists and gets use it.",
    schema: { type: "string", pattern: BOOKMARK_PATTERN.source },
  };
  return [
    ...inPath,
    ...inQuery,
    ...(takesIdempotencyKey(route) ? [key] : []),
    ...(takesBookmark(route) ? [bookmark] : []),
  ];
}

function queryParameters(query: z.ZodObject, path: string): Parameter[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { ...CONVERSION, io: "input" });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = property as JsonSchema;
    return {
      name,
      in: "query",
      required: required.includes(name),
      ...(description === undefined ? textOf("query", name, path) : { description }),
      schema,
    };
  });
}

/** Whether the platform answers from a file of `src/site`, without the Worker. */
function isStatic({ path }: Documented): boolean {
  return /^\/(service\.js|openapi\.json|llms\.txt|client\.d\.ts|docs(\/(?!search$).*)?)$/.test(path);
}

function textOf(place: "path" | "query", name: string, path: string): Pick<Parameter, "description"> {
  const description = parameterText(place, name, path);
  return description === undefined ? {} : { description };
}

function answerOf(route: Documented, { status, description, schema, media_type, headers }: Reply): Answer {
  const replied = { operation_id: route.operation, status, path: route.path };
  const described = Object.entries(headers ?? {}).map(([name, text]) => [
    name,
    { description: text, schema: { type: "string" } },
  ]);
  return {
    description,
    headers: {
      ...(isStatic(route) ? {} : REQUEST_ID),
      ...(takesIdempotencyKey(route) ? headerRef("Idempotent-Replayed") : {}),
      ...(takesBookmark(route) ? headerRef(BOOKMARK_HEADER) : {}),
      ...(Object.fromEntries(described) as Headers),
    },
    ...(schema === undefined && media_type === undefined
      ? {}
      : {
          content: {
            ...(schema ? contentOf(undefined, ref(schema), replyExample(schema, replied)) : {}),
            ...Object.fromEntries([media_type ?? []].flat().map((type) => [type, {}])),
          },
        }),
  };
}

/** Routes that refuse with the same codes share one component, which is named after them. */
function refusal(codes: ErrorCode[], responses: Record<string, Answer>): { $ref: string } {
  const name = codes.join("-or-");
  const mayRetry = codes.some((code) => RETRIED.has(code));
  responses[name] ??= {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].cause} ${ERRORS[code].cure}`).join("\n\n"),
    headers: { ...REQUEST_ID, ...(mayRetry ? headerRef("Retry-After") : {}) },
    content: contentOf(
      undefined,
      { allOf: [ref("Error"), { properties: { error: { properties: { code: { enum: codes } } } } }] },
      { error: { code: codes[0], message: codes[0] && ERRORS[codes[0]].cause, request_id: ERROR_ID } },
    ),
  };
  return { $ref: `#/components/responses/${name}` };
}

const RETRIED = new Set<ErrorCode>(["rate_limited", "storage_unavailable", "not_configured", "provider_unavailable"]);
const ERROR_ID = (REPLY_EXAMPLES.Error as { error: { request_id: string } }).error.request_id;
const REQUEST_ID = headerRef("X-Request-Id");

function headerRef(name: string): Headers {
  return { [name]: { $ref: `#/components/headers/${name}` } };
}

function contentOf(media_types: readonly string[] | undefined, schema: JsonSchema, example: unknown): Content {
  return Object.fromEntries((media_types ?? ["application/json"]).map((type) => [type, { schema, example }]));
}

function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const CONVERSION = {
  target: "draft-2020-12",
  // Rules that only code can check are described in words; `metadata` brings its own schema.
  unrepresentable: "any",
  override: ({ zodSchema, jsonSchema }) => {
    // Zod omits the default of a transformed value, because it has the other type.
    if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
    if (jsonSchema.type === "integer") delete jsonSchema.pattern;
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    delete jsonSchema.propertyNames;
  },
} as const satisfies z.core.ToJSONSchemaParams;

function exampleOf({ name, example = REQUEST_EXAMPLES[name] }: RequestBody): unknown {
  if (example === undefined) throw new Error(`The request body ${name} has no example.`);
  return example;
}

/** The schemas of all request bodies, by name. @throws if two have one name */
export function requestSchemas(): Record<string, z.ZodType> {
  const schemas: Record<string, z.ZodType> = {};
  for (const { name, schema } of DOCUMENTED.flatMap(({ body }) => body ?? [])) {
    if ((schemas[name] ??= schema) !== schema) throw new Error(`Two request bodies are called ${name}.`);
  }
  return schemas;
}

/** Schemas by name, with references between them. */
function componentsOf(schemas: Record<string, z.ZodType>, io: "input" | "output"): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { ...CONVERSION, io, uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(made.schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [
      id,
      describeSchema(id, schema as JsonSchema),
    ]),
  );
}

/** The events that the owner's endpoints receive. */
function outboundWebhooks(): OpenApiDocument["webhooks"] {
  const header = (name: string, description: string): Parameter => ({
    name,
    in: "header",
    required: true,
    description,
    schema: { type: "string" },
  });
  const parameters = [
    header("X-Service-Signature", "Hex HMAC-SHA256 of the raw body, keyed with the endpoint's current secret."),
    header("X-Service-Event", "The event's type."),
    header("X-Service-Event-Id", "The audit event's id: the same on every attempt and for every endpoint."),
    header("X-Service-Delivery-Id", "The delivery's id."),
    header("webhook-id", "Standard Webhooks: the event's id."),
    header("webhook-timestamp", "Standard Webhooks: seconds since the epoch."),
    header("webhook-signature", "Standard Webhooks: `v1,<base64>`; two of them for a day after a rotation."),
  ];
  return Object.fromEntries(
    SENT_EVENT_TYPES.map((event) => {
      const { text, data } = sentEvent(event);
      const envelope = {
        type: "object",
        properties: {
          event: { const: event, description: "The event's type." },
          timestamp: { type: "string", format: "date-time", description: "When it happened." },
          data: { ...ref(data), description: `${text}.` },
        },
        required: ["event", "timestamp", "data"],
      };
      const post = {
        operationId: `on-${event}`,
        tags: ["Webhooks"],
        summary: `The event ${event}`,
        description: `${text}. The schema of \`data\` alone: \`${schemaPath(event)}\`.`,
        parameters,
        requestBody: {
          required: true,
          content: contentOf(undefined, envelope, { event, timestamp: EXAMPLE_TIME, data: sentExample(data, event) }),
        },
        responses: { "2XX": { description: "The event was received. Any other answer is a failed attempt." } },
      };
      return [event, { post }];
    }),
  );
}

/** The path of the published schema of an event's `data`. */
export function schemaPath(event: SentEventType): string {
  return `/docs/events/${event}.json`;
}

/** The self-contained JSON Schema of an outbound event's `data`; null if the type is not an outbound event. */
export function dataSchema(type: string): JsonSchema | null {
  const event = SENT_EVENT_TYPES.find((sent) => sent === type);
  if (event === undefined) return null;
  const { text, data } = sentEvent(event);
  const schema = describeSchema(data, z.toJSONSchema(replies()[data], { ...CONVERSION, io: "output" }) as JsonSchema);
  return { $schema: SCHEMA_DIALECT, title: event, description: text, ...schema, examples: [sentExample(data, event)] };
}

const SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema";
