import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { arrivalOf } from "../../src/clicks/batch.ts";
import { flushClicks } from "../../src/core/clicks/clicks.ts";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { Arrival } from "../../src/domain/click.ts";
import { HOUR, iso, MINUTE, SECOND } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { makeClicks } from "../support/many-clicks.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const START = Date.parse("2026-03-01T00:00:00.000Z");

interface Counted {
  hours: Record<string, unknown>;
  days: Record<string, number>;
}

/** The stored counts of a program's events, and the counts of their rows. */
async function countsAndRows(program_id: string): Promise<[Counted, Counted]> {
  const [hours, days, rows] = await env.DB.batch<{ at: string; type: string; n: number; minutes: string }>(
    [
      "select hour as at, type, count as n, minutes from event_hours where program_id = ?",
      "select day as at, type, count as n from event_counts where program_id = ?",
      "select substr(created_at, 1, 16) as at, type, count(*) as n from events where program_id = ? group by 1, 2",
    ].map((statement) => env.DB.prepare(statement).bind(program_id)),
  );
  const kept: Counted = { hours: {}, days: {} };
  for (const { at, type, n, minutes } of hours?.results ?? []) {
    kept.hours[`${at} ${type}`] = { count: n, minutes: JSON.parse(minutes) as unknown };
  }
  for (const { at, type, n } of days?.results ?? []) kept.days[`${at} ${type}`] = n;
  const recounted = { hours: {} as Record<string, { count: number; minutes: Record<string, number> }>, days: {} };
  const perDay: Record<string, number> = recounted.days;
  for (const { at, type, n } of rows?.results ?? []) {
    const hour = (recounted.hours[`${at.slice(0, 13)} ${type}`] ??= { count: 0, minutes: {} });
    hour.count += n;
    hour.minutes[at.slice(14)] = n;
    const day = `${at.slice(0, 10)} ${type}`;
    perDay[day] = (perDay[day] ?? 0) + n;
  }
  return [kept, recounted];
}

function arrivals(program: TestProgram, ref: string, times: readonly number[]): Arrival[] {
  return times.map((ms) => {
    const click = { program_id: program.id, ref, landing: "/", referrer: "", id: null };
    return JSON.parse(arrivalOf(click, ms).entry) as Arrival;
  });
}

describe("the kept counts of events", () => {
  it("are those of the rows by minute, hour and day, whoever wrote them and however often", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await makePartner(program, { slug: "joe" });
    // Two references in one minute, and the edges of a minute, an hour and a day.
    const times = [0, 1, MINUTE - 1, MINUTE, HOUR - 1, HOUR, 24 * HOUR - 1, 24 * HOUR].map((ms) => START + ms);
    const all = [...arrivals(program, "jane", times), ...arrivals(program, "joe", times.slice(0, 5))];
    const flush = { object: "weur:counts", epoch: `counts-${program.id}`, now: Date.now() };
    const step = (from: number, to: number, taken: Arrival[]) =>
      flushClicks(env, { ...flush, from, to, arrivals: taken });
    expect(await step(0, 4, all.slice(0, 4))).toBe(0);
    expect(await step(0, 4, all.slice(0, 4))).toBe(4);
    expect(await step(0, 4, all.slice(0, 4)), "a reply that was lost").toBe(4);
    expect(await step(4, 9, all.slice(4, 9))).toBe(9);
    // As after a lost cursor: some of these are in the log already.
    expect(await step(9, 13, all.slice(2))).toBe(13);
    await serveAll(rollUpClicks({ db: openDatabase(env.DB), now: Date.now() + HOUR }));
    const [kept, recounted] = await countsAndRows(program.id);
    expect(kept).toEqual(recounted);
    expect(kept.hours["2026-03-01T00 click"]).toEqual({ count: 10, minutes: { "00": 6, "01": 2, "59": 2 } });
    expect(kept.days).toMatchObject({ "2026-03-01 click": 12, "2026-03-02 click": 1 });
  });
});

