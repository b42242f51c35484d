import * as z from "zod";
import type { TaxDataView } from "../../core/partners/tax-data.ts";
import type { Payee, viewStatement } from "../../core/payouts/statement.ts";
import { COMMISSION_KINDS } from "../../domain/commission.ts";
import { PAYEE_KINDS, VAT_TREATMENTS, type Payer, type Vat } from "../../domain/tax.ts";
import { pick, readShape } from "../../resources/field.ts";
import { percentage } from "../../resources/input.ts";
import { cents, currencyCode, idOf, timestamp } from "../../resources/output.ts";
import { OF_STATEMENT, PAYOUT } from "../../resources/payout.ts";
import { once, shows } from "./fields.ts";

const name = () => z.string().nullable().describe("The name.");
const address = () => z.string().nullable().describe("The address, as given.");
const country = () => z.string().nullable().describe("ISO 3166-1: two letters.");
const kind = () => z.enum(PAYEE_KINDS).nullable().describe("Whether the partner is a business.");
const tax_id = () => z.string().nullable().describe("The VAT or tax number, as given.");

type Statement = ReturnType<typeof viewStatement>;

const vat = once(() =>
  shows<Vat>()({
    treatment: z
      .enum(VAT_TREATMENTS)
      .describe(
        "`reverse_charge`: between businesses of two EU members. `included`: in one country, by the given rate.",
      ),
    rate: percentage.describe("In percent."),
    net_cents: cents.describe("The amount without VAT, in smallest units of the currency."),
    vat_cents: cents.describe("The VAT in the amount, in smallest units of the currency."),
    note: z.string().describe("The sentence on the invoice."),
  }),
);

/** The replies about statements and tax data, by schema name. */
export const statementReplies = once(() => ({
  TaxData: shows<TaxDataView>()({
    partner_id: idOf("partner"),
    legal_name: name(),
    ...{ address: address(), country: country(), kind: kind(), tax_id: tax_id() },
    vat_rate: percentage.nullable().describe("The VAT in percent that it charges in its own country; null: none."),
  }),
  Statement: shows<Statement>()({
    payout_id: idOf("payout"),
    ...pick(readShape(PAYOUT), OF_STATEMENT),
    payer: shows<Payer>()({
      name: z.string().describe("The name."),
      ...{ address: address(), country: country(), tax_id: tax_id() },
    }).describe("Who pays. Fixed when the payout is paid."),
    payee: shows<Payee>()({
      ...{ name: name(), address: address(), country: country(), kind: kind(), tax_id: tax_id() },
    }).describe("Who is paid. Fixed when the payout is paid."),
    invoice_number: z
      .string()
      .nullable()
      .describe("The number of the self-billing invoice; null for a payout that was not paid under `self_billing`."),
    credit_note_number: z
      .string()
      .nullable()
      .describe("The number of the credit note that cancels the invoice of a returned payout."),
    credited_at: timestamp.nullable().describe("When it was canceled."),
    vat: vat().nullable().describe("The VAT of the invoice, by the data given; null if they say nothing about it."),
    lines: z
      .array(
        shows<Statement["lines"][number]>()({
          commission_id: idOf("commission"),
          kind: z.enum(COMMISSION_KINDS).describe("`clawback` is a correction."),
          amount_cents: cents.describe("Negative if it was taken back. Smallest units of the currency."),
          currency: currencyCode,
          created_at: timestamp.describe("When the commission is dated."),
        }),
      )
      .describe(
        "The commissions that the payout holds or has paid: all pages together add up to its amount, or in each currency to that of its `source_amounts`.",
      ),
    next_cursor: z.string().nullable().describe("Send it as `cursor` to get the next lines; null on the last page."),
  }),
}));
