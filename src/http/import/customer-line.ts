import type { CustomerIdentity, CustomerLine } from "../../core/customer-import.ts";
import { emailKey } from "../../domain/email.ts";
import { isReferred, readCodes } from "../../domain/import-cell.ts";
import type { ImportField } from "../../domain/import-columns.ts";
import { PROVIDER_WITH_EMAIL, providerOfCustomer } from "../../providers/customer-id.ts";
import type { CellOf, ImportFile, ReadLine } from "./file.ts";

/** A line of a file of referred customers. One that names no customer, or nobody who referred it, is left out. */
export function readCustomerLine(file: ImportFile, line: number, cell: CellOf): ReadLine<CustomerLine> {
  const status = cell("status");
  if (!isReferred(status)) return leftOut("status", "The referral does not count in this state.");
  if (cell("customer_id") === "" && cell("customer_email") === "") return leftOut(null, "It names no customer.");
  if (cell("code") === "" && cell("partner_email") === "") return leftOut(null, "It names no partner.");
  const customer = customerOf(file, cell);
  if (!customer.ok) return customer;
  const codes = readCodes(cell("code"), file.params);
  if (!codes.ok) return refused("code", codes.message);
  const partner_email = cell("partner_email") || null;
  return { ok: true, value: { line, customer: customer.value, codes: codes.value, partner_email } };
}

/** The provider's id where there is one, for an address may change; else the address. */
function customerOf({ order }: ImportFile, cell: CellOf): ReadLine<CustomerIdentity> {
  const [id, email] = [cell("customer_id"), cell("customer_email")];
  const provider = /^[\x21-\x7e]{1,255}$/.test(id) ? (order.provider ?? providerOfCustomer(id)) : null;
  if (provider !== null) return { ok: true, value: { provider, scope: "customer", subject: id } };
  if (email === "") {
    return refused("customer_id", "This is not a provider's customer id, which begins with cus_ (A) or ctm_ (B).");
  }
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 320) {
    return refused("customer_email", "This must be an e-mail address.");
  }
  if (order.provider !== null && order.provider !== PROVIDER_WITH_EMAIL) {
    return refused("customer_email", "Provider B tells no e-mail addresses: give its customer id.");
  }
  return { ok: true, value: { provider: PROVIDER_WITH_EMAIL, scope: "email", subject: emailKey(email) } };
}

function leftOut(field: ImportField | null, message: string): ReadLine<never> {
  return { ok: false, outcome: "left_out", field, message };
}

function refused(field: ImportField, message: string): ReadLine<never> {
  return { ok: false, outcome: "refused", field, message };
}
