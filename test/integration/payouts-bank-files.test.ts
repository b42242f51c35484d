/** Files of bank transfers: the generic CSV, Wise's and SEPA's (OUT-27). */
import { describe, expect, it } from "vitest";
import {
  DEBTOR,
  downloadFile,
  EXPORTS,
  IBAN_ACCOUNT,
  makeFile,
  rowsOf,
  statusesOf,
  UK_ACCOUNT,
  withBankPayouts,
} from "../support/bank-payouts.ts";
import { readCsv } from "../support/csv.ts";
import { newKey } from "../support/keys.ts";
import type { TestProgram } from "../support/program.ts";

const PROGRAM = "/api/v1/programs/me";

const setDebtor = (program: TestProgram, fields: object) => program.api("PATCH", PROGRAM, fields);

async function withDebtor(...payees: Parameters<typeof withBankPayouts>[0]): Promise<TestProgram> {
  const program = await withBankPayouts(payees);
  await setDebtor(program, DEBTOR);
  return program;
}

/** The amounts of an XML file, in smallest units. */
function amountsIn(xml: string): number[] {
  return [...xml.matchAll(/<InstdAmt Ccy="EUR">(\d+)\.(\d\d)</g)].map(([, whole, part]) => Number(`${whole}${part}`));
}

describe("a file of bank transfers", () => {
  it("is a CSV with every detail, formulas defused (OUT-27)", async () => {
    const program = await withBankPayouts([
      { account: { ...IBAN_ACCOUNT, bic: "BCOMPTPL" }, amount_cents: 123_456 },
      { account: { ...UK_ACCOUNT, account_holder: '=HYPERLINK("x")' } },
      {},
    ]);
    const { body: made } = await makeFile(program);
    const [iban, account, without] = await rowsOf(program);
    expect(made).toMatchObject({ count: 2, left_out: [{ payout_id: without?.id, reason: "details_missing" }] });
    const file = await downloadFile(program, made.id);
    const [head, ...lines] = readCsv(file.body);
    expect(head?.join()).toBe(
      "payout_id,account_holder,country,iban,bic,account_number,bank_code,amount,currency,reference",
    );
    expect(new Set(lines)).toEqual(
      new Set([
        [iban?.id, "Ana Silva", "PT", IBAN_ACCOUNT.iban, "BCOMPTPL", "", "", "1234.56", "EUR", iban?.id],
        [account?.id, `'=HYPERLINK("x")`, "GB", "", "", "31926819", "601613", "10.00", "EUR", account?.id],
      ]),
    );
    expect(file.headers.get("content-disposition")).toBe(`attachment; filename="payouts-EUR-${made.id}.csv"`);
  });

  it("is Wise's, with the columns of the currency (OUT-27)", async () => {
    const program = await withBankPayouts([
      { account: IBAN_ACCOUNT },
      { account: UK_ACCOUNT },
      { account: UK_ACCOUNT, currency: "GBP", amount_cents: 5_000 },
      { account: IBAN_ACCOUNT, currency: "USD" },
    ]);
    const [first, second, third] = await rowsOf(program);
    const { body: euros } = await makeFile(program, "wise");
    expect(euros).toMatchObject({ count: 1, left_out: [{ payout_id: second?.id, reason: "not_in_format" }] });
    const columns = ["name", "recipientEmail", "paymentReference", "receiverType"];
    columns.push("amountCurrency", "amount", "sourceCurrency", "targetCurrency");
    expect(readCsv((await downloadFile(program, euros.id)).body)).toEqual([
      [...columns, "IBAN"],
      ["Ana Silva", "", first?.id, "PERSON", "target", "10.00", "EUR", "EUR", IBAN_ACCOUNT.iban],
    ]);
    const { body: pounds } = await makeFile(program, "wise", "GBP");
    const reference = third?.id.slice(-18);
    expect(readCsv((await downloadFile(program, pounds.id)).body)).toEqual([
      [...columns, "sortCode", "accountNumber"],
      ["Jo Smith", "", reference, "PERSON", "target", "50.00", "GBP", "GBP", "601613", "31926819"],
    ]);
    expect(await makeFile(program, "wise", "USD")).toMatchObject({
      ...{ status: 422, body: { error: { details: [{ path: "currency" }] } } },
    });
  });

  it("is SEPA's, with counts and sums of what is in it, the same each time (OUT-27)", async () => {
    const program = await withDebtor(
      { account: IBAN_ACCOUNT, amount_cents: 1 + 12_345 },
      { account: UK_ACCOUNT },
      { account: { ...IBAN_ACCOUNT, account_holder: "Zoë <b> & Co" }, amount_cents: 700 },
      { account: { ...IBAN_ACCOUNT, account_holder: "山田" } },
    );
    const { body: made } = await makeFile(program, "sepa");
    expect(made).toMatchObject({ count: 2, amount_cents: 13_046 });
    expect(made.left_out.map(({ reason }) => reason)).toEqual(["not_in_format", "not_in_format"]);
    const { body: xml, headers } = await downloadFile(program, made.id);
    expect(headers.get("content-type")).toContain("application/xml");
    expect(headers.get("content-disposition")).toContain(`${made.id}.xml`);
    expect(new Set(amountsIn(xml))).toEqual(new Set([12_346, 700]));
    expect(xml.match(/<NbOfTxs>2<\/NbOfTxs><CtrlSum>130\.46<\/CtrlSum>/g)).toHaveLength(2);
    expect(xml).toContain(`<MsgId>${made.id.replace("_", "-")}</MsgId>`);
    expect(xml).toContain("<Nm>Zoe .b. + Co</Nm>");
    expect(xml).toContain(`<Dbtr><Nm>Example Shop GmbH</Nm></Dbtr><DbtrAcct><Id><IBAN>${DEBTOR.debtor_iban}</IBAN>`);
    // A later change of the settings is in the next file.
    await setDebtor(program, { debtor_name: "Another GmbH", debtor_iban: "GB33BUKB20201555555555", debtor_bic: null });
    expect((await downloadFile(program, made.id)).body).toBe(xml);
  });

  it("names what a SEPA file lacks: a setting, or euros (OUT-27)", async () => {
    const program = await withBankPayouts([{ account: IBAN_ACCOUNT }, { account: IBAN_ACCOUNT, currency: "USD" }]);
    const pathsOf = async (currency = "EUR") => {
      const { status, body } = await program.api<{ error: { details: { path: string }[] } }>("POST", EXPORTS, {
        ...{ format: "sepa", currency },
      });
      return [status, status === 201 ? [] : body.error.details.map(({ path }) => path)];
    };
    expect(await pathsOf("USD")).toEqual([422, ["currency"]]);
    expect(await pathsOf()).toEqual([422, ["debtor_name", "debtor_iban"]]);
    await setDebtor(program, { debtor_name: DEBTOR.debtor_name });
    expect(await pathsOf()).toEqual([422, ["debtor_iban"]]);
    expect(await statusesOf(program)).toEqual({ pending: 2 });
    await setDebtor(program, { debtor_iban: DEBTOR.debtor_iban });
    expect(await pathsOf()).toEqual([201, []]);
  });

  it("has a payout in one open file at most, of whatever format (OUT-22)", async () => {
    const program = await withDebtor(...Array.from({ length: 3 }, () => ({ account: IBAN_ACCOUNT })));
    const formats = ["bank", "sepa", "wise", "sepa", "bank"];
    const made = await Promise.all(formats.map((format) => makeFile(program, format)));
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409]);
    expect(await statusesOf(program)).toEqual({ processing: 3 });
    expect((await makeFile(program, "wallet")).status).toBe(409);
  });
});

