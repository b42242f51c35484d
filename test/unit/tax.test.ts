import { expect, it } from "vitest";
import { cents, percent } from "../../src/domain/money.ts";
import { documentNumber, vatOf, type Payer, type TaxData } from "../../src/domain/tax.ts";

const PAYER: Payer = { name: "Shop", address: "Here", country: "IE", tax_id: "IE1" };
const PAYEE: TaxData = {
  ...{ legal_name: "Jane", address: "There", country: "DE", kind: "business", tax_id: "DE1", vat_rate: percent(19) },
};

/** The VAT of 23.80 as a list. */
function short(payer: Partial<Payer>, payee: Partial<TaxData> | null) {
  const vat = vatOf({ ...PAYER, ...payer }, payee && { ...PAYEE, ...payee }, cents(2_380));
  return vat && [vat.treatment, vat.rate, vat.net_cents, vat.vat_cents];
}

it.each([
  ["businesses of two EU members", {}, {}, ["reverse_charge", 0, 2_380, 0]],
  ["one country, with a rate", { country: "DE" }, {}, ["included", 19, 2_000, 380]],
  ["one country outside the EU, with a rate", { country: "CH" }, { country: "CH" }, ["included", 19, 2_000, 380]],
  ["one country, with a rate of 0", { country: "DE" }, { vat_rate: percent(0) }, ["included", 0, 2_380, 0]],
  ["one country, without a rate", { country: "DE" }, { vat_rate: null }, null],
  ["two EU members, the payer without a tax id", { tax_id: null }, {}, null],
  ["two EU members, the payee without a tax id", {}, { tax_id: null }, null],
  ["an EU member and another country", { country: "GB" }, {}, null],
  ["a private person", {}, { kind: "private" }, null],
  ["a payer without a country", { country: null }, {}, null],
  ["a payee without tax data", {}, null, null],
] as const)("of %s (OUT-35)", (_, payer, payee, expected) => {
  expect(short(payer, payee)).toEqual(expected);
});

it("adds up with the net to the amount, for any rate and amount (OUT-35)", () => {
  for (const rate of [0, 5.5, 7, 8.1, 19, 20, 25.5, 99.9999, 100]) {
    for (const amount of [1, 2, 99, 100, 12_345, 2 ** 51 - 1]) {
      const vat = vatOf({ ...PAYER, country: "DE" }, { ...PAYEE, vat_rate: percent(rate) }, cents(amount))!;
      expect(vat.net_cents + vat.vat_cents).toBe(amount);
      expect([vat.net_cents >= 0, vat.vat_cents >= 0]).toEqual([true, true]);
    }
  }
});

it("has numbers of six digits, and more for larger ones (OUT-34)", () => {
  expect([
    documentNumber("INV", "SB-", 1),
    documentNumber("CN", "", 1_234_567),
    documentNumber("CN", "", null),
  ]).toEqual([...["SB-INV-000001", "CN-1234567", null]]);
});
