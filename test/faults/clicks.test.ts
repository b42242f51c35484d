/** Clicks on the real runtime while it is killed and clients hang up (issue 5, "Exactly once"). */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, makeBenchWorld, VISITOR, type BenchWorld } from "../bench/cases.ts";
import { rawRequest } from "../bench/load.ts";
import { buildWorker, startRawService, type RawService } from "../bench/raw-service.ts";

const KILLS = Number(process.env["FAULT_ROUNDS"] ?? 20);
/** Seconds; 600 shows what the issue asks, the memory is level long before. */
const AWAY = Number(process.env["FAULT_SECONDS"] ?? 20);
const CLIENTS = 48;

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

/** Every click has a landing of its own, by which it is found in the log. */
class Visitors {
  readonly sent = new Set<string>();
  readonly accepted = new Set<string>();
  readonly statuses: Record<string, number> = {};
  #over = false;
  #made = 0;

  stop(): void {
    this.#over = true;
  }

  /** Reports clicks one after another until it is stopped or the service is gone. */
  async browse(): Promise<void> {
    while (!this.#over) {
      const { landing, body } = this.next();
      try {
        const response = await fetch(`${service.url}/click`, {
          method: "POST",
          headers: { "user-agent": VISITOR, "content-type": "text/plain" },
          body,
        });
        await response.arrayBuffer();
        this.statuses[response.status] = (this.statuses[response.status] ?? 0) + 1;
        if (response.status === 202) this.accepted.add(landing);
      } catch {
        return;
      }
    }
  }

  /** Sends a whole click and is gone before, while or after it is answered. */
  async hangUp(): Promise<void> {
    while (!this.#over) {
      const { body } = this.next();
      const socket = connect(service.port, "127.0.0.1");
      await new Promise<void>((resolve) => {
        socket.on("error", () => resolve());
        socket.on("connect", () => {
          socket.write(rawRequest("POST", "/click", { "User-Agent": VISITOR, "Content-Type": "text/plain" }, body));
          setTimeout(() => {
            socket.resetAndDestroy();
            resolve();
          }, Math.random() * 4);
        });
      });
    }
  }

  next(): { landing: string; body: string } {
    const landing = `/c/${this.#made++}`;
    this.sent.add(landing);
    const { program_id, ref } = world;
    return { landing, body: JSON.stringify({ program_id, ref, landing, referrer: "", id: `c${this.#made}` }) };
  }
}

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

/** Waits until the log stands still, then compares it with what was answered. */
async function expectExactlyOnce(visitors: Visitors): Promise<void> {
  let total = -1;
  for (let i = 0; i < 60; i++) {
    const path = "/api/v1/events?type=click&per_page=1";
    const page = await call<{ total: number }>(service.url, "GET", path, world.api_key);
    if (page.total === total && total >= visitors.accepted.size) break;
    total = page.total;
    await sleep(1_500);
  }
  const log = await readLog();
  const found = new Set(log.landings);
  assert.equal(log.landings.length, found.size, "nothing twice");
  assert.deepEqual(
    [...visitors.accepted].filter((landing) => !found.has(landing)),
    [],
    "every 202 is in the log",
  );
  assert.deepEqual(
    log.landings.filter((landing) => !visitors.sent.has(landing)),
    [],
    "nothing else is",
  );
  assert.deepEqual([log.total, log.counted], [found.size, found.size], "counts equal rows");
}

describe("clicks exactly once", () => {
  it(`the process killed (SIGKILL) under load at random, ${KILLS} times`, { timeout: 600_000 }, async () => {
    const visitors = new Visitors();
    for (let i = 0; i < KILLS; i++) {
      const before = visitors.accepted.size;
      const clients = Array.from({ length: CLIENTS }, () => visitors.browse());
      await sleep(200 + Math.random() * 1_800);
      await service.kill();
      await Promise.all(clients);
      assert.ok(visitors.accepted.size > before, "the load was on when it was killed");
      service = await startRawService(build, state);
    }
    await expectExactlyOnce(visitors);
    assert.ok(visitors.sent.size > visitors.accepted.size, "some were on their way");
  });

  it("clients that hang up in mid-request hold nobody up", { timeout: 120_000 }, async () => {
    const visitors = new Visitors();
    const rude = Array.from({ length: CLIENTS }, () => visitors.hangUp());
    const clients = Array.from({ length: 16 }, () => visitors.browse());
    await sleep(8_000);
    visitors.stop();
    const waited = performance.now();
    await Promise.all([...rude, ...clients]);
    assert.ok(performance.now() - waited < 9_000);
    assert.deepEqual(Object.keys(visitors.statuses), ["202"], "everyone who stayed was answered");
    await expectExactlyOnce(visitors);
  });

  it(
    `the database away for ${AWAY} s under load: memory stays bounded, nothing answered 202 is lost`,
    {
      timeout: (AWAY + 300) * 1000,
    },
    async () => {
      const visitors = new Visitors();
      const unlock = await lockDatabase();
      const clients = Array.from({ length: CLIENTS }, () => visitors.browse());
      await sleep(5_000);
      const early = await residentMegabytes(service.runtime);
      let highest = early;
      for (let i = 0; i < AWAY; i++) {
        await sleep(1_000);
        highest = Math.max(highest, await residentMegabytes(service.runtime));
      }
      visitors.stop();
      await Promise.all(clients);
      await assert.rejects(readLog, /GET .*: 500/, "the database was away");
      assert.deepEqual(Object.keys(visitors.statuses), ["202"]);
      assert.ok(highest < early + 200, `${early} MB grew to ${highest} MB`);
      unlock();
      await expectExactlyOnce(visitors);
    },
  );
});

/** Takes the write lock of the database file: every write of the Worker fails until it is given back. */
async function lockDatabase(): Promise<() => void> {
  const folder = join(state, "d1", "miniflare-D1DatabaseObject");
  const file = (await readdir(folder)).find((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
  assert.ok(file, "the database's file");
  const database = new DatabaseSync(join(folder, file));
  database.exec("begin immediate");
  return () => {
    database.exec("rollback");
    database.close();
  };
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
