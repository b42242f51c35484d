import { Hono } from "hono";
import { html } from "hono/html";
import type { Child } from "hono/jsx";
import { SENT_EVENT_TYPES, sentEvent } from "../domain/event.ts";
import { ERROR_CODES, statusOf } from "./errors.ts";
import { openApiDocument } from "./openapi.ts";
import { schemaPath, type Answer, type JsonSchema, type OpenApiDocument, type Operation } from "./openapi/document.ts";
import { ERROR_MEANINGS } from "./openapi/errors.ts";
import { GUIDES } from "./guides/list.ts";
import { PageHead } from "./pages/layout.tsx";
import { page } from "./pages/page.tsx";
import { CopyBlock } from "./pages/parts/copy.tsx";
import { DocsFrame } from "./pages/parts/docs-frame.tsx";
import { Table } from "./pages/parts/table.tsx";
import type { PageEnv } from "./session.ts";

/** `GET /docs`: the document of `openapi.ts` for people to read (HTTP-17). Whole without a script and offline. */
export const docs = new Hono<PageEnv>().get("/docs", (c) => {
  rendered ??= html`${<Reference document={openApiDocument()} />}`;
  return page(c, { title: "API reference" }, rendered);
});

/** The same for everybody, so it is rendered once. */
let rendered: ReturnType<typeof html> | undefined;

function Reference({ document }: { document: OpenApiDocument }) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const tags = document.tags.map((tag) => ({
    ...tag,
    id: tag.name.toLowerCase(),
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const places = [
    { href: "#errors", label: "Errors" },
    ...tags.map(({ id, name }) => ({ href: `#${id}`, label: name })),
    { href: "#outbound", label: "Outbound webhooks" },
  ];
  return (
    <DocsFrame at="/docs" places={places}>
      <PageHead
        title="API reference"
        lede={
          <>
            Also as <a href="/openapi.json">OpenAPI 3.1</a>, for programs.
          </>
        }
      />
      <section class="card" id="guides">
        <h2>Guides</h2>
        <ul class="plain-list">
          {GUIDES.map(({ name, title, about }) => (
            <li>
              <a href={`/docs/${name}`}>{title}</a> <span class="muted">{about}</span>
            </li>
          ))}
        </ul>
      </section>
      <section class="card prose">
        {document.info.description.split("\n\n").map((paragraph) => (
          <p>
            <Marked text={paragraph} />
          </p>
        ))}
      </section>
      <ErrorTable />
      {tags.map(({ id, name, description, operations: own }) => (
        <>
          <section class="card" id={id}>
            <h2>{name}</h2>
            <p class="muted">{description}</p>
            <ul class="plain-list">
              {own.map(({ method, path, operation }) => (
                <li>
                  <a href={`#${operation.operationId}`}>{operation.summary}</a>{" "}
                  <code>
                    {method} {path}
                  </code>
                </li>
              ))}
            </ul>
          </section>
          {own.map((place) => (
            <OperationCard document={document} {...place} />
          ))}
        </>
      ))}
      <Outbound document={document} />
    </DocsFrame>
  );
}

function ErrorTable() {
  return (
    <section class="card flush" id="errors">
      <h2>Errors</h2>
      <TextTable
        label="Error codes"
        head={["Status", "Code", "Meaning"]}
        rows={ERROR_CODES.map((code) => [
          String(statusOf(code)),
          <code>{code}</code>,
          <Marked text={ERROR_MEANINGS[code]} />,
        ])}
      />
    </section>
  );
}

interface OperationProps {
  document: OpenApiDocument;
  method: string;
  path: string;
  operation: Operation;
}

function OperationCard({ document, method, path, operation }: OperationProps) {
  const { operationId, summary, description, parameters = [], requestBody, responses, security } = operation;
  const answers = Object.entries(responses).map(([status, answer]) => ({ status, answer: answerOf(document, answer) }));
  const body = requestBody?.content["application/json"];
  return (
    <section class="card" id={operationId}>
      <h3>{summary}</h3>
      <p>
        <span class="badge">{method}</span> <code>{path}</code>
      </p>
      {description === undefined ? null : (
        <p>
          <Marked text={description} />
        </p>
      )}
      <p class="muted small">{accessOf(security)}</p>
      {parameters.length > 0 ? (
        <TextTable
          label={`Parameters of ${method} ${path}`}
          head={["Parameter", "Type", "What it is"]}
          rows={parameters.map((parameter) => [
            <Name name={parameter.name} required={parameter.required} />,
            `${typeOf(parameter.schema)} in the ${parameter.in}`,
            <Marked text={textOf({ description: parameter.description ?? "", ...parameter.schema })} />,
          ])}
        />
      ) : null}
      {body?.schema ? (
        <>
          <Fields
            document={document}
            schema={body.schema}
            label={`Body of ${method} ${path}`}
            optional={requestBody?.required === false}
          />
          <CopyBlock label={`Example body of ${method} ${path}`} text={pretty(body.example)}>
            Example body
          </CopyBlock>
        </>
      ) : null}
      <TextTable
        label={`Answers of ${method} ${path}`}
        head={["Status", "Answer"]}
        rows={answers.map(({ status, answer }) => [
          status,
          <>
            {answer.description.split("\n\n").map((line) => (
              <p>
                <Marked text={line} />
              </p>
            ))}
          </>,
        ])}
      />
      {answers
        .filter(({ status }) => status.startsWith("2"))
        .map(({ status, answer }) => (
          <Reply document={document} answer={answer} label={`${status} of ${method} ${path}`} status={status} />
        ))}
    </section>
  );
}

interface ReplyProps {
  document: OpenApiDocument;
  answer: Answer;
  label: string;
  status: string;
}

function Reply({ document, answer, label, status }: ReplyProps) {
  const { schema, example } = answer.content?.["application/json"] ?? {};
  if (!schema) return null;
  return (
    <details class="more">
      <summary>The {status} reply</summary>
      <Fields document={document} schema={schema} label={`Fields of ${label}`} />
      <CopyBlock label={`Example of ${label}`} text={pretty(example)}>
        Example
      </CopyBlock>
    </details>
  );
}

interface FieldsProps {
  document: OpenApiDocument;
  schema: JsonSchema;
  label: string;
  optional?: boolean;
}

function Fields({ document, schema, label, optional }: FieldsProps) {
  const { properties = {}, required = [] } = resolved(document, schema);
  const fields = Object.entries(properties);
  if (fields.length === 0) return null;
  return (
    <>
      {optional ? <p class="muted small">The body may be left out.</p> : null}
      <TextTable
        label={label}
        head={["Field", "Type", "What it is"]}
        rows={fields.map(([name, field]) => [
          <Name name={name} required={required.includes(name)} />,
          typeOf(field),
          <Marked text={textOf(field)} />,
        ])}
      />
    </>
  );
}

function Outbound({ document }: { document: OpenApiDocument }) {
  const parameters = document.webhooks["ping"]?.post.parameters ?? [];
  return (
    <section class="card" id="outbound">
      <h2>Outbound webhooks</h2>
      <TextTable
        label="Outbound events"
        head={["Event", "Schema", "When"]}
        rows={SENT_EVENT_TYPES.map((event) => [
          <code>{event}</code>,
          <a href={schemaPath(event)}>Schema</a>,
          sentEvent(event).text,
        ])}
      />
      <p>Each is a POST to your endpoint with these headers:</p>
      <TextTable
        label="Headers of a delivery"
        head={["Header", "What it is"]}
        rows={parameters.map(({ name, description }) => [<code>{name}</code>, <Marked text={description ?? ""} />])}
      />
    </section>
  );
}

/** Of three columns the last holds the text, and takes the room. */
function TextTable({ label, head, rows }: { label: string; head: string[]; rows: Child[][] }) {
  const columns = head.map((name, i) => ({ label: name, grow: i === 2 }));
  return <Table label={label} columns={columns} rows={rows.map((cells) => cells.map((cell) => <div>{cell}</div>))} />;
}

function Name({ name, required }: { name: string; required: boolean }) {
  return (
    <>
      <code>{name}</code>
      {required ? <span class="muted small"> required</span> : null}
    </>
  );
}

/** Text with `code` and **bold** in it. */
function Marked({ text }: { text: string }) {
  return (
    <>
      {text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
        if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
        return part.startsWith("**") ? <strong>{part.slice(2, -2)}</strong> : part;
      })}
    </>
  );
}