/** The number of rows that D1 reports as read for one GET of the API. */
async function rowsRead(program: TestProgram, path: string): Promise<{ total: number; rows: number }> {
  const { binding, roundTrips } = watchDatabase(env.DB);
  const { body } = await callWith<{ total: number }>({ DB: binding }, path, {
    headers: { authorization: `Bearer ${program.api_key}` },
  });
  let rows = 0;
  for (const { sql, values } of roundTrips.flat()) {
    const { meta } = await env.DB.prepare(sql)
      .bind(...values)
      .all();
    rows += meta.rows_read;
  }
  return { total: body.total, rows };
}

describe("a list of events reads as many rows with 20,000 clicks as with 200 (EVT-6)", () => {
  it("on every page, for every filter, with its exact total (EVT-6)", async () => {
    // Spreads the clicks evenly over 20 minutes in four hours of two days.
    const minutes = Array.from({ length: 20 }, (_, i) => START + (i % 4) * 17 * HOUR + Math.floor(i / 4) * 11 * MINUTE);
    const at = (n: number) => (i: number) =>
      minutes[i % 20]! + Math.floor((Math.floor(i / 20) * MINUTE) / Math.ceil(n / 20));
    const few = await makeProgram({ api_key_last_used_at: iso(Date.now()) });
    const many = await makeProgram({ api_key_last_used_at: iso(Date.now()) });
    const fewIds = await makeClicks(few, 200, at(200));
    const manyIds = await makeClicks(many, 20_000, at(20_000));
    const cursor = (ids: readonly string[]) => btoa(ids[Math.floor(ids.length / 2)]!).replaceAll("=", "");
    const query = (filter: Record<string, string>) => new URLSearchParams({ ...filter, per_page: "5" }).toString();
    const hours = { from: iso(START + HOUR), to: iso(START + 34 * HOUR + 12 * MINUTE) };
    for (const [filter, total] of [
      [{}, 1],
      [{ page: "8" }, 1],
      [{ cursor: "deep" }, 1],
      [{ type: "click" }, 1],
      [{ type: "click", cursor: "deep" }, 1],
      [{ type: "partner.created" }, 0],
      // Two minutes of hour 34 and all five of hour 17; then one minute only.
      [hours, 7 / 20],
      [{ ...hours, type: "click" }, 7 / 20],
      [{ from: iso(START + 11 * MINUTE), to: iso(START + 12 * MINUTE), type: "click" }, 1 / 20],
      [{ ...hours, cursor: "deep" }, 7 / 20],
      [{ to: "2026-03-01" }, 10 / 20],
    ] as const) {
      const asked = (ids: readonly string[]) => query("cursor" in filter ? { ...filter, cursor: cursor(ids) } : filter);
      const small = await rowsRead(few, `/api/v1/events?${asked(fewIds)}`);
      const large = await rowsRead(many, `/api/v1/events?${asked(manyIds)}`);
      expect([filter, small.total, large.total]).toEqual([filter, 200 * total, 20_000 * total]);
      // If the program is not the last in the database, the row after a range may be read as well.
      expect(Math.abs(large.rows - small.rows), JSON.stringify(filter)).toBeLessThanOrEqual(3);
      expect(small.rows, JSON.stringify(filter)).toBeLessThan(100);
    }
    // If an edge is within a minute, the clicks of the shorter part are counted by their rows.
    for (const [second, rows] of [
      [6, 2 * 100],
      [30, 2 * 500],
      [54, 2 * 100],
    ] as const) {
      const cut = query({ from: iso(START + second * SECOND), to: iso(START + 34 * HOUR + second * SECOND) });
      const small = await rowsRead(few, `/api/v1/events?${cut}`);
      const large = await rowsRead(many, `/api/v1/events?${cut}`);
      expect([second, small.total, large.total]).toEqual([second, 100, 10_000]);
      expect(large.rows - small.rows, `${second}`).toBeLessThanOrEqual(rows + 3);
    }
  });
});
