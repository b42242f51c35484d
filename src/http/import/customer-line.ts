import type { CustomerIdentity, CustomerLine } from "../../core/imports/customer-lines.ts";
import { emailKey, LONGEST_ADDRESS } from "../../domain/email.ts";
import { isReferred, quoteCell, readCodes } from "../../domain/import-cell.ts";
import { unread, type ImportFile, type ImportOrder, type LineCells, type ReadLine } from "./line.ts";
import type { Provider } from "../../providers/provider.ts";
import {
  providerName,
  providerNamed,
  providerOfCustomer,
  VENDOR_WITH_EMAIL,
  VENDORS,
} from "../../providers/registry.ts";
import { ownId } from "../api/facts.ts";

/**
 * Reads a line of a file of referred customers. A line without a customer or a referring partner is left out. If only
 * the partner cannot be read, core still receives the customer, because other lines of the same customer are then in
 * doubt.
 */
export function readCustomerLine(file: ImportFile, cells: LineCells): ReadLine<CustomerLine> {
  const { line, cell, each, columnOf } = cells;
  const status = cell("status");
  if (!isReferred(status)) return leftOut(columnOf("status"), "The referral does not count in this state.");
  if (cell("customer_id") === "" && cell("customer_email") === "") return leftOut(null, "It does not name a customer.");
  if (cell("code") === "" && cell("partner_email") === "") return leftOut(null, "It does not name a partner.");
  const customer = customerOf(file.order, cells);
  if (!customer.ok) return customer;
  const { notes } = customer;
  const customer_email = addressOrNull(cell("customer_email"));
  if (customer_email === null && cell("customer_email") !== "") {
    notes.push(unread(columnOf("customer_email"), `${NO_ADDRESS} Left out.`));
  }
  const value = { line, customer: customer.value, customer_email, codes: [], partner_email: null, unreadable: null };
  const codes = readCodes(
    each("code")
      .map(({ text }) => text)
      .join("\n"),
    file.params,
  );
  if (!codes.ok) return { ok: true, value: { ...value, unreadable: { field: "code", message: codes.message } }, notes };
  const partner_email = addressOrNull(cell("partner_email"));
  if (partner_email === null && cell("partner_email") !== "") {
    return { ok: true, value: { ...value, unreadable: { field: "partner_email", message: NO_ADDRESS } }, notes };
  }
  return { ok: true, value: { ...value, codes: codes.value, partner_email }, notes };
}

/** Whether the id has the form of the named vendor's customer ids, or of any vendor's if the file does not name one. */
export function hasExpectedForm({ provider }: Pick<ImportOrder, "provider">, id: string): boolean {
  const own = providerOfCustomer(id);
  return own !== null && (provider === null || own === provider);
}

/**
 * The provider's id, as an address may change; else the address. An id of another form is the owner's own number, which
 * payments lack.
 */
function customerOf(order: ImportOrder, { cell, each, columnOf }: LineCells): ReadLine<CustomerIdentity> {
  const ids = each("customer_id").filter(({ text }) => text !== "");
  const expected = ids.filter(({ text }) => hasExpectedForm(order, text));
  const other = expected.find(({ text }) => text !== expected[0]?.text);
  if (other) return refused(other.column, `This line has another customer id, ${quoteCell(expected[0]?.text ?? "")}.`);
  const { text: id = "", column = columnOf("customer_id") } = expected[0] ?? ids[0] ?? {};
  const email = cell("customer_email");
  const own = providerOfCustomer(id);
  const named = order.provider === null ? undefined : providerNamed(order.provider);
  if (own !== null && named?.reported_by === "webhook" && own !== named.name) {
    return refused(column, "This is an id of another provider.");
  }
  const provider = named?.reported_by !== "owner" ? own : named.id_pattern.test(id) ? named.name : null;
  if (provider !== null) return { ok: true, value: { provider, scope: "customer", subject: id }, notes: [] };
  const payer = named ?? VENDOR_WITH_EMAIL;
  const hasAddresses = payer !== undefined && (payer.reported_by === "owner" || payer.customers.has_email);
  if (id !== "" && (email === "" || !hasAddresses)) return refused(column, wrongForm(named, id));
  const address = addressOrNull(email);
  if (address === null) return refused(columnOf("customer_email"), NO_ADDRESS);
  if (!hasAddresses) {
    const whose = payer ? providerName(payer.name) : "any provider";
    return refused(columnOf("customer_email"), `Payments of ${whose} have no e-mail address: use the customer's id.`);
  }
  const notes =
    id === "" ? [] : [unread(column, `${wrongForm(named, id)} The customer is identified by the e-mail address.`)];
  return { ok: true, value: { provider: payer.name, scope: "email", subject: emailKey(address) }, notes };
}

function wrongForm(named: Provider | undefined, id: string): string {
  if (!named) return `This is not a provider's customer id, which begins with ${PREFIXES}.`;
  if (named.reported_by === "owner") return ownId.safeParse(id).error?.issues[0]?.message ?? "";
  return `This is not a customer id of ${providerName(named.name)}, which begins with ${named.customers.id_prefix}.`;
}

/** `cus_ (Stripe) or ctm_ (Paddle)` */
const PREFIXES = VENDORS.map(({ name, customers }) => `${customers.id_prefix} (${providerName(name)})`).join(" or ");

const NO_ADDRESS = "This must be an e-mail address.";

/** The text, if it can be an address. */
function addressOrNull(text: string): string | null {
  return text.length <= LONGEST_ADDRESS && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(text) ? text : null;
}

function leftOut(column: string | null, message: string): ReadLine<never> {
  return { ok: false, outcome: "left_out", column, message };
}

function refused(column: string | null, message: string): ReadLine<never> {
  return { ok: false, outcome: "refused", column, message };
}
