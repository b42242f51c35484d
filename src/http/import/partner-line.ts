import type { PartnerLine } from "../../core/partner-import.ts";
import { readCodes, readPercentage, readStatus, splitName } from "../../domain/import-cell.ts";
import type { ImportField } from "../../domain/import-columns.ts";
import { PAYOUT_METHODS } from "../../domain/partner.ts";
import { partnerCreate } from "../api/partners.ts";
import { judge } from "../pages/forms.ts";
import type { CellOf, ImportFile, ReadLine } from "./file.ts";

const partnerLine = partnerCreate.omit({ slug: true, metadata: true });

/** A line of a file of partners. An address to be paid at without a method means the wallet, which is what takes one. */
export function readPartnerLine(file: ImportFile, line: number, cell: CellOf): ReadLine<PartnerLine> {
  const named = splitName(cell("name"));
  const hasOwnNames = cell("first_name") !== "" || cell("last_name") !== "";
  const payout_email = cell("payout_email") || null;
  const judged = judge(partnerLine, {
    email: cell("email"),
    first_name: hasOwnNames ? cell("first_name") || null : named.first_name,
    last_name: hasOwnNames ? cell("last_name") || null : named.last_name,
    commission_pct: readPercentage(cell("commission_pct")),
    payout_method: cell("payout_method").toLowerCase() || (payout_email === null ? null : "wallet"),
    payout_email,
  });
  if (!judged.ok) {
    const [[field, message] = ["", judged.problems.message]] = Object.entries(judged.problems.fields);
    return refused(
      field as ImportField,
      field === "payout_method" ? `This is one of ${PAYOUT_METHODS.join(", ")}.` : message,
    );
  }
  const codes = readCodes(cell("code"), file.params);
  if (!codes.ok) return refused("code", codes.message);
  const status = readStatus(cell("status"), file.statuses, file.order.status);
  if (!status.ok) return refused("status", status.message);
  return { ok: true, value: { line, input: judged.value, codes: codes.value, status: status.value } };
}

function refused(field: ImportField, message: string): ReadLine<PartnerLine> {
  return { ok: false, outcome: "refused", field, message };
}
