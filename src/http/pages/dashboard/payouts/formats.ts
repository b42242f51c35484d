import type { Program } from "../../../../core/kernel/rows.ts";
import { FORMATS } from "../../../../core/payouts/file-formats.ts";
import { WALLET_SERVICE, type PayoutMethod } from "../../../../domain/partner.ts";
import { FILE_FORMATS, type FileFormat } from "../../../../domain/payout-export.ts";
import { capitalized } from "../../parts/figures.tsx";

const TITLES: Readonly<Record<string, string>> = { wallet: WALLET_SERVICE, sepa: "SEPA", bank: "CSV" };

/** The name of a file's format for people. */
export function formatText(format: string): string {
  return TITLES[format] ?? capitalized(format);
}

/** The formats of files that pay payouts of a method in a currency. */
export function formatsOf({ method, currency }: { method: PayoutMethod | null; currency: string }): FileFormat[] {
  return FILE_FORMATS.filter((format) => {
    const { method: own, currencies } = FORMATS[format];
    return own === method && (currencies?.includes(currency) ?? true);
  });
}

/** Those of them that the program can make: a file that names the account that pays needs its settings (OUT-27). */
export function offeredFormats(group: Parameters<typeof formatsOf>[0], program: Program): FileFormat[] {
  const hasDebtor = program.debtor_name !== null && program.debtor_iban !== null;
  return formatsOf(group).filter((format) => hasDebtor || !FORMATS[format].needs_debtor);
}

/** "Stripe file, USD": a file's format and currency. */
export function fileText({ format, currency }: { format: FileFormat; currency: string }): string {
  return `${formatText(format)}, ${currency}`;
}
