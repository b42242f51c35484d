/**
 * The service killed (SIGKILL) at random under a mixed load, and started again on the same state (LAW-10):
 * clicks, webhooks of every provider, disputes among them, API calls with and without keys, payouts that are paid through the
 * vendor, marked as paid and canceled, commissions that are rejected, customers who are erased, deliveries.
 * FAULT_ROUNDS (20) kills; FAULT_SEED repeats a run's choices.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../bench/cases.ts";
import { buildWorker, startRawService, type RawService } from "../bench/raw-service.ts";
import { openDatabaseFile } from "./database.ts";
import {
  checkAuditLog,
  checkClicks,
  checkCounters,
  checkCreations,
  checkDecisions,
  checkDeliveries,
  checkErasures,
  checkMoney,
  checkPurchases,
  type Scene,
} from "./mixed-checks.ts";
import { Load, MOVES, type Creation } from "./mixed-load.ts";
import { makeMixedWorld, SOUND, type MixedWorld } from "./mixed-world.ts";
import { openWorld, type World } from "./outside-world.ts";
import { Chance, seed } from "../../src/dev/chance.ts";
import { Visitors } from "./visitors.ts";

const ROUNDS = Number(process.env["FAULT_ROUNDS"] ?? 20);
const SWEEP = "* * * * *";
/** Longer than every lease, and than any request that may still run. */
const LATER_MS = 10 * 60_000;
const RECOVERY_MS = 300_000;

const chosen = seed();
const chance = new Chance(chosen);
let folders: string[];
let outside: World;
let world: MixedWorld;
let service: RawService;
let load: Load;
let visitors: Visitors;
let scene: Scene;

before(async () => {
  folders = await Promise.all(["build", "state"].map((name) => mkdtemp(join(tmpdir(), `affiliate-faults-${name}-`))));
  outside = await openWorld();
  await buildWorker(folders[0]!);
  await start();
  world = await makeMixedWorld(service.url, outside);
  load = new Load(world, chance, service);
  visitors = new Visitors(() => service, world);
});

after(async () => {
  scene?.database.close();
  await service.stop();
  outside.close();
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
});

async function start(): Promise<void> {
  service = await startRawService(folders[0]!, folders[1]!, { outbound: outside.outbound });
}

describe(`killed under a mixed load, ${ROUNDS} times`, () => {
  it("dies and comes back on the same state", { timeout: 1_800_000 * (ROUNDS + 1) }, async (test) => {
    test.diagnostic(`FAULT_SEED=${chosen}`);
    for (let round = 0; round < ROUNDS; round++) {
      const before = acknowledgedEvents();
      const busy = [
        load.run(),
        ...Array.from({ length: 6 }, () => visitors.browse()),
        ...(chance.happens(0.8) ? [service.cron(SWEEP).catch(() => {})] : []),
      ];
      // Only then is it under load, however slow the machine is.
      while (acknowledgedEvents() === before) await sleep(20);
      await (chance.happens(0.5)
        ? sleep(chance.whole(400, 2_000)).then(() => service.kill())
        : killAtAcknowledgement());
      await Promise.race([Promise.all(busy.slice(0, 7)), sleep(20_000, null, { ref: false })]);
      assert.deepEqual(load.books.unexpected, []);
      await start();
      load.moveTo(service);
    }
    report(test);
  });

  it("comes to rest: nothing is stuck, the providers' redeliveries and the callers' retries are answered", async (test) => {
    await service.stop();
    await passTime();
    await start();
    load.moveTo(service);
    for (const event of load.books.events()) if (!event.acknowledged && event.patient) await load.send(event);
    for (const creation of load.books.creations) {
      // Repeats a part of the answered requests: each gets the first answer.
      const again = creation.answer === null ? creation.patient : chance.happens(0.2);
      if (again) await load.ask(creation);
      if (again) assert.ok(creation.answer, `${creation.path} under its key is answered`);
    }
    assert.deepEqual(load.books.unexpected, []);
    const began = performance.now();
    const database = await openDatabaseFile(folders[1]!);
    scene = { database, world, books: load.books, visitors, calls: outside.calls };
    for (let open = await openWork(); open.length > 0; open = await openWork()) {
      assert.ok(performance.now() - began < RECOVERY_MS, `still open: ${open.join(", ")}`);
      await service.cron(SWEEP);
      await sleep(1_000);
    }
    test.diagnostic(`at rest after ${((performance.now() - began) / 1_000).toFixed(0)} s`);
    report(test);
  });

  it("has every acknowledged click once and no other (LAW-10)", () => checkClicks(scene));
  it("has every acknowledged payment once, others at most once, and the commissions the rules say (LAW-10)", () =>
    checkPurchases(scene));
  it("has what the API acknowledged once, the rest at most once (LAW-10)", () => checkCreations(scene));
  it("keeps what the owner decided, and holds what is disputed (LAW-10)", () => checkDecisions(scene));
  it("has no address that was erased, and every other (JOB-1)", () => checkErasures(scene));
  it("has a complete audit log, nothing in it twice", () => checkAuditLog(scene));
  it("has counters that equal the rows", () => checkCounters(scene));
  it("delivered every event to the endpoint that answers, rightly signed", () => checkDeliveries(scene));
  it("conserved the money: commissions, payouts and transfers agree", () => checkMoney(scene));

  it("shows the same through the API", async () => {
    const get = <T>(path: string) => call<T>(service.url, "GET", `/api/v1${path}`, world.api_key);
    for (const list of ["partners", "payments", "commissions", "payouts", "events"]) {
      const [{ count }] = scene.database.prepare(`select count(*) as count from ${list}`).all() as [{ count: number }];
      assert.equal((await get<{ total: number }>(`/${list}?per_page=1`)).total, count, list);
    }
    for (const { id } of world.partners) {
      const { stats } = await get<{ stats: Record<string, unknown> }>(`/partners/${id}`);
      const [sums] = scene.database
        .prepare(
          `select count(*) as total_commissions, coalesce(sum(amount_cents), 0) as total_earned_cents,
            coalesce(sum(iif(status = 'pending', amount_cents, 0)), 0) as pending_cents,
            coalesce(sum(iif(status = 'approved', amount_cents, 0)), 0) as approved_cents,
            coalesce(sum(iif(status = 'paid', amount_cents, 0)), 0) as paid_cents,
            (select count(*) from events where type = 'click' and payload ->> 'partner_id' = ?1) as clicks
          from commissions where partner_id = ?1 and status <> 'rejected'`,
        )
        .all(id);
      assert.deepEqual(stats, { ...sums, other_currencies: [] });
    }
  });
});

