/** Statements of payouts, and the numbers of self-billing invoices (OUT-32, OUT-34, OUT-35). */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { sql } from "drizzle-orm";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { eventsOf } from "../support/commissions.ts";
import { readCsv } from "../support/csv.ts";
import { newKey } from "../support/keys.ts";
import { sendA } from "../support/ledger.ts";
import {
  clientOf,
  commissionsOf,
  db,
  makeCommissions,
  makeOpenPayout,
  makePayingProgram,
  makePayout,
  payoutsOf,
  playOutside,
} from "../support/payouts.ts";
import {
  makePartner,
  makeProgram,
  programContext,
  SECRET_A,
  setSecrets,
  type ProgramFields,
  type TestProgram,
} from "../support/program.ts";
import { takeBack } from "../support/provider-a-api.ts";
import { transferReversed } from "../support/provider-a-changes.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { STATEMENT_LAWS } from "../support/statement-laws.ts";
import { signInOwner, signInPartner, textOf } from "../support/visitor.ts";

afterEach(() => vi.restoreAllMocks());

const PAYER = {
  ...{ payer_name: "Shop Ltd", payer_address: "1 High Street\nDublin", payer_country: "IE" },
  payer_tax_id: "IE1234567T",
};
const BILLING = { ...PAYER, self_billing: "on", self_billing_prefix: "SB-" } as const;
const TAX = {
  ...{ legal_name: "Jane Doe GmbH", address: "Hauptstr. 1\n10115 Berlin", country: "DE", kind: "business" },
  ...{ tax_id: "DE123456789", vat_rate: null },
};

interface Line {
  commission_id: string;
  kind: string;
  amount_cents: number;
}

interface Statement {
  payout_id: string;
  amount_cents: number;
  status: string;
  invoice_number: string | null;
  credit_note_number: string | null;
  payer: Record<string, unknown>;
  payee: Record<string, unknown>;
  vat: Record<string, unknown> | null;
  lines: Line[];
  next_cursor: string | null;
}

interface Refused {
  error: { code: string; details?: { path: string }[] };
}

const pathOf = (id: string, query = "") => `/api/v1/payouts/${id}/statement${query}`;

async function statementOf(program: Pick<TestProgram, "api">, id: string, query = ""): Promise<Statement> {
  const { status, body } = await program.api<Statement>("GET", pathOf(id, query));
  expect(status).toBe(200);
  return body;
}

const csvOf = async (program: Pick<TestProgram, "api">, id: string) =>
  (await program.api<string>("GET", pathOf(id, "?format=csv"))).body;

const sumOf = (lines: readonly Line[]) => lines.reduce((sum, { amount_cents }) => sum + amount_cents, 0);

const setTax = (program: Pick<TestProgram, "api">, id: string, data: object = TAX) =>
  program.api<Refused>("PUT", `/api/v1/partners/${id}/tax-data`, data);

const generate = (program: TestProgram) => program.api("POST", "/api/v1/payouts/generate", {});
const markPaid = (program: TestProgram, id: string) => program.api("POST", `/api/v1/payouts/${id}/mark-paid`, {});
const giveBack = (program: TestProgram, id: string) =>
  program.api("POST", `/api/v1/payouts/${id}/returned`, { reason: "closed" });

async function expectLaws(): Promise<void> {
  for (const [law, query] of Object.entries(STATEMENT_LAWS)) {
    expect([law, await db.all(sql.raw(query))]).toEqual([law, []]);
  }
}

/** Pending payouts, one for each partner. */
async function withPayouts(count: number, fields: ProgramFields = BILLING, method = "wallet") {
  const program = await makeProgram(fields);
  for (let i = 0; i < count; i++) {
    const partner = await makePartner(program, { payout_method: method, payout_email: `p${i}@wallet.example` });
    await makeCommissions(program, partner.id, [{ amount_cents: 1_000 + i }, { amount_cents: 5 }]);
  }
  await generate(program);
  return { program, ids: (await payoutsOf(program)).map(({ id }) => id) };
}

async function numbersOf(program: TestProgram, ids: readonly string[]) {
  const found = await Promise.all(ids.map((id) => statementOf(program, id)));
  return found.map(({ invoice_number }) => invoice_number);
}

