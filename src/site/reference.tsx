import { SENT_EVENT_TYPES, sentEvent } from "../domain/event.ts";
import { ERROR_CODES, statusOf } from "../http/errors.ts";
import { schemaPath } from "../http/openapi/document.ts";
import { ERRORS } from "../http/openapi/errors.ts";
import { samplesOf, type Place } from "../http/openapi/samples.ts";
import type { Answer, JsonSchema, OpenApiDocument, Operation } from "../http/openapi/types.ts";
import { Marked } from "../http/docs-search.tsx";
import { PageHead, Places, type Place as Anchor } from "../http/pages/layout.tsx";
import type { Children } from "../http/pages/page.tsx";
import { CopyBlock } from "../http/pages/parts/copy.tsx";
import { CODE_TABLES, rowId, type CodeTable } from "./codes.ts";
import { accessOf, fieldsOf, refusalsOf } from "./operation-parts.ts";
import { prettyJson, textOf, typeOf } from "./schema-text.ts";
import type { Section } from "./sections.ts";
import { FieldList, TextTable } from "./text.tsx";

interface SectionProps {
  document: OpenApiDocument;
  /** The origin that its samples call. */
  server: string;
  section: Section;
  /** Its operations. */
  places: Place[];
}

/** The parts of a section's page: its operations, the outbound events, or the tables of codes. */
export function partsOf(section: Section, places: Place[]): Anchor[] {
  if (section.name === "errors") {
    const tables = CODE_TABLES.map(({ name, title }) => ({ href: `#${name}`, label: title }));
    return [{ href: "#errors", label: "Errors of requests" }, ...tables];
  }
  if (section.name === "outbound") return SENT_EVENT_TYPES.map((event) => ({ href: `#${event}`, label: event }));
  return places.map(({ operation }) => ({ href: `#${operation.operationId}`, label: operation.summary }));
}

/**
 * One section of the reference: each operation with its text, and beside it the request and the reply. On a
 * phone it begins with the list of them, and long parts are folded.
 */
export function SectionPage({ document, server, section, places }: SectionProps) {
  const parts = partsOf(section, places);
  return (
    <>
      <PageHead title={section.title} lede={section.about} />
      {parts.length > 1 ? (
        <nav class="card on-phone" aria-label="In this section">
          <Places places={[parts]} at="" />
        </nav>
      ) : null}
      {section.name === "errors" ? (
        <>
          <ErrorTable />
          {CODE_TABLES.map((table) => (
            <CodeCard table={table} />
          ))}
        </>
      ) : null}
      {section.name === "outbound" ? <Outbound document={document} /> : null}
      {places.map((place) => (
        <OperationCard document={document} server={server} place={place} />
      ))}
    </>
  );
}

/** Folded on a phone only; on a wide screen it is open, below its heading if it has one. */
function Folded({ title, hasHeading = false, children }: { title: string; hasHeading?: boolean } & Children) {
  return (
    <>
      {hasHeading ? <h3 class="not-on-phone">{title}</h3> : null}
      <details class="folded">
        <summary>{title}</summary>
        {children}
      </details>
    </>
  );
}

function ErrorTable() {
  return (
    <section class="card flush" id="errors">
      <TextTable
        label="Error codes"
        head={["Status", "Code", "Cause", "Cure"]}
        rows={ERROR_CODES.map((code) => [
          String(statusOf(code)),
          <code id={code} class="error-code">
            {code}
          </code>,
          <Marked text={ERRORS[code].cause} />,
          <Marked text={ERRORS[code].cure} />,
        ])}
      />
    </section>
  );
}

function CodeCard({ table }: { table: CodeTable }) {
  const { name, title, about, rows } = table;
  return (
    <section class="card" id={name}>
      <h2>{title}</h2>
      <p class="muted small">
        <Marked text={about} />
      </p>
      <TextTable
        label={title}
        head={["Value", "Meaning"]}
        rows={rows.map(({ code, text }) => [
          <code id={rowId(table, code)} class="error-code">
            {code}
          </code>,
          <Marked text={text} />,
        ])}
      />
    </section>
  );
}

interface OperationProps {
  document: OpenApiDocument;
  server: string;
  place: Place;
}

function OperationCard({ document, server, place }: OperationProps) {
  const { method, path, operation } = place;
  const { operationId, summary, description, security, responses } = operation;
  const samples = samplesOf(place, server);
  const good = Object.entries(responses).flatMap(([status, answer]) => ("$ref" in answer ? [] : [{ status, answer }]));
  return (
    <section class="card operation" id={operationId}>
      <div class="operation-text">
        <h2>{summary}</h2>
        <p>
          <span class="badge">{method}</span> <code>{path}</code>
        </p>
        {description === undefined ? null : (
          <p>
            <Marked text={description} />
          </p>
        )}
        <p class="muted small">
          <Marked text={accessOf(security)} /> Operation id: <code>{operationId}</code>
        </p>
        <Parameters place={place} />
        <Body document={document} place={place} />
        <Answers operation={operation} />
        {good.map(({ status, answer }) => (
          <ReplyFields document={document} answer={answer} label={`${status} of ${method} ${path}`} status={status} />
        ))}
      </div>
      <div class="operation-code">
        {samples === null ? null : (
          <Folded title="Samples">
            <CopyBlock label={`curl for ${method} ${path}`} text={samples.curl}>
              curl
            </CopyBlock>
            <CopyBlock label={`TypeScript for ${method} ${path}`} text={samples.typescript}>
              TypeScript
            </CopyBlock>
          </Folded>
        )}
        {good.map(({ status, answer }) => (
          <ReplyExample answer={answer} status={status} label={`${status} of ${method} ${path}`} />
        ))}
      </div>
    </section>
  );
}

