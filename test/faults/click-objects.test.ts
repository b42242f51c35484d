/** The number of a region's click objects changes on the real runtime while it is killed (TRACK-18, LAW-10). */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { makeBenchWorld, VISITOR, type BenchWorld } from "../bench/cases.ts";
import { buildWorker, PLACE_HEADER, startRawService, type RawService } from "../bench/raw-service.ts";
import { openDatabaseFile } from "./database.ts";

/** One in each region: a split is for good. */
const REGIONS = [
  { continent: "EU", longitude: "2.3" },
  { continent: "EU", longitude: "24.9" },
  { continent: "NA", longitude: "-122.4" },
  { continent: "NA", longitude: "-73.9" },
  { continent: "SA" },
  { continent: "AS", longitude: "139.7", latitude: "35.7" },
  { continent: "AS", longitude: "103.8", latitude: "1.3" },
  { continent: "AS", longitude: "55.3" },
  { continent: "OC" },
  { continent: "AF" },
].slice(0, Number(process.env["FAULT_ROUNDS"] ?? 20));
/** Data centers of all four objects. */
const COLOS = ["MAD", "FRA", "LHR", "AMS"];
const CLIENTS = 32;
/** The load that splits a region (`SPLIT_LOAD`). */
const COMMITS = 20;
/** The process is killed after so many answers of a round at most: before a region's split, at it, or after it. */
const ANSWERS = 200;

let folder: string;
let service: RawService;
let world: BenchWorld;
const start = () => startRawService(join(folder, "build"), join(folder, "state"), { main: "places.js" });

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "affiliate-faults-objects-"));
  await buildWorker(join(folder, "build"));
  service = await start();
  world = await makeBenchWorld(service.url);
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Click {
  landing: string;
  place: string;
  isAnswered: boolean;
}

const clicks: Click[] = [];

function next(place: string): Click {
  const click = { landing: `/c${clicks.length}`, place, isAnswered: false };
  clicks.push(click);
  return click;
}

/** Reports a click, under the same id however often; false when the service is gone. */
async function report(click: Click): Promise<boolean> {
  const { program_id, ref } = world;
  const body = { program_id, ref, landing: click.landing, referrer: "", id: click.landing.slice(1) };
  const headers = { "user-agent": VISITOR, "content-type": "text/plain", [PLACE_HEADER]: click.place };
  try {
    const response = await fetch(`${service.url}/click`, { method: "POST", headers, body: JSON.stringify(body) });
    await response.arrayBuffer();
    click.isAnswered ||= response.status === 202;
    return true;
  } catch {
    return false;
  }
}

async function browse(place: string): Promise<void> {
  while (await report(next(place)));
}

/** The landings in the log, and the objects that ever took a click. */
async function stored(): Promise<{ landings: string[]; objects: string[] }> {
  const database = await openDatabaseFile(join(folder, "state"));
  const column = (query: string) =>
    database
      .prepare(query)
      .all()
      .map(({ value }) => String(value));
  const landings = column("select payload ->> 'landing' as value from events where type = 'click'");
  const objects = column("select name as value from click_objects");
  database.close();
  return { landings, objects };
}

const isAnother = (name: string) => !name.endsWith(":0");

describe("clicks exactly once while their objects become more (TRACK-18)", () => {
  it(`the process killed (SIGKILL) around a split, ${REGIONS.length} times`, { timeout: 1_800_000 }, async (test) => {
    for (const region of REGIONS) {
      const begin = clicks.length;
      const places = COLOS.map((colo) => JSON.stringify({ ...region, colo }));
      const clients = Array.from({ length: CLIENTS }, (_, i) => browse(places[i % places.length]!));
      const most = Math.random() * ANSWERS;
      while (clicks.slice(begin).filter(({ isAnswered }) => isAnswered).length < most) await sleep(5);
      await service.kill();
      await Promise.all(clients);
      service = await start();
      // Splits a region now: its first object's clicks are repeated to the others.
      for (let n = 0; n < COMMITS; n++) await report(next(places[0]!));
      // Every page reports its click again, whether it had an answer or not.
      await Promise.all(clicks.slice(begin).map(report));
    }
    let found = await stored();
    for (let i = 0; i < 60 && found.landings.length < clicks.length; i++) {
      // The cron finds the clicks of killed Workers.
      await service.cron("* * * * *");
      await sleep(1_000);
      found = await stored();
    }
    const split = new Set(found.objects.filter(isAnother).map((name) => name.split(":")[0]));
    test.diagnostic(`${clicks.length} clicks; ${split.size} of ${REGIONS.length} regions were split`);
    assert.deepEqual(
      clicks.filter(({ isAnswered }) => !isAnswered),
      [],
      "all were answered in the end",
    );
    assert.deepEqual(found.landings.toSorted(), clicks.map(({ landing }) => landing).toSorted(), "each is there once");
    assert.ok(split.size > 0, "some regions were split");
  });
});
