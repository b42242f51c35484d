/** Runs the consumer and the sweep against the real database, with a played outside world and a clock of the test's. */
import { createMessageBatch, env } from "cloudflare:test";
import type { Occurrence } from "../../src/core/kernel/commit.ts";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { newPartner, partnerCreated } from "../../src/core/partners/partners.ts";
import type { WakeUpMessage } from "../../src/domain/delivery.ts";
import { newId } from "../../src/lib/id.ts";
import { consumeDeliveries, type ConsumerDeps } from "../../src/outbound/consumer.ts";
import { wakeDue } from "../../src/outbound/sweep.ts";
import type { WakeUp } from "../../src/core/jobs/wake.ts";
import { RESOLVER_URL, type OutsideWorld } from "./dns.ts";
import { serveAll } from "./jobs.ts";
import { testContext, type TestProgram } from "./program.ts";

export interface Outbound {
  deps: ConsumerDeps;
  /** Every requested wake-up, in order. */
  wakeUps: WakeUp[];
  /** Hands these wake-ups to the consumer as one batch and waits until all it began has ended. */
  deliver: (...delivery_ids: string[]) => Promise<void>;
  /** The same, without waiting for the end: the batch is acknowledged. */
  begin: (...delivery_ids: string[]) => Promise<{ ended: Promise<void> }>;
  /** The wake-ups that a sweep requests for this program's deliveries; other tests of the file may have left some due. */
  sweep: (program: TestProgram) => Promise<WakeUp[]>;
}

/** `now` is the only clock: move it by assigning to `clock.now`. */
export function openOutbound(
  world: Pick<OutsideWorld, "fetch">,
  clock: { now: number },
  db?: ConsumerDeps["db"],
): Outbound {
  const wakeUps: WakeUp[] = [];
  const background: Promise<unknown>[] = [];
  const base = testContext(clock.now);
  const deps: ConsumerDeps = {
    db: db ?? base.db,
    sealer: base.sealer,
    ownHosts: base.ownHosts,
    fetch: (url, init) => {
      const { fetch } = world;
      return fetch(url, init);
    },
    resolverUrl: RESOLVER_URL,
    now: () => clock.now,
    // A receiver that a test holds is never late; tests in played time check the time limit of an attempt.
    budgetMs: 600_000,
    wake: async (asked) => void wakeUps.push(...asked),
    waitUntil: (work) => void background.push(work),
  };
  const begin = async (...delivery_ids: string[]) => {
    await consumeDeliveries(wakeUpBatch(delivery_ids), deps);
    return {
      ended: (async () => {
        for (let seen = 0; seen < background.length; seen++) await background[seen];
      })(),
    };
  };
  return {
    deps,
    wakeUps,
    begin,
    deliver: async (...delivery_ids) => (await begin(...delivery_ids)).ended,
    sweep: async (program) => {
      const before = wakeUps.length;
      await serveAll(wakeDue(deps));
      const own = new Set((await deliveriesOf(program)).map(({ id }) => id));
      return wakeUps.splice(before).filter(({ delivery_id }) => own.has(delivery_id));
    },
  };
}

export function wakeUpBatch(delivery_ids: string[]): MessageBatch<WakeUpMessage> {
  return createMessageBatch<WakeUpMessage>(
    "deliveries",
    delivery_ids.map((delivery_id, i) => ({
      id: `m${i}`,
      timestamp: new Date(),
      attempts: 1,
      body: { delivery_id, shard: 0 },
    })),
  );
}

export interface DeliveryRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  event: string;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  claimed_until: string | null;
  created_at: string;
  completed_at: string | null;
}

/** The program's deliveries, in the order in which they were made. */
export async function deliveriesOf(program: TestProgram, endpoint_id?: string): Promise<DeliveryRow[]> {
  const { results } = await env.DB.prepare(
    "select * from deliveries where program_id = ?1 and (?2 is null or endpoint_id = ?2) order by rowid",
  )
    .bind(program.id, endpoint_id ?? null)
    .all<DeliveryRow & { program_id: string }>();
  return results.map(({ program_id: _, ...row }) => row);
}

export interface AttemptRow {
  number: number;
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: string | null;
  response_excerpt: string | null;
}

export async function attemptsOf(delivery_id: string): Promise<AttemptRow[]> {
  const { results } = await env.DB.prepare(
    `select number, started_at, duration_ms, status_code, error, response_excerpt from delivery_attempts
    where delivery_id = ? order by number`,
  )
    .bind(delivery_id)
    .all<AttemptRow>();
  return results;
}

/** An event for tests of its delivery alone: the partner in it is not stored. */
export function anyOccurrence(ctx: ProgramCtx): Occurrence {
  const name = newId("partner", ctx.now);
  return partnerCreated(newPartner(ctx, { email: `${name}@partners.example`, slug: name }));
}

/** An endpoint made through the API, subscribed to everything by default. */
export async function makeEndpoint(
  program: TestProgram,
  url: string,
  events: string[] = ["*"],
): Promise<{ id: string; url: string; secret: string }> {
  const { status, body } = await program.api<{ id: string; url: string; secret: string }>("POST", "/api/v1/webhooks", {
    url,
    events,
  });
  if (status !== 201) throw new Error(`endpoint not created: ${JSON.stringify(body)}`);
  return body;
}
