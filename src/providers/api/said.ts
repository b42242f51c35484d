import { emailKey } from "../../domain/email.ts";
import type { Fact, Said } from "../provider.ts";

/**
 * The reported values in one event's facts, by field of the request. A missing field is null, a list is its JSON.
 * Addresses are compared ignoring case.
 */
export function saidBy(facts: readonly Fact[]): { said: ReadonlyMap<string, Said>; personal: readonly string[] } {
  const said = new Map<string, Said>();
  // A value from one fact is kept if another fact lacks it.
  const say = (field: string, value: Said | undefined) => said.set(field, value ?? said.get(field) ?? null);
  for (const fact of facts) {
    say("occurred_at", fact.occurred_at);
    switch (fact.kind) {
      case "payment":
        say("ref", fact.ref);
        say("customer.id", fact.customer_id);
        say("customer.email", keyOf(fact.customer_email));
        say("amount_cents", fact.base_cents);
        say("currency", fact.currency);
        say("items", fact.items && JSON.stringify(fact.items));
        break;
      case "lead":
      case "attribution":
        say("ref", fact.ref);
        say("customer.id", fact.customer_id);
        say("customer.email", keyOf(fact.customer_email ?? null));
        break;
      case "customer":
        say("customer.email", keyOf(fact.email));
        break;
      case "adjustment":
        say("sale_external_id", fact.aliases[0]);
        say("amount_cents", fact.amount_cents);
        break;
      case "code":
      case "code_use":
      case "cancellation":
      case "link":
      case "elsewhere":
        break;
    }
  }
  return { said, personal: ["ref", "customer.email"] };
}

function keyOf(email: string | null): string | null {
  return email === null ? null : emailKey(email);
}
