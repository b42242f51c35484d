import { addressKey, emailKey } from "../../domain/email.ts";
import { slugKey } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { SliceCounter } from "../../lib/slices.ts";

/** The identity of a customer in the ledger: the provider's id or, without one, the `emailKey` of the address. */
export interface CustomerIdentity {
  provider: ProviderName;
  scope: "customer" | "email";
  subject: string;
}

export interface CustomerLine {
  line: number;
  customer: CustomerIdentity;
  /** The customer's address, if the line has it. */
  customer_email: string | null;
  /** The partner, by codes or by the e-mail address or both: each must name the same partner. */
  codes: readonly string[];
  partner_email: string | null;
  /** The reason why the line cannot be read; null if it can. */
  unreadable: { field: CustomerField; message: string } | null;
}

type CustomerField = "customer_id" | "customer_email" | "code" | "partner_email";

/**
 * The result of a line. `new`: the customer is bound to the partner. `known`: it is the partner's already. `kept`: the
 * ledger has another partner for it. `refused`: it cannot be bound.
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

/** The stored partners and customers. */
export interface KnownCustomers {
  /** Partners by the `slugKey` of a current or former code, and by `emailKey`. */
  byCode: ReadonlyMap<string, NamedPartner>;
  byEmail: ReadonlyMap<string, NamedPartner>;
  /** Partners by a customer's or address's `identityKey`, the current one first; and the customer's address. */
  holders: ReadonlyMap<string, readonly string[]>;
  addresses: ReadonlyMap<string, string>;
}

/**
 * Decides the verdict of each line, and the customers to bind. A binding is permanent, so a customer is bound only if
 * the file is clear about it: every code and address in its lines names a partner, always the same, and that partner
 * is not the customer; and no other partner has an address of the customer. The bindings are a function of the set of
 * lines.
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

/** The cost of a line for `SliceCounter`: its codes, and the normal form of its addresses. */
const LINE_WORK = 500;

/** The combined content of a customer's lines. */
interface Customer {
  /** The first line, its partner (null if unknown), and the first line that names another partner. */
  line: number;
  partner_id: string | null;
  differs: number | null;
  /** Every address of the customer, as `addressKey`, and as the `identityKey` of its identity. */
  addresses: Set<string>;
  emails: Set<string>;
}

/** A customer's identities beside its id: addresses of the line and provider or, without an id, its address. */
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

/** Marks a customer id and its address as contradicting if their lines name different partners: the id has priority. */
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
    return not("refused", `Line ${other} contradicts this line about the customer.`);
  }
  if (customer.line !== line.line) return not("refused", `This customer is on line ${customer.line}.`);
  const [holder] = holders.get(identityKey(line.customer)) ?? [];
  if (holder === partner.id) return { line: line.line, verdict: "known" };
  // If several partners have an address, the program's setting decides between them, and it may change.
  const isHeld = [...customer.emails].some((email) => holders.get(email)?.some((id) => id !== partner.id));
  if (holder !== undefined || isHeld) return not("kept", "This customer already belongs to another partner.");
  const isPartner = [partner.email, partner.payout_email].some(
    (own) => own !== null && customer.addresses.has(addressKey(own)),
  );
  return isPartner ? not("refused", "This customer is the partner.") : { line: line.line, verdict: "new" };
}

type PartnerOfLine = NamedPartner | { field: CustomerField; message: string };

/** The one partner that all codes and addresses of the line name. */
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
  if (!first) return { field: "code", message: "It does not name a partner." };
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
