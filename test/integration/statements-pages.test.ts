/** The pages of statements, tax data and self-billing (OUT-32, OUT-33, OUT-34). */
import { describe, expect, it } from "vitest";
import { eventsOf } from "../support/commissions.ts";
import { readCsv } from "../support/csv.ts";
import { makeCommissions, payoutsOf } from "../support/payouts.ts";
import { makePartner, makeProgram, type ProgramFields } from "../support/program.ts";
import { signInMember, signInOwner, signInPartner, textOf } from "../support/visitor.ts";

const BILLING: ProgramFields = {
  ...{
    payer_name: "Shop <b>Ltd</b>",
    payer_address: "1 High Street\nDublin",
    payer_country: "IE",
    payer_tax_id: "IE1234567T",
  },
  ...{ self_billing: "on", self_billing_prefix: "SB-" },
};
const TAX = {
  ...{ legal_name: "Jane Doe GmbH", address: "Hauptstr. 1\n10115 Berlin", country: "DE", kind: "business" },
  ...{ tax_id: "DE123456789", vat_rate: "" },
};

/** A paid payout of two commissions, with the partner's tax data. */
async function paidPayout(fields: ProgramFields = BILLING) {
  const program = await makeProgram(fields);
  const partner = await makePartner(program, { payout_method: "bank_transfer" });
  await program.api("PUT", `/api/v1/partners/${partner.id}/tax-data`, { ...TAX, vat_rate: 19 });
  await makeCommissions(program, partner.id, [{ amount_cents: 3_000 }, { amount_cents: -620, kind: "clawback" }]);
  await program.api("POST", "/api/v1/payouts/generate", {});
  const [{ id } = { id: "" }] = await payoutsOf(program);
  await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, { reference: "bank 1" });
  return { program, partner, id };
}

describe("the page of a statement (OUT-32)", () => {
  it("shows owners and finance the invoice in full, and viewers nothing of it", async () => {
    const { program, id } = await paidPayout();
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/payouts/${id}`);
    expect(owner.html).toContain(`href="/dashboard/payouts/${id}/statement"`);
    await owner.get(`/dashboard/payouts/${id}/statement`);
    const text = textOf(owner.html);
    for (const part of [
      ...["Self-billing invoice SB-INV-000001", "Shop <b>Ltd</b>", "1 High Street", "Dublin", "Ireland", "IE1234567T"],
      ...["Jane Doe GmbH", "Hauptstr. 1", "Germany", "Tax id: DE123456789", "Reverse charge", "bank 1", "Correction"],
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/Sum:\s+23\.80\sUSD/);
    const file = await owner.get(`/dashboard/payouts/${id}/statement.csv`);
    expect(readCsv(file.body)).toHaveLength(3);
    expect(await eventsOf(program, "tax_data.read")).toHaveLength(2);
    await program.api("POST", `/api/v1/payouts/${id}/returned`, { reason: "closed" });
    await owner.get(`/dashboard/payouts/${id}/statement`);
    expect(textOf(owner.html)).toMatch(/Credit note SB-CN-000001.*Sum:\s+23\.80\sUSD/);

    await program.api("POST", "/api/v1/members", { email: "view@team.example", role: "viewer" });
    const viewer = await signInMember(program, "view@team.example");
    await viewer.get(`/dashboard/payouts/${id}`);
    expect(viewer.html).not.toContain("/statement");
    for (const path of ["statement", "statement.csv"]) {
      expect((await viewer.get(`/dashboard/payouts/${id}/${path}`)).status).toBe(403);
    }
    const stranger = await signInOwner(await makeProgram());
    expect((await stranger.get(`/dashboard/payouts/${id}/statement`)).status).toBe(404);
  });

  it("shows VAT in one country by the partner's rate, to the cent", async () => {
    const { program, id } = await paidPayout({ ...BILLING, payer_country: "DE" });
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/payouts/${id}/statement`);
    expect(textOf(owner.html)).toMatch(/19\s%: 3\.80\sUSD on 20\.00\sUSD/);
  });

  it("is the partner's own in the portal, with its invoice, and nobody else's", async () => {
    const { program, partner, id } = await paidPayout();
    const portal = await signInPartner(partner.email);
    await portal.get(`/portal/payouts/${id}`);
    const before = textOf(portal.html);
    for (const part of ["Self-billing invoice SB-INV-000001", "Jane Doe GmbH", "DE123456789", "IE1234567T"]) {
      expect(before).toContain(part);
    }
    const file = async () => readCsv((await portal.get(`/portal/payouts/${id}/statement.csv`)).body);
    const lines = (await file()).map(([date, commission, kind, , amount]) => [date, commission, kind, amount]);
    expect(await eventsOf(program, "tax_data.read")).toEqual([]);
    await program.api("POST", `/api/v1/payouts/${id}/returned`, { reason: "closed" });
    expect((await file()).map(([date, commission, kind, , amount]) => [date, commission, kind, amount])).toEqual(lines);
    await portal.get(`/portal/payouts/${id}`);
    expect(textOf(portal.html)).toMatch(/SB-CN-000001.*Sum:\s+23\.80\sUSD/);
    await portal.get("/portal/payouts");
    expect(portal.html).toContain(`href="/portal/payouts/${id}"`);
    const other = await signInPartner((await makePartner(program)).email);
    for (const path of ["", "/statement.csv"]) {
      expect((await other.get(`/portal/payouts/${id}${path}`)).status).toBe(404);
    }
  });
});

