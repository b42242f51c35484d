import { createExecutionContext, createScheduledController, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf } from "../../src/clicks/batch.ts";
import { archiveNotedDays, noteArchivableDays } from "../../src/core/clicks/archive.ts";
import { flushClicks } from "../../src/core/clicks/clicks.ts";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { Arrival } from "../../src/domain/click.ts";
import type { Bindings } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { gunzip, gzip } from "../../src/lib/gzip.ts";
import { DAY, HOUR, iso, MINUTE, SECOND } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { faultyDatabase } from "../support/clicks.ts";
import { makeClicks, makeEvents } from "../support/many-clicks.ts";
import { makeProgram, testContext, type TestProgram, programOfJane } from "../support/program.ts";
import { callWith } from "../support/watched-database.ts";
import { all } from "../support/rows.ts";

const NOW = Date.parse("2026-09-10T12:00:00.000Z");
const START = Date.parse("2026-03-01T00:00:00.000Z");
const RETENTION = 30;
const { ARCHIVE } = env;

beforeEach(async () => {
  vi.spyOn(console, "error").mockReturnValue();
  // The job acts on the whole deployment: each test starts from an empty one.
  const tables = ["events", "event_hours", "event_counts", "click_archives", "click_archive_days"];
  await env.DB.batch(tables.map((table) => env.DB.prepare(`delete from ${table}`)));
});
afterEach(() => vi.restoreAllMocks());

interface EventPage {
  data: { id: string; type: string; program_id: string; created_at: string; payload: unknown }[];
  total: number;
  next_cursor: string | null;
}

/** Events over four days: some minutes hold hundreds, a seventh is of another type, the last day is yesterday. */
function spread(count: number): { type: string; ms: number }[] {
  return Array.from({ length: count }, (_, i) => {
    const day = [0, 0, 1, 2][i % 4]! * DAY + (i % 97 === 0 ? NOW - DAY - START : 0);
    const at = i % 3 === 0 ? 11 * HOUR + 30 * MINUTE + ((i * 37) % MINUTE) : (i * 7_919_333) % DAY;
    return { type: i % 7 === 0 ? "partner.updated" : "click", ms: Math.floor(START + day) + at };
  });
}

const note = (ctx = testContext(NOW)) => serveAll(noteArchivableDays(ctx, RETENTION));

/** Archives the clicks. Returns how many clicks are newly in the archive. */
async function move(ctx = testContext(NOW), bucket: R2Bucket = ARCHIVE, goOn?: () => boolean): Promise<number> {
  const before = await countArchived();
  await serveAll(archiveNotedDays(ctx, bucket), goOn);
  return (await countArchived()) - before;
}

async function countArchived(): Promise<number> {
  const [row] = await all<{ n: number }>("select coalesce(sum(count), 0) as n from click_archives");
  return row!.n;
}

async function archiveAll(ctx = testContext(NOW), bucket: R2Bucket = ARCHIVE): Promise<number> {
  await note(ctx);
  return move(ctx, bucket);
}

async function get(program: TestProgram, query: Record<string, string>) {
  const { status, body } = await program.api<EventPage>(
    "GET",
    `/api/v1/events?${new URLSearchParams(query).toString()}`,
  );
  return { status, body };
}

async function walk(program: TestProgram, filter: Record<string, string> = {}): Promise<EventPage["data"]> {
  const all: EventPage["data"] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { body } = await get(program, { per_page: "100", ...filter, ...(cursor ? { cursor } : {}) });
    all.push(...body.data);
    cursor = body.next_cursor;
  }
  return all;
}

const clicksLeft = async (program: TestProgram) =>
  (await all("select id from events where program_id = ? and type = 'click' and created_at < '2026-09'", program.id))
    .length;

async function keptOf(program: TestProgram) {
  return {
    days: await all("select type, day, count from event_counts where program_id = ? order by 1, 2", program.id),
    hours: await all("select * from event_hours where program_id = ? order by hour, type", program.id),
  };
}

/** Any query of the list; cursors are existing ids. */
function queries(ids: readonly string[]): fc.Arbitrary<Record<string, string>> {
  const instant = fc.oneof(
    fc.integer({ min: START - HOUR, max: START + 4 * DAY }),
    fc.integer({ min: 0, max: 4 * 24 }).map((hour) => START + hour * HOUR),
    fc.integer({ min: 0, max: MINUTE }).map((ms) => START + 11 * HOUR + 30 * MINUTE + ms),
  );
  const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const cursor = fc.nat({ max: ids.length - 1 }).map((i) => btoa(ids[i]!).replaceAll("=", ""));
  return fc
    .record({
      type: optional(fc.constantFrom("click", "click", "partner.updated", "partner.deleted")),
      from: optional(instant.map(iso)),
      to: optional(instant.map(iso)),
      per_page: fc.integer({ min: 1, max: 100 }).map(String),
      at: fc.oneof(
        fc.record({ page: fc.integer({ min: 1, max: 60 }).map(String) }),
        fc.record({ cursor }),
        fc.constant({}),
      ),
    })
    .map(({ at, ...filter }) => Object.fromEntries(Object.entries({ ...filter, ...at }).filter(([, v]) => v)) as never);
}

