import { addressKey, emailKey } from "../../domain/email.ts";
import { slugKey } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { SliceCounter } from "../../lib/slices.ts";

/** By what the ledger knows a customer: the provider's id, or else the `emailKey` of the address. */
export interface CustomerIdentity {
  provider: ProviderName;
  scope: "customer" | "email";
  subject: string;
}

/** A line of a file of customers. */
export interface CustomerLine {
  /** Its number in the file, for people. */
  line: number;
  customer: CustomerIdentity;
  /** The customer's address, where the line has it. */
  customer_email: string | null;
  /** The partner, by codes or by the e-mail address or both: each must name the same one. */
  codes: readonly string[];
  partner_email: string | null;
  /** Why it cannot be read whose customer this is; null where it can. */
  unreadable: { field: CustomerField; message: string } | null;
}

type CustomerField = "customer_id" | "customer_email" | "code" | "partner_email";

/**
 * The result of a line: a customer bound to a partner; nothing, for it is that partner's already; or left, because
 * the ledger knows another partner for it; or why it cannot be.
 */
export type CustomerVerdict = { line: number } & (
  | { verdict: "new" | "known" }
  | { verdict: "kept" | "refused"; field: CustomerField; message: string }
);

export interface Binding {
  line: CustomerLine;
  slug: string;
  partner_id: string;
}

export interface NamedPartner {
  id: string;
  slug: string;
  email: string;
  payout_email: string | null;
}

/** What is there already. */
export interface KnownCustomers {
  /** Partners by `slugKey` of what was or is their code, and by `emailKey`. */
  byCode: ReadonlyMap<string, NamedPartner>;
  byEmail: ReadonlyMap<string, NamedPartner>;
  /** By `identityKey`: whose the customer or the address is, then whose else it was said to be; and the customer's address. */
  holders: ReadonlyMap<string, readonly string[]>;
  addresses: ReadonlyMap<string, string>;
}

/**
 * What lines come to: each one's verdict, and which customers to bind. A binding is for good, so a customer is bound only where
 * nothing that the file says of it is in doubt: every code and address in its lines leads to a partner, all to the same
 * one, and that one is not the customer; and no other partner has an address of the customer. The bindings are a function
 * of the set of lines.
 */
export function* decideCustomerLines(
  lines: readonly CustomerLine[],
  known: KnownCustomers,
): Generator<void, { verdicts: CustomerVerdict[]; bindings: Binding[] }, void> {
  const slice = new SliceCounter();
  const partners: PartnerOfLine[] = [];
  const customers = new Map<string, Customer>();
  for (const line of lines) {
    const partner = partnerOf(line, known);
    partners.push(partner);
    note(customers, line, "id" in partner ? partner.id : null, known);
    if (slice.add(LINE_WORK)) yield;
  }
  compareAddresses(customers);
  const verdicts: CustomerVerdict[] = [];
  const bindings: Binding[] = [];
  for (const [i, line] of lines.entries()) {
    const partner = partners[i]!;
    const verdict = verdictOf(line, partner, customers.get(identityKey(line.customer))!, known);
    verdicts.push(verdict);
    if (verdict.verdict === "new" && "id" in partner) {
      bindings.push({ line, slug: partner.slug, partner_id: partner.id });
    }
    if (slice.add(LINE_WORK)) yield;
  }
  return { verdicts, bindings };
}

/** Of one line, in the measure of `SliceCounter`: its codes, and addresses brought into one form. */
const LINE_WORK = 500;

/** What all lines of one customer say. */
interface Customer {
  /** The first line, the partner it names (null: none that is there), and the first line that names another. */
  line: number;
  partner_id: string | null;
  differs: number | null;
  /** Every address that is the customer's, as `addressKey`, and as an identity by its `identityKey`. */
  addresses: Set<string>;
  emails: Set<string>;
}

/** What else than its id a line and the provider say a customer is known by: its addresses, or its address where it has no id. */
export function addressesOf(
  { customer, customer_email }: CustomerLine,
  known: ReadonlyMap<string, string>,
): CustomerIdentity[] {
  if (customer.scope === "email") return [customer];
  const { provider } = customer;
  return [customer_email, known.get(identityKey(customer))].flatMap((address) =>
    address ? { provider, scope: "email", subject: emailKey(address) } : [],
  );
}