describe("the forms of tax data (OUT-33)", () => {
  it("in the portal keeps the input on errors, stores it, and says if it is required", async () => {
    const program = await makeProgram({ require_tax_data: true });
    const { id, email } = await makePartner(program, { payout_method: "bank_transfer" });
    const portal = await signInPartner(email);
    await portal.get("/portal/details");
    expect(textOf(portal.html)).toContain("Add your tax data");
    await portal.get("/portal/details/tax-data");
    const wrong = await portal.post("/portal/details/tax-data", { ...TAX, country: "Germany" });
    expect([wrong.status, wrong.body]).toEqual([422, expect.stringMatching(/id="f-country"[^>]*aria-invalid="true"/)]);
    expect(wrong.body).toContain("Jane Doe GmbH");
    expect(wrong.body).toMatch(/Hauptstr. 1\r?\n10115 Berlin<\/textarea>/);
    expect((await portal.post("/portal/details/tax-data", { ...TAX, country: "de" })).status).toBe(303);
    await portal.get("/portal/details/tax-data");
    expect(portal.html).toContain("Jane Doe GmbH");
    expect((await program.api("GET", `/api/v1/partners/${id}/tax-data`)).body).toMatchObject({
      ...TAX,
      vat_rate: null,
    });
  });

  it("in the dashboard shows it to owners and finance with an event, and is saved by owners", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const path = `/dashboard/partners/${id}/tax-data`;
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/partners/${id}`);
    expect(owner.html).toContain(`href="${path}"`);
    await owner.get(path);
    expect((await owner.post(path, { ...TAX, vat_rate: "many" })).status).toBe(422);
    expect((await owner.post(path, { ...TAX, vat_rate: "19" })).status).toBe(303);
    await owner.get(path);
    expect(owner.html).toMatch(/name="vat_rate"[^>]*value="19"/);
    for (const [role, statuses] of [
      ["finance", [200, 403]],
      ["viewer", [403, 403]],
    ] as const) {
      await program.api("POST", "/api/v1/members", { email: `${role}@team.example`, role });
      const member = await signInMember(program, `${role}@team.example`);
      const shown = await member.get(path);
      expect([role, [shown.status, (await member.post(path, TAX)).status]]).toEqual([role, statuses]);
    }
    expect((await eventsOf(program, "tax_data.read")).length).toBeGreaterThanOrEqual(3);
  });

  it("belongs with the settings, which name what self-billing lacks", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    await owner.get("/dashboard/settings/payouts");
    const wrong = await owner.post("/dashboard/settings/payouts", { self_billing: "on", payer_name: "Shop Ltd" });
    expect([wrong.status, wrong.body]).toEqual([
      422,
      expect.stringMatching(/id="f-payer_address"[^>]*aria-invalid="true"/),
    ]);
    const right = {
      ...{ self_billing: "on", self_billing_prefix: "SB-", require_tax_data: "true" },
      ...{ payer_name: "Shop Ltd", payer_address: "1 High Street\r\nDublin", payer_country: "ie", payer_tax_id: "" },
    };
    expect((await owner.post("/dashboard/settings/payouts", right)).status).toBe(303);
    expect((await program.api("GET", "/api/v1/programs/me")).body).toMatchObject({
      ...{ self_billing: "on", self_billing_prefix: "SB-", require_tax_data: true, payer_tax_id: null },
      ...{ payer_name: "Shop Ltd", payer_address: "1 High Street\nDublin", payer_country: "IE" },
    });
  });
});
