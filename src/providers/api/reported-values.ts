import { emailKey } from "../../domain/email.ts";
import type { PaymentLine } from "../../domain/fact.ts";
import type { Fact, ReportedValue } from "../provider.ts";

/** Reported values in an event's facts, by field: missing is null, a list JSON; addresses ignore case. */
export function reportedValues(facts: readonly Fact[]): {
  values: ReadonlyMap<string, ReportedValue>;
  personal: readonly string[];
} {
  const values = new Map<string, ReportedValue>();
  // A value from one fact is kept if another fact lacks it.
  const add = (field: string, value: ReportedValue | undefined) =>
    values.set(field, value ?? values.get(field) ?? null);
  for (const fact of facts) {
    add("occurred_at", fact.occurred_at);
    switch (fact.kind) {
      case "payment":
        add("ref", fact.ref);
        add("customer.id", fact.customer_id);
        add("customer.email", keyOf(fact.customer_email));
        add("amount_cents", fact.base_cents);
        add("currency", fact.currency);
        add("items", fact.lines && JSON.stringify(fact.lines.map(itemOf)));
        break;
      case "lead":
      case "attribution":
        add("ref", fact.ref);
        add("customer.id", fact.customer_id);
        add("customer.email", keyOf(fact.customer_email ?? null));
        break;
      case "customer":
        add("customer.email", keyOf(fact.email));
        break;
      case "adjustment":
        add("sale_external_id", fact.aliases[0]);
        add("amount_cents", fact.amount_cents);
        break;
      case "code":
      case "code_use":
      case "cancellation":
      case "link":
      case "elsewhere":
        break;
    }
  }
  return { values, personal: ["ref", "customer.email"] };
}

function itemOf({ products: [product_id], amount_cents }: PaymentLine) {
  return { product_id, amount_cents };
}

function keyOf(email: string | null): string | null {
  return email === null ? null : emailKey(email);
}
