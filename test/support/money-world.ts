/**
 * Programs with random lives of customers (`money-life.ts`). A played vendor runs them: it reports each in its own
 * events, and keeps the true story beside it.
 */
import * as fc from "fast-check";
import type { ProviderEvent } from "../../src/providers/provider.ts";
import { PROVIDER_NAMES, vendorNamed, type ListedProvider } from "../../src/providers/registry.ts";
import { eventOfApi, report } from "./api.ts";
import { sendBody } from "./ledger.ts";
import { life } from "./money-life.ts";
import type { ModelFlow } from "./money-model.ts";
import { play } from "./money-played.ts";
import type { Said, Truth } from "./money-truth.ts";
import type { ApiEvent } from "./money-vendor.ts";
import type { Reply, TestProgram } from "./program.ts";

const flow: fc.Arbitrary<ModelFlow> = fc.record({
  action_type: fc.constantFrom("percentage" as const, "flat" as const),
  action_value: fc.integer({ min: 0, max: 100 }),
  priority: fc.nat(2),
  above: fc.constantFrom(0, 400, 100_000),
  provider: fc.constantFrom(...PROVIDER_NAMES, null),
});

export const moneyWorld = fc.record({
  lives: fc.array(life, { minLength: 1, maxLength: 3 }),
  flows: fc.array(flow, { maxLength: 2 }),
  attribution: fc.constantFrom("first" as const, "last" as const),
});
export type MoneyWorld = typeof moneyWorld extends fc.Arbitrary<infer W> ? W : never;

/** An event as the vendor sends it, and as it is understood. */
export interface Reported {
  provider: ListedProvider;
  body: string;
  event: ProviderEvent;
}

export interface Lived {
  events: Reported[];
  truths: Truth[];
  said: Said[];
  /** Keys of payments that are only tests. */
  tests: string[];
}

/**
 * Runs all lives of a world; events are in the order in which they happened. `mark` is in every id of a vendor: programs
 * of one secret must not share ids.
 */
export function liveAll({ lives }: MoneyWorld, mark = ""): Lived {
  const all = lives.map((one, i) => {
    const { vendor, bodies } = play(one.provider, one, `${mark}${i}`);
    for (const [at, next] of one.chapters.entries()) vendor.live(next, at);
    const events = bodies().map((body) => ({ provider: one.provider, body, event: understood(one.provider, body) }));
    return { vendor, events };
  });
  const vendors = all.map(({ vendor }) => vendor);
  return {
    events: all.flatMap(({ events }) => events),
    truths: vendors.flatMap(({ truths }) => truths),
    said: vendors.flatMap(({ said }) => said),
    tests: vendors.flatMap(({ tests }) => tests),
  };
}

/** Sends an event as the service receives it: signed, or with the program's key. */
export function send(program: TestProgram, { provider, body }: Reported): Promise<Reply<object>> {
  if (provider !== "api") return sendBody(program, provider, body);
  const { kind, body: reported } = JSON.parse(body) as ApiEvent;
  return report(program, kind, reported);
}

/**
 * The event as the service reads it.
 * @throws if the service would refuse it.
 */
export function understood(provider: ListedProvider, body: string): ProviderEvent {
  const vendor = vendorNamed(provider);
  if (!vendor) {
    const { kind, body: reported } = JSON.parse(body) as ApiEvent;
    return eventOfApi(kind, reported);
  }
  const result = vendor.parse(JSON.parse(body));
  if (!result.ok) throw new Error(`a played vendor's event is refused: ${JSON.stringify(result.details)}`);
  return result.event;
}
