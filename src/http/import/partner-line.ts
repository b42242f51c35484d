import type { GivenCode, PartnerLine } from "../../core/imports/partner-lines.ts";
import { emailKey } from "../../domain/email.ts";
import {
  readCodes,
  readPercentage,
  readStatus,
  splitName,
  splitPromotionCodes,
  type CellReading,
} from "../../domain/import-cell.ts";
import type { ImportField } from "../../domain/import-columns.ts";
import { PAYOUT_METHODS } from "../../domain/partner.ts";
import type { ProviderName, VendorName } from "../../domain/provider-name.ts";
import { VENDOR_NAMES, vendorNamed } from "../../providers/registry.ts";
import { codeText } from "../api/codes.ts";
import { partnerCreate } from "../api/partners.ts";
import { parseInput } from "../pages/forms.ts";
import type { ImportFile, LineCells, LineNote, ReadLine } from "./line.ts";

const partnerLine = partnerCreate.omit({ slug: true, metadata: true });

/** A line of a file of partners. An address to be paid at without a method means the wallet, which is what takes one. */
export function readPartnerLine(file: ImportFile, { line, cell, each }: LineCells): ReadLine<PartnerLine> {
  const named = splitName(cell("name"));
  const hasOwnNames = cell("first_name") !== "" || cell("last_name") !== "";
  const payout = payoutAddress(each("payout_email"));
  const input: Record<keyof PartnerLine["input"], unknown> = {
    email: cell("email"),
    first_name: hasOwnNames ? cell("first_name") || null : named.first_name,
    last_name: hasOwnNames ? cell("last_name") || null : named.last_name,
    commission_pct: readPercentage(cell("commission_pct")),
    payout_method: cell("payout_method").toLowerCase() || (payout ? "wallet" : null),
    payout_email: payout?.text ?? null,
  };
  const parsed = parseInput(partnerLine, input);
  if (!parsed.ok) {
    const [[field, message] = ["", parsed.problems.message]] = Object.entries(parsed.problems.fields);
    if (field === "payout_email" && payout) return { ...refused(field, message), column: payout.column };
    return refused(
      field as ImportField,
      field === "payout_method" ? `This is one of ${PAYOUT_METHODS.join(", ")}.` : message,
    );
  }
  const codes = readCodes(cell("code"), file.params);
  if (!codes.ok) return refused("code", codes.message);
  const promotion_codes = readPromotionCodes(cell("promotion_codes"), file.order.provider);
  if (!promotion_codes.ok) return refused("promotion_codes", promotion_codes.message);
  const status = readStatus(cell("status"), file.statuses, file.order.status);
  if (!status.ok) return refused("status", status.message);
  const given = cell("status") === "" ? null : status.value;
  const carried = { codes: codes.value, promotion_codes: promotion_codes.value };
  const value = { line, input: parsed.value, ...carried, status: given };
  return { ok: true, value, ...(payout?.note ? { note: payout.note } : {}) };
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
      return { ok: false, message: `Write whose code it is before it: ${VENDOR_NAMES[0]}:${own.slice(0, 60)}.` };
    }
    const code = codeText.safeParse(own);
    if (!code.success) return { ok: false, message: code.error.issues[0]?.message ?? "This is no code." };
    codes.push({ provider: of, code: code.data });
  }
  return { ok: true, value: codes };
}

function prefixOf(text: string): [VendorName | null, string] {
  const colon = text.indexOf(":");
  const vendor = vendorNamed(text.slice(0, Math.max(colon, 0)).trim().toLowerCase());
  return vendor ? [vendor.name, text.slice(colon + 1)] : [null, text];
}

/**
 * The address to be paid at: of several columns the first that has one in this line. Where that was a choice, the note
 * says which was taken.
 */
function payoutAddress(columns: readonly { column: string; text: string }[]) {
  const given = columns.filter(({ text }) => text !== "");
  const [taken] = given;
  if (!taken) return null;
  const { column, text } = taken;
  const others = given.filter((other) => emailKey(other.text) !== emailKey(text));
  const note = (message: string): LineNote => ({ of: "payout", column, message });
  if (others.length > 0) {
    const left = others.map((other) => other.column).join(", ");
    return { column, text, note: note(`Payouts go to the address in ${column}, not to that in ${left}.`) };
  }
  const isFirst = columns[0]?.column === column;
  return { column, text, note: isFirst ? null : note(`Payouts go to the address in ${column}.`) };
}

function refused(field: ImportField, message: string) {
  return { ok: false, outcome: "refused", field, message } as const;
}
