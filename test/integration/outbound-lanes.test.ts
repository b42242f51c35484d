import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { commit } from "../../src/core/kernel/commit.ts";
import {
  claimLanesOf,
  LEASE_MS,
  listDue,
  MAX_IN_FLIGHT,
  MAX_IN_FLIGHT_FAILING,
  recordAttempts,
} from "../../src/core/kernel/deliveries.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { Sealed } from "../../src/lib/seal.ts";
import { ATTEMPTS_AT_ONCE } from "../../src/outbound/consumer.ts";
import { countPending, playOutsideWorld, type Receiver } from "../support/dns.ts";
import { anyOccurrence, attemptsOf, deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { watchDatabase } from "../support/watched-database.ts";
import { eventually } from "../support/time.ts";

beforeEach(() => void vi.spyOn(console, "info").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

/** A receiver that holds every request until it is released. */
function holding() {
  const waiting: ((response: Response) => void)[] = [];
  const letGo = (status = 200) => {
    for (const answer of waiting.splice(0)) answer(new Response(null, { status }));
  };
  return {
    receiver: (() => new Promise((resolve) => waiting.push(resolve))) satisfies Receiver,
    get held() {
      return waiting.length;
    },
    letGo,
    /** Answers all requests until the work has ended. */
    letGoUntil: async (work: Promise<unknown>) => {
      const state = { isOver: false };
      const ended = work.finally(() => (state.isOver = true));
      while (!state.isOver) {
        letGo();
        await scheduler.wait(20);
      }
      await ended;
    },
  };
}

/** Makes `count` events, each for all of the program's endpoints. */
async function makeEvents(program: TestProgram, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await makePartner(program, {}, "invited");
}

describe("lanes", () => {
  it("do not wait for each other: while one endpoint hangs, all of another's deliveries go out", async () => {
    const program = await makeProgram();
    const hang = holding();
    const hung = await makeEndpoint(program, "https://hung.example/");
    const quick = await makeEndpoint(program, "https://quick.example/");
    const world = playOutsideWorld({
      receivers: { "hung.example": hang.receiver, "quick.example": () => new Response() },
    });
    await makeEvents(program, 30);
    const clock = { now: Date.now() };
    const outbound = openOutbound(world, clock);
    const rows = await deliveriesOf(program);
    const runs: Promise<void>[] = [];
    // The queue's order, in batches of its size.
    for (let i = 0; i < rows.length; i += ATTEMPTS_AT_ONCE) {
      const batch = rows.slice(i, i + ATTEMPTS_AT_ONCE).map(({ id }) => id);
      runs.push((await outbound.begin(...batch)).ended);
    }
    await eventually(async () => {
      const done = await deliveriesOf(program, quick.id);
      expect(done.every(({ status }) => status === "succeeded")).toBe(true);
    });
    const stuck = await deliveriesOf(program, hung.id);
    expect(stuck.filter(({ status }) => status === "delivering")).toHaveLength(MAX_IN_FLIGHT);
    expect(stuck.filter(({ status }) => status === "pending")).toHaveLength(30 - MAX_IN_FLIGHT);
    // Each attempt that ends starts the next of its lane, without another wake-up.
    await hang.letGoUntil(Promise.all(runs));
    expect((await deliveriesOf(program)).map(({ status }) => status)).toEqual(rows.map(() => "succeeded"));
    expect(world.requests).toHaveLength(60);
  });

  it("serve the longest due first", async () => {
    const program = await makeProgram();
    await makeEndpoint(program, "https://quick.example/");
    const world = playOutsideWorld({ receivers: { "quick.example": () => new Response() } });
    await makeEvents(program, 8);
    const outbound = openOutbound(world, { now: Date.now() });
    const rows = await deliveriesOf(program);
    await outbound.deliver(rows.at(-1)!.id);
    expect(world.requests.map(({ headers }) => headers.get("X-Service-Delivery-Id"))).toEqual(rows.map(({ id }) => id));
  });

  it("shrink while their endpoint fails, and widen when it succeeds again", async () => {
    const program = await makeProgram();
    const hang = holding();
    let answer: Receiver = () => new Response(null, { status: 503 });
    const endpoint = await makeEndpoint(program, "https://shaky.example/");
    const world = playOutsideWorld({ receivers: { "shaky.example": (request) => answer(request) } });
    await makeEvents(program, 1);
    const clock = { now: Date.now() };
    const outbound = openOutbound(world, clock);
    const [first] = await deliveriesOf(program);
    await outbound.deliver(first!.id);
    await makeEvents(program, 14);
    answer = hang.receiver;
    const others = (await deliveriesOf(program)).slice(1).map(({ id }) => id);
    clock.now = Date.now();
    const runs = [await outbound.begin(...others.slice(0, 5)), await outbound.begin(...others.slice(5, 10))];
    await eventually(() => expect(hang.held).toBe(MAX_IN_FLIGHT_FAILING));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(hang.held).toBe(MAX_IN_FLIGHT_FAILING);
    hang.letGo(200);
    await eventually(() => expect(hang.held).toBe(MAX_IN_FLIGHT_FAILING));
    runs.push(await outbound.begin(...others.slice(0, 5)), await outbound.begin(...others.slice(5, 10)));
    await eventually(() => expect(hang.held).toBe(MAX_IN_FLIGHT));
    answer = () => new Response();
    hang.letGo();
    await Promise.all(runs.map(({ ended }) => ended));
    expect((await deliveriesOf(program, endpoint.id)).filter(({ status }) => status === "succeeded")).toHaveLength(14);
  });

  it("share one invocation fairly, with at most six connections waiting", async () => {
    const program = await makeProgram();
    const hang = holding();
    const hosts = ["a", "b", "c", "d", "e", "f", "g"].map((name) => `${name}.example`);
    for (const host of hosts) await makeEndpoint(program, `https://${host}/`);
    const world = playOutsideWorld({ receivers: Object.fromEntries(hosts.map((host) => [host, hang.receiver])) });
    await makeEvents(program, 3);
    const { fetch, counter } = countPending(world);
    const outbound = openOutbound({ fetch }, { now: Date.now() });
    const rows = await deliveriesOf(program);
    // The first five deliveries are attempted: three of the first endpoint and one each of two others. The sixth is woken
    // again.
    const [lane, ...others] = hosts.map((_, i) => rows.filter((row) => row.endpoint_id === rows[i]!.endpoint_id));
    const named = [...lane!, others[0]![0]!, others[1]![0]!];
    const { ended } = await outbound.begin(...named.map(({ id }) => id), others[2]![0]!.id);
    expect(outbound.wakeUps).toEqual([{ delivery_id: others[2]![0]!.id, delay_seconds: 0 }]);
    await eventually(() => expect(hang.held).toBe(ATTEMPTS_AT_ONCE));
    const claimed = (await deliveriesOf(program)).filter(({ status }) => status === "delivering");
    expect(claimed.map(({ id }) => id).toSorted()).toEqual(named.map(({ id }) => id).toSorted());
    expect(counter.most).toBeLessThanOrEqual(6);
    await hang.letGoUntil(ended);
    expect(counter.most).toBeLessThanOrEqual(6);
  });

  it("are left to another invocation after 15 seconds", async () => {
    const program = await makeProgram();
    await makeEndpoint(program, "https://quick.example/");
    const clock = { now: Date.now() };
    const world = playOutsideWorld({
      receivers: {
        "quick.example": () => {
          clock.now += 4_000;
          return new Response();
        },
      },
    });
    await makeEvents(program, 8);
    const outbound = openOutbound(world, clock);
    const rows = await deliveriesOf(program);
    clock.now = Date.now();
    await outbound.deliver(rows[0]!.id);
    expect(world.requests).toHaveLength(4);
    expect(outbound.wakeUps).toEqual([{ delivery_id: rows[3]!.id, delay_seconds: 0 }]);
    await outbound.deliver(rows[3]!.id);
    expect((await deliveriesOf(program)).every(({ status }) => status === "succeeded")).toBe(true);
  });

  it("of two quick endpoints at once stay with one of them, and wake the other", async () => {
    const program = await makeProgram();
    const hosts = ["one.example", "other.example"];
    const endpoints = [];
    for (const host of hosts) endpoints.push(await makeEndpoint(program, `https://${host}/`));
    const world = playOutsideWorld({
      receivers: Object.fromEntries(hosts.map((host) => [host, () => new Response()])),
    });
    await makeEvents(program, 30);
    const outbound = openOutbound(world, { now: Date.now() });
    const lanes = await Promise.all(endpoints.map(async ({ id }) => deliveriesOf(program, id)));
    await outbound.deliver(...lanes.flatMap((lane, i) => lane.slice(0, 3 - i).map(({ id }) => id)));
    const left = async () => (await deliveriesOf(program)).filter(({ status }) => status !== "succeeded");
    expect(new Set((await left()).map(({ endpoint_id }) => endpoint_id)).size).toBe(1);
    const woken = outbound.wakeUps.splice(0);
    expect(woken.length).toBeGreaterThan(0);
    await outbound.deliver(...woken.map(({ delivery_id }) => delivery_id));
    expect(await left()).toEqual([]);
    expect(world.requests).toHaveLength(60);
  });

  it("cost few statements: two round trips for one delivery alone, less than two statements each for many", async () => {
    const program = await makeProgram();
    await makeEndpoint(program, "https://quick.example/");
    const world = playOutsideWorld({ receivers: { "quick.example": () => new Response() } });
    const watched = watchDatabase(env.DB);
    const clock = { now: Date.now() };
    const outbound = openOutbound(world, clock, openDatabase(watched.binding));
    await makeEvents(program, 1);
    clock.now = Date.now();
    await outbound.deliver((await deliveriesOf(program))[0]!.id);
    expect(watched.roundTrips.map((statements) => statements.length)).toEqual([1, 4]);
    watched.roundTrips.length = 0;
    await makeEvents(program, 50);
    clock.now = Date.now();
    const waiting = (await deliveriesOf(program)).filter(({ status }) => status === "pending");
    await outbound.deliver(...waiting.slice(0, 5).map(({ id }) => id));
    expect((await deliveriesOf(program)).every(({ status }) => status === "succeeded")).toBe(true);
    const statements = watched.roundTrips.flat().length;
    expect(statements / 50).toBeLessThan(2);
    // Deliveries that begin together resolve their host once.
    expect(world.questions.length / 51).toBeLessThan(1.6);
  });
});

describe("the statements of deliveries", () => {
  it("find every row by an index: what is kept does not slow down what is sent", async () => {
    const { binding, roundTrips } = watchDatabase(env.DB);
    const db = openDatabase(binding);
    const now = Date.now();
    const claim = {
      ...{ delivery_id: "dlv", endpoint_id: "whe", event_id: "evt", event: "ping", attempt_number: 1 },
      ...{ claimed_until: "2026-01-01", url: "", secret: "" as Sealed, secret_previous: null, body: null },
    };
    const outcome = {
      started_at: new Date(now).toISOString(),
      duration_ms: 1,
      status_code: 500,
      response_excerpt: null,
    };
    await claimLanesOf({ db, now }, ["dlv"], 5);
    await listDue({ db, now }, "", 5);
    await recordAttempts(
      { db, now },
      [{ claim, outcome: { ...outcome, error: "http" } }],
      [{ endpoint_id: "whe", want: 1, rank: 0 }],
    );
    const program = await makeProgram();
    const ctx = { ...programContext(program), db };
    await commit(ctx, { writes: [], occurrences: [anyOccurrence(ctx)] });
    const statements = roundTrips.flat();
    expect(statements.length).toBeGreaterThan(9);
    for (const { sql, values } of statements) {
      const { results } = await env.DB.prepare(`explain query plan ${sql}`)
        .bind(...values)
        .all<{ detail: string }>();
      // d and c are aliases of deliveries. The sweep reads every endpoint, and the other scans are as long as the request.
      const tables = /^SCAN (d|c|deliveries|delivery_attempts|messages|missed_deliveries|events)\b/;
      const scans = results.filter(
        ({ detail }) => tables.test(detail) || /^SEARCH c (?!USING (COVERING )?INDEX deliveries_lane)/.test(detail),
      );
      expect([sql, scans]).toEqual([sql, []]);
    }
  });
});

describe("a claim", () => {
  it("that waits too long for a connection is given up and woken for its end", async () => {
    const program = await makeProgram();
    const hosts = ["a", "b", "c", "d"].map((name) => `${name}.example`);
    for (const host of hosts) await makeEndpoint(program, `https://${host}/`);
    const clock = { now: Date.now() };
    const looked = Promise.withResolvers<void>();
    const zone = Object.fromEntries(
      hosts.map((host) => [
        host,
        async () => {
          await looked.promise;
          return { A: ["93.184.215.14"] };
        },
      ]),
    );
    const world = playOutsideWorld({
      zone,
      receivers: Object.fromEntries(hosts.map((host) => [host, () => new Response()])),
    });
    await makeEvents(program, 1);
    clock.now = Date.now();
    const outbound = openOutbound(world, clock);
    const rows = await deliveriesOf(program);
    const { ended } = await outbound.begin(...rows.map(({ id }) => id));
    // Three look-ups use all six connections. Meanwhile the fourth claim has almost expired.
    await eventually(() => expect(world.questions).toHaveLength(6));
    clock.now += LEASE_MS - 6_000;
    looked.resolve();
    await ended;
    const after = await deliveriesOf(program);
    const given = after.filter(({ status }) => status === "delivering");
    expect(given).toHaveLength(1);
    expect(await attemptsOf(given[0]!.id)).toEqual([]);
    expect(outbound.wakeUps).toEqual([{ delivery_id: given[0]!.id, delay_seconds: 6 }]);
    clock.now += 6_000;
    await outbound.deliver(given[0]!.id);
    expect((await deliveriesOf(program)).map(({ status, attempt_count }) => [status, attempt_count])).toEqual(
      rows.map(() => ["succeeded", 1]),
    );
  });
});

describe("the sweep", () => {
  it("wakes what is due, and what is under way for the end of its claim", async () => {
    const program = await makeProgram();
    const hang = holding();
    await makeEndpoint(program, "https://hung.example/");
    await makeEndpoint(program, "https://later.example/");
    const world = playOutsideWorld({
      receivers: { "hung.example": hang.receiver, "later.example": () => new Response(null, { status: 500 }) },
    });
    await makeEvents(program, 1);
    const clock = { now: Date.now() };
    const outbound = openOutbound(world, clock);
    const [hung, later] = await deliveriesOf(program);
    // As after a lost message: neither delivery was woken.
    expect((await outbound.sweep(program)).toSorted((a, b) => (a.delivery_id < b.delivery_id ? -1 : 1))).toEqual(
      [hung!.id, later!.id].toSorted().map((delivery_id) => ({ delivery_id, delay_seconds: 0 })),
    );
    const { ended } = await outbound.begin(hung!.id, later!.id);
    await eventually(async () => expect(await attemptsOf(later!.id)).toHaveLength(1));
    clock.now += 1_000;
    expect(await outbound.sweep(program)).toEqual([{ delivery_id: hung!.id, delay_seconds: LEASE_MS / 1000 - 1 }]);
    clock.now += 5 * 60_000;
    expect((await outbound.sweep(program)).map(({ delivery_id }) => delivery_id).toSorted()).toEqual(
      [hung!.id, later!.id].toSorted(),
    );
    hang.letGo();
    await ended;
  });

  it("wakes at most as many of a lane as may be under way, whatever waits there", async () => {
    const program = await makeProgram();
    await makeEndpoint(program, "https://quick.example/");
    await makeEvents(program, 3);
    const [row] = await deliveriesOf(program);
    await env.DB.prepare(
      `insert into deliveries (id, program_id, endpoint_id, event_id, event, status, next_attempt_at, created_at)
      select 'dlv_' || value, d.program_id, d.endpoint_id, d.event_id, d.event, 'pending', d.next_attempt_at, d.created_at
      from json_each(?) join deliveries d on d.id = ?`,
    )
      .bind(JSON.stringify(Array.from({ length: 2_000 }, (_, i) => `${program.id}${i}`)), row!.id)
      .run();
    const outbound = openOutbound(playOutsideWorld({}), { now: Date.now() });
    expect(await outbound.sweep(program)).toHaveLength(MAX_IN_FLIGHT);
  });
});
