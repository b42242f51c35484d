/** A form that was opened before a field was added to it, and is sent after. */
import { beforeAll, describe, expect, it } from "vitest";
import type * as z from "zod";
import { partnerPatch } from "../../src/http/api/partners.ts";
import { create } from "../support/conformance.ts";
import { makeProgram, type TestProgram } from "../support/program.ts";
import { sentOf } from "../support/form-fields.ts";
import { CHANGING } from "../support/page-forms.ts";
import { ENDPOINT, FLOW, PARTNER, PROGRAM } from "../support/samples.ts";
import { everythingOf, pageAddress } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, type Fields, type Visitor } from "../support/visitor.ts";

let program: TestProgram;
let visitors: Record<"dashboard" | "portal", Visitor>;
let ids: Record<string, string>;

beforeAll(async () => {
  // Of no other file's partner: who is one in two programs is asked which.
  const email = `${uniqueId("forms-")}@partners.example`;
  program = await makeProgram(PROGRAM);
  const made = async (path: string, body: unknown) => (await create(program, `/api/v1${path}`, body)).id;
  ids = {
    partners: await made("/partners", { ...PARTNER, email }),
    flows: await made("/flows", FLOW),
    webhooks: await made("/webhooks", ENDPOINT),
  };
  visitors = { dashboard: await signInOwner(program), portal: await signInPartner(email) };
});

/** The rows that the forms change, but when they changed. */
async function saved(): Promise<string> {
  return (await everythingOf(program.id)).replaceAll(/"updated_at":"[^"]*"/g, "");
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
      // What is shown again to be corrected must not lose the field either.
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