describe("clicks beyond their retention (JOB-3)", () => {
  it("are listed as before, page by page, wherever they are", async () => {
    const program = await makeProgram();
    const other = await makeProgram();
    const ids = await makeEvents(program, spread(5_000));
    await makeEvents(other, spread(900));
    const asked = fc.sample(queries(ids), { numRuns: 40 });
    asked.push({ page: "35", per_page: "100" }, { page: "999999999", per_page: "100" }, { type: "click", page: "70" });
    const ask = async () => Promise.all(asked.map(async (query) => [query, await get(program, query)]));
    const before = await ask();
    const listed = await walk(program);
    const othersBefore = await walk(other);
    const kept = await keptOf(program);
    const summary = await program.api("GET", "/api/v1/clicks/summary?from=2026-02-01&to=2026-10-01");
    expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
    const far = await get(program, { page: "35", per_page: "100" });
    expect(far.body.data).toEqual(listed.slice(3_400, 3_500));
    const old = await clicksLeft(program);

    // First only one stretch of the oldest day.
    await note();
    let steps = 0;
    const part = await move(testContext(NOW), ARCHIVE, () => steps++ < 2);
    expect(part).toBeGreaterThan(0);
    expect(await ask()).toEqual(before);
    const rest = await move();
    expect(rest).toBeGreaterThan(1_000);
    expect([old > 4_000, await clicksLeft(program), await clicksLeft(other)]).toEqual([true, 0, 0]);
    expect(await ask()).toEqual(before);
    expect(await walk(program)).toEqual(listed);
    expect(await walk(other)).toEqual(othersBefore);
    for (const event of [listed[0], listed[2_500], listed.at(-1)]) {
      const path = `/api/v1/events/${event!.id}`;
      expect(await program.api("GET", path)).toMatchObject({ status: 200, body: event });
      expect((await other.api("GET", path)).status).toBe(404);
    }
    for (const id of ["evt_nothing", ids[2_500]!.slice(0, -1), `${ids[2_500]!}0`, "par_x", "%00"]) {
      expect([id, (await program.api("GET", `/api/v1/events/${id}`)).status]).toEqual([id, 404]);
    }
    expect(await keptOf(program)).toEqual(kept);
    expect((await program.api("GET", "/api/v1/clicks/summary?from=2026-02-01&to=2026-10-01")).body).toEqual(
      summary.body,
    );
    expect(await archiveAll(), "nothing is left to do").toBe(0);
  });

  it("are in objects of their own program, gzipped NDJSON, of a bounded number of clicks", async () => {
    const program = await makeProgram();
    const ids = await makeClicks(program, 4_500, (i) => START + i * SECOND);
    await archiveAll();
    const stretches = await all<{ key: string; count: number; day: string }>(
      "select * from click_archives where program_id = ? order by last_id",
      program.id,
    );
    expect(stretches.map(({ count }) => count)).toEqual([2_000, 2_000, 500]);
    const found: string[] = [];
    for (const { key, day } of stretches) {
      expect(key.startsWith(`clicks/${program.id}/${day}/`)).toBe(true);
      const lines = (await gunzip((await ARCHIVE.get(key))!.body)).trimEnd().split("\n");
      for (const line of lines) {
        const click = JSON.parse(line) as Record<string, unknown>;
        expect(click).toMatchObject({ program_id: program.id, type: "click", payload: { landing: '/ü"\n' } });
        found.push(String(click["id"]));
      }
    }
    expect(found).toEqual(ids);
  });

  it("need one or two objects for a page, however deep it lies", async () => {
    const program = await makeProgram();
    const ids = await makeClicks(program, 9_000, (i) => START + i * SECOND);
    await archiveAll();
    for (const query of [
      `cursor=${btoa(ids[3_000]!)}&per_page=100`,
      "page=60&per_page=100",
      `type=click&cursor=${btoa(ids[2_050]!)}&per_page=100`,
      `from=${iso(START + 100_500)}&to=${iso(START + 4_000_500)}`,
    ]) {
      let gets = 0;
      const counting = watchBucket({ get: () => void gets++ });
      const { status } = await callWith({ ARCHIVE: counting }, `/api/v1/events?${query}`, {
        headers: { authorization: `Bearer ${program.api_key}` },
      });
      expect([query, status]).toEqual([query, 200]);
      expect(gets, query).toBeGreaterThan(0);
      expect(gets, query).toBeLessThanOrEqual(4);
    }
  });

  it("that come late, after their day was archived, form a further stretch", async () => {
    const program = await programOfJane();
    await makeClicks(program, 300, (i) => START + i * MINUTE);
    await archiveAll();
    const times = [0, 1, 150, 299].map((minute) => START + minute * MINUTE + 30 * SECOND);
    const arrivals = times.map((ms) => {
      const click = { program_id: program.id, ref: "jane", landing: "/", referrer: "", id: null };
      return JSON.parse(arrivalOf(click, ms, "DE").entry) as Arrival;
    });
    const flush = { object: "weur:late", epoch: program.id, from: 0, to: 4, arrivals, now: NOW };
    await flushClicks(env, flush);
    expect(await flushClicks(env, flush)).toBe(4);
    await serveAll(rollUpClicks(testContext(NOW + HOUR)));
    const listed = await walk(program, { type: "click" });
    expect(listed).toHaveLength(304);
    const german = listed.filter(({ payload }) => (payload as { country?: string }).country === "DE");
    expect(german).toHaveLength(4);
    expect(listed.map(({ id }) => id)).toEqual(
      listed
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
    const cut = { from: iso(times[0]!), to: iso(times[2]! + 1), type: "click" };
    const between = await walk(program, cut);
    expect(await archiveAll()).toBe(4);
    expect(await clicksLeft(program)).toBe(0);
    expect(await walk(program, { type: "click" })).toEqual(listed);
    expect(await walk(program, cut)).toEqual(between);
    expect((await get(program, cut)).body.total).toBe(between.length);
    expect(
      await all("select archived, count from event_counts where program_id = ? and type = 'click'", program.id),
    ).toEqual([{ archived: 304, count: 304 }]);
    // A flush whose reply was lost is repeated. Its cursor has moved, regardless of the archive.
    expect(await flushClicks(env, flush)).toBe(4);
    expect(await walk(program, { type: "click" })).toEqual(listed);
  });
});

describe("the move into the archive (JOB-3)", () => {
  it("that fails at any step, or whose reply is lost, loses nothing and doubles nothing", async () => {
    const program = await makeProgram();
    await makeClicks(program, 2_050, (i) => START + i * SECOND);
    const listed = await walk(program);
    await note();
    const failing = (name: "put" | "head", when: "before" | "after") =>
      move(
        testContext(NOW),
        watchBucket(
          {
            [name]: () => {
              throw new Error("down");
            },
          },
          when,
        ),
      );
    await expect(failing("put", "before")).rejects.toThrow("storage");
    await expect(failing("put", "after")).rejects.toThrow("storage");
    await expect(failing("head", "before")).rejects.toThrow("storage");
    expect(await all("select 1 from click_archives")).toEqual([]);
    for (const fault of ["down", "lost"] as const) {
      const database = faultyDatabase();
      database.before = async () => void (database.fault = fault);
      const ctx = { ...testContext(NOW), db: openDatabase(database.binding) };
      await expect(move(ctx)).rejects.toThrow();
      expect(await walk(program)).toEqual(listed);
    }
    expect(await all("select count from click_archives")).toEqual([{ count: 2_000 }]);
    expect(await move()).toBe(50);
    expect(await walk(program)).toEqual(listed);
    const kept = await all<{ key: string }>("select key from click_archives order by key");
    const { objects } = await ARCHIVE.list({ prefix: `clicks/${program.id}/` });
    expect(objects.map(({ key }) => key).toSorted()).toEqual(kept.map(({ key }) => key));
  });

  it("runs twice at once and moves each click once", async () => {
    const program = await makeProgram();
    await makeClicks(program, 2_500, (i) => START + i * 80 * SECOND);
    const listed = await walk(program);
    await Promise.all([archiveAll(), archiveAll(), archiveAll()]);
    await archiveAll();
    const [counted] = await all<{ n: number }>("select sum(count) as n from click_archives");
    const [archived] = await all<{ n: number }>("select sum(archived) as n from event_counts where type = 'click'");
    expect([counted, archived]).toEqual([{ n: 2_500 }, { n: 2_500 }]);
    expect(await walk(program)).toEqual(listed);
  });

  it("leaves alone what is within the retention, and a day until it has ended so long ago", async () => {
    const program = await makeProgram();
    const edge = Date.parse("2026-08-11T00:00:00.000Z");
    await makeClicks(program, 3, (i) => edge - 1 + i);
    expect(await archiveAll(testContext(edge + RETENTION * DAY - 1))).toBe(0);
    expect(await archiveAll(testContext(edge + RETENTION * DAY))).toBe(1);
    expect(await archiveAll(testContext(edge + RETENTION * DAY + DAY - 1))).toBe(0);
    expect(await archiveAll(testContext(edge + RETENTION * DAY + DAY))).toBe(2);
  });
});

describe("an archive that is away or holds something else", () => {
  async function archived(): Promise<TestProgram> {
    const program = await makeProgram();
    await makeEvents(program, [
      ...Array.from({ length: 200 }, (_, i) => ({ type: "click", ms: START + i * SECOND })),
      ...Array.from({ length: 30 }, (_, i) => ({ type: "partner.updated", ms: NOW - i * SECOND })),
    ]);
    await archiveAll();
    return program;
  }
  const ask = (program: TestProgram, ARCHIVE_: R2Bucket | undefined, query: string) =>
    callWith<EventPage & { error?: { code: string } }>({ ARCHIVE: ARCHIVE_ as R2Bucket }, `/api/v1/events?${query}`, {
      headers: { authorization: `Bearer ${program.api_key}` },
    });

  it("is 503 for the pages that need it, and nothing to the others", async () => {
    const program = await archived();
    const down = watchBucket({
      get: () => {
        throw new Error("down");
      },
    });
    for (const bucket of [down, undefined]) {
      for (const query of ["per_page=20", "type=partner.updated", "from=2026-09-01", "to=2026-02-01", "per_page=29"]) {
        expect([query, (await ask(program, bucket, query)).status]).toEqual([query, 200]);
      }
      for (const query of ["per_page=31", "type=click", "page=2", `to=${iso(START + 10_500)}`]) {
        const { status, body } = await ask(program, bucket, query);
        expect([query, status, body.error?.code]).toEqual([query, 503, "storage_unavailable"]);
      }
    }
  });

  it("is 503 where an object is missing, cut off, of another program or of another length", async () => {
    const program = await archived();
    const [stretch] = await all<{ key: string }>("select key from click_archives");
    const key = stretch!.key;
    const text = await gunzip((await ARCHIVE.get(key))!.body);
    const packed = await gzip(text);
    const wrong: (Uint8Array | null)[] = [
      null,
      packed.slice(0, 200),
      await gzip(text.replaceAll(program.id, (await makeProgram()).id)),
      await gzip(text.split("\n").slice(1).join("\n")),
      new TextEncoder().encode(text),
    ];
    for (const bytes of wrong) {
      await (bytes === null ? ARCHIVE.delete(key) : ARCHIVE.put(key, bytes));
      expect((await ask(program, ARCHIVE, "type=click")).status).toBe(503);
    }
    await ARCHIVE.put(key, packed);
    expect((await ask(program, ARCHIVE, "type=click")).status).toBe(200);
  });
});

describe("CLICK_RETENTION_DAYS", () => {
  async function crons(bindings: Partial<Bindings>): Promise<string[]> {
    const logged = vi.spyOn(console, "error").mockReturnValue().mockClear();
    for (const cron of ["17 3 * * *", "* * * * *"]) {
      const context = createExecutionContext();
      const deployment = { ...(env as unknown as Bindings), ...bindings };
      await worker.scheduled(createScheduledController({ cron }), deployment, context);
      await waitOnExecutionContext(context);
    }
    const said = logged.mock.calls.map(([line]) => (JSON.parse(String(line)) as { what: string }).what);
    // The helper that makes the clicks does not store counts by partner.
    return said.filter((what) => what !== "kept counts were wrong");
  }

  it("moves clicks by the crons where it is set and a bucket is bound, and else none, which the log says", async () => {
    const program = await makeProgram();
    await makeClicks(program, 10, (i) => START + i);
    expect(await crons({})).toEqual([]);
    for (const CLICK_RETENTION_DAYS of ["0", "-1", "30d", "1.5"]) {
      expect(await crons({ CLICK_RETENTION_DAYS })).toEqual([expect.stringContaining("not a whole number of days")]);
    }
    expect(await crons({ CLICK_RETENTION_DAYS: "30", ARCHIVE: undefined as never })).toEqual([
      expect.stringContaining("no ARCHIVE bucket is bound"),
    ]);
    expect(await clicksLeft(program)).toBe(10);
    expect(await crons({ CLICK_RETENTION_DAYS: "30" })).toEqual([]);
    expect(await clicksLeft(program)).toBe(0);
    expect((await get(program, {})).body.total).toBe(10);
  });
});

/** The bucket with a callback for its calls; `report` may throw before the call or after it. */
function watchBucket(
  report: Partial<Record<"put" | "get" | "head", () => void>>,
  when: "before" | "after" = "before",
): R2Bucket {
  return new Proxy(ARCHIVE, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const reported = report[name as "put"];
      return async (...args: unknown[]): Promise<unknown> => {
        if (when === "before") reported?.();
        const result: unknown = await Reflect.apply(member, target, args);
        if (when === "after") reported?.();
        return result;
      };
    },
  });
}
