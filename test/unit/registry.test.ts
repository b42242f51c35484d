/** The list of providers is refused if two of them clash; the events, settings and claims of each agree. */
import { describe, expect, it } from "vitest";
import type { Fact, Provider, Vendor, ProviderCustomers, ProviderEvent } from "../../src/providers/provider.ts";
import { OWNER_PROVIDER, PROVIDERS, VENDORS, orderAndCheck, type ListedVendor } from "../../src/providers/registry.ts";
import { place } from "../fuzz/place.ts";
import { orderPaid, orderRefunded, providerExample } from "../support/example-provider.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";

/** The example with other customers, or another name. */
function example(customers: Partial<ProviderCustomers>, name: Vendor["name"] = "provider_example"): Vendor {
  return { ...providerExample, name, customers: { ...providerExample.customers, ...customers } };
}

const { secrets } = providerExample;
const withKey: Vendor = { ...providerExample, secrets: { ...secrets, api_key: secrets.webhook_secret } };

describe("the list of providers", () => {
  it("is in the order of their names", () => {
    const names = orderAndCheck([...PROVIDERS, example({}, "provider_0")]).map(({ name }) => name);
    expect(names).toEqual(["api", "provider_0", ...VENDORS.map(({ name }) => name)]);
  });

  it.each<[string, Provider, string]>([
    ["a name that is taken", example({}, VENDORS[0]!.name), "two providers have the name"],
    ["a second with the customer's address", example({ has_email: true }), "one provider at most has the customer's"],
    ["ids that begin as another's", example({ id_prefix: "cus_", id_pattern: /^cus_x/ }), "customer ids begin alike"],
    ["ids that another's begin with", example({ id_prefix: "cu", id_pattern: /^cu/ }), "customer ids begin alike"],
    ["ids that may begin otherwise", example({ id_pattern: /example_/ }), 'does not begin with "example_"'],
    ["an API key that nothing uses", withKey, "and for nothing else"],
    ["ids without a beginning", example({ id_prefix: "", id_pattern: /^[0-9]+$/ }), "customer ids begin alike"],
    ["a second server of the owner's", { ...OWNER_PROVIDER, name: "provider_0" as "api" }, "no more"],
  ])("refuses %s", (_, provider, message) => {
    expect(() => orderAndCheck([...PROVIDERS, provider])).toThrow(message);
  });
});

type Sample = [Vendor, readonly unknown[]];
const SAMPLES: Sample[] = [
  ...VENDORS.map((provider): Sample => [provider, TEST_VENDORS[provider.name as ListedVendor].samples]),
  [providerExample, [orderPaid({ cents: 100, partner: "jane" }), orderRefunded("ord_1", 100)]],
];

/** The reading of the provider's events in `test/support/vendors`. */
function readOf([provider, samples]: Sample): { body: unknown; event: ProviderEvent }[] {
  return samples.map((sample) => {
    const body: unknown = JSON.parse(JSON.stringify(sample));
    const result = provider.parse(body);
    if (!result.ok) throw new Error(`${provider.name}: ${JSON.stringify([result.details, sample])}`);
    return { body, event: result.event };
  });
}

/** The kind of statement in a fact: a refund is not a statement about an open dispute, nor about one that is won. */
function statementOf(fact: Fact): string {
  if (fact.kind !== "adjustment") return fact.kind;
  const { kind, mode, direction, effective, open = false } = fact;
  return [kind, mode, direction, open ? "open" : effective ? "counts" : "does not count"].join(" ");
}

/** A refund that holds is in the charge's total. */
function saysSomething(fact: Fact): boolean {
  return !(fact.kind === "adjustment" && fact.mode === "refund_failed" && !fact.effective);
}

const SOURCES = import.meta.glob<string>("../../{src/providers/*,test/support}/*.ts", {
  ...{ query: "?raw", import: "default", eager: true },
});

/** The kinds of facts that its folder writes. */
function kindsWritten({ name }: Vendor): Set<string> {
  const own = name === providerExample.name ? "/example-provider.ts" : `/${name.replace("_", "-")}/`;
  const texts = Object.entries(SOURCES).flatMap(([path, text]) => (path.includes(own) ? [text] : []));
  const kinds = texts.flatMap((text) => [...text.matchAll(/\bkind: "([a-z]+)"/g)].map(([, kind]) => kind!));
  // Written by helpers that providers share.
  const shared = { "attributionsOf(": "attribution", "codeUseOf(": "code_use" };
  const helped = Object.entries(shared).flatMap(([call, kind]) =>
    texts.some((text) => text.includes(call)) ? [kind] : [],
  );
  return new Set([...kinds, ...helped]);
}