function note(customers: Map<string, Customer>, line: CustomerLine, partner_id: string | null, known: KnownCustomers) {
  const key = identityKey(line.customer);
  let customer = customers.get(key);
  if (!customer) {
    customer = { line: line.line, partner_id, differs: null, addresses: new Set(), emails: new Set() };
    customers.set(key, customer);
  } else if (customer.partner_id !== partner_id) customer.differs ??= line.line;
  for (const address of addressesOf(line, known.addresses)) {
    customer.addresses.add(addressKey(address.subject));
    customer.emails.add(identityKey(address));
  }
}

/** Where lines of an id and of its address name different partners, both are in doubt: at a payment the id goes first. */
function compareAddresses(customers: ReadonlyMap<string, Customer>) {
  const differing = [...customers.values()].flatMap((one) =>
    [...one.emails].flatMap((email) => {
      const other = customers.get(email) ?? one;
      const isSame = one.partner_id === other.partner_id && one.differs === null && other.differs === null;
      return other === one || isSame ? [] : [[one, other] as const];
    }),
  );
  for (const [one, other] of differing) {
    one.differs ??= other.line;
    other.differs ??= one.line;
  }
}

function verdictOf(
  line: CustomerLine,
  partner: PartnerOfLine,
  customer: Customer,
  { holders }: KnownCustomers,
): CustomerVerdict {
  const field = line.customer.scope === "customer" ? "customer_id" : "customer_email";
  const not = (verdict: "kept" | "refused", message: string) => ({ line: line.line, verdict, field, message }) as const;
  if (!("id" in partner)) return { line: line.line, verdict: "refused", ...partner };
  if (customer.differs !== null) {
    const other = customer.differs === line.line ? customer.line : customer.differs;
    return not("refused", `Line ${other} says something else of this customer.`);
  }
  if (customer.line !== line.line) return not("refused", `This customer is on line ${customer.line}.`);
  const [holder] = holders.get(identityKey(line.customer)) ?? [];
  if (holder === partner.id) return { line: line.line, verdict: "known" };
  // Which of several has an address turns on the setting of the program, which may change.
  const isHeld = [...customer.emails].some((email) => holders.get(email)?.some((id) => id !== partner.id));
  if (holder !== undefined || isHeld) return not("kept", "This customer is another partner's already.");
  const isPartner = [partner.email, partner.payout_email].some(
    (own) => own !== null && customer.addresses.has(addressKey(own)),
  );
  return isPartner ? not("refused", "This customer is the partner.") : { line: line.line, verdict: "new" };
}

type PartnerOfLine = NamedPartner | { field: CustomerField; message: string };

/** The one partner that everything in the line names. */
function partnerOf({ codes, partner_email, unreadable }: CustomerLine, known: KnownCustomers): PartnerOfLine {
  if (unreadable) return unreadable;
  const named = [
    ...codes.map((code) => ({ field: "code" as const, name: code, partner: known.byCode.get(slugKey(code)) })),
    ...(partner_email === null
      ? []
      : [
          { field: "partner_email" as const, name: partner_email, partner: known.byEmail.get(emailKey(partner_email)) },
        ]),
  ];
  const [first, ...others] = named;
  if (!first) return { field: "code", message: "It names no partner." };
  const unknown = named.find(({ partner }) => !partner);
  if (unknown || !first.partner) {
    const { field, name } = unknown ?? first;
    const which = named.every(({ partner }) => !partner) ? "such partner" : `partner ${name}`;
    return { field, message: `There is no ${which}. Import the partners first.` };
  }
  const { id } = first.partner;
  if (others.some(({ partner }) => partner?.id !== id)) {
    return { field: first.field, message: "This line names two partners." };
  }
  return first.partner;
}

export function identityKey({ provider, scope, subject }: CustomerIdentity): string {
  return `${provider} ${scope} ${subject}`;
}