function acknowledgedEvents(): number {
  return load.books.events().filter(({ acknowledged }) => acknowledged).length;
}

/** Kills at the moment of an acknowledgement: undurable data is lost. */
function killAtAcknowledgement(): Promise<void> {
  const victim = service;
  let left = chance.whole(20, 60);
  return new Promise((resolve, reject) => {
    const kill = () => {
      clearTimeout(late);
      load.onAcknowledged = () => {};
      victim.kill().then(resolve, reject);
    };
    const late = setTimeout(kill, 4_000);
    load.onAcknowledged = () => {
      if (--left === 0) kill();
    };
  });
}

/** The work that is not at rest yet, in words. */
async function openWork(): Promise<string[]> {
  const { database } = scene;
  const [sound] = world.endpoints.filter(({ url }) => url === SOUND);
  const [clicks] = database.prepare("select count(*) as count from events where type = 'click'").all();
  const counts = {
    deliveries: `select 1 from deliveries where endpoint_id = '${sound?.id}' and status <> 'succeeded'`,
    attempts: "select 1 from deliveries where status = 'delivering' or (status = 'pending' and attempt_count = 0)",
    transfers: "select 1 from payouts where status = 'processing'",
    "vendor events": "select 1 from provider_events where audit_event_id is null",
    payments: "select 1 from payments where settled_revision < facts_revision",
  };
  const open = Object.entries(counts).filter(([, sql]) => database.prepare(sql).get() !== undefined);
  const isClicked = Number(clicks?.["count"]) >= visitors.accepted.size;
  return [...open.map(([name]) => name), ...(isClicked ? [] : ["clicks"])];
}

/** While the service is down, all due times pass. */
async function passTime(): Promise<void> {
  const database = await openDatabaseFile(folders[1]!);
  const past = `'${new Date(Date.now() - LATER_MS).toISOString()}'`;
  database.exec(`
    update payouts set reconcile_at = ${past} where status = 'processing';
    update provider_events set received_at = ${past} where audit_event_id is null;
    update payments set updated_at = ${past} where settled_revision < facts_revision;
    update idempotency_keys set created_at = ${past} where status_code is null;
    update deliveries set claimed_until = ${past} where status = 'delivering';
  `);
  database.close();
}

function report(test: TestContext): void {
  const { purchases, creations, patches, rejected } = load.books;
  const done = (kind: Creation["kind"]) =>
    creations.filter((one) => one.kind === kind && one.answer !== null && one.answer.status < 300).length;
  const events = load.books.events();
  const share = (all: number, done: number, what: string) => `${done} of ${all} ${what}`;
  test.diagnostic(
    [
      share(visitors.sent.size, visitors.accepted.size, "clicks"),
      share(events.length, events.filter(({ acknowledged }) => acknowledged).length, "vendor events"),
      share(creations.length, creations.filter(({ answer }) => answer !== null).length, "keyed POSTs"),
      share(patches.length, patches.filter(({ acknowledged }) => acknowledged).length, "PATCHes"),
    ].join(", ") +
      ` acknowledged; ${[...MOVES, "erase" as const].map((kind) => `${done(kind)} ${kind}`).join(", ")}, ` +
      `${[...rejected.values()].filter(Boolean).length} rejected, ` +
      `${purchases.filter(({ dispute }) => dispute?.opened.acknowledged).length} disputed; ` +
      `${purchases.length} purchases, ${world.vendor.transfers.length} transfers, ${outside.calls.length} calls out`,
  );
}
