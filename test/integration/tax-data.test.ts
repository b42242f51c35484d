/** Partners' tax data (OUT-33). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { eventsOf } from "../support/commissions.ts";
import { newKey } from "../support/keys.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

const TAX = {
  ...{ legal_name: "Jane Doe GmbH", address: "Hauptstr. 1\n10115 Berlin", country: "DE", kind: "business" },
  ...{ tax_id: "DE123456789", vat_rate: null },
};

interface Refused {
  error: { code: string; details?: { path: string }[] };
}

const setTax = (program: Pick<TestProgram, "api">, id: string, data: object = TAX) =>
  program.api<Refused>("PUT", `/api/v1/partners/${id}/tax-data`, data);

describe("tax data (OUT-33)", () => {
  const at = (id: string) => `/api/v1/partners/${id}/tax-data`;
  const NONE = { legal_name: null, address: null, country: null, kind: null, tax_id: null, vat_rate: null };

  it("are stored sealed, masked in the log and for who may not pay, and read in full with an event", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    expect((await program.api("GET", at(id))).body).toEqual({ partner_id: id, ...NONE });
    const set = await setTax(program, id, { ...TAX, country: "de", vat_rate: 19 });
    const shown = {
      ...{ partner_id: id, legal_name: "Ja****bH", address: "Ha****in", country: "DE", kind: "business" },
      ...{ tax_id: "DE****89", vat_rate: 19 },
    };
    expect([set.status, set.body]).toEqual([200, shown]);
    expect((await program.api("GET", at(id))).body).toEqual({ partner_id: id, ...TAX, vat_rate: 19 });
    const key = await newKey(program, ["read", "write"]);
    expect((await key.api("GET", at(id))).body).toEqual(shown);
    expect((await setTax(key, id)).status).toBe(403);
    const { results } = await env.DB.prepare("select * from tax_data where partner_id = ?").bind(id).all();
    const log = JSON.stringify([
      results,
      await eventsOf(program, "partner.updated"),
      await eventsOf(program, "tax_data.read"),
    ]);
    expect(log).not.toMatch(/Jane|Haupt|DE123/);
    expect(await eventsOf(program, "tax_data.read")).toHaveLength(2);
    const changes = await eventsOf(program, "partner.updated");
    expect(changes[0]).toMatchObject({ changes: { tax_data_id: [null, expect.stringMatching(/^tax_/)] } });
    // The same data do not make a version.
    await setTax(program, id, { ...TAX, vat_rate: 19 });
    expect(await eventsOf(program, "partner.updated")).toEqual(changes);
    const other = await makeProgram();
    expect([(await other.api("GET", at(id))).status, (await setTax(other, id)).status]).toEqual([404, 404]);
  });

  it("are refused with the field's name", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    for (const [path, body] of [
      ["legal_name", { ...TAX, legal_name: "\u200b" }],
      ["legal_name", { ...TAX, legal_name: undefined }],
      ["address", { ...TAX, address: "" }],
      ["country", { ...TAX, country: "Germany" }],
      ["kind", { ...TAX, kind: "company" }],
      ["tax_id", { ...TAX, tax_id: "x".repeat(51) }],
      ["tax_id", { ...TAX, tax_id: null, vat_rate: 19 }],
      ["vat_rate", { ...TAX, vat_rate: 101 }],
      ["vat_rate", { ...TAX, kind: "private", vat_rate: 19 }],
      ["city", { ...TAX, city: "Berlin" }],
    ] as const) {
      const { status, body: reply } = await setTax(program, id, body);
      expect([status, reply.error.details?.map((one) => one.path)]).toEqual([422, [path]]);
    }
    expect((await program.api("GET", at(id))).body).toMatchObject(NONE);
    expect(
      (await setTax(program, id, { ...TAX, kind: "private", tax_id: undefined, vat_rate: undefined })).status,
    ).toBe(200);
  });

  it("skip partners without them, if they are required, until they are there", async () => {
    const program = await makeProgram({ require_tax_data: true });
    const [ann, bob] = [await makePartner(program), await makePartner(program)];
    await setTax(program, ann.id);
    for (const { id } of [ann, bob]) await makeCommissions(program, id, [{}]);
    interface Generated {
      payouts: { partner_id: string }[];
      skipped: { partner_id: string; reason: string }[];
    }
    const run = async (body: object) => (await program.api<Generated>("POST", "/api/v1/payouts/generate", body)).body;
    const skipped = [{ partner_id: bob.id, reason: "tax_data_missing" }];
    expect(await run({ dry_run: true })).toMatchObject({ payouts: [{ partner_id: ann.id }], skipped });
    expect(await run({})).toMatchObject({ payouts: [{ partner_id: ann.id }], skipped });
    await setTax(program, bob.id);
    expect(await run({})).toMatchObject({ payouts: [{ partner_id: bob.id }], skipped: [] });
  });
});