describe.each(SAMPLES.map((sample) => [sample[0].name, sample] as const))(
  "what an owner is asked to select at %s",
  (_, sample) => {
    const [provider] = sample;
    const { needed, better } = provider.wanted_events;
    const wanted = new Set([...needed, ...better].map(({ type }) => type));
    const read = readOf(sample);
    const statements = (of: typeof read) =>
      new Set(of.flatMap(({ event }) => event.facts.filter(saysSomething).map(statementOf)));

    it("is read: each has a sample that says something", () => {
      const saying = new Set(
        read.filter(({ event }) => event.facts.length > 0 || event.reversed).map(({ event }) => event.event_type),
      );
      expect([...wanted].filter((type) => !saying.has(type))).toEqual([]);
    });

    it("says all that its events can say, refunds and disputes among them", () => {
      const asked = statements(read.filter(({ event }) => wanted.has(event.event_type)));
      expect([...statements(read)].filter((statement) => !asked.has(statement))).toEqual([]);
      const kinds = new Set([...asked].map((statement) => statement.split(" ")[0]!));
      expect(kinds).toEqual(kindsWritten(provider));
    });

    it("has an event of each object of which something is read", () => {
      const objects = (types: Iterable<string>) =>
        new Set([...types].map((type) => type.slice(0, type.lastIndexOf("."))));
      const asked = objects(wanted);
      // Its older name: the object is that of `refund.updated`.
      asked.add("charge.refund");
      expect([...objects(provider.read_types)].filter((one) => !asked.has(one))).toEqual([]);
      expect([...wanted].filter((type) => !provider.read_types.includes(type))).toEqual([]);
    });

    it("is not read where its type is another", () => {
      for (const { body, event } of read) {
        const other: unknown = JSON.parse(JSON.stringify(body), (_key, value: unknown) =>
          value === event.event_type ? "none.such" : value,
        );
        expect(provider.parse(other)).toMatchObject({
          ...{ ok: true, event: { event_type: "none.such", facts: [], ignored: "unhandled_type" } },
        });
      }
    });
  },
);

describe.each(SAMPLES.map((sample) => [sample[0].name, sample] as const))(
  "whose an event of %s claims to be, before it is verified (IN-1)",
  (_, sample) => {
    const [provider] = sample;
    const claims = readOf(sample).map(({ body, event }) => ({ event, claim: provider.claimedOwner(body) }));

    it("is nothing where its events claim no program; else every payment, refund and end of a subscription is found", () => {
      for (const { event, claim } of claims) {
        if (!provider.claims_programs) {
          expect(claim).toEqual({ program_id: null, transaction_id: null, subscription_id: null });
          continue;
        }
        for (const fact of event.facts) {
          const said = [event.event_type, fact.kind];
          if (fact.kind === "payment" || fact.kind === "adjustment") {
            expect([...said, fact.aliases]).toEqual([...said, expect.arrayContaining([claim.transaction_id])]);
          }
          if (fact.kind === "payment" || fact.kind === "cancellation") {
            expect([...said, claim.subscription_id]).toEqual([...said, fact.subscription_id]);
          }
        }
      }
      const claimed = claims.filter(({ claim }) => claim.program_id !== null);
      expect(claimed.some(({ event }) => event.facts.some(({ kind }) => kind === "payment"))).toBe(
        provider.claims_programs,
      );
      expect(new Set(claimed.map(({ claim }) => claim.program_id))).toEqual(
        new Set(provider.claims_programs ? [place("own", "program")] : []),
      );
    });

    it("is nothing of what is no event", () => {
      for (const body of [null, [], "x", 7, {}, { data: null }, { data: [] }]) {
        const claim = provider.claimedOwner(body);
        expect(claim).toEqual({ program_id: null, transaction_id: null, subscription_id: null });
      }
    });
  },
);

describe.each(VENDORS.map((provider) => [provider.name as ListedVendor, provider] as const))(
  "what the test mode of %s sends (PAY-19)",
  (name, provider) => {
    it("is seen to be a test, in each type of event, and says what a live one says", () => {
      for (const sample of TEST_VENDORS[name].samples) {
        const live = provider.parse(JSON.parse(JSON.stringify(sample)));
        const test = provider.parse(JSON.parse(JSON.stringify(TEST_VENDORS[name].inTestMode(sample))));
        expect(test).toEqual(live.ok ? { ok: true, event: { ...live.event, test: true } } : live);
      }
      const modes = TEST_VENDORS[name].samples.map((sample) => provider.parse(JSON.parse(JSON.stringify(sample))));
      expect(modes.some((result) => result.ok && !result.event.test)).toBe(true);
    });
  },
);