describe("the debtor's settings", () => {
  const debtorOf = async (program: TestProgram) => (await program.api<typeof DEBTOR>("GET", PROGRAM)).body.debtor_iban;

  it("are checked, sealed, and masked in replies and the audit log (OUT-27)", async () => {
    const program = await withDebtor();
    const masked = "DE** **** **** **** **30 00";
    expect(await debtorOf(program)).toBe(masked);
    for (const [fields, path] of [
      [{ debtor_iban: "DE89370400440532013001" }, "debtor_iban"],
      [{ debtor_iban: "DE** **** **** **** **99 99" }, "debtor_iban"],
      [{ debtor_bic: "COBA" }, "debtor_bic"],
      [{ debtor_name: "山田" }, "debtor_name"],
    ] as const) {
      expect(await setDebtor(program, fields)).toMatchObject({ status: 422, body: { error: { details: [{ path }] } } });
    }
    const countOf = async () =>
      (await program.api<{ data: unknown[] }>("GET", "/api/v1/events?type=program.updated")).body;
    const before = await countOf();
    // The masked text, and the same IBAN in another form, are no change.
    for (const debtor_iban of [masked, masked.replaceAll(" ", ""), " de89 3704 0044 0532 0130 00 "]) {
      expect((await setDebtor(program, { debtor_iban })).status).toBe(200);
    }
    expect(await countOf()).toEqual(before);
    expect(JSON.stringify(before)).not.toContain(DEBTOR.debtor_iban);
    await setDebtor(program, { debtor_iban: "GB33BUKB20201555555555" });
    const { data } = (await countOf()) as { data: { changes: object }[] };
    expect(data[0]?.changes).toMatchObject({ debtor_iban: [masked, "GB** **** **** **** **55 55"] });
    await setDebtor(program, { debtor_iban: null });
    expect(await debtorOf(program)).toBeNull();
  });

  it("do not show the IBAN to a key that reads", async () => {
    const program = await withDebtor();
    const reader = await newKey(program, ["read"]);
    expect(JSON.stringify((await reader.api("GET", PROGRAM)).body)).not.toContain(DEBTOR.debtor_iban);
  });
});