function accessOf(security: Operation["security"]): string {
  const [scheme] = Object.keys(security[0] ?? {});
  if (scheme === undefined) return "Needs no key.";
  if (scheme === "api_key") return "Needs the program's API key.";
  return scheme === "operator_token" ? "Needs the operator's token." : "Verified by the provider's signature.";
}

function answerOf(document: OpenApiDocument, answer: Answer | { $ref: string }): Answer {
  if (!("$ref" in answer)) return answer;
  const name = answer.$ref.split("/").at(-1) ?? "";
  return document.components.responses[name] ?? { description: name };
}

function resolved(document: OpenApiDocument, schema: JsonSchema): JsonSchema {
  const { $ref } = schema;
  return $ref === undefined ? schema : (document.components.schemas[nameOf($ref)] ?? {});
}

function nameOf($ref: string): string {
  return $ref.split("/").at(-1) ?? "";
}

/** A schema in a few words: `string or null`, `array of Commission`. */
function typeOf({ $ref, type, anyOf, oneOf, items, format }: JsonSchema): string {
  if ($ref !== undefined) return nameOf($ref);
  const choices = anyOf ?? oneOf;
  if (choices) return [...new Set(choices.map(typeOf))].join(" or ");
  if (type === "array") return `array of ${typeOf(items ?? {})}`;
  const words = [type ?? "any"].flat().join(" or ");
  return format === "date-time" ? words.replace("string", "timestamp") : words;
}

/** What a schema says beyond its type: its description, the values it allows, its bounds. */
function textOf(schema: JsonSchema): string {
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

/** What a schema of a value or null says of the value. */
function notNull({ anyOf = [] }: JsonSchema): JsonSchema {
  const [only, ...others] = anyOf.filter(({ type }) => type !== "null");
  return only && others.length === 0 ? only : {};
}

function valuesOf({ enum: values, anyOf, items }: JsonSchema): string[] {
  if (values) return values.map(String);
  if (anyOf) return anyOf.flatMap(valuesOf);
  return items ? valuesOf(items) : [];
}

function pretty(example: unknown): string {
  return JSON.stringify(example, null, 2);
}
