import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { commit } from "../../src/core/kernel/commit.ts";
import { claimLanesOf, LEASE_MS } from "../../src/core/kernel/deliveries.ts";
import { playOutsideWorld, type ReceivedRequest } from "../support/dns.ts";
import {
  anyOccurrence,
  attemptsOf,
  deliveriesOf,
  makeEndpoint,
  openOutbound,
  type DeliveryRow,
} from "../support/outbound.ts";
import { makeProgram, programContext } from "../support/program.ts";

beforeEach(() => void vi.spyOn(console, "info").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** 0, 5 min, 30 min, 2 h, 12 h (HOOK-5). */
const DELAYS = [0, 5 * MINUTE, 30 * MINUTE, 120 * MINUTE, 720 * MINUTE];

type Answer = "ok" | "http" | "redirect" | "connection";

/** The faults of the queue and the steps of the simulation, all from one seed. */
interface Plan {
  seed: number;
  /** Each delivery's answers by attempt; later attempts succeed. */
  answers: Answer[][];
  /** Per hundred wake-ups. */
  lost: number;
  doubled: number;
  delayed: number;
  /** Per hundred batches: the process claims the batch and ends before it sends, or before it records. */
  crashes: number;
}

const plans = (crashes: fc.Arbitrary<number>) =>
  fc.record<Plan>({
    seed: fc.integer(),
    answers: fc.array(fc.array(fc.constantFrom<Answer[]>("ok", "http", "redirect", "connection"), { maxLength: 6 }), {
      minLength: 3,
      maxLength: 6,
    }),
    lost: fc.nat(60),
    doubled: fc.nat(60),
    delayed: fc.nat(60),
    crashes,
  });

/** Far more steps than a simulation needs: two of a hundred needed more than 400, and the maximum was below 800. */
const STEPS = 8_000;
const RUNS = { numRuns: Math.max(1, Math.ceil(Number(env.PROPERTY_RUNS) / 16)) };

describe("a queue that loses, doubles, delays and reorders", () => {
  it(
    "changes no final row; never more than five attempts, none before its time, no two at once",
    () =>
      fc.assert(
        fc.asyncProperty(plans(fc.constant(0)), async (plan) => check(plan, await simulate(plan))),
        RUNS,
      ),
    120_000,
  );

  it(
    "and processes that die between claim and record: every event arrives, five attempts on record at the most, none stuck",
    () =>
      fc.assert(
        fc.asyncProperty(plans(fc.integer({ min: 10, max: 40 })), async (plan) => check(plan, await simulate(plan))),
        RUNS,
      ),
    120_000,
  );
});

interface Simulated {
  rows: DeliveryRow[];
  /** The arrival times of each delivery's requests, on the simulation's clock. */
  arrivals: Map<string, number[]>;
  overlaps: number;
}

/** Checks the rows, which do not depend on the queue's faults. */
async function check(plan: Plan, { rows, arrivals, overlaps }: Simulated): Promise<void> {
  expect(overlaps).toBe(0);
  for (const [i, row] of rows.entries()) {
    const answers = [...(plan.answers[i] ?? []), "ok"].slice(0, 5);
    const until = answers.indexOf("ok");
    const count = until < 0 ? 5 : until + 1;
    expect([row.status, row.attempt_count, row.next_attempt_at, row.claimed_until]).toEqual([
      until < 0 ? "failed" : "succeeded",
      count,
      null,
      null,
    ]);
    const attempts = await attemptsOf(row.id);
    expect(attempts.map(({ number, error }) => [number, error ?? "ok"])).toEqual(
      answers.slice(0, count).map((answer, n) => [n + 1, answer]),
    );
    for (const [n, attempt] of attempts.entries()) {
      const earliest = n === 0 ? Date.parse(row.created_at) : Date.parse(attempts[n - 1]!.started_at) + DELAYS[n]!;
      expect(Date.parse(attempt.started_at)).toBeGreaterThanOrEqual(earliest);
    }
    const arrived = arrivals.get(row.id) ?? [];
    expect(arrived.length).toBeGreaterThanOrEqual(count);
    if (plan.crashes === 0) expect(arrived).toEqual(attempts.map(({ started_at }) => Date.parse(started_at)));
  }
}

async function simulate(plan: Plan): Promise<Simulated> {
  const random = randomFrom(plan.seed);
  const percent = (chance: number) => random() * 100 < chance;
  const program = await makeProgram();
  for (const host of ["a.example", "b.example"]) await makeEndpoint(program, `https://${host}/`);
  const clock = { now: Date.now() };
  const events = Math.ceil(plan.answers.length / 2);
  const queue: { delivery_id: string; visible_at: number }[] = [];
  const put = (delivery_id: string, delay_ms: number): void => {
    if (percent(plan.lost)) return;
    const late = percent(plan.delayed) ? Math.round(random() * 20 * MINUTE) : 0;
    queue.push({ delivery_id, visible_at: clock.now + delay_ms + late });
    if (percent(plan.doubled)) put(delivery_id, delay_ms);
  };
  for (let i = 0; i < events; i++) {
    const ctx = { ...programContext(program, clock.now), wake: (ids: string[]) => ids.forEach((id) => put(id, 0)) };
    await commit(ctx, { writes: [], occurrences: [anyOccurrence(ctx)] });
  }
  const order = (await deliveriesOf(program)).map(({ id }) => id);

  const arrivals = new Map<string, number[]>();
  const underWay = new Set<string>();
  let overlaps = 0;
  const receive = async ({ headers }: ReceivedRequest): Promise<Response> => {
    const id = headers.get("X-Service-Delivery-Id")!;
    arrivals.set(id, [...(arrivals.get(id) ?? []), clock.now]);
    if (underWay.has(id)) overlaps++;
    underWay.add(id);
    await new Promise((resolve) => setTimeout(resolve, random() * 4));
    underWay.delete(id);
    const row = (await attemptsOf(id)).length;
    const answer = plan.answers[order.indexOf(id)]?.[row] ?? "ok";
    if (answer === "connection") throw new TypeError("reset");
    return new Response(null, { status: { ok: 200, http: 500, redirect: 302 }[answer] });
  };
  const world = playOutsideWorld({ receivers: { "a.example": receive, "b.example": receive } });
  const outbound = openOutbound(world, clock);
  const wake = outbound.deps.wake;
  outbound.deps.wake = async (asked) => {
    await wake(asked);
    for (const { delivery_id, delay_seconds } of asked) put(delivery_id, delay_seconds * SECOND);
  };

  const takeBatch = (): string[] => {
    const visible = queue.filter(({ visible_at }) => visible_at <= clock.now);
    const picked = Array.from({ length: Math.min(visible.length, 1 + Math.floor(random() * 5)) }, () => {
      const one = visible.splice(Math.floor(random() * visible.length), 1)[0]!;
      queue.splice(queue.indexOf(one), 1);
      return one.delivery_id;
    });
    return picked;
  };
  const batches = async (): Promise<void> => {
    const all = Array.from({ length: 1 + Math.floor(random() * 3) }, takeBatch).filter((batch) => batch.length > 0);
    await Promise.all(all.map((batch) => (percent(plan.crashes) ? die(batch) : outbound.deliver(...batch))));
  };
  /** A process that claims a batch and ends: if it had sent a delivery, the receiver has it and the row does not show it. */
  const die = async (batch: string[]): Promise<void> => {
    const claimed = await claimLanesOf({ db: outbound.deps.db, now: clock.now }, batch, 5);
    for (const { delivery_id } of claimed) {
      if (percent(50)) arrivals.set(delivery_id, [...(arrivals.get(delivery_id) ?? []), clock.now]);
    }
  };

  for (let step = 0; ; step++) {
    const open = (await deliveriesOf(program)).filter(({ status }) => status === "pending" || status === "delivering");
    if (open.length === 0) break;
    expect(step, "a delivery is stuck").toBeLessThan(STEPS);
    if (percent(50)) await batches();
    else if (percent(30)) clock.now += Math.round(random() * MINUTE);
    else if (percent(60)) await outbound.sweep(program);
    else clock.now = Math.max(clock.now, nextInstant(open, queue));
  }
  return { rows: await deliveriesOf(program), arrivals, overlaps };
}

/** The next time at which the state can change, including the end of a claim. */
function nextInstant(open: DeliveryRow[], queue: { visible_at: number }[]): number {
  const claims = open.flatMap(({ claimed_until }) => (claimed_until === null ? [] : [Date.parse(claimed_until)]));
  expect(claims.every((end) => end > 0)).toBe(true);
  const due = open.map(({ next_attempt_at }) => Date.parse(next_attempt_at!));
  return Math.min(...due, ...queue.map(({ visible_at }) => visible_at)) + (claims.length > 0 ? LEASE_MS : 0);
}

/** A small generator (mulberry32) that repeats a run from its seed. */
function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
