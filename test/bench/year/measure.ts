/**
 * Counts the writes, reads, requests and bytes of single operations of the Worker, in a real run on the local runtime.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { quietWrangler } from "../../../src/dev/quiet.ts";
import { ROOT } from "../../../src/dev/root.ts";
import { ADMIN_TOKEN } from "../raw-service.ts";
import { measureLedger } from "./measure-ledger.ts";
import { MeteredService } from "./metered-service.ts";
import { flushUsage, type Measured } from "./model.ts";
import { sumOf, type Usage } from "./prices.ts";
import {
  constantsOf,
  DAY,
  difference,
  each,
  MINUTE,
  OF_OBJECTS,
  PARTNERS,
  PROGRAMS,
  SECRET,
  type Program,
  type Visitor,
} from "./shared.ts";

/** Clicks that fill the database, over so many days. */
const CLICKS = 20_000;
const CLICK_DAYS = 10;
/** Events in one object of the archive. */
const ARCHIVED_TOGETHER = 2_000;
/** An object records the flushed position for each 50 clicks. */
const ROUNDS = 50;
const FLUSH_AFTER = 15_000;
/** After so many runs of the cron, an hour apart, all click work is done. */
const HOURS_AFTER = 5;
/** Clicks that wait in one object at once. */
const STORED = 1_000;
const COMMITS_PER_FLUSH = [1, 2, 3, 5, 10, 20];
/** An object with fewer is seldom in memory. */
const IN_MEMORY_FROM = 2;
/** Rows of a partner and day, and of a program. */
const COUNTS = ["click_counts"];
const PROGRAM_COUNTS = ["event_counts", "event_hours"];
const SOURCES = ["click_sources"];

export interface Measurements {
  measured: Measured;
  /** Usage of one commit of so many clicks that is flushed separately: of one partner, and of as many partners. */
  commits: Record<number, { one: Usage; spread: Usage }>;
  /** The additional cost of the crons for a program's clicks of one partner in an hour, rolled up alone. */
  lone_click: Usage;
}

