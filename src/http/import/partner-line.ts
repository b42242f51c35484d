import type { GivenCode, PartnerLine } from "../../core/imports/partner-lines.ts";
import { emailKey } from "../../domain/email.ts";
import {
  quoteCell,
  readCodes,
  readPayoutMethod,
  readPercentage,
  readStatus,
  splitName,
  splitPromotionCodes,
  type CellReading,
} from "../../domain/import-cell.ts";
import { tidyIban } from "../../domain/iban.ts";
import { FIELDS_OF, readDetails, type BankDetails } from "../../domain/payout-details.ts";
import { importFields, type ImportField } from "./columns.ts";
import { PAYOUT_METHODS, TRANSFER_METHOD, type PayoutMethod } from "../../domain/partner.ts";
import type { ProviderName, VendorName } from "../../domain/provider-name.ts";
import { TRANSFER_SERVICE, VENDOR_NAMES, vendorNamed } from "../../providers/registry.ts";
import { CODE } from "../../resources/code.ts";
import { PARTNER_TEXTS } from "../../resources/partner.ts";
import { partnerCreate } from "../api/partners.ts";
import { parseInput, problemText } from "../pages/forms.ts";
import { unread, type ImportFile, type LineCells, type LineNote, type ReadLine } from "./line.ts";

const partnerLine = partnerCreate.omit({ slug: true, metadata: true });
const payoutEmail = partnerLine.shape.payout_email;
type Input = Partial<Record<keyof PartnerLine["input"], unknown>>;

/**
 * Reads a line of a file of partners. It is refused only if it does not identify its partner: any other unreadable cell
 * is left out, with a note. A payout address without a method means the wallet, the method that has an address.
 */
export function readPartnerLine(file: ImportFile, cells: LineCells): ReadLine<PartnerLine> {
  const { line, cell, columnOf } = cells;
  const notes: LineNote[] = [];
  /** The value of a cell; `otherwise`, with a note, if it cannot be read. */
  const read = <T>(field: ImportField, reading: CellReading<T>, otherwise: T, effect = ""): T => {
    if (reading.ok) return reading.value;
    notes.push(unread(columnOf(field), leftOut(reading.message, effect)));
    return otherwise;
  };
  const input = readInput(cells, notes);
  if (!input.ok) return refused(columnOf("email"), input.message);
  const codes = readLinkCodes(cells, file.params, notes);
  if (!codes.ok) return codes;
  const promotion_codes = read("promotion_codes", readPromotionCodes(cell("promotion_codes"), file.order.provider), []);
  const reading = readStatus(cell("status"), file.statuses);
  const status = read<PartnerLine["status"]>("status", reading, "unread", UNREAD_STATUS);
  const group = cell("group") || null;
  return { ok: true, value: { line, input: input.value, codes: codes.value, promotion_codes, group, status }, notes };
}

const UNREAD_STATUS = "A new partner is invited.";
const UNREAD_RATE = "A new partner earns the program's rate, not one of their own.";

const leftOut = (message: string, effect = "") => `${message} Left out.${effect && ` ${effect}`}`;

/** The partner's details. Those that the schema refuses are left out one by one; without an address there is no partner. */
function readInput({ cell, each, columnOf }: LineCells, notes: LineNote[]): CellReading<PartnerLine["input"]> {
  const texts = Object.fromEntries(PARTNER_TEXTS.map((column) => [column, cell(column) || null]));
  if (!texts["first_name"] && !texts["last_name"]) Object.assign(texts, splitName(cell("name")));
  const payout = payoutAddress(each("payout_email"), notes);
  const method = readPayoutMethod(cell("payout_method"), TRANSFER_WORDS);
  if (!method.ok) {
    const known = `Use one of ${PAYOUT_METHODS.join(", ")}, or a common word for it.`;
    const effect = payout === null ? "" : "The address is used for wallet payouts.";
    notes.push(unread(columnOf("payout_method"), leftOut(`${method.message} ${known}`, effect)));
  }
  const bank = readBank({ cell, columnOf }, notes);
  const rate = readPercentage(cell("commission_pct"));
  if (Number.isNaN(rate)) {
    notes.push(
      unread(
        columnOf("commission_pct"),
        leftOut(`${quoteCell(cell("commission_pct"))} is not a percentage.`, UNREAD_RATE),
      ),
    );
  }
  const input: Input = {
    email: cell("email"),
    ...texts,
    commission_pct: Number.isNaN(rate) ? null : rate,
    payout_method: (method.ok ? method.value : null) ?? (payout === null ? bank && "bank_transfer" : "wallet"),
    payout_email: payout,
  };
  const parsed = parseInput(partnerLine, input);
  if (parsed.ok) return { ok: true, value: { ...parsed.value, bank } };
  const { email, ...others } = parsed.problems.fields;
  if (email !== undefined) return { ok: false, message: email };
  for (const [field, message] of Object.entries(others)) {
    const column = columnOf(field as ImportField) ?? columnOf("name");
    notes.push(unread(column, leftOut(message, field === "commission_pct" ? UNREAD_RATE : "")));
    input[field as keyof Input] = null;
  }
  return { ok: true, value: { ...partnerLine.parse(input), bank } };
}

