import { expect } from "vitest";
import type { AttributionFact, Fact, PaymentFact } from "../../src/domain/fact.ts";
import type { ParseResult, Vendor, ProviderEvent } from "../../src/providers/provider.ts";

/** A provider's reading of an event as it comes off the wire. */
export function readerOf(provider: Vendor) {
  const parse = (event: object): ParseResult => provider.parse(JSON.parse(JSON.stringify(event)));

  /** The event, which must be understood: it either has facts or the reason why not. */
  const eventOf = (event: object): ProviderEvent => {
    const result = parse(event);
    if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.details)}`);
    expect(result.event.ignored === null).toBe(result.event.facts.length > 0);
    return result.event;
  };

  const factsOf = (event: object): Fact[] => eventOf(event).facts;

  return {
    parse,
    eventOf,
    factsOf,

    /** The one payment it is about. */
    paymentOf(event: object): PaymentFact {
      const payments = factsOf(event).filter((fact) => fact.kind === "payment");
      expect(payments).toHaveLength(1);
      return payments[0]!;
    },

    attributionsOf: (event: object): AttributionFact[] => factsOf(event).filter((fact) => fact.kind === "attribution"),

    /** Why it is not used. */
    ignoredAs(event: object): string | null {
      const { facts, ignored } = eventOf(event);
      expect(facts).toEqual([]);
      return ignored;
    },

    /** The paths of the refused fields; empty if the event is understood. */
    refusedPaths(event: object): string[] {
      const result = parse(event);
      return result.ok ? [] : result.details.map((detail) => detail.path);
    },
  };
}