describe("the statement of a payout (OUT-32)", () => {
  it("names payer, payee, dates and lines that add up, and stays when they change", async () => {
    const program = await makeProgram(PAYER);
    const partner = await makePartner(program, { first_name: "Jane", last_name: "Doe" });
    await setTax(program, partner.id);
    await makeCommissions(program, partner.id, [{ amount_cents: 3_000 }, { amount_cents: -500, kind: "clawback" }]);
    await generate(program);
    const [{ id } = { id: "" }] = await payoutsOf(program);
    expect(await statementOf(program, id)).toMatchObject({ status: "pending", payee: { name: "Jane Doe GmbH" } });
    await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, { reference: "bank 1" });
    const paid = await statementOf(program, id);
    expect(paid).toMatchObject({
      ...{ payout_id: id, amount_cents: 2_500, status: "paid", reference: "bank 1", paid_at: expect.any(String) },
      payer: { name: "Shop Ltd", address: "1 High Street\nDublin", country: "IE", tax_id: "IE1234567T" },
      payee: {
        ...{ name: "Jane Doe GmbH", address: "Hauptstr. 1\n10115 Berlin", country: "DE", kind: "business" },
        tax_id: "DE123456789",
      },
      ...{ invoice_number: null, credit_note_number: null, vat: null, next_cursor: null },
    });
    expect(paid.lines.map(({ kind, amount_cents }) => [kind, amount_cents]).toSorted()).toEqual([
      ["clawback", -500],
      ["sale", 3_000],
    ]);
    const file = await csvOf(program, id);
    await setTax(program, partner.id, { ...TAX, legal_name: "Other GmbH", tax_id: null });
    await program.api("PATCH", "/api/v1/programs/me", {
      payer_name: "Other Ltd",
      name: "Other",
      ...{ self_billing: "on" },
    });
    expect(await statementOf(program, id)).toEqual(paid);
    expect(await csvOf(program, id)).toBe(file);
  });

  it("without tax data names the recipient and the program as they were", async () => {
    const program = await makeProgram({ name: "Shop" });
    const partner = await makePartner(program, {
      first_name: "Jane",
      last_name: "Doe",
      payout_method: "bank_transfer",
    });
    await makeCommissions(program, partner.id, [{}]);
    await generate(program);
    const [{ id } = { id: "" }] = await payoutsOf(program);
    await markPaid(program, id);
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { first_name: "Other" });
    await program.api("PATCH", "/api/v1/programs/me", { name: "Other" });
    await setTax(program, partner.id);
    expect(await statementOf(program, id)).toMatchObject({
      payer: { name: "Shop", address: null, country: null, tax_id: null },
      payee: { name: "Jane Doe", address: null, country: null, kind: null, tax_id: null },
    });
    expect(await eventsOf(program, "tax_data.read")).toEqual([]);
  });

  it("of a returned payout has what was paid, and keeps its lines when the commissions merge", async () => {
    const program = await makeProgram(BILLING);
    await makePartner(program, { slug: "ann" });
    await sendA(program, sessionCompleted({ ref: "ann", amount: 10_000, payment_intent: "pi_1" }));
    const [{ id: commission, partner_id } = { id: "", partner_id: "" }] = await commissionsOf(program);
    await program.api("PATCH", `/api/v1/commissions/${commission}`, { status: "approved" });
    await generate(program);
    const [{ id } = { id: "" }] = await payoutsOf(program);
    await markPaid(program, id);
    await sendA(program, chargeRefunded({ payment_intent: "pi_1", amount: 10_000, refunded: 5_000 }));
    // The next payout deducts the clawback, which is merged away when both come back.
    await makeCommissions(program, partner_id, [{ amount_cents: 3_000 }]);
    await generate(program);
    const second = (await payoutsOf(program)).find((one) => one.id !== id)!.id;
    await markPaid(program, second);
    const before = [await statementOf(program, id), await statementOf(program, second)];
    await giveBack(program, second);
    await giveBack(program, id);
    expect((await commissionsOf(program)).filter(({ kind }) => kind === "clawback")).toEqual([]);
    const after = [await statementOf(program, id), await statementOf(program, second)];
    expect(after.map(({ lines }) => lines)).toEqual(before.map(({ lines }) => lines));
    expect(after.map(({ lines, amount_cents }) => [sumOf(lines), amount_cents])).toEqual([
      [2_000, 2_000],
      [2_000, 2_000],
    ]);
    expect(after.map((one) => [one.status, one.invoice_number, one.credit_note_number])).toEqual([
      ["returned", "SB-INV-000001", "SB-CN-000002"],
      ["returned", "SB-INV-000002", "SB-CN-000001"],
    ]);
    await expectLaws();
  });

  it.each(["ISK", "UGX", "JPY", "KWD"])("adds up to the payout in %s", async (currency) => {
    const program = await makeProgram(BILLING);
    const partner = await makePartner(program);
    await makeCommissions(
      program,
      partner.id,
      [1_049, 51, -333, 7].map((amount_cents) => ({ amount_cents, currency })),
    );
    await generate(program);
    const [{ id, amount_cents } = { id: "", amount_cents: 0 }] = await payoutsOf(program);
    await markPaid(program, id);
    const { lines } = await statementOf(program, id);
    expect([lines.length, sumOf(lines), amount_cents]).toEqual([4, 774, 774]);
  });

  it("of a canceled payout has no lines", async () => {
    const { program, ids } = await withPayouts(1);
    await program.api("POST", `/api/v1/payouts/${ids[0]}/cancel`);
    expect(await statementOf(program, ids[0]!)).toMatchObject({ status: "canceled", lines: [], invoice_number: null });
  });

  it("of 2,500 commissions is read in pages, and whole as a file", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const [first] = await makeCommissions(program, partner.id, [{ amount_cents: 1 }]);
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 2499)
        insert into commissions (id, program_id, partner_id, kind, status, flagged, amount_cents, txn_amount_cents, currency,
          created_at, updated_at, rate, review_reasons, dismissed_reasons, seen_at)
        select substr(id, 1, 24) || printf('%06d', i), program_id, partner_id, kind, status, flagged, amount_cents,
          txn_amount_cents, currency, created_at, updated_at, rate, '', '', '' from n, commissions where id = ?`,
    )
      .bind(first!.id)
      .run();
    await generate(program);
    const [{ id, commission_count } = { id: "", commission_count: 0 }] = await payoutsOf(program);
    expect(commission_count).toBe(2_500);
    await markPaid(program, id);
    const owner = await signInOwner(program);
    const own = await signInPartner(partner.email);
    for (const status of ["paid", "returned"]) {
      const seen = new Set<string>();
      for (let cursor: string | null = ""; cursor !== null;) {
        const page: Statement = await statementOf(program, id, cursor === "" ? "" : `?cursor=${cursor}`);
        expect(page).toMatchObject({ status, amount_cents: 2_500 });
        expect(page.lines.length).toBeLessThanOrEqual(1_000);
        for (const { commission_id } of page.lines) seen.add(commission_id);
        cursor = page.next_cursor;
      }
      expect(seen.size).toBe(2_500);
      expect(readCsv(await csvOf(program, id))).toHaveLength(2_501);
      const pages = [await owner.get(`/dashboard/payouts/${id}/statement`)];
      if (status === "returned") pages.push(await own.get(`/portal/payouts/${id}`));
      for (const { body } of pages) expect(textOf(body)).toContain("The first 1,000; the file has all.");
      if (status === "paid") await giveBack(program, id);
    }
  });

  it("masks the payee for a key without the scope payouts, and leaves an event for one with it", async () => {
    const { program, ids } = await withPayouts(1);
    const [{ partner_id } = { partner_id: "" }] = await payoutsOf(program);
    await setTax(program, partner_id);
    await markPaid(program, ids[0]!);
    const key = await newKey(program, ["read"]);
    const masked = await statementOf(key, ids[0]!);
    expect(masked).toMatchObject({
      payee: { name: "Ja****bH", address: "Ha****in", country: "DE", kind: "business", tax_id: "DE****89" },
      payer: { name: "Shop Ltd" },
      vat: { treatment: "reverse_charge" },
    });
    expect(await csvOf(key, ids[0]!)).not.toMatch(/Jane Doe|DE123/);
    expect(await eventsOf(program, "tax_data.read")).toEqual([]);
    expect((await statementOf(program, ids[0]!)).payee).toMatchObject({ name: "Jane Doe GmbH" });
    expect(await eventsOf(program, "tax_data.read")).toMatchObject([{ payload: { partner_id, payout_id: ids[0] } }]);
  });

  it("belongs to its program, and refuses a wrong format or cursor", async () => {
    const { program, ids } = await withPayouts(1);
    const other = await makeProgram();
    for (const query of ["", "?format=csv"]) expect((await other.api("GET", pathOf(ids[0]!, query))).status).toBe(404);
    expect((await program.api("GET", pathOf("pay_unknown"))).status).toBe(404);
    for (const query of ["?format=pdf", "?cursor=x", "?page=2"]) {
      expect([query, (await program.api("GET", pathOf(ids[0]!, query))).status]).toEqual([query, 422]);
    }
  });

  it("defuses formulas in the file", async () => {
    const program = await makeProgram({ ...BILLING, payer_name: "=1+1", payer_tax_id: "+1" });
    const partner = await makePartner(program);
    await setTax(program, partner.id, { ...TAX, legal_name: "@SUM(A1)", tax_id: "-2+3" });
    await makeCommissions(program, partner.id, [{ amount_cents: 2_000 }, { amount_cents: -500, kind: "clawback" }]);
    await generate(program);
    const [{ id } = { id: "" }] = await payoutsOf(program);
    await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, { reference: "=cmd" });
    const [head, ...lines] = readCsv(await csvOf(program, id));
    for (const cells of lines) {
      const row = Object.fromEntries(head!.map((name, i) => [name, cells[i]]));
      expect(row).toMatchObject({
        ...{ reference: "'=cmd", payer_name: "'=1+1", payer_tax_id: "'+1", payee_name: "'@SUM(A1)" },
        ...{ payee_tax_id: "'-2+3", invoice_number: "SB-INV-000001", currency: "USD" },
      });
    }
    expect(lines.map((cells) => cells[head!.indexOf("amount")]).toSorted()).toEqual(["-5.00", "20.00"]);
  });
});

describe("numbers of invoices and credit notes (OUT-34)", () => {
  it("follow each other in the order of the payments, for each program", async () => {
    const [{ program, ids }, other] = [await withPayouts(2), await withPayouts(1)];
    for (const id of ids.toReversed()) await markPaid(program, id);
    await markPaid(other.program, other.ids[0]!);
    expect(await numbersOf(program, ids)).toEqual(["SB-INV-000002", "SB-INV-000001"]);
    expect(await numbersOf(other.program, other.ids)).toEqual(["SB-INV-000001"]);
    await program.api("PATCH", "/api/v1/programs/me", { self_billing_prefix: "" });
    expect(await numbersOf(program, ids)).toEqual(["SB-INV-000002", "SB-INV-000001"]);
    await expectLaws();
  });

  it("have no gap and no double when many payouts are paid at once, one by one and in a file", async () => {
    const { program, ids } = await withPayouts(12);
    const made = await program.api<{ id: string }>("POST", "/api/v1/payouts/exports", {
      ...{ format: "wallet", currency: "USD" },
    });
    const more = await withMore(program, 8);
    const replies = await Promise.all([
      program.api("POST", `/api/v1/payouts/exports/${made.body.id}/paid`),
      ...more.map((id) => markPaid(program, id)),
      ...more.map((id) => markPaid(program, id)),
    ]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 9 }, () => 200),
      ...Array.from({ length: 8 }, () => 409),
    ]);
    const numbers = await numbersOf(program, [...ids, ...more]);
    expect(numbers.toSorted()).toEqual(
      Array.from({ length: 20 }, (_, i) => `SB-INV-0000${String(i + 1).padStart(2, "0")}`),
    );
    // The file pays by the order of the ids.
    expect(numbers.slice(0, 12)).toEqual(numbers.slice(0, 12).toSorted());
    const back = [...ids.slice(0, 6), ...more.slice(0, 2)];
    await Promise.all(back.map((id) => giveBack(program, id)));
    const credited = await Promise.all(back.map((id) => statementOf(program, id)));
    expect(credited.map((one) => one.credit_note_number).toSorted()).toEqual(
      Array.from({ length: 8 }, (_, i) => `SB-CN-00000${i + 1}`),
    );
    await expectLaws();
  });

  async function withMore(program: TestProgram, count: number): Promise<string[]> {
    const known = new Set((await payoutsOf(program)).map(({ id }) => id));
    for (let i = 0; i < count; i++) {
      const partner = await makePartner(program, { payout_method: "bank_transfer" });
      await makeCommissions(program, partner.id, [{}]);
    }
    await generate(program);
    return (await payoutsOf(program)).map(({ id }) => id).filter((id) => !known.has(id));
  }

  it("are used up by no payment that fails", async () => {
    const { program, ids } = await withPayouts(2);
    // The commissions are another's by now, so that the last write of the payment finds too few.
    await db.run(sql`update payouts set commission_count = 3 where id = ${ids[0]}`);
    expect((await markPaid(program, ids[0]!)).status).toBeGreaterThanOrEqual(400);
    await markPaid(program, ids[1]!);
    expect(await numbersOf(program, ids)).toEqual([null, "SB-INV-000001"]);
    await expectLaws();
  });

  it("come with a transfer, with the owner's word about one, and with the vendor's report that it was reversed", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    await program.api("PATCH", "/api/v1/programs/me", BILLING);
    await setSecrets(program.id, { provider_a_webhook_secret: SECRET_A });
    const first = await makePayout(world);
    await payPayout(programContext(program), first.id, clientOf(vendor));
    expect(await numbersOf(program, [first.id])).toEqual(["SB-INV-000001"]);
    playOutside(vendor);
    const [transfer] = vendor.transfers;
    takeBack(transfer!);
    await sendA(program, transferReversed(transfer!));
    expect(await statementOf(program, first.id)).toMatchObject({
      ...{ status: "returned", credit_note_number: "SB-CN-000001" },
    });
    vi.restoreAllMocks();
    const open = await makeOpenPayout(world);
    playOutside(vendor);
    const said = { made: true, reference: "tr_said" };
    expect((await program.api("POST", `/api/v1/payouts/${open.id}/conclude`, said)).status).toBe(200);
    expect(await numbersOf(program, [open.id])).toEqual(["SB-INV-000002"]);
    await expectLaws();
  });

  it("are only of payouts paid while it is on, and a credit note only of an invoice", async () => {
    const { program, ids } = await withPayouts(3, {});
    await markPaid(program, ids[0]!);
    await program.api("PATCH", "/api/v1/programs/me", BILLING);
    await markPaid(program, ids[1]!);
    await program.api("PATCH", "/api/v1/programs/me", { self_billing: "off" });
    await markPaid(program, ids[2]!);
    expect(await numbersOf(program, ids)).toEqual([null, "SB-INV-000001", null]);
    for (const id of ids) await giveBack(program, id);
    const credited = await Promise.all(ids.map((id) => statementOf(program, id)));
    expect(credited.map((one) => one.credit_note_number)).toEqual([null, "SB-CN-000001", null]);
    await expectLaws();
  });

  it("and the rest of a statement are append-only in the database", async () => {
    const { program, ids } = await withPayouts(1);
    await markPaid(program, ids[0]!);
    for (const change of [
      "update payout_statements set invoice_number = 2",
      "update payout_statements set payer = '{}'",
      "delete from payout_statements",
    ]) {
      await expect(env.DB.prepare(change).run()).rejects.toThrow(/append-only/);
    }
    await giveBack(program, ids[0]!);
    await expect(env.DB.prepare("update payout_statements set credit_note_number = 5").run()).rejects.toThrow(/append/);
    await expect(env.DB.prepare("delete from returned_lines").run()).rejects.toThrow(/append-only/);
  });

  it("need the payer's data, by name", async () => {
    const program = await makeProgram();
    const patch = (body: object) => program.api<Refused>("PATCH", "/api/v1/programs/me", body);
    const pathsOf = async (body: object) => {
      const reply = await patch(body);
      return [reply.status, reply.body.error?.details?.map(({ path }) => path)];
    };
    expect(await pathsOf({ self_billing: "on" })).toEqual([422, ["payer_name", "payer_address", "payer_country"]]);
    expect(await pathsOf({ ...BILLING, payer_address: null })).toEqual([422, ["payer_address"]]);
    expect((await patch({ ...BILLING, payer_tax_id: null, payer_country: "ie" })).body).toMatchObject({
      payer_country: "IE",
    });
    expect(await pathsOf({ payer_name: null })).toEqual([422, ["payer_name"]]);
    for (const wrong of [
      ...[{ self_billing: "yes" }, { self_billing_prefix: "=1" }, { self_billing_prefix: "x".repeat(21) }],
      ...[{ payer_name: " " }, { payer_address: "x".repeat(501) }, { payer_country: "Ireland" }],
      ...[{ payer_tax_id: "" }, { require_tax_data: "yes" }],
    ]) {
      expect([wrong, ...(await pathsOf(wrong))]).toEqual([wrong, 422, Object.keys(wrong)]);
    }
    expect((await patch({ self_billing: "off", payer_name: null })).status).toBe(200);
  });
});