/**
 * The bank account of a line with an IBAN or an account number. The holder is the partner and the country that of the
 * IBAN unless the line has them.
 */
function readBank({ cell, columnOf }: Pick<LineCells, "cell" | "columnOf">, notes: LineNote[]): BankDetails | null {
  const given = Object.fromEntries(BANK_COLUMNS.map((field) => [field, cell(field)]));
  if (!given["iban"] && !given["account_number"]) return null;
  given["account_holder"] ||= [cell("first_name"), cell("last_name")].filter(Boolean).join(" ") || cell("name");
  given["country"] ||= tidyIban(given["iban"] ?? "").slice(0, 2);
  const read = readDetails({ method: "bank_transfer", ...given });
  if (read.ok && read.value.method === "bank_transfer") return read.value;
  if (read.ok) return null;
  const { path, message } = read.problem;
  const column = columnOf(path as ImportField) ?? columnOf("iban") ?? columnOf("account_number");
  notes.push(unread(column, leftOut(`${path}: ${message}`, "The bank account is left out.")));
  return null;
}

const BANK_COLUMNS = importFields("partners").filter((field) => FIELDS_OF.bank_transfer.some((one) => one === field));

/** The names of the transfer method: that of its service, and that in the API. */
const TRANSFER_WORDS: ReadonlyMap<string, PayoutMethod> = new Map(
  [TRANSFER_SERVICE.toLowerCase(), TRANSFER_METHOD].map((name) => [name, TRANSFER_METHOD]),
);

/** The codes of the partner's links; those in further columns only if the line has no others, and as far as they can be read. */
function readLinkCodes({ each }: LineCells, params: readonly string[], notes: LineNote[]): ReadLine<string[]> {
  const codes = new Map<string, string>();
  for (const { column, text, isFurther } of each("code")) {
    if (text === "" || (isFurther && codes.size > 0)) continue;
    const reading = readCodes(text, params);
    if (reading.ok)
      for (const code of reading.value) codes.set(code.toLowerCase(), codes.get(code.toLowerCase()) ?? code);
    else if (isFurther) notes.push(unread(column, leftOut(reading.message)));
    else return refused(column, reading.message);
  }
  return { ok: true, value: [...codes.values()], notes };
}

/** Each code is of the provider whose name and a colon are before it, else of the file's. */
function readPromotionCodes(cell: string, provider: ProviderName | null): CellReading<GivenCode[]> {
  const parts = splitPromotionCodes(cell);
  if (!parts.ok) return parts;
  const codes: GivenCode[] = [];
  for (const part of parts.value) {
    const [prefix, own] = prefixOf(part);
    const of = prefix ?? (provider && vendorNamed(provider)?.name);
    if (!of) {
      const example = `${VENDOR_NAMES[0]}:${own.slice(0, 60).toWellFormed()}`;
      return { ok: false, message: `Choose the provider of the codes, or write it before each: ${example}.` };
    }
    const code = CODE.code.write.safeParse(own);
    if (!code.success) return { ok: false, message: code.error.issues[0]?.message ?? "This is not a code." };
    codes.push({ provider: of, code: code.data });
  }
  return { ok: true, value: codes };
}

function prefixOf(text: string): [VendorName | null, string] {
  const colon = text.indexOf(":");
  const vendor = vendorNamed(text.slice(0, Math.max(colon, 0)).trim().toLowerCase());
  return vendor ? [vendor.name, text.slice(colon + 1)] : [null, text];
}

/** The payout address: the first column with one in this line. A note names the column if it was a choice. */
function payoutAddress(columns: readonly { column: string; text: string }[], notes: LineNote[]): string | null {
  const given = columns.filter(({ column, text }) => {
    if (text === "") return false;
    const parsed = parseInput(payoutEmail, text);
    if (!parsed.ok) notes.push(unread(column, leftOut(problemText(parsed.problems))));
    return parsed.ok;
  });
  const [taken] = given;
  if (!taken) return null;
  const { column, text } = taken;
  const choose = (message: string) => notes.push({ kind: "choice", of: "payout", column, message });
  const others = given.filter((other) => emailKey(other.text) !== emailKey(text));
  if (others.length > 0) {
    const left = others.map((other) => other.column).join(", ");
    choose(`Payouts go to the address in ${column}, not to that in ${left}.`);
  } else if (columns[0]?.column !== column) choose(`Payouts go to the address in ${column}.`);
  return text;
}

function refused(column: string | null, message: string) {
  return { ok: false, outcome: "refused", column, message } as const;
}
