/**
 * Deliveries while the service is killed (SIGKILL) at every step from the commit of an event to the record of its
 * attempt, and started again on the same state: no delivery is lost (HOOK-6). The local queue forgets
 * everything on a restart, so only the sweep can bring it back, and one run of it must do.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../bench/cases.ts";
import { ADMIN_TOKEN, buildWorker, startRawService, type RawService } from "../bench/raw-service.ts";
import { openWorld, type Call, type World } from "./outside-world.ts";

/** How often every step is killed; 1 takes half a minute. */
const ROUNDS = Number(process.env["FAULT_ROUNDS"] ?? 1);

/** How long a claim outlives its holder (`core/kernel/deliveries.ts`, LEASE_MS), and something for the deliveries themselves. */
const RECOVERY_MS = 15_000 + 600_000;

const SWEEP = "* * * * *";
const SOUND = "https://sound.example/hook";
const FAILING = "https://failing.example/hook";

let build: string;
let state: string;
let world: World;
let service: RawService;
let api_key: string;
let endpoints: { id: string; url: string }[];

before(async () => {
  [build, state] = (await Promise.all(
    ["build", "state"].map((name) => mkdtemp(join(tmpdir(), `affiliate-faults-${name}-`))),
  )) as [string, string];
  world = await openWorld();
  await buildWorker(build);
  await start();
  const made = await call<{ api_key: string }>(service.url, "POST", "/admin/programs", ADMIN_TOKEN, {
    name: "Faults",
    owner_email: "owner@faults.example",
  });
  api_key = made.api_key;
  endpoints = [];
  for (const url of [SOUND, FAILING]) {
    endpoints.push(await api("POST", "/api/v1/webhooks", { url, events: ["*"] }));
  }
});

after(async () => {
  await service.stop();
  world.close();
  await Promise.all([build, state].map((folder) => rm(folder, { recursive: true, force: true })));
});

async function start(): Promise<void> {
  service = await startRawService(build, state, { outbound: world.outbound });
}

function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  return call<T>(service.url, method, path, api_key, body);
}

let made = 0;

/** One event; stops if the service is killed meanwhile. */
async function happen(): Promise<void> {
  const n = made++;
  await api("POST", "/api/v1/partners", { email: `p${n}@partners.example`, slug: `p${n}` }).catch(() => {});
}

/** A step of the way, and how it comes about that the service is killed there. */
interface Step {
  name: string;
  /** Sets the trap; `kill` ends the service. */
  arm: (kill: () => void) => void;
}

const answerOf = ({ url }: Call) => ({ status: url.href === FAILING ? 500 : 204 });

const STEPS: Step[] = [
  { name: "while the event is committed", arm: (kill) => void setTimeout(kill, Math.random() * 15) },
  { name: "between the commit and the look-up", arm: (kill) => void setTimeout(kill, 15 + Math.random() * 30) },
  { name: "at the look-up", arm: (kill) => (world.onLookUp = kill) },
  { name: "at the second look-up of many", arm: (kill) => (world.onLookUp = onThe(6, kill)) },
  { name: "when the receiver has the request", arm: (kill) => (world.answer = () => (kill(), null)) },
  {
    name: "when one receiver has answered and another has not",
    arm: (kill) => {
      const last = onThe(3, kill);
      world.answer = (request) => {
        last();
        return request.url.href === FAILING ? null : answerOf(request);
      };
    },
  },
  ...[0, 3, 12].map((ms) => ({
    name: `${ms} ms after the answer`,
    arm: (kill: () => void) => {
      world.answer = (request) => ({ ...answerOf(request), onSent: () => void setTimeout(kill, ms) });
    },
  })),
];

/** Calls on only the `n`-th time. */
function onThe(n: number, on: () => void): () => void {
  let times = 0;
  return () => {
    if (++times === n) on();
  };
}

async function killAt(step: Step): Promise<void> {
  const death: { at: Promise<void> | null } = { at: null };
  const victim = service;
  step.arm(() => void (death.at ??= victim.kill()));
  // The trap springs at the first chance; more chances follow if it needs them.
  for (let i = 0; i < 50 && !death.at; i++) {
    await happen();
    // If much waits since the last kills, the sweep begins again, and is killed with the rest.
    if (i === 10) await Promise.race([victim.cron(SWEEP), sleep(1_000)]).catch(() => {});
  }
  // The claims of those who were killed before keep their places in the lane until they end.
  for (let waited = 0; waited < RECOVERY_MS && !death.at; waited += 50) await sleep(50);
  assert.ok(death.at, `the service lived on: ${step.name}`);
  await death.at;
  world.onLookUp = () => {};
  world.answer = answerOf;
}

interface DeliveryRecord {
  id: string;
  event_id: string;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  attempts: { number: number; status_code: number | null }[];
}

async function readAll<T>(path: string): Promise<T[]> {
  const rows: T[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = `per_page=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page: { data: T[]; next_cursor: string | null } = await api(
      "GET",
      `${path}${path.includes("?") ? "&" : "?"}${query}`,
    );
    rows.push(...page.data);
    cursor = page.next_cursor;
  }
  return rows;
}

it(
  "every event reaches every endpoint, and every delivery ends or is due, though the service is killed at every step",
  { timeout: 1_800_000 * ROUNDS },
  async (test) => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const step of STEPS) {
        await killAt(step);
        await start();
        test.diagnostic(`killed ${step.name}`);
      }
    }
    await service.cron(SWEEP);
    const deadline = Date.now() + RECOVERY_MS;
    let unsettled: DeliveryRecord[] = [];
    do {
      await sleep(500);
      const rows = await Promise.all(
        endpoints.map(({ id }) => readAll<DeliveryRecord>(`/api/v1/webhooks/${id}/deliveries`)),
      );
      unsettled = rows.flat().filter(({ status, attempt_count }) => status !== "succeeded" && attempt_count === 0);
    } while (unsettled.length > 0 && Date.now() < deadline);
    assert.deepEqual(unsettled, [], "one sweep brings everything back");

    const events = await readAll<{ id: string }>("/api/v1/events?type=partner.created");
    assert.ok(events.length >= STEPS.length * ROUNDS, `${events.length} events were committed`);
    for (const { id, url } of endpoints) {
      const got = new Set(
        world.calls.filter((one) => one.url.href === url).map(({ headers }) => headers.get("webhook-id")),
      );
      assert.deepEqual(
        events.filter((event) => !got.has(event.id)),
        [],
        `every event reached ${url}`,
      );
      const rows = await readAll<DeliveryRecord>(`/api/v1/webhooks/${id}/deliveries`);
      assert.deepEqual(rows.map(({ event_id }) => event_id).toSorted(), events.map((event) => event.id).toSorted());
      for (const row of rows) {
        const isRight =
          url === SOUND
            ? row.status === "succeeded" && row.next_attempt_at === null
            : row.status === "pending" && row.next_attempt_at !== null;
        assert.ok(isRight, `final or due: ${JSON.stringify(row)}`);
        const numbers = row.attempts.map(({ number }) => number);
        assert.deepEqual(
          numbers,
          Array.from({ length: row.attempt_count }, (_, n) => n + 1),
        );
      }
    }
    test.diagnostic(`${events.length} events, ${world.calls.length} requests`);
  },
);
