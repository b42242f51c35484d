/** Payout details by method: stored sealed, shown masked, frozen on payouts (OUT-23). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { openRecipient } from "../../src/core/payouts/recipient.ts";
import { sendImport } from "../support/imports.ts";
import { makeCommissions } from "../support/payouts.ts";
import { openMailbox } from "../support/mailbox.ts";
import { changeOwnDetails, visitorWithMail } from "../support/own-change.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { signInOwner, signInPartner } from "../support/visitor.ts";

const IBAN = "DE89370400440532013000";
const MASKED = "DE** **** **** **** **30 00";
const HOLDER = { account_holder: "Jane Doe", country: "DE", currency: "EUR" };
const BANK = { method: "bank_transfer", ...HOLDER, iban: "de89 3704 0044 0532 0130 00" };
const WALLET = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq";

interface Refused {
  error: { code: string; details?: { path: string }[] };
}

const at = (id: string) => `/api/v1/partners/${id}/payout-details`;

async function eventsOf(program: TestProgram, type: string) {
  const { body } = await program.api<{ data: { payload: object; changes: object | null }[] }>(
    "GET",
    `/api/v1/events?type=${type}`,
  );
  return body.data;
}

async function stored(id: string): Promise<string> {
  const row = await env.DB.prepare("select * from partners where id = ?").bind(id).first();
  return JSON.stringify(row);
}

describe("payout details (OUT-23)", () => {
  it("are set for one method and stay for the others, sealed and masked", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program, { payout_method: "wallet", payout_email: "jane@wallet.example" });
    const reply = await program.api("PUT", at(id), BANK);
    expect(reply).toMatchObject({
      status: 200,
      body: {
        method: "bank_transfer",
        wallet: { email: "j****e@wallet.example" },
        bank_transfer: { ...HOLDER, account_holder: "Ja****oe", iban: MASKED },
        crypto: null,
      },
    });
    await program.api("PUT", at(id), { method: "crypto", network: "bitcoin", address: WALLET });
    expect((await program.api("PUT", at(id), { method: "bank_transfer" })).status).toBe(200);
    expect(await stored(id)).not.toMatch(/DE89|Jane Doe|bc1qar0/);
    const { body } = await program.api<object>("GET", `/api/v1/partners/${id}`);
    expect(body).toMatchObject({
      payout_method: "bank_transfer",
      bank_account: MASKED,
      crypto_address: "bitcoin: bc****dq",
    });
    const log = JSON.stringify(await eventsOf(program, "partner.updated"));
    expect(log).toContain(MASKED);
    expect(log).not.toMatch(/DE89|Jane Doe|bc1qar0/);
  });

  it("look different in the log if only the holder differs, and do not change if none does", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    for (const account_holder of ["Jane Doe", "Jane Doe", "Joan Doe"]) {
      await program.api("PUT", at(id), { ...BANK, account_holder });
    }
    const [last, same] = await eventsOf(program, "partner.updated");
    expect(last?.changes).toMatchObject({ bank_account: [MASKED, `${MASKED} (a different one)`] });
    expect(same?.changes).toEqual({});
  });

  it("are read in full with the scope payouts, with an event, and masked with read", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    await program.api("PUT", at(id), BANK);
    expect((await program.api("GET", at(id))).body).toMatchObject({ bank_transfer: { ...HOLDER, iban: IBAN } });
    expect(await eventsOf(program, "payout_details.read")).toMatchObject([{ payload: { partner_id: id } }]);
    const { body } = await program.api<{ api_key: string }>("POST", "/api/v1/api-keys", {
      name: "r",
      scopes: ["read"],
    });
    const headers = { Authorization: `Bearer ${body.api_key}` };
    expect((await program.api("GET", at(id), undefined, headers)).body).toMatchObject({
      bank_transfer: { iban: MASKED },
    });
    expect((await program.api("PUT", at(id), BANK, headers)).status).toBe(403);
    expect(await eventsOf(program, "payout_details.read")).toHaveLength(1);
  });

  it("are refused with the field's name", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const refused = async (body: object) => {
      const reply = await program.api<Refused>("PUT", at(id), body);
      expect(reply.status).toBe(422);
      return reply.body.error.details?.map(({ path }) => path);
    };
    expect(await refused({ ...BANK, iban: "DE89370400440532013001" })).toEqual(["iban"]);
    expect(await refused({ method: "bank_transfer" })).toEqual(["account_holder"]);
    expect(await refused({ method: "wallet", email: "nobody" })).toEqual(["email"]);
    expect(await refused({ method: "wallet" })).toEqual(["email"]);
    expect(await refused({ method: "cash" })).toEqual(["method"]);
    expect(await refused({ ...BANK, city: "Berlin" })).toEqual(["city"]);
    expect(await refused({ ...BANK, method: null })).toEqual(["method"]);
    expect((await program.api("PUT", at("par_unknown"), BANK)).status).toBe(404);
  });

  it("are frozen on the payout, and reach one that has none (OUT-5, OUT-18)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program, { payout_method: "bank_transfer" });
    await makeCommissions(program, id, [{}]);
    interface Generated {
      payouts: { id: string; recipient: string | null }[];
      without_details: { partners: number };
    }
    const generate = () => program.api<Generated>("POST", "/api/v1/payouts/generate", {});
    const first = (await generate()).body;
    expect(first).toMatchObject({ payouts: [{ recipient: null }], without_details: { partners: 1 } });
    await program.api("PUT", at(id), BANK);
    await makeCommissions(program, id, [{}]);
    const second = (await generate()).body;
    expect(second).toMatchObject({ payouts: [{ recipient: MASKED }], without_details: { partners: 0 } });
    await program.api("PUT", at(id), { ...BANK, iban: "GB29NWBK60161331926819" });
    for (const payout of [first.payouts[0]!, second.payouts[0]!]) {
      const row = await env.DB.prepare("select * from payouts where id = ?").bind(payout.id).first();
      expect(row).toMatchObject({ method: "bank_transfer", recipient: MASKED });
      expect(await openRecipient(testContext(), row as never)).toMatchObject({
        details: { ...HOLDER, iban: IBAN },
      });
    }
  });

  it("are set in the portal and the dashboard, and shown in full to members who pay", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const { id, email, slug } = partner;
    const mailbox = openMailbox();
    const portal = await signInPartner(email, visitorWithMail(mailbox));
    await portal.get("/portal/details");
    const fields = { payout_method: "bank_transfer", ...HOLDER };
    const wrong = await portal.post("/portal/details", { ...fields, iban: "DE89370400440532013001" });
    expect([wrong.status, wrong.body]).toEqual([422, expect.stringMatching(/id="f-iban"[^>]*aria-invalid="true"/)]);
    await changeOwnDetails(program, email, { ...fields, iban: IBAN }, { mailbox });
    await portal.get("/portal/details");
    expect(portal.html).toContain(MASKED);
    expect(portal.html).not.toContain(IBAN);
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/partners/${id}/payout-details`);
    expect(owner.html).toContain(IBAN);
    expect(await eventsOf(program, "payout_details.read")).toHaveLength(1);
    await owner.get(`/dashboard/partners/${id}/edit`);
    const crypto = { email, slug, payout_method: "crypto", network: "bitcoin", address: WALLET };
    expect((await owner.post(`/dashboard/partners/${id}/edit`, crypto)).status).toBe(303);
    expect((await program.api("GET", at(id))).body).toMatchObject({ method: "crypto", bank_transfer: { iban: IBAN } });
  });

  it("come from an import, with the partner's name and the IBAN's country, unless the IBAN is wrong", async () => {
    const program = await makeProgram();
    const report = await sendImport(
      program,
      { kind: "partners" },
      `email,name,code,iban,currency\nann@a.example,Ann Lee,ann,${IBAN},EUR\nbob@a.example,Bob Lee,bob,DE00370400440532013000,EUR\n`,
    );
    expect(JSON.stringify(report)).toContain("check digits");
    const { body } = await program.api<{ data: { id: string; email: string }[] }>("GET", "/api/v1/partners");
    const [ann, bob] = ["ann", "bob"].map((name) => body.data.find(({ email }) => email === `${name}@a.example`));
    expect((await program.api("GET", at(ann!.id))).body).toMatchObject({
      method: "bank_transfer",
      bank_transfer: { ...HOLDER, account_holder: "Ann Lee", iban: IBAN },
    });
    expect((await program.api("GET", at(bob!.id))).body).toMatchObject({ method: null, bank_transfer: null });
  });

  it.each([
    { method: "wallet", email: "jane@wallet.example" },
    { method: "bank_transfer", ...HOLDER, iban: "GB29NWBK60161331926819" },
    { method: "crypto", network: "bitcoin", address: WALLET },
    { method: "provider_a", account: "acct_1RTa2bXyZ" },
  ])("stay as they are in an import, though no method is chosen: $method", async ({ method, ...fields }) => {
    const program = await makeProgram();
    const { id, email } = await makePartner(program);
    await program.api("PUT", at(id), { method, ...fields });
    const { body: before } = await program.api<object>("PUT", at(id), { method: null });
    const file = `email,name,code,iban,currency\n${email},Jane Doe,jane,${IBAN},EUR\n`;
    await sendImport(program, { kind: "partners" }, file);
    expect(before).toMatchObject({ method: null, [method]: expect.any(Object) as object });
    const { body: after } = await program.api<object>("GET", at(id));
    expect(after).toMatchObject({ method: null, [method]: fields });
  });
});
