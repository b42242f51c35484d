/** Counts what single operations of the Worker write, read, ask for and store, in a real run on the local runtime. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { quietWrangler } from "../../../src/dev/quiet.ts";
import { ROOT } from "../../../src/dev/root.ts";
import { bodyOfA, sessionCompleted, signA } from "../../support/provider-a.ts";
import { ADMIN_TOKEN } from "../raw-service.ts";
import { flushUsage, type Measured } from "./model.ts";
import { bearer, MeteredService } from "./metered-service.ts";
import { sumOf, type Usage } from "./prices.ts";

const PROGRAMS = 40;
const PARTNERS = 5;
/** Clicks that fill the database, over so many days. */
const CLICKS = 20_000;
const CLICK_DAYS = 10;
/** Events in one object of the archive. */
const ARCHIVED_TOGETHER = 2_000;
const PAYMENTS = 400;
const SECRET = "whsec_measure";
const DAY = 86_400_000;
const MINUTE = 60_000;
/** An object writes down what is flushed for each 50 clicks. */
const ROUNDS = 50;
const FLUSH_AFTER = 15_000;
/** After so many runs of the cron, an hour apart, nothing is left to do for clicks. */
const HOURS_AFTER = 5;
/** A job that finds nothing to do writes that down once in so many minutes. */
const IDLE_MINUTES = 10;
const MAX_MINUTES = 500;
/** What click objects cost is in the model. */
const OF_OBJECTS = { do_requests: 0, do_rows_read: 0, do_rows_written: 0 };
/** Clicks that wait in one object at once. */
const STORED = 1_000;
const COMMITS_PER_FLUSH = [1, 2, 3, 5, 10, 20];
/** Tables whose rows are forgotten; `provider_events` keeps its rows and forgets their bodies. */
const FORGOTTEN = ["deliveries", "delivery_attempts", "messages", "missed_deliveries"];
const LEDGER = ["payments", "commissions", "facts", "fact_subjects", "provider_events"];
const COUNTS = ["click_counts", "event_counts"];

export interface Measurements {
  measured: Measured;
  /** Usage of one commit of so many clicks that is flushed separately: of one partner, and of as many partners. */
  commits: Record<number, { one: Usage; spread: Usage }>;
  /** What the crons do more for a program's clicks of one partner in an hour, rolled up alone. */
  lone_click: Usage;
}

interface Program {
  id: string;
  api_key: string;
  slugs: string[];
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
  for (const commits of COMMITS_PER_FLUSH) {
    flushes[commits] = await flushesOf(service, `flush-${commits}`, () => some(programs, commits).map((one) => [one]));
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
  const [counted] = await service.sql<{ rows: number; clicks: number }>(
    `select (select count(*) from click_counts) + (select count(*) from event_counts) as rows,
      (select count(*) from events where type = 'click') as clicks`,
  );
  if (counted?.clicks !== CLICKS) throw new Error(`${counted?.clicks} of ${CLICKS} clicks are in the log`);
  const partnerDays = PROGRAMS * PARTNERS * CLICK_DAYS;
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
      bytes: {
        ...bytes,
        click: difference(filled, empty, ["events"]) / CLICKS,
        click_in_object,
        partner_day: difference(filled, empty, COUNTS) / partnerDays,
        archived_click: archivedBytes / CLICKS,
      },
      rows: { ...rows, partner_day: counted.rows / partnerDays },
      click_deleted: deleted.rows_written / CLICKS,
    },
  };
}

