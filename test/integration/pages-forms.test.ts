/**
 * The forms of the dashboard and the portal have every field of the API, show the saved values and keep fields that they
 * do not contain.
 */
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { commissionCreate } from "../../src/http/api/commissions.ts";
import { flowPatch } from "../../src/http/api/flows.ts";
import { groupPatch } from "../../src/http/api/groups.ts";
import { partnerCreate, partnerPatch } from "../../src/http/api/partners.ts";
import { taxDataSet } from "../../src/http/api/tax-data.ts";
import { programPatch } from "../../src/http/api/programs.ts";
import { endpointPatch } from "../../src/http/api/webhooks.ts";
import { SECRET_SETTINGS } from "../../src/providers/registry.ts";
import { create } from "../support/conformance.ts";
import { makeProgram, type TestProgram } from "../support/program.ts";
import { sentOf } from "../support/form-fields.ts";
import { CHANGING, type MAKING } from "../support/page-forms.ts";
import { ENDPOINT, FLOW, PARTNER, PROGRAM } from "../support/samples.ts";
import { everythingOf, pageAddress } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf, type Fields, type Visitor } from "../support/visitor.ts";

/** Input fields that no form has, or that have another name there. */
const NOT_TYPED = new Set([
  // The API's alone.
  ...["metadata", "event", "currency of a commission"],
  // Shown beside conditions on products.
  "base",
  // Buttons.
  ...["status", "active of an endpoint", "is_default of a group"],
  // Forms of their own.
  ...SECRET_SETTINGS.map(({ setting }) => setting),
]);
const TYPED_AS: Record<string, string> = { amount_cents: "amount" };

// The address is used in this file only: a person in two programs must choose one.
const OWN_PARTNER = { ...PARTNER, email: `${uniqueId("forms-")}@partners.example` };

let program: TestProgram;
let visitors: Record<"dashboard" | "portal", Visitor>;
let ids: Record<string, string>;

beforeAll(async () => {
  program = await makeProgram(PROGRAM);
  const made = async (path: string, body: unknown) => (await create(program, `/api/v1${path}`, body)).id;
  ids = {
    partners: await made("/partners", OWN_PARTNER),
    groups: await made("/groups", { name: "Club", slug: "club" }),
    flows: await made("/flows", FLOW),
    webhooks: await made("/webhooks", ENDPOINT),
  };
  const bank = { method: "bank_transfer", account_holder: "Ottilie Quandt", country: "DE", currency: "EUR" };
  const address = `/api/v1/partners/${ids["partners"]}/payout-details`;
  expect((await program.api("PUT", address, { ...bank, iban: "DE89370400440532013000" })).status).toBe(200);
  const tax = { legal_name: "Ottilie Quandt", address: "Hauptstr. 1", country: "DE", kind: "business", tax_id: "DE1" };
  const taxed = await program.api("PUT", `/api/v1/partners/${ids["partners"]}/tax-data`, { ...tax, vat_rate: 19 });
  expect(taxed.status).toBe(200);
  visitors = { dashboard: await signInOwner(program), portal: await signInPartner(OWN_PARTNER.email) };
});

/** The rows that the forms change, but when they changed. */
async function saved(): Promise<string> {
  return (await everythingOf(program.id)).replaceAll(/"updated_at":"[^"]*"/g, "");
}

type Form = (typeof MAKING)[number] | Exclude<(typeof CHANGING)[number], `/portal/${string}` | (typeof TABS)[number]>;

/** The settings are one object in several forms. */
const TABS = ["/dashboard/settings/commissions", "/dashboard/settings/payouts", "/dashboard/settings/portal"] as const;
const PAGES_OF: Partial<Record<string, readonly string[]>> = {
  "/dashboard/settings": ["/dashboard/settings", ...TABS],
};

/** The object of each form of the dashboard, and the schema of the API for the same input. */
const FORMS: Record<Form, [kind: string, schema: z.ZodObject]> = {
  "/dashboard/partners/new": ["a partner", partnerCreate],
  "/dashboard/partners/:id/edit": ["a partner", partnerPatch],
  "/dashboard/partners/groups/:id": ["a group", groupPatch],
  "/dashboard/flows/new": ["a flow", flowPatch],
  "/dashboard/flows/:id": ["a flow", flowPatch],
  "/dashboard/partners/:id/tax-data": ["tax data", taxDataSet],
  "/dashboard/webhooks/new": ["an endpoint", endpointPatch],
  "/dashboard/webhooks/:id/edit": ["an endpoint", endpointPatch],
  "/dashboard/settings": ["a program", programPatch],
  "/dashboard/commissions/new": ["a commission", commissionCreate],
};

