import { emailKey } from "../../domain/email.ts";
import type { CarriedRef, KeptBy, PaymentLine } from "../../domain/fact.ts";
import type {
  Fact,
  ProviderEvent,
  Report,
  ReportedCustomer,
  ReportedFacts,
  ReportedItem,
  ReportKind,
} from "../provider.ts";
import { attributionsOf, carriedRefs } from "../wire.ts";

/** Reports are not repeated, so no reference is stored by an object. */
export const KEPT_BY: KeptBy = new Map();

/** The facts of each kind, equal to those of a vendor's event with the same content. */
const FACTS: { [K in ReportKind]: (report: ReportedFacts[K], occurred_at: string, currency: string) => Fact[] } = {
  lead: ({ external_id, ref, customer }, occurred_at, currency) => [
    ...bindById(ref, customer, occurred_at),
    ...bindByAddress(ref, customer, occurred_at),
    ...addressOf(customer, occurred_at),
    leadOf(external_id, { ref, customer, occurred_at, currency }),
  ],
  sale({ external_id, ref, customer, amount_cents, currency, items }, occurred_at) {
    const refs: CarriedRef[] = carriedRefs(["metadata", ref]);
    return [
      {
        kind: "payment",
        occurred_at,
        key: external_id,
        source: "transaction",
        aliases: [external_id],
        paid: true,
        currency,
        base_cents: amount_cents,
        gross_cents: amount_cents,
        ref: refs[0]?.ref ?? null,
        refs,
        customer_email: customer.email,
        customer_id: customer.id,
        subscription_id: null,
        ...(items === null ? {} : { lines: items.map(lineOf) }),
      },
      ...attributionsOf(
        refs,
        { subscription_id: null, customer_id: customer.id, payment: [external_id] },
        occurred_at,
        KEPT_BY,
      ),
    ];
  },
  refund: ({ external_id, sale_external_id, amount_cents }, occurred_at) => [
    {
      kind: "adjustment",
      occurred_at,
      adjustment_id: external_id,
      aliases: [sale_external_id],
      mode: "single",
      amount_cents,
      net_of_tax: true,
      direction: "deduct",
      reversal: "never",
      stage: 0,
      effective: true,
    },
  ],
};

function lineOf({ product_id, amount_cents }: ReportedItem): PaymentLine {
  return { products: [product_id], amount_cents };
}

/** The event of a report: its id consists of the kind and the owner's id, so the same report is the same event. */
export function eventOf(report: Report, occurred_at: string, currency: string): ProviderEvent {
  const factsOf = FACTS[report.kind] as (report: Report, occurred_at: string, currency: string) => Fact[];
  return {
    event_id: `${report.kind}:${report.external_id}`,
    event_type: report.kind,
    occurred_at,
    test: false,
    facts: factsOf(report, occurred_at, currency),
    ignored: null,
  };
}

interface Lead extends Pick<ReportedFacts["lead"], "ref" | "customer"> {
  occurred_at: string;
  currency: string;
}

/** A lead as flows see it; no sale can have such an id. */
function leadOf(external_id: string, { ref, customer, occurred_at, currency }: Lead): Fact {
  const key = `lead#${external_id}`;
  const refs = carriedRefs(["metadata", ref]);
  return {
    ...{ kind: "lead", occurred_at, key, aliases: [key], currency, ref: refs[0]?.ref ?? null, refs },
    ...{ customer_email: customer.email, customer_id: customer.id },
  };
}

/** Binds the payer with this id, for payments of every provider. */
function bindById(ref: string, { id }: ReportedCustomer, occurred_at: string): Fact[] {
  const whose = { subscription_id: null, customer_id: id, payment: null };
  const bound = attributionsOf(carriedRefs(["metadata", ref]), whose, occurred_at, KEPT_BY);
  return bound.map((fact) => ({ ...fact, any_provider: true }));
}

/** Binds the payer's address apart from the id, whose binding outlives the address's erasure. */
function bindByAddress(ref: string, { email }: ReportedCustomer, occurred_at: string): Fact[] {
  if (email === null) return [];
  return [
    {
      kind: "attribution",
      occurred_at,
      ref,
      subscription_id: null,
      customer_id: null,
      customer_email: emailKey(email),
      any_provider: true,
    },
  ];
}

/** The id's address, for payments that name only the id, and for an erasure by address. */
function addressOf({ id, email }: ReportedCustomer, occurred_at: string): Fact[] {
  return id === null || email === null ? [] : [{ kind: "customer", occurred_at, customer_id: id, email }];
}