function Parameters({ place: { method, path, operation } }: { place: Place }) {
  const { parameters = [] } = operation;
  const own = parameters.filter((parameter) => parameter.in !== "header");
  const headers = parameters.filter((parameter) => parameter.in === "header");
  return (
    <>
      {own.length > 0 ? (
        <Folded title="Parameters" hasHeading>
          <FieldList
            label={`Parameters of ${method} ${path}`}
            fields={own.map(({ name, schema, required, description = "", in: place }) => ({
              ...{ name, required, type: `${typeOf(schema)} in the ${place}` },
              text: textOf({ description, ...schema }),
            }))}
          />
        </Folded>
      ) : null}
      {headers.length > 0 ? (
        <p class="muted small">
          <a href="/docs#conventions">Common headers</a>:
          {headers.map(({ name }, i) => (
            <>
              {i === 0 ? " " : ", "}
              <code>{name}</code>
            </>
          ))}
        </p>
      ) : null}
    </>
  );
}

function Body({ document, place: { method, path, operation } }: { document: OpenApiDocument; place: Place }) {
  const [content] = Object.values(operation.requestBody?.content ?? {});
  if (!content?.schema) return null;
  const optional = operation.requestBody?.required === false;
  return (
    <Folded title="Body" hasHeading>
      <Fields document={document} schema={content.schema} label={`Body of ${method} ${path}`} optional={optional} />
    </Folded>
  );
}

/** The replies of success, and the codes of refusals, whose causes and cures are on one page for all. */
function Answers({ operation }: { operation: Operation }) {
  const answers = Object.entries(operation.responses);
  const codes = refusalsOf(operation);
  return (
    <>
      {answers.map(([status, answer]) =>
        "$ref" in answer ? null : (
          <p>
            <span class="badge">{status}</span> <Marked text={answer.description} />
          </p>
        ),
      )}
      {codes.length > 0 ? (
        <p class="small">
          Errors:
          {codes.map((code, i) => (
            <>
              {i === 0 ? " " : ", "}
              <a href={`/docs/api/errors#${code}`}>{code}</a>
            </>
          ))}
        </p>
      ) : null}
    </>
  );
}

interface ReplyProps {
  answer: Answer;
  label: string;
  status: string;
}

function ReplyFields({ document, answer, label, status }: ReplyProps & { document: OpenApiDocument }) {
  const { schema } = answer.content?.["application/json"] ?? {};
  if (!schema) return null;
  return (
    <details class="more">
      <summary>Fields of the {status} reply</summary>
      <Fields document={document} schema={schema} label={`Fields of ${label}`} />
    </details>
  );
}

function ReplyExample({ answer, label, status }: ReplyProps) {
  const { example } = answer.content?.["application/json"] ?? {};
  if (example === undefined) return null;
  return (
    <details class="more">
      <summary>Example of the {status} reply</summary>
      <CopyBlock label={`Example of ${label}`} text={prettyJson(example)}>
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
  const fields = fieldsOf(document, schema);
  if (fields.length === 0) return null;
  return (
    <>
      {optional ? <p class="muted small">The body may be left out.</p> : null}
      <FieldList
        label={label}
        fields={fields.map(({ name, field, required }) => ({
          ...{ name, required, type: typeOf(field), text: textOf(field) },
        }))}
      />
    </>
  );
}

function Outbound({ document }: { document: OpenApiDocument }) {
  const parameters = document.webhooks["ping"]?.post.parameters ?? [];
  return (
    <>
      <section class="card">
        <h2>Headers</h2>
        <p>
          Each event is a POST to your endpoint with these headers. The guide <a href="/docs/webhooks">Webhooks</a>{" "}
          shows how to verify it.
        </p>
        <TextTable
          label="Headers of a delivery"
          head={["Header", "What it is"]}
          rows={parameters.map(({ name, description }) => [<code>{name}</code>, <Marked text={description ?? ""} />])}
        />
      </section>
      {SENT_EVENT_TYPES.map((event) => (
        <EventCard document={document} event={event} />
      ))}
    </>
  );
}

function EventCard({ document, event }: { document: OpenApiDocument; event: (typeof SENT_EVENT_TYPES)[number] }) {
  const { schema, example } = document.webhooks[event]?.post.requestBody?.content["application/json"] ?? {};
  return (
    <section class="card operation" id={event}>
      <div class="operation-text">
        <h2>
          <code>{event}</code>
        </h2>
        <p>{sentEvent(event).text}.</p>
        <p class="small">
          <a href={schemaPath(event)}>JSON Schema of the data</a>
        </p>
        {schema ? (
          <details class="more">
            <summary>Fields</summary>
            <Fields document={document} schema={schema} label={`Fields of ${event}`} />
          </details>
        ) : null}
      </div>
      <div class="operation-code">
        <Folded title="Example">
          <CopyBlock label={`Example of ${event}`} text={prettyJson(example)}>
            Example
          </CopyBlock>
        </Folded>
      </div>
    </section>
  );
}
