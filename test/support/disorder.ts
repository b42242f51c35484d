/** Deliveries as the network makes them: in any order, repeated, at once, and broken off. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { receiveEvent } from "../../src/core/inbound/receive.ts";
import { forProgram, type ProgramCtx } from "../../src/core/kernel/context.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { WorldEvent } from "./ledger-world.ts";
import { programContext, testContext, type TestProgram } from "./program.ts";
import { watchDatabase } from "./watched-database.ts";

/** A context that dies once the facts are stored: settlements and outcomes are written together with its events. */
function crashing({ program }: TestProgram): ProgramCtx {
  const { binding } = watchDatabase(env.DB, {
    before: (statements) => {
      if (statements.some((text) => text.includes("insert into events"))) throw new Error("crashed before settling");
    },
  });
  return forProgram({ ...testContext(), db: openDatabase(binding) }, program);
}

/** Takes an event in as the signed path does once it is verified; one that crashes does so after its facts are stored. */
export async function deliver(program: TestProgram, { provider, event }: WorldEvent, crash = false): Promise<void> {
  const ctx = crash ? crashing(program) : programContext(program);
  try {
    await receiveEvent(ctx, provider, event, "{}");
  } catch (error) {
    if (!crash) throw error;
  }
}

export const disorder = fc.record({
  /**
   * A sort key for each delivery, a number of copies, whether the first copy crashes before it settles, and whether the
   * second is the vendor's own repetition, under another event id.
   */
  keys: fc.array(
    fc.record({ at: fc.nat(), copies: fc.integer({ min: 1, max: 2 }), crash: fc.boolean(), renamed: fc.boolean() }),
    {
      minLength: 60,
      maxLength: 60,
    },
  ),
  batch: fc.integer({ min: 1, max: 4 }),
});

export type Disorder = typeof disorder extends fc.Arbitrary<infer D> ? D : never;

/** Each once and one after the other, as they are. */
export const IN_ORDER: Disorder = { keys: [{ at: 0, copies: 1, crash: false, renamed: false }], batch: 1 };

/** Delivers everything in disorder, concurrently in batches; the vendor resends crashed deliveries at the end. */
export async function deliverInDisorder(
  program: TestProgram,
  events: readonly WorldEvent[],
  { keys, batch }: Disorder,
  between: () => Promise<void> = async () => {},
): Promise<void> {
  const deliveries = events
    .flatMap((each, i) => {
      const { at, copies, crash, renamed } = keys[i % keys.length]!;
      return Array.from({ length: copies }, (_, copy) => ({
        each: renamed && copy > 0 ? again(each) : each,
        crash: crash && copy === 0,
        at: (at * (copy + 7)) % 1_009,
      }));
    })
    .toSorted((a, b) => a.at - b.at);
  for (let i = 0; i < deliveries.length; i += batch) {
    await Promise.all(deliveries.slice(i, i + batch).map(({ each, crash }) => deliver(program, each, crash)));
    await between();
  }
  for (const { each, crash } of deliveries) if (crash) await deliver(program, each);
}

/** The same fact reported by another event. */
function again({ provider, event }: WorldEvent): WorldEvent {
  return { provider, event: { ...event, event_id: `${event.event_id}_again` } };
}