describe("a form of the dashboard (PAGE-7)", () => {
  it.each(Object.entries(FORMS))("has every field that the API takes: %s", async (path, [kind, { shape }]) => {
    // A commission is of a partner who was chosen before.
    const chosen = path === "/dashboard/commissions/new" ? `?partner_id=${ids["partners"]}` : "";
    const pages = PAGES_OF[path] ?? [pageAddress(path, ids) + chosen];
    const bodies = await Promise.all(pages.map(async (page) => (await visitors.dashboard.get(page)).body));
    const body = bodies.join("");
    const names = new Set([...body.matchAll(/ name="([a-z_]+)[^"]*"/g)].map(([, name]) => name));
    const fields = Object.keys(shape).filter((field) => !NOT_TYPED.has(field) && !NOT_TYPED.has(`${field} of ${kind}`));
    expect(fields.map((field) => TYPED_AS[field] ?? field).filter((name) => !names.has(name))).toEqual([]);
    // A field accepts exactly the length that the API accepts.
    const typed = (field: string) => new RegExp(`<(?:input|textarea)[^>]* name="${field}"[^>]*>`).exec(body)?.[0] ?? "";
    const limits = fields.flatMap((field): [string, number][] => {
      const json = z.toJSONSchema(shape[field], { unrepresentable: "any", io: "input" });
      const most = [json, ...(json.anyOf ?? [])].find(({ maxLength }) => maxLength !== undefined)?.maxLength;
      return most === undefined || typed(field).includes('type="hidden"') ? [] : [[field, most]];
    });
    const limited = limits.map(([field]) => [field, Number(/ maxlength="(\d+)"/.exec(typed(field))?.[1])]);
    expect(limited).toEqual(limits);
  });

  it.each([
    ["/dashboard/partners/:id/edit", OWN_PARTNER],
    ["/dashboard/flows/:id", FLOW],
    ["/dashboard/webhooks/:id/edit", ENDPOINT],
  ])("holds what was saved: %s", async (path, saved) => {
    const { body } = await visitors.dashboard.get(pageAddress(path, ids));
    const typed = Object.entries(saved).filter(([field]) => !NOT_TYPED.has(field));
    expect(typed.filter(([, value]) => !textsIn(value).every((text) => body.includes(`"${text}"`)))).toEqual([]);
  });
});

describe("the page of one thing (PAGE-7)", () => {
  it.each([
    ["/dashboard/partners/:id", OWN_PARTNER],
    ["/dashboard/webhooks/:id", ENDPOINT],
  ])("shows all that was given: %s", async (path, given) => {
    const text = textOf((await visitors.dashboard.get(pageAddress(path, ids))).body).toLowerCase();
    const isShown = (value: unknown) =>
      textsIn(value).every((part) => text.includes(part.toLowerCase().replaceAll("_", " ")));
    expect(Object.entries(given).filter(([, value]) => !isShown(value))).toEqual([]);
  });
});

/** The texts and numbers in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe("a form that lacks a field, because it was opened before there was one (PAGE-7, PAGE-8)", () => {
  it.each(CHANGING)("leaves the field as it is: %s", async (path) => {
    const address = pageAddress(path, ids);
    const visitor = visitors[path.startsWith("/portal") ? "portal" : "dashboard"];
    const sent = sentOf((await visitor.get(address)).body);
    const before = await saved();
    const post = (fields: Iterable<[string, string[]]>) =>
      visitor.post(address, Object.fromEntries<Fields[string]>(fields));
    expect((await post(sent)).status).toBe(303);
    expect(await saved()).toBe(before);
    // The parts of one field have names such as conditions.0.op.
    const fields = new Set([...sent.keys()].map((name) => name.split(".", 1)[0]!));
    expect(fields.size).toBeGreaterThan(1);
    for (const lacking of fields) {
      const reply = await post([...sent].filter(([name]) => name.split(".")[0] !== lacking));
      expect([lacking, reply.status]).toEqual([lacking, expect.toSatisfy((status) => [303, 422].includes(status))]);
      expect([lacking, await saved()]).toEqual([lacking, before]);
      // A form that is shown again for correction must keep the field too.
      if (reply.status === 422) {
        expect([lacking, sentOf(reply.body).get(lacking)]).toEqual([lacking, sent.get(lacking)]);
      }
    }
  });

  it("empties what was emptied", async () => {
    const address = `/dashboard/partners/${ids["partners"]}/edit`;
    const sent = sentOf((await visitors.dashboard.get(address)).body);
    const isNullable = ([name, field]: [string, z.ZodType]) => sent.has(name) && field.safeParse(null).success;
    const emptied = Object.entries(partnerPatch.shape).flatMap((entry) => (isNullable(entry) ? [entry[0]] : []));
    expect(emptied).toContain("payout_email");
    for (const name of emptied) sent.set(name, [""]);
    expect((await visitors.dashboard.post(address, Object.fromEntries(sent))).status).toBe(303);
    const { body } = await program.api("GET", `/api/v1/partners/${ids["partners"]}`);
    expect(body).toMatchObject(Object.fromEntries(emptied.map((name) => [name, null])));
  });
});
