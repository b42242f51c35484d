/** Tax data and the VAT lines of self-billing invoices (OUT-33, OUT-35). */
import { maskText } from "./mask.ts";
import { cents, mulDivHalfUp, percent, subtract, type Cents, type Percent } from "./money.ts";

export const SELF_BILLING = ["off", "on"] as const;
export type SelfBilling = (typeof SELF_BILLING)[number];

export const PAYEE_KINDS = ["business", "private"] as const;
export type PayeeKind = (typeof PAYEE_KINDS)[number];

/** The program as it is named on statements. */
export interface Payer {
  name: string;
  address: string | null;
  /** ISO 3166-1 alpha-2. */
  country: string | null;
  tax_id: string | null;
}

/** A partner's tax data. */
export interface TaxData {
  legal_name: string;
  address: string;
  /** ISO 3166-1 alpha-2. */
  country: string;
  kind: PayeeKind;
  tax_id: string | null;
  /** The VAT that a business charges in its own country; null without VAT. */
  vat_rate: Percent | null;
}

export const TAX_FIELDS = ["legal_name", "address", "country", "kind", "tax_id", "vat_rate"] as const;
export type TaxField = (typeof TAX_FIELDS)[number];

/** The reason why these fields do not go together, or null. */
export function taxDataProblem({ kind, tax_id, vat_rate }: TaxData): { path: TaxField; message: string } | null {
  if (vat_rate === null) return null;
  if (kind === "private") return { path: "vat_rate", message: "Only a business charges VAT." };
  return tax_id === null ? { path: "tax_id", message: "A business that charges VAT has a tax id." } : null;
}

/** The data for callers who do not pay; country, kind and rate stay in clear. */
export function maskTaxData(data: TaxData): TaxData {
  const { legal_name, address, tax_id } = data;
  return {
    ...data,
    ...{ legal_name: maskText(legal_name), address: maskText(address) },
    tax_id: tax_id === null ? null : maskText(tax_id),
  };
}

export const VAT_TREATMENTS = ["reverse_charge", "included"] as const;

/** The VAT of a statement. `net_cents` and `vat_cents` add up to the amount, which is agreed as a total. */
export interface Vat {
  treatment: (typeof VAT_TREATMENTS)[number];
  rate: Percent;
  net_cents: Cents;
  vat_cents: Cents;
  note: string;
}

const NONE = percent(0);
const REVERSE_CHARGE = "Reverse charge: the recipient of the service is liable for the VAT.";
const INCLUDED = "The amount includes the VAT that the supplier charges.";
/** A percentage has at most four decimals. */
const UNITS = 10_000;

/** The VAT that follows from the data alone, which is no tax advice; null if it does not (OUT-35). `amount` is above 0. */
export function vatOf(payer: Payer, payee: TaxData | null, amount: Cents): Vat | null {
  if (payee === null || payee.kind === "private" || payer.country === null) return null;
  if (payer.country === payee.country) {
    if (payee.vat_rate === null) return null;
    const net_cents = mulDivHalfUp(
      ...([amount, cents(100 * UNITS), cents(100 * UNITS + Math.round(payee.vat_rate * UNITS))] as const),
    );
    const vat_cents = subtract(amount, net_cents);
    return { treatment: "included", rate: payee.vat_rate, net_cents, vat_cents, note: INCLUDED };
  }
  const isWithinEu = EU.has(payer.country) && EU.has(payee.country);
  if (!isWithinEu || payer.tax_id === null || payee.tax_id === null) return null;
  return {
    ...{ treatment: "reverse_charge", rate: NONE, net_cents: amount, vat_cents: subtract(amount, amount) },
    note: REVERSE_CHARGE,
  };
}

/** The members of the European Union. */
const EU: ReadonlySet<string> = new Set(
  "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" "),
);

/** `INV-000001` after the prefix; longer numbers have more digits. */
export function documentNumber(series: "INV" | "CN", prefix: string, number: number | null): string | null {
  return number === null ? null : `${prefix}${series}-${String(number).padStart(6, "0")}`;
}