/** Payments from the provider's webhook to the delivery of what they caused, their approval, payouts and end. */
async function measureLedger(service: MeteredService, programs: Program[]) {
  // Counts are set right that the rows deleted before have left, which would be logged as wrong.
  await service.cron("17 3 * * *");
  const before = service.bytes();
  await service.tally();
  for (let i = 0; i < PAYMENTS; i++) {
    const { id, slugs } = programs[i % PROGRAMS]!;
    const created = Math.floor((await constantsOf(service)).now / 1000);
    const body = bodyOfA(
      sessionCompleted({ ref: slugs[Math.floor(i / PROGRAMS) % PARTNERS]!, amount: 12_000, tax: 2_000, created }),
    );
    const headers = {
      "content-type": "application/json",
      "provider-a-signature": await signA(body, SECRET, created),
    };
    await service.call("POST", `/webhooks/provider_a?program_id=${id}`, headers, body);
  }
  await service.delivered();
  const payment = each(await service.tally(), PAYMENTS);

  await service.control("advance", { ms: 8 * DAY });
  await service.cron("17 3 * * *");
  await service.delivered();
  const approval = each(await service.tally(), PAYMENTS);

  // Payouts are generated on the first of a month.
  const { now } = await constantsOf(service);
  const at = new Date(now);
  await service.control("advance", { ms: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1, 0, 23) - now });
  // The approval that is due goes first.
  await service.cron("17 3 * * *");
  const paid = service.bytes();
  // One run takes up so many programs, the next one the rest.
  for (let i = 0; i < 3; i++) await service.cron("23 0 1 * *");
  const generated = await service.sql<{ id: string; program_id: string }>("select id, program_id from payouts");
  for (const { id, program_id } of generated) {
    const { api_key } = programs.find((program) => program.id === program_id)!;
    await service.call("POST", `/api/v1/payouts/${id}/mark-paid`, bearer(api_key), "{}");
  }
  await service.delivered();
  const payouts = generated.length;
  if (payouts !== PROGRAMS * PARTNERS) throw new Error(`${payouts} payouts`);
  const payout = each(await service.tally(), payouts);
  const after = service.bytes();
  const count = async (tables: string[]) => {
    const [row] = await service.sql<{ count: number }>(
      `select ${tables.map((table) => `(select count(*) from ${table})`).join(" + ")} as count`,
    );
    return row?.count ?? 0;
  };
  const rows = {
    payment_kept: ((await count(LEDGER)) + 2 * PAYMENTS) / PAYMENTS,
    // Of payments and payouts; the payouts' share is small.
    payment_forgotten: (await count(FORGOTTEN)) / PAYMENTS,
    payout: 2,
  };
  const [bodies] = await service.sql<{ bytes: number }>(
    "select coalesce(sum(length(body)), 0) as bytes from provider_events",
  );

  for (let i = 0; i < 20; i++)
    await service.call("GET", "/api/v1/commissions", bearer(programs[i % PROGRAMS]!.api_key));
  const read = each(await service.tally(), 20);
  await roundsEnd(service);
  const minute = each(await roundsOf(service, IDLE_MINUTES), IDLE_MINUTES);
  await service.control("advance", { ms: DAY });
  await service.tally();
  await service.cron("17 3 * * *");
  const began = await service.tally();
  const { minutes, usage } = await roundsEnd(service);
  const day = each(sumOf([began, 1], [usage, 1], [minute, -minutes]), PROGRAMS);

  await service.control("advance", { ms: 100 * DAY });
  await service.cron("17 3 * * *");
  const forgetting = each(await service.tally(), PAYMENTS);
  const body_bytes = bodies?.bytes ?? 0;
  return {
    payment,
    approval,
    payout,
    forgetting,
    read,
    minute: { ...minute, ...OF_OBJECTS },
    // The runs themselves are those of the minutes.
    day: { ...day, ...OF_OBJECTS, requests: 0 },
    bytes: {
      payment_kept: (difference(paid, before, [...LEDGER, "events"]) - body_bytes) / PAYMENTS,
      payment_forgotten: (difference(after, before, FORGOTTEN) + body_bytes) / PAYMENTS,
      payout: difference(after, paid, ["payouts", "payout_runs", "events", ...LEDGER]) / payouts,
    },
    rows,
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

type Visitor = { program_id: string; ref: string };

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
 * the commits, their duration is left out. The object is evicted between all of them, as one to which few clicks come.
 */
async function flushesOf(service: MeteredService, object: string, commits: () => Visitor[][]): Promise<Usage> {
  const rounds = Array.from({ length: ROUNDS }, commits);
  // What these write over; the first one also makes the object known and begins the day's counts.
  for (const before of rounds.slice(0, 2)) await service.control("flush", { object, rounds: [before], ms: 0 });
  await service.control("commit", { object, commits: rounds.flat() });
  await service.control("bring", { object });
  await service.control("advance", { ms: 31 * MINUTE });
  await service.tally();
  await service.control("flush", { object, rounds: Array.from({ length: ROUNDS }, commits), ms: FLUSH_AFTER });
  const usage = each(await service.tally(), ROUNDS);
  return sumOf([usage, 1], [flushUsage(usage.do_requests - rounds[0]!.length), 1]);
}

/** A click of each program that waits for the roll-up, as one always does where clicks come all the time. */
async function leaveClicks(service: MeteredService, programs: Program[]): Promise<void> {
  const object = "waiting";
  await service.control("commit", {
    object,
    commits: [programs.map(({ id, slugs }) => ({ program_id: id, ref: slugs[0]! }))],
  });
  await service.control("bring", { object });
}

type Constants = Pick<Measured, "flush_delay_ms" | "dense" | "shards" | "one_object_to" | "roll_up"> & { now: number };

function constantsOf(service: MeteredService): Promise<Constants> {
  return service.control<Constants>("constants");
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
    // Two of each partner: what is written for all of them together is written once. Visitors come to the same pages all day.
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
    // Another object is asked every minute, which is in the model.
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
  // It would flush them itself, in the middle of what is measured next.
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

/** The minute's cron, an hour apart, until nothing is left to do for clicks. */
async function hoursPass(service: MeteredService): Promise<void> {
  for (let i = 0; i < HOURS_AFTER; i++) {
    await service.control("advance", { ms: 61 * MINUTE });
    await service.cron("* * * * *");
  }
}

/** The minute's cron, minute by minute, until no job has anything left of its round: what that took. */
async function roundsEnd(service: MeteredService): Promise<{ minutes: number; usage: Usage }> {
  let usage = sumOf();
  for (let minutes = 0; ; minutes++) {
    const [open] = await service.sql<{ n: number }>("select count(*) as n from job_runs where finished_at is null");
    if (open?.n === 0) return { minutes, usage };
    if (minutes === MAX_MINUTES) throw new Error(`after ${minutes} minutes ${open?.n} jobs are not over`);
    usage = sumOf([usage, 1], [await roundsOf(service, 1), 1]);
  }
}

async function roundsOf(service: MeteredService, minutes: number): Promise<Usage> {
  await service.tally();
  for (let i = 0; i < minutes; i++) {
    await service.control("advance", { ms: MINUTE });
    await service.cron("* * * * *");
  }
  return service.tally();
}

function each(usage: Usage, number: number): Usage {
  return sumOf([usage, 1 / number]);
}

/** By how many bytes tables and their indexes have grown together. */
function difference(after: Map<string, number>, before: Map<string, number>, tables: string[]): number {
  return tables.reduce((sum, table) => sum + (after.get(table) ?? 0) - (before.get(table) ?? 0), 0);
}
