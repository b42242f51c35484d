/** Every type of the catalogue of events reads as a sentence, with links that are named for people (PAGE-27). */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { eventLinks, whatText } from "../../src/http/pages/dashboard/events/what.tsx";
import type { AuditEvent } from "../../src/core/kernel/rows.ts";
import { EVENT_PAYLOADS, type CatalogueType } from "../support/event-payloads.ts";

const TYPES = Object.keys(EVENT_PAYLOADS) as CatalogueType[];
const PARTNER = {
  ...{ id: "par_1", slug: "tara", email: "tara@partners.example", status: "active" as const },
  ...{ first_name: "Tara", last_name: "Ivanov" },
};

interface Field {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Field[];
}

/** The values of a field: each of those that the schema names, else one. A text of a person has no sign of its own. */
function valuesOf(name: string, field: Field): unknown[] {
  if (field.const !== undefined) return [field.const];
  if (field.enum) return field.enum;
  if (field.anyOf) return field.anyOf.flatMap((one) => valuesOf(name, one));
  if (name === "currency") return ["EUR"];
  if (name === "apply_from") return ["2026-03-01T00:00:00.000Z"];
  if (field.type === "string") return name.endsWith("_id") ? ["id_1"] : ["Sample"];
  if (field.type === "integer" || field.type === "number") return [2];
  if (field.type === "boolean") return [true, false];
  return field.type === "null" ? [null] : [field.type === "array" ? [] : {}];
}

/** Payloads that together have each value of each field; one without the fields that may be missing. */
function payloadsOf(type: CatalogueType): AuditEvent["payload"][] {
  const { properties, required } = z.toJSONSchema(EVENT_PAYLOADS[type], { unrepresentable: "any" }) as {
    properties: Record<string, Field>;
    required: string[];
  };
  const values = Object.entries(properties).map(([name, field]) => [name, valuesOf(name, field)] as const);
  const first = Object.fromEntries(values.map(([name, [value]]) => [name, value]));
  const least = Object.fromEntries(Object.entries(first).filter(([name]) => required.includes(name)));
  return [least, ...values.flatMap(([name, all]) => all.map((value) => ({ ...first, [name]: value })))];
}

/** The signs of the API in a text: a name with an underscore or a dot, a path, a time of the API, a missing value. */
const RAW = /_|\w\.\w|\/|\d\dT\d|\b(?:null|undefined|NaN|object)\b/;

function problemsOf(type: CatalogueType): string[] {
  const wrong = (text: string) => RAW.test(text) || !/^(?:[A-Z]|\d)\S* /.test(text);
  const links = payloadsOf(type).flatMap((payload) => eventLinks(payload));
  const sentences = payloadsOf(type).flatMap((payload) =>
    [PARTNER, undefined].map((partner) => {
      const text = whatText({ type, payload, changes: null }, partner);
      return text.replace(/ \d[\d.]*\u00a0EUR/, "");
    }),
  );
  return [
    ...sentences.filter(wrong),
    ...links.map(({ label }) => label).filter((label) => !/^[A-Z][a-z]+(?: [a-z]+)*$/.test(label)),
    ...links.map(({ href }) => href).filter((href) => !/^\/dashboard\/[a-z/]+\/id_1$/.test(href)),
  ];
}

describe("an event in the list", () => {
  it.each(TYPES)("of the type %s is one plain sentence with plain links", (type) => {
    expect([...new Set(problemsOf(type))]).toEqual([]);
  });

  it.each([
    ["expired", "Sign-in of jane@x.example failed: the link had expired"],
    ["used", "Sign-in of jane@x.example failed: the link had been used before"],
    ["copied", "Sign-in of jane@x.example failed: the passkey may be a copy"],
  ])("states why a sign-in failed: %s", (reason, sentence) => {
    const payload = { email: "jane@x.example", reason };
    expect(whatText({ type: "sign_in.failed", payload, changes: null }, undefined)).toBe(sentence);
  });
});
