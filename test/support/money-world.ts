/**
 * Programs with random lives of customers (`money-life.ts`). A played vendor lives them: it reports each in its own
 * events, and keeps what really happened beside it.
 */
import * as fc from "fast-check";
import type { ProviderEvent } from "../../src/providers/provider.ts";
import { life } from "./money-life.ts";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import type { ModelFlow, Said, Truth } from "./money-model.ts";
import { VendorA } from "./money-vendor-a.ts";
import { VendorB } from "./money-vendor-b.ts";
import type { EventA } from "./provider-a.ts";
import type { EventB } from "./provider-b.ts";

const flow: fc.Arbitrary<ModelFlow> = fc.record({
  action_type: fc.constantFrom("percentage" as const, "flat" as const),
  action_value: fc.integer({ min: 0, max: 100 }),
  priority: fc.nat(2),
  above: fc.constantFrom(0, 400, 100_000),
  provider: fc.constantFrom("provider_a" as const, "provider_b" as const, null),
});

export const moneyWorld = fc.record({
  lives: fc.array(life, { minLength: 1, maxLength: 3 }),
  flows: fc.array(flow, { maxLength: 2 }),
  attribution: fc.constantFrom("first" as const, "last" as const),
});
export type MoneyWorld = typeof moneyWorld extends fc.Arbitrary<infer W> ? W : never;

/** An event as the vendor writes it, and as it is understood. */
export type Reported =
  | { provider: "provider_a"; raw: EventA; event: ProviderEvent }
  | { provider: "provider_b"; raw: EventB; event: ProviderEvent };

export interface Lived {
  events: Reported[];
  truths: Truth[];
  said: Said[];
  /** Keys of payments that are only tests. */
  tests: string[];
}

/**
 * Lives all lives of a world; events are in the order in which they happened. `mark` is in every id of a vendor:
 * programs of one secret must have none in common.
 */
export function liveAll({ lives }: MoneyWorld, mark = ""): Lived {
  const vendors = lives.map((one, i) => {
    const vendor = one.provider === "provider_a" ? new VendorA(one, `${mark}${i}`) : new VendorB(one, `${mark}${i}`);
    for (const [at, next] of one.chapters.entries()) vendor.live(next, at);
    return vendor;
  });
  const events = vendors.flatMap((vendor): Reported[] =>
    vendor instanceof VendorA
      ? vendor.events.map((raw) => ({ provider: "provider_a", raw, event: understood(providerA.parse(onWire(raw))) }))
      : vendor.events.map((raw) => ({ provider: "provider_b", raw, event: understood(providerB.parse(onWire(raw))) })),
  );
  return {
    events: events,
    truths: vendors.flatMap(({ truths }) => truths),
    said: vendors.flatMap(({ said }) => said),
    tests: vendors.flatMap(({ tests }) => tests),
  };
}

function onWire(event: object): unknown {
  return JSON.parse(JSON.stringify(event));
}

function understood(result: ReturnType<typeof providerA.parse>): ProviderEvent {
  if (!result.ok) throw new Error(`a played vendor's event is refused: ${JSON.stringify(result.details)}`);
  return result.event;
}
