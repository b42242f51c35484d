/** Clicks on the real runtime while it is killed and clients hang up (TRACK-8, LAW-10). */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, makeBenchWorld, type BenchWorld } from "../bench/cases.ts";
import { buildWorker, startRawService, type RawService } from "../bench/raw-service.ts";
import { lockDatabase } from "./database.ts";
import { Visitors } from "./visitors.ts";

const KILLS = Number(process.env["FAULT_ROUNDS"] ?? 20);
/** Seconds; the issue requires 600. */
const AWAY = Number(process.env["FAULT_SECONDS"] ?? 20);
/** Clicks per second while the database is away; as many as the clients can send unless given. */
const RATE = Number(process.env["FAULT_RATE"] ?? Number.POSITIVE_INFINITY);
const CLIENTS = 48;
/** The Worker's, the object's and the database's isolates may take 128 MB each. */
const GARBAGE_MB = 3 * 128;
/** After so many clicks the garbage has reached its level and stays there. */
const CLICKS_TO_LEVEL = 65_000;
/** So many are taken at least, unless a rate is given, so that some come at that level. */
const CLICKS = Number.isFinite(RATE) ? 0 : 90_000;
const LEVEL_MB = 64;

let build: string;
let state: string;
let service: RawService;
let world: BenchWorld;

before(async () => {
  build = await mkdtemp(join(tmpdir(), "affiliate-faults-build-"));
  await buildWorker(build);
});
after(() => rm(build, { recursive: true, force: true }));

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "affiliate-faults-state-"));
  service = await startRawService(build, state);
  world = await makeBenchWorld(service.url);
});
afterEach(async () => {
  await service.stop();
  await rm(state, { recursive: true, force: true });
});

interface Log {
  landings: string[];
  total: number;
  counted: number;
}

async function readLog(): Promise<Log> {
  const landings: string[] = [];
  let total = 0;
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: { data: { payload: { landing: string } }[]; total: number; next_cursor: string | null } = await call(
      service.url,
      "GET",
      `/api/v1/events?type=click&per_page=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      world.api_key,
    );
    landings.push(...page.data.map(({ payload }) => payload.landing));
    total = page.total;
    cursor = page.next_cursor;
  }
  const partners = await call<{ data: { id: string; slug: string }[] }>(
    service.url,
    "GET",
    `/api/v1/partners?search=${world.ref}`,
    world.api_key,
  );
  const partner = partners.data.find(({ slug }) => slug === world.ref);
  const { stats } = await call<{ stats: { clicks: number } }>(
    service.url,
    "GET",
    `/api/v1/partners/${partner?.id}`,
    world.api_key,
  );
  return { landings, total, counted: stats.clicks };
}

/** The cron finds the clicks of killed Workers. */
const EVERY_MINUTE = "* * * * *";

/** Waits until the log is still, then compares it with the answers. */
async function expectExactlyOnce(visitors: Visitors): Promise<void> {
  let total = -1;
  for (let i = 0; i < 600; i++) {
    const path = "/api/v1/events?type=click&per_page=1";
    const page = await call<{ total: number }>(service.url, "GET", path, world.api_key);
    if (page.total === total && total >= visitors.accepted.size) break;
    total = page.total;
    await service.cron(EVERY_MINUTE);
    await sleep(1_500);
  }
  const log = await readLog();
  const found = new Set(log.landings);
  assert.equal(log.landings.length, found.size, "nothing twice");
  assert.deepEqual(
    // A few will do: the difference of many takes more memory than there is.
    [...visitors.accepted].filter((landing) => !found.has(landing)).slice(0, 10),
    [],
    "every 202 is in the log",
  );
  assert.deepEqual(log.landings.filter((landing) => !visitors.sent.has(landing)).slice(0, 10), [], "nothing else is");
  assert.deepEqual([log.total, log.counted], [found.size, found.size], "counts equal rows");
}

describe("clicks exactly once (TRACK-8)", () => {
  it(`the process killed (SIGKILL) under load at random, ${KILLS} times`, { timeout: 1_800_000 }, async () => {
    const visitors = new Visitors(() => service, world);
    for (let i = 0; i < KILLS; i++) {
      const before = visitors.accepted.size;
      const clients = Array.from({ length: CLIENTS }, () => visitors.browse());
      // Only then is the load on, however slow the machine is.
      while (visitors.accepted.size === before) await sleep(20);
      await sleep(200 + Math.random() * 1_800);
      await service.kill();
      await Promise.all(clients);
      assert.ok(visitors.accepted.size > before, "the load was on when it was killed");
      service = await startRawService(build, state);
    }
    await expectExactlyOnce(visitors);
    assert.ok(visitors.sent.size > visitors.accepted.size, "some were on their way");
  });

  it("clients that hang up in mid-request hold nobody up", { timeout: 600_000 }, async () => {
    const visitors = new Visitors(() => service, world);
    const rude = Array.from({ length: CLIENTS }, () => visitors.hangUp());
    const clients = Array.from({ length: 16 }, () => visitors.browse());
    await sleep(8_000);
    visitors.stop();
    // The rude clients delay no one: the test's time-out would show it.
    await Promise.all([...rude, ...clients]);
    assert.deepEqual(Object.keys(visitors.statuses), ["202"], "everyone who stayed was answered");
    await expectExactlyOnce(visitors);
  });

  it(
    `the database away for ${AWAY} s under load: memory stays bounded, nothing answered 202 is lost`,
    {
      timeout: (AWAY + 1_200) * 1000,
    },
    async (test) => {
      const visitors = new Visitors(() => service, world, RATE);
      const unlock = await lockDatabase(state);
      const clients = Array.from({ length: CLIENTS }, () => visitors.browse());
      await sleep(5_000);
      const resident = [await residentMegabytes(service.runtime)];
      const level: number[] = [];
      for (let seconds = 0; seconds < AWAY || visitors.accepted.size < CLICKS; seconds++) {
        await sleep(1_000);
        resident.push(await residentMegabytes(service.runtime));
        if (visitors.accepted.size >= CLICKS_TO_LEVEL) level.push(resident.at(-1)!);
      }
      visitors.stop();
      await Promise.all(clients);
      await assert.rejects(readLog, /GET .*: 50[03]/, "the database was away");
      const { 202: kept = 0, 503: refused = 0, ...others } = visitors.statuses;
      assert.deepEqual(others, {}, "kept, or refused with 503");
      assert.equal(kept, visitors.accepted.size);
      const tenths = Array.from(
        { length: 11 },
        (_, tenth) => resident[Math.floor(((resident.length - 1) * tenth) / 10)]!,
      );
      test.diagnostic(`${kept} kept and ${refused} refused in ${resident.length + 4} s`);
      test.diagnostic(`resident MB from start to end: ${tenths.map((mb) => mb.toFixed(0)).join(", ")}`);
      assert.ok(Math.max(...resident) < resident[0]! + GARBAGE_MB, "what three isolates may hold before they tidy up");
      assert.ok(Math.max(0, ...level) < (level[0] ?? 0) + LEVEL_MB, "it does not grow with what waits");
      const back = performance.now();
      unlock();
      await expectExactlyOnce(visitors);
      test.diagnostic(`all arrived and were read back within ${((performance.now() - back) / 1000).toFixed(0)} s`);
    },
  );
});

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
