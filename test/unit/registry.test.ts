/** The list of providers is refused where two of them clash. */
import { describe, expect, it } from "vitest";
import type { Provider, ProviderCustomers } from "../../src/providers/provider.ts";
import { PROVIDERS, registered } from "../../src/providers/registry.ts";
import { providerExample } from "../support/example-provider.ts";

/** The example with other customers, or another name. */
function example(customers: Partial<ProviderCustomers>, name: Provider["name"] = "provider_example"): Provider {
  return { ...providerExample, name, customers: { ...providerExample.customers, ...customers } };
}

describe("the list of providers", () => {
  it("is in the order of their names", () => {
    const names = registered([...PROVIDERS, example({}, "provider_0")]).map(({ name }) => name);
    expect(names).toEqual(["provider_0", ...PROVIDERS.map(({ name }) => name)]);
  });

  it.each<[string, Provider, string]>([
    ["a name that is taken", example({}, PROVIDERS[0]!.name), "two providers have the name"],
    ["a second with the customer's address", example({ has_email: true }), "one provider at most has the customer's"],
    ["ids that begin as another's", example({ id_prefix: "cus_", id_pattern: /^cus_x/ }), "customer ids begin alike"],
    ["ids that another's begin with", example({ id_prefix: "cu", id_pattern: /^cu/ }), "customer ids begin alike"],
    ["ids that may begin otherwise", example({ id_pattern: /example_/ }), 'does not begin with "example_"'],
    ["ids without a beginning", example({ id_prefix: "", id_pattern: /^[0-9]+$/ }), "customer ids begin alike"],
  ])("refuses %s", (_, provider, message) => {
    expect(() => registered([...PROVIDERS, provider])).toThrow(message);
  });
});
