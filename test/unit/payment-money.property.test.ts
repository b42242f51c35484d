/**
 * The lives of `money-world.ts` decided without a database: a payment earns the rule's share of the money that really
 * moved. Fast, so that it plays many lives; `ledger-money.property.test.ts` delivers them.
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fact } from "../../src/domain/fact.ts";
import { percent } from "../../src/domain/money.ts";
import { decidePayment, type LedgerPartner, type Rules } from "../../src/domain/payment.ts";
import type { PartnerRules } from "../../src/domain/rules.ts";
import { WORLD_PARTNERS } from "../support/ledger-world.ts";
import type { Chapter } from "../support/money-life.ts";
import { expectedOf, type ModelFlow } from "../support/money-model.ts";
import { liveAll, moneyWorld, type Lived, type MoneyWorld } from "../support/money-world.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Number(env.PROPERTY_RUNS) * 10;

const partners = WORLD_PARTNERS.map((partner): LedgerPartner & PartnerRules => ({
  ...partner,
  commission_pct: partner.commission_pct === null ? null : percent(partner.commission_pct),
  ...{ id: partner.slug, email: `${partner.slug.toLowerCase()}@partners.example`, payout_email: null, group_id: "" },
}));

function partnerByRef(ref: string): LedgerPartner | null {
  return partners.find(({ slug }) => slug.toLowerCase() === ref.toLowerCase()) ?? null;
}

/** The facts that name a payment, and all of its provider's facts of customers and subscriptions. */
function factsAbout(key: string, provider: string, { events }: Lived): Fact[] {
  const facts = events
    .filter(({ event, provider: from }) => from === provider && !event.test)
    .flatMap(({ event }) => {
      // An event's first reference that leads to a partner is remembered.
      const said = event.facts.filter((fact) => fact.kind === "attribution");
      const remembered = said.find(({ ref }) => partnerByRef(ref));
      return event.facts.filter((fact) => fact.kind !== "attribution" || fact === remembered);
    });
  const ids = new Set([key]);
  for (let before = 0; before < ids.size;) {
    before = ids.size;
    for (const fact of facts) {
      if ("aliases" in fact && fact.aliases.some((alias) => ids.has(alias))) for (const id of fact.aliases) ids.add(id);
    }
  }
  return facts.filter((fact) => !("aliases" in fact) || fact.aliases.some((alias) => ids.has(alias)));
}

function flowOf({ above, provider, action_type, action_value, priority }: ModelFlow, i: number) {
  return {
    ...{ id: `flow_${i}`, name: `flow ${i}`, action_type, action_value, priority, active: true },
    ...{ created_at: `2026-01-01T00:00:0${i}.000Z`, starts_at: null, ends_at: null, currency: "USD", hold_days: null },
    conditions: [
      { field: "txn_amount_cents" as const, op: "gt" as const, value: above },
      ...(provider === null ? [] : [{ field: "provider" as const, op: "eq" as const, value: provider }]),
    ],
  };
}

function decided({ flows, attribution }: MoneyWorld, lived: Lived) {
  const rules = (): Rules => ({
    program: { default_commission_pct: percent(20), attribution, code_precedence: "link", auto_approve_days: null },
    flows: flows.map(flowOf),
    ofPartner: (id) => ({ ...partners.find((partner) => partner.id === id)!, group: null, hasTurnedActive: false }),
    applied: 0,
  });
  return lived.truths.map(({ key, provider }) => {
    const decision = decidePayment({
      ...{ provider, provider_transaction_id: key, counted: [], payments_compared: 0, isReported: false },
      live_only: true,
      facts: factsAbout(key, provider, lived),
      leads: { byRef: partnerByRef, byOwnRef: partnerByRef, byId: () => null, codes: { named: [], held: [] } },
      rulesOf: rules,
      previous: { outcome: null, decision: null, rules },
      isRequested: false,
      granted: [],
      commissionedPartners: [],
      admittedAs: () => [],
    });
    const { outcome, record, review_reasons } = decision!;
    const { amount_cents, partner_slug } = record;
    return [key, outcome, partner_slug, amount_cents, amount_cents === null ? null : (review_reasons[0] ?? null)];
  });
}

it(`what a payment earns is the rule applied to the money that moved (seed ${SEED}, ${RUNS} runs) (PAY-9)`, () => {
  fc.assert(
    fc.property(moneyWorld, (world) => {
      const lived = liveAll(world);
      const { flows, attribution } = world;
      const program = { partners: WORLD_PARTNERS, flows, default_pct: 20, attribution };
      const model = expectedOf(() => program, lived.truths, lived.said);
      expect(decided(world, lived)).toEqual(
        [...model].map(([key, { outcome, partner, amount, reason }]) => [key, outcome, partner, amount, reason]),
      );
    }),
    { numRuns: RUNS },
  );
});

describe.each(["provider_a", "provider_b"] as const)("what is repeated of a customer at %s (REF-4)", (provider) => {
  const bought = { amount: 1_000, ref: null, other: null, how: "paid", via: "session", shape: "new" } as const;
  const buy = (ref: string | null) => ({ ...bought, do: "buy", place: "subscription", ref }) as const;
  const inMetadata = (verb: "subscribe" | "renew", other: string) =>
    ({ ...bought, do: verb, place: "subscription", other }) as const;
  const say = (ref: string) => ({ do: "say", ref, of: "customer" }) as const;

  it.each<[string, Chapter[]]>([
    ["by a renewal", [inMetadata("subscribe", "ann"), buy("Bob"), inMetadata("renew", "ANN"), buy(null)]],
    ["by the customer", [say("ann"), buy("Bob"), say("ANN"), buy(null)]],
  ])("%s is no news, and what another says is", (_, chapters) => {
    const about = {
      provider,
      currency: "USD",
      tax_pct: 0,
      email: null,
      guest: false,
      tick: 1,
      refunds: "both",
    } as const;
    const partnersOf = (attribution: MoneyWorld["attribution"], lived: Chapter[]) => {
      const world = { lives: [{ ...about, chapters: lived }], flows: [], attribution } as unknown as MoneyWorld;
      const all = liveAll(world);
      const program = { partners: WORLD_PARTNERS, flows: [], default_pct: 20, attribution };
      const model = expectedOf(() => program, all.truths, all.said);
      const partner = decided(world, all).map(([, , slug]) => slug);
      expect(partner).toEqual([...model.values()].map((one) => one.partner));
      return partner.at(-1);
    };
    expect(partnersOf("last", chapters)).toBe("Bob");
    expect(partnersOf("first", chapters)).toBe("ann");
    const [first, other, again, last] = chapters as [Chapter, Chapter, Chapter, Chapter];
    const between = first.do === "say" ? say("Bob") : inMetadata("renew", "Bob");
    expect(partnersOf("last", [first, other, between, again, last])).toBe("ann");
  });
});
