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
  /** By `identityKey`: the partner who has the customer, and the customer's address. */
  holders: ReadonlyMap<string, string>;
  addresses: ReadonlyMap<string, string>;
}

/**
 * What lines come to: each one's verdict, and which customers to bind. A binding is for good, so a customer is bound only where
 * nothing that the file says of it is in doubt: every code and address in its lines leads to a partner, all to the same
 * one, and that one is not the customer. The bindings are a function of the set of lines.
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
  /** Every address that is the customer's, as `addressKey`. */
  addresses: Set<string>;
}

function note(customers: Map<string, Customer>, line: CustomerLine, partner_id: string | null, known: KnownCustomers) {
  const key = identityKey(line.customer);
  let customer = customers.get(key);
  if (!customer) {
    const own = line.customer.scope === "email" ? line.customer.subject : known.addresses.get(key);
    const addresses = new Set(own === undefined ? [] : [addressKey(own)]);
    customer = { line: line.line, partner_id, differs: null, addresses };
    customers.set(key, customer);
  } else if (customer.partner_id !== partner_id) customer.differs ??= line.line;
  if (line.customer_email !== null) customer.addresses.add(addressKey(line.customer_email));
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
    const other = customer.line === line.line ? customer.differs : customer.line;
    return not("refused", `Line ${other} says something else of this customer.`);
  }
  if (customer.line !== line.line) return not("refused", `This customer is on line ${customer.line}.`);
  const holder = holders.get(identityKey(line.customer));
  if (holder === partner.id) return { line: line.line, verdict: "known" };
  if (holder !== undefined) return not("kept", "This customer is another partner's already.");
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
