/** Clicks that no flush counted, on the real runtime while it is killed in the middle of counting them (TRACK-8, LAW-10). */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { firstIdAt, newId } from "../../src/lib/id.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { call, makeBenchWorld, type BenchWorld } from "../bench/cases.ts";
import { buildWorker, startRawService, type RawService } from "../bench/raw-service.ts";
import { openDatabaseFile } from "./database.ts";

const KILLS = Number(process.env["FAULT_ROUNDS"] ?? 20);
/** One or two steps of the roll-up a kill, so that the process dies between two of them. */
const CLICKS_PER_KILL = 15_000;
const CLICKS = KILLS * CLICKS_PER_KILL;
const EVERY_MINUTE = "* * * * *";

let folder: string;
let service: RawService;
let world: BenchWorld;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "affiliate-faults-roll-up-"));
  await buildWorker(join(folder, "build"));
  service = await startRawService(join(folder, "build"), join(folder, "state"));
  world = await makeBenchWorld(service.url);
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Clicks of the last hours, in the log and in no count. */
async function leaveClicks(): Promise<void> {
  const database = await openDatabaseFile(join(folder, "state"));
  const from = Math.floor((Date.now() - 3 * HOUR) / MINUTE) * MINUTE;
  const insert = database.prepare(`insert into events (program_id, id, type, payload, created_at, uncounted)
    select program_id, ?2, 'click', json_object('ref', slug_key, 'landing', '/', 'referrer', '', 'partner_id', partner_id), ?3, 1
    from partner_slugs where program_id = ?1 and slug_key = ?4`);
  database.exec("begin immediate");
  for (let i = 0; i < CLICKS; i++) {
    const at = from + Math.floor((i * 2 * HOUR) / CLICKS);
    insert.run(world.program_id, newId("event", at), iso(at), world.ref);
  }
  database
    .prepare("insert into click_rollups (program_id, until, next_at) values (?, ?, ?)")
    .run(world.program_id, firstIdAt("event", from), iso(from));
  database.exec("commit");
  database.close();
}

/** The progress of the roll-up, and the kept counts. */
async function stored(): Promise<{ until: string; waits: boolean; kept: number[] }> {
  const database = await openDatabaseFile(join(folder, "state"));
  const [row] = database.prepare("select until, next_at from click_rollups").all();
  const kept = [
    "select coalesce(sum(count), 0) as n from click_counts",
    "select coalesce(sum(count), 0) as n from event_counts where type = 'click'",
    "select coalesce(sum(m.value), 0) as n from event_hours h, json_each(h.minutes) m where h.type = 'click'",
  ].map((query) => Number(database.prepare(query).get()?.["n"]));
  database.close();
  return { until: String(row?.["until"]), waits: row?.["next_at"] !== null, kept };
}

/** The API's totals. */
async function totals(): Promise<number[]> {
  const get = <T>(path: string) => call<T>(service.url, "GET", `/api/v1${path}`, world.api_key);
  const [events, { data: days }, { data: partners }] = await Promise.all([
    get<{ total: number }>("/events?type=click&per_page=1"),
    get<{ data: { recorded: number }[] }>(`/clicks/summary?from=${iso(Date.now() - 24 * HOUR)}`),
    get<{ data: { id: string }[] }>(`/partners?search=${world.ref}`),
  ]);
  const partner = await get<{ stats: { clicks: number } }>(`/partners/${partners[0]!.id}`);
  return [events.total, days.reduce((sum, { recorded }) => sum + recorded, 0), partner.stats.clicks];
}

describe("clicks that are counted later (TRACK-8)", () => {
  it(`the process killed (SIGKILL) in the roll-up, ${KILLS} times`, { timeout: 1_800_000 }, async (test) => {
    await leaveClicks();
    const all = [CLICKS, CLICKS, CLICKS];
    assert.deepEqual(await totals(), all, "before the first");
    let stepped = 0;
    let inTheMiddle = 0;
    for (let i = 0; i < KILLS; i++) {
      const { until } = await stored();
      // A killed process does not answer.
      void service.cron(EVERY_MINUTE);
      await sleep(Math.random() * 2_000);
      // The first one comes after a step, however slow the machine is.
      if (i === 0) while ((await stored()).until === until) await sleep(20);
      await service.kill();
      service = await startRawService(join(folder, "build"), join(folder, "state"));
      const found = await stored();
      assert.equal(new Set(found.kept).size, 1, "the counts hold the same clicks");
      assert.deepEqual(await totals(), all, `after kill ${i + 1}`);
      if (found.until !== until) stepped++;
      if (found.waits && found.until !== until) inTheMiddle++;
    }
    test.diagnostic(`${stepped} kills after a step or more, ${inTheMiddle} of them with steps left`);
    assert.ok(stepped > 0, "some steps were over");
    for (let i = 0; i < 20 && (await stored()).waits; i++) await service.cron(EVERY_MINUTE);
    assert.deepEqual(await stored().then(({ waits, kept }) => ({ waits, kept })), { waits: false, kept: all });
    assert.deepEqual(await totals(), all, "when all is counted");
  });
});
