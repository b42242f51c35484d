/** Files of SEPA transfers against the published schema of pain.001.001.09 (OUT-27). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { XmlDocument, XsdValidator } from "libxml2-wasm";
import { cents } from "../../src/domain/money.ts";
import type { BankDetails } from "../../src/domain/payout-details.ts";
import type { Debtor } from "../../src/domain/payout-export.ts";
import { fitsSepa, SEPA_FOOT, sepaHead, sepaTransfer, type SepaTransfer } from "../../src/domain/sepa.ts";
import { sepaName, sepaText } from "../../src/domain/sepa-text.ts";
import { newId } from "../../src/lib/id.ts";

const SCHEMA = readFileSync(new URL("../support/schemas/pain.001.001.09.xsd", import.meta.url), "utf8");

/** The problems of a file according to the schema; a valid one has an empty list. */
function problems(xml: string): string[] {
  using schema = XmlDocument.fromString(SCHEMA);
  using validator = XsdValidator.fromDoc(schema);
  using file = XmlDocument.fromString(xml);
  try {
    validator.validate(file);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

const OWNER: Debtor = { name: "Example Shop GmbH", iban: "DE89370400440532013000", bic: "COBADEFFXXX" };

const ANA: BankDetails = {
  ...{ method: "bank_transfer", account_holder: "Ana Silva", country: "PT", currency: "EUR" },
  iban: "PT50000201231234567890154",
};

function transferOf(to: Partial<BankDetails>, amount_cents = 1_234): SepaTransfer {
  return { id: newId("payout", 1), amount_cents: cents(amount_cents), to: { ...ANA, ...to } };
}

function fileOf(transfers: readonly SepaTransfer[], debtor = OWNER): string {
  const amount_cents = cents(transfers.reduce((sum, one) => sum + one.amount_cents, 0));
  const file = {
    id: newId("export", 1),
    count: transfers.length,
    amount_cents,
    created_at: "2026-11-29T11:06:37.123Z",
  };
  return sepaHead({ ...file, debtor }) + transfers.map(sepaTransfer).join("") + SEPA_FOOT;
}

/** The largest amount of a payout is beyond that of a transfer. */
const AMOUNT = fc.integer({ min: 1, max: 1_000_000_000_000 });
/** As `readDetails` accepts them. */
const HOLDER = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 140 })
  .filter((text) => /^\P{C}{1,140}$/u.test(text));
const DETAILS = fc.record(
  { account_holder: HOLDER, bic: fc.constantFrom("BCOMPTPL", "BCOMPTPLXXX") },
  { requiredKeys: ["account_holder"] },
);

describe("a SEPA file", () => {
  it("is valid by the published schema, whatever names and amounts it has (OUT-27)", () => {
    const debtor = fc.record({
      name: HOLDER.filter((name) => sepaName(name) !== null),
      iban: fc.constant(OWNER.iban),
      bic: fc.option(fc.constant("COBADEFF")),
    });
    const transfers = fc.array(fc.tuple(DETAILS, AMOUNT), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(debtor, transfers, (from, drawn) => {
        const fitting = drawn.map(([to, amount]) => transferOf(to, amount)).filter(fitsSepa);
        fc.pre(fitting.length > 0);
        assert.deepEqual(problems(fileOf(fitting, from)), []);
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 100) },
    );
  });

  it("is refused by the schema where it is wrong: the schema counts", () => {
    const right = fileOf([transferOf({})]);
    assert.deepEqual(problems(right), []);
    for (const [from, to] of [
      ["<PmtMtd>TRF</PmtMtd>", ""],
      ["<IBAN>PT", "<IBAN>PT x"],
      ["<ChrgBr>SLEV", "<ChrgBr>FREE"],
      ['Ccy="EUR"', ""],
      ["12.34<", "12,34<"],
      ["<EndToEndId>", "<EndToEndId>0123456789"],
      ["Ana Silva", "A".repeat(141)],
    ] as const) {
      const wrong = right.replaceAll(from, to);
      assert.notEqual(wrong, right);
      assert.notDeepEqual(problems(wrong), [], `${from} as ${to}`);
    }
  });

  it("has its count and control sum twice, and the payout's id as the end-to-end id (OUT-27)", () => {
    const transfers = [transferOf({}, 1), transferOf({ account_holder: "Müller & Söhne <GmbH>" }, 99_999_999_999)];
    const xml = fileOf(transfers);
    assert.equal(xml.match(/<NbOfTxs>2<\/NbOfTxs><CtrlSum>1000000000\.00<\/CtrlSum>/g)?.length, 2);
    for (const { id } of transfers) assert.match(xml, new RegExp(`<EndToEndId>${id.replace("_", "-")}</EndToEndId>`));
    assert.match(xml, /<Nm>Muller \+ Sohne \.GmbH\.<\/Nm>/);
    assert.match(xml, /<CreDtTm>2026-11-29T11:06:37Z<.*<ReqdExctnDt><Dt>2026-11-29</s);
  });

  it("has only characters that banks take", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.match(sepaText(text), /^[A-Za-z0-9/\-?:().,'+ ]*$/);
        assert.ok((sepaName(text) ?? "").length <= 70);
      }),
    );
    for (const [name, written] of [
      ["Łukasz Żółć", "Lukasz Zolc"],
      ["Γιώργος Παπαδόπουλος", "Giorgos Papadopoylos"],
      ["Щерба Юлия", "Shterba Yuliya"],
      ["Straße & Æther_1", "Strasse + AEther-1"],
      ["  O’Neil\u00A0 –  x ", "O'Neil - x"],
      ["\u{1F600}", null],
      ["山田", null],
    ] as const) {
      assert.equal(sepaName(name), written);
    }
    const right = { amount_cents: cents(100), to: ANA };
    assert.ok(fitsSepa(right));
    assert.ok(!fitsSepa({ ...right, amount_cents: cents(100_000_000_000) }));
    const { iban: _, ...without } = ANA;
    assert.ok(!fitsSepa({ ...right, to: { ...without, account_number: "1234", sort_code: "123456" } }));
  });
});
