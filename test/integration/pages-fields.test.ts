/** What can be given by the API can be typed in the dashboard, and is shown there. */
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { SECRET_SETTINGS } from "../../src/providers/registry.ts";
import { commissionCreate } from "../../src/http/api/commissions.ts";
import { flowPatch } from "../../src/http/api/flows.ts";
import { partnerCreate, partnerPatch } from "../../src/http/api/partners.ts";
import { programPatch } from "../../src/http/api/programs.ts";
import { endpointPatch } from "../../src/http/api/webhooks.ts";
import { create } from "../support/conformance.ts";
import { makeProgram, type TestProgram } from "../support/program.ts";
import type { CHANGING, MAKING } from "../support/page-forms.ts";
import { ENDPOINT, FLOW, PARTNER } from "../support/samples.ts";
import { pageAddress } from "../support/stocked.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

/** What is no field of a form, or has another name there. */
const NOT_TYPED = new Set([
  // The API's alone.
  ...["metadata", "event", "currency of a commission"],
  // Buttons.
  ...["status", "active of an endpoint"],
  // Forms of their own.
  ...SECRET_SETTINGS.map(({ setting }) => setting),
]);
const TYPED_AS: Record<string, string> = { amount_cents: "amount" };

let owner: Visitor;
let ids: Record<string, string>;

beforeAll(async () => {
  const program: TestProgram = await makeProgram();
  const made = async (path: string, body: unknown) => (await create(program, `/api/v1${path}`, body)).id;
  ids = {
    partners: await made("/partners", PARTNER),
    flows: await made("/flows", FLOW),
    webhooks: await made("/webhooks", ENDPOINT),
  };
  await program.api("PATCH", `/api/v1/partners/${ids["partners"]}`, { status: "active" });
  owner = await signInOwner(program);
});

type Form = (typeof MAKING)[number] | Exclude<(typeof CHANGING)[number], "/portal/details">;

/** What each form of the dashboard is of, and what of the API takes the same. */
const FORMS: Record<Form, [kind: string, schema: z.ZodObject]> = {
  "/dashboard/partners/new": ["a partner", partnerCreate],
  "/dashboard/partners/:id/edit": ["a partner", partnerPatch],
  "/dashboard/flows/new": ["a flow", flowPatch],
  "/dashboard/flows/:id": ["a flow", flowPatch],
  "/dashboard/webhooks/new": ["an endpoint", endpointPatch],
  "/dashboard/webhooks/:id/edit": ["an endpoint", endpointPatch],
  "/dashboard/settings": ["a program", programPatch],
  "/dashboard/commissions/new": ["a commission", commissionCreate],
};

describe("a form of the dashboard (PAGE-7)", () => {
  it.each(Object.entries(FORMS))("has every field that the API takes: %s", async (path, [kind, { shape }]) => {
    // A commission is of a partner who was chosen before.
    const chosen = path === "/dashboard/commissions/new" ? `?partner_id=${ids["partners"]}` : "";
    const { body } = await owner.get(pageAddress(path, ids) + chosen);
    const names = new Set([...body.matchAll(/ name="([a-z_]+)[^"]*"/g)].map(([, name]) => name));
    const fields = Object.keys(shape).filter((field) => !NOT_TYPED.has(field) && !NOT_TYPED.has(`${field} of ${kind}`));
    expect(fields.map((field) => TYPED_AS[field] ?? field).filter((name) => !names.has(name))).toEqual([]);
    // What can be typed is as long as what is taken, no longer and no shorter.
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
    ["/dashboard/partners/:id/edit", PARTNER],
    ["/dashboard/flows/:id", FLOW],
    ["/dashboard/webhooks/:id/edit", ENDPOINT],
  ])("holds what was saved: %s", async (path, saved) => {
    const { body } = await owner.get(pageAddress(path, ids));
    const typed = Object.entries(saved).filter(([field]) => !NOT_TYPED.has(field));
    expect(typed.filter(([, value]) => !textsIn(value).every((text) => body.includes(`"${text}"`)))).toEqual([]);
  });
});

describe("the page of one thing (PAGE-7)", () => {
  it.each([
    ["/dashboard/partners/:id", PARTNER],
    ["/dashboard/webhooks/:id", ENDPOINT],
  ])("shows all that was given: %s", async (path, given) => {
    const text = textOf((await owner.get(pageAddress(path, ids))).body).toLowerCase();
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
