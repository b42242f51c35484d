/** The list of providers is refused where two of them clash. */
import { describe, expect, it } from "vitest";
import type { Provider, ProviderCustomers } from "../../src/providers/provider.ts";
import { PROVIDERS, registered } from "../../src/providers/registry.ts";
import { providerExample } from "../support/example-provider.ts";

/** The example with other customers, or another name. */
function example(customers: Partial<ProviderCustomers>, name: Provider["name"] = "provider_example"): Provider {
  return { ...providerExample, name, customers: { ...providerExample.customers, ...customers } };
}

const { secrets } = providerExample;
const withKey: Provider = { ...providerExample, secrets: { ...secrets, api_key: secrets.webhook_secret } };

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
    ["an API key that nothing uses", withKey, "no other API key is used"],
    ["ids without a beginning", example({ id_prefix: "", id_pattern: /^[0-9]+$/ }), "customer ids begin alike"],
  ])("refuses %s", (_, provider, message) => {
    expect(() => registered([...PROVIDERS, provider])).toThrow(message);
  });
});

/** The provider's event of the OpenAPI document, as one of another type. */
function exampleOf({ document }: Provider, type: string): unknown {
  return JSON.parse(JSON.stringify(document.example), (key, value: unknown) =>
    /^(event_)?type$/.test(key) ? type : value,
  );
}

const UNREAD = { ok: true, event: { facts: [], ignored: "unhandled_type" } };

describe.each([...PROVIDERS, providerExample].map((provider: Provider) => [provider.name, provider] as const))(
  "what an owner is asked to select at %s",
  (_, provider) => {
    it("is read", () => {
      const { needed, better } = provider.wanted_events;
      for (const { type } of [...needed, ...better]) {
        expect([type, provider.parse(exampleOf(provider, type))]).not.toMatchObject([type, UNREAD]);
      }
      expect(provider.parse(exampleOf(provider, "none.such"))).toMatchObject(UNREAD);
    });
  },
);