/** Builds the metered Worker, runs it through its operations and takes it away again. */
export async function measure(): Promise<Measurements> {
  quietWrangler();
  const folder = await mkdtemp(join(tmpdir(), "affiliate-measure-"));
  try {
    await buildMeasured(folder);
    const service = await MeteredService.start(folder);
    try {
      return await run(service);
    } finally {
      await service.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function buildMeasured(folder: string): Promise<void> {
  await build({
    entryPoints: [join(ROOT, "test", "support", "measured-worker.ts")],
    outfile: join(folder, "worker", "measured.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    loader: { ".css": "text", ".txt": "text" },
    logLevel: "error",
  });
}

async function run(service: MeteredService): Promise<Measurements> {
  const programs = await makePrograms(service);
  await leaveClicks(service, programs);
  const flushes: Record<number, Usage> = {};
  const in_memory: Record<number, Usage> = {};
  for (const number of COMMITS_PER_FLUSH) {
    const commits = () => some(programs, number).map((one) => [one]);
    flushes[number] = await flushesOf(service, `flush-${number}`, commits);
    if (number >= IN_MEMORY_FROM) in_memory[number] = await flushesOf(service, `memory-${number}`, commits, false);
  }
  const commits: Measurements["commits"] = {};
  for (const size of [1, 5, 20]) {
    commits[size] = {
      one: await flushesOf(service, `one-${size}`, () => [Array<Visitor>(size).fill(some(programs, 1)[0]!)]),
      spread: await flushesOf(service, `spread-${size}`, () => [some(programs, size)]),
    };
  }
  const { roll_up, ...constants } = await constantsOf(service);
  const lone = await rollUpsOf(service, programs, 1, [1]);
  const hours_of_clicks = await rollUpsOf(service, programs, roll_up.hours, [1, PARTNERS]);
  const click_in_object = await storedBytes(service, programs);
  await service.sql("delete from events");
  const empty = service.bytes();
  await fill(service, programs);
  const filled = service.bytes();
  const [counted] = await service.sql<{ of_partners: number; of_programs: number; by_partner: number; clicks: number }>(
    `select (select count(*) from click_counts) + (select count(*) from click_sources where partner_id <> '') as of_partners,
      (select count(*) from event_counts) + (select count(*) from event_hours)
        + (select count(*) from click_sources where partner_id = '') as of_programs,
      (select avg(partner_id <> '') from click_sources) as by_partner,
      (select count(*) from events where type = 'click') as clicks`,
  );
  if (counted?.clicks !== CLICKS) throw new Error(`${counted?.clicks} of ${CLICKS} clicks are in the log`);
  const [partnerDays, programDays] = [PROGRAMS * PARTNERS * CLICK_DAYS, PROGRAMS * CLICK_DAYS];
  const sources = difference(filled, empty, SOURCES);
  const ofPartners = difference(filled, empty, COUNTS) + counted.by_partner * sources;
  const ofPrograms = difference(filled, empty, PROGRAM_COUNTS) + (1 - counted.by_partner) * sources;
  const archived = await service.sql("select * from events where type = 'click'");
  let archivedBytes = 0;
  for (let at = 0; at < archived.length; at += ARCHIVED_TOGETHER) {
    const lines = archived.slice(at, at + ARCHIVED_TOGETHER).map((row) => JSON.stringify(row));
    archivedBytes += gzipSync(lines.join("\n")).length;
  }

  const ledger = await measureLedger(service, programs);
  const deleted = await service.control<{ rows_written: number }>("sql", {
    sql: "delete from events where type = 'click'",
  });
  const { flush_delay_ms, dense, shards, one_object_to } = constants;
  const { bytes, rows, ...usage } = ledger;
  const { earning_day, ...ledgerBytes } = bytes;
  return {
    commits,
    lone_click: lone[1]!,
    measured: {
      ...usage,
      roll_up,
      hours_of_clicks,
      flush_delay_ms,
      dense,
      shards,
      one_object_to,
      flushes,
      in_memory,
      bytes: {
        ...ledgerBytes,
        click: difference(filled, empty, ["events"]) / CLICKS,
        click_in_object,
        partner_day: ofPartners / partnerDays + earning_day,
        program_day: ofPrograms / programDays,
        archived_click: archivedBytes / CLICKS,
      },
      rows: {
        ...rows,
        // Includes its earnings and sales.
        partner_day: counted.of_partners / partnerDays + 2,
        program_day: counted.of_programs / programDays,
      },
      click_deleted: deleted.rows_written / CLICKS,
    },
  };
}

async function makePrograms(service: MeteredService): Promise<Program[]> {
  const programs: Program[] = [];
  for (let p = 0; p < PROGRAMS; p++) {
    const { program, api_key } = await service.json<{ program: { id: string }; api_key: string }>(
      "POST",
      "/admin/programs",
      ADMIN_TOKEN,
      { name: `Program ${p}`, owner_email: `owner${p}@programs.example`, domain: `shop${p}.example` },
    );
    const slugs = Array.from({ length: PARTNERS }, (_, i) => `partner-${p}-${i}`);
    await service.json("PATCH", "/api/v1/programs/me", api_key, {
      provider_a_webhook_secret: SECRET,
      auto_approve_days: 7,
    });
    for (const slug of slugs) {
      const { id } = await service.json<{ id: string }>("POST", "/api/v1/partners", api_key, {
        email: `${slug}@partners.example`,
        slug,
      });
      await service.json("PATCH", `/api/v1/partners/${id}`, api_key, { status: "active" });
    }
    await service.json("POST", "/api/v1/webhooks", api_key, { url: `https://hooks${p}.example/events`, events: ["*"] });
    programs.push({ id: program.id, api_key, slugs });
  }
  return programs;
}

let visitors = 0;

/** Clicks of different partners: each of another program than the one before. */
function some(programs: Program[], number: number): Visitor[] {
  return Array.from({ length: number }, () => {
    const at = visitors++;
    const { id, slugs } = programs[(at * 7) % PROGRAMS]!;
    return { program_id: id, ref: slugs[Math.floor(at / PROGRAMS) % PARTNERS]! };
  });
}

/**
 * The usage of one flush of these commits, of so many that what an object writes down of them now and then is among it; of
 * the commits, their duration is left out. The object is evicted between all of them, as one to which few clicks come, or
 * stays in memory.
 */
async function flushesOf(
  service: MeteredService,
  object: string,
  commits: () => Visitor[][],
  evicted = true,
): Promise<Usage> {
  const rounds = Array.from({ length: ROUNDS }, commits);
  // Only the overwritten rows; the first flush also makes the object known and begins the day's counts.
  for (const before of rounds.slice(0, 2))
    await service.control("flush", { object, rounds: [before], ms: 0, evicted: true });
  await service.control("commit", { object, commits: rounds.slice(2).flat() });
  await service.control("bring", { object });
  await service.control("advance", { ms: 31 * MINUTE });
  await service.tally();
  await service.control("flush", { object, rounds: Array.from({ length: ROUNDS }, commits), ms: FLUSH_AFTER, evicted });
  const usage = each(await service.tally(), ROUNDS);
  if (usage.d1_rows_written <= rounds[0]!.flat().length) throw new Error(`${object}: not all clicks were flushed`);
  return sumOf([usage, 1], [flushUsage(usage.do_requests - rounds[0]!.length), 1]);
}

/** A click of each program that waits for the roll-up, as usual under steady traffic. */
async function leaveClicks(service: MeteredService, programs: Program[]): Promise<void> {
  const object = "waiting";
  await service.control("commit", {
    object,
    commits: [programs.map(({ id, slugs }) => ({ program_id: id, ref: slugs[0]! }))],
  });
  await service.control("bring", { object });
}

/**
 * What the clicks of the hours from one roll-up to the next cost beyond their flush and the cron's usual work, for each
 * program: by partners with clicks. The flush notes that a program's clicks wait, where none waited.
 */
async function rollUpsOf(
  service: MeteredService,
  programs: Program[],
  hours: number,
  partners: readonly number[],
): Promise<Record<number, Usage>> {
  const crons = async () => {
    await service.tally();
    await hoursPass(service);
    return service.tally();
  };
  await crons();
  const idle = await crons();
  const usages: Record<number, Usage> = {};
  for (const number of partners) {
    const object = `hours-${hours}-${number}`;
    const clicks = programs.flatMap(({ id, slugs }) => slugs.slice(0, number).map((ref) => ({ program_id: id, ref })));
    // Two of each partner, because shared rows are written once. Visitors come to the same pages all day.
    for (let hour = 0; hour < hours; hour++) {
      if (hour > 0) await service.control("advance", { ms: 60 * MINUTE });
      await service.control("commit", { object, commits: [[...clicks, ...clicks]], isAgain: hour > 0 });
      await service.control("bring", { object });
    }
    const [waiting] = await service.sql<{ programs: number }>(
      "select count(*) as programs from click_rollups where next_at is not null",
    );
    const noted = { d1_rows_written: waiting!.programs };
    const more = sumOf([await crons(), 1], [idle, -1], [noted, 1]);
    // Another object is queried every minute, which is in the model.
    usages[number] = each({ ...more, ...OF_OBJECTS }, programs.length);
  }
  return usages;
}

/** Bytes of a click in its object, alone in its commit. */
async function storedBytes(service: MeteredService, programs: Program[]): Promise<number> {
  const object = "stored";
  const size = async (clicks: number) => {
    await service.control("commit", { object, commits: some(programs, clicks).map((one) => [one]) });
    return (await service.control<{ bytes: number }>("stored", { object })).bytes;
  };
  const before = await size(1);
  const stored = ((await size(STORED)) - before) / STORED;
  // The object would flush them itself, during the next measurement.
  await service.control("bring", { object });
  return stored;
}

async function fill(service: MeteredService, programs: Program[]): Promise<void> {
  const perFlush = 160;
  for (let i = 0; i < CLICKS / perFlush; i++) {
    const object = `fill-${i % 4}`;
    await service.control("commit", { object, commits: [some(programs, perFlush)] });
    await service.control("bring", { object });
    await service.control("advance", { ms: (CLICK_DAYS * DAY * perFlush) / CLICKS });
  }
  await hoursPass(service);
}

/** The minute's cron, an hour apart, until all click work is done. */
async function hoursPass(service: MeteredService): Promise<void> {
  for (let i = 0; i < HOURS_AFTER; i++) {
    await service.control("advance", { ms: 61 * MINUTE });
    await service.cron("* * * * *");
  }
}
