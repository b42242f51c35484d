/** The outputs of the event catalogue (`domain/event.ts`): schemas, the document and the form. */
import { describe, expect, it } from "vitest";
import { eventKind, EVENTS, OUTBOUND_EVENT_TYPES, SENT_EVENT_TYPES, sentEvent } from "../../src/domain/event.ts";
import { REPLY_EXAMPLES } from "../../src/http/openapi/examples.ts";
import { AUDIT_EVENT_TYPES } from "../../src/providers/registry.ts";
import { schemaProblems } from "../support/json-schema.ts";
import { servedDocument } from "../support/openapi.ts";
import { call, makeProgram } from "../support/program.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

describe("GET /docs/events/<type>.json (HOOK-21)", () => {
  it.each(SENT_EVENT_TYPES)("is whole in itself for %s, and fits what is sent and nothing more", async (type) => {
    const { status, headers, body } = await call<Record<string, unknown>>(`/docs/events/${type}.json`);
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    const { text, data } = sentEvent(type);
    expect(body).toMatchObject({ title: type, description: text, type: "object", additionalProperties: false });
    expect(JSON.stringify(body)).not.toContain("$ref");
    const example = REPLY_EXAMPLES[data] as Record<string, unknown>;
    expect(schemaProblems(body, example, body)).toEqual([]);
    expect(schemaProblems(body, { ...example, undocumented: 1 }, body)).not.toEqual([]);
    for (const field of Object.keys(example)) {
      const { [field]: _, ...less } = example;
      expect([field, schemaProblems(body, less, body).length]).not.toEqual([field, 0]);
    }
  });

  it("is 404 for what is not sent", async () => {
    for (const file of ["flow.created.json", "partner.deleted.json", "click.json", "payout.paid", "x.json", ".json"]) {
      expect([file, (await call(`/docs/events/${file}`)).status]).toEqual([file, 404]);
    }
  });
});

describe("the catalogue of events", () => {
  it("is the document's list of webhooks, each with its text and the object that is its data", () => {
    const { webhooks, components } = servedDocument();
    expect(Object.keys(webhooks)).toEqual(SENT_EVENT_TYPES);
    for (const type of SENT_EVENT_TYPES) {
      const { text, data } = sentEvent(type);
      const { description, requestBody } = webhooks[type]!.post;
      expect(description).toContain(text);
      expect(requestBody?.content["application/json"]?.schema?.properties).toMatchObject({
        event: { const: type },
        data: { $ref: `#/components/schemas/${data}` },
      });
      expect(components.schemas).toHaveProperty(data);
    }
  });

  it("is what the form of an endpoint offers", async () => {
    const owner = await signInOwner(await makeProgram());
    await owner.get("/dashboard/webhooks/new");
    const offered = [...owner.html.matchAll(/name="events"[^>]*value="([^"]+)"/g)].map(([, value]) => value);
    expect(offered).toEqual(["*", ...OUTBOUND_EVENT_TYPES]);
    for (const type of OUTBOUND_EVENT_TYPES) expect(textOf(owner.html)).toContain(EVENTS[type].text);
  });

  it("is the table of the reference page", async () => {
    const { body } = await call<string>("/docs/api/outbound");
    for (const type of SENT_EVENT_TYPES) {
      expect(body).toContain(`href="/docs/events/${type}.json"`);
      expect(textOf(body)).toContain(sentEvent(type).text);
    }
  });

  it("has a text for people of its own for every type", () => {
    const texts = AUDIT_EVENT_TYPES.map((type) => eventKind(type).text);
    expect(new Set(texts).size).toBe(texts.length);
  });
});
