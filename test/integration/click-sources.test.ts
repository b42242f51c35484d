/** Clicks by page, sub-id, referring host and country equal the number of rows, and are bounded (TRACK-20). */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf } from "../../src/clicks/batch.ts";
import { flushClicks, registerClickObject } from "../../src/core/clicks/clicks.ts";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { programSourcesOf, readClickSources, selectProgramSources } from "../../src/core/clicks/sources.ts";
import { MOST_SOURCES } from "../../src/core/kernel/click-sources.ts";
import { recountEvents } from "../../src/core/operations/recount-events.ts";
import type { Arrival } from "../../src/domain/click.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { all } from "../support/rows.ts";

const START = Date.parse("2026-03-01T23:30:00.000Z");
const DAYS = { from: "2026-03-01", to: "2026-03-03" };

interface Came {
  ref?: string;
  landing: string;
  sub?: string;
  referrer?: string;
  country?: string;
  at?: number;
}

let program: TestProgram;
let jane: { id: string };
let joe: { id: string };
let flushed: number;

beforeEach(async () => {
  vi.spyOn(console, "error").mockReturnValue();
  program = await makeProgram();
  jane = await makePartner(program, { slug: "jane" });
  joe = await makePartner(program, { slug: "joe" });
  flushed = 0;
});

async function flush(came: readonly Came[], now = START + MINUTE): Promise<void> {
  const arrivals = came.map(({ ref = "jane", landing, sub, referrer = "", country = null, at = START }) => {
    const click = { program_id: program.id, ref, landing, referrer, id: null, sub };
    return JSON.parse(arrivalOf(click, at, country).entry) as Arrival;
  });
  const made = { object: "weur:sources", epoch: `sources-${program.id}`, from: flushed, arrivals, now };
  if (flushed === 0) await registerClickObject(env, { ...made, from: 0 });
  flushed += arrivals.length;
  expect(await flushClicks(env, { ...made, to: flushed })).toBe(flushed);
}

const rollUp = async (now: number) => serveAll(rollUpClicks({ db: testContext().db, now }));
const read = async (partner = jane, days = DAYS) =>
  readClickSources(programContext(program, START + HOUR), partner.id, days);

async function kept() {
  return all<{ day: string; kind: string; value: string; count: number }>(
    `select day, kind, value, count from click_sources where partner_id = ? and count > 0
      order by day, kind, count desc, value`,
    jane.id,
  );
}

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

describe("clicks by page and by sub-id (TRACK-20)", () => {
  const CAME: Came[] = [
    { landing: "/pricing", sub: "mail" },
    { landing: "/pricing", sub: "mail" },
    { landing: "/", sub: "blog" },
    { landing: "/", at: START + HOUR },
    { landing: "/pricing", ref: "joe", sub: "mail" },
  ];
  const SHOWN = {
    landing: {
      top: [
        { value: "/", clicks: 2 },
        { value: "/pricing", clicks: 2 },
      ],
      others: 0,
    },
    sub: {
      top: [
        { value: "mail", clicks: 2 },
        { value: "blog", clicks: 1 },
      ],
      others: 0,
    },
  };

  it("are read from their rows before the roll-up, and from the kept counts after it", async () => {
    await flush(CAME);
    expect(await read()).toEqual(SHOWN);
    expect(await kept()).toEqual([]);
    await rollUp(START + 3 * HOUR);
    expect(await read()).toEqual(SHOWN);
    expect((await kept()).reduce((sum, { count }) => sum + count, 0)).toBe(7);
    expect((await read(joe)).sub).toEqual({ top: [{ value: "mail", clicks: 1 }], others: 0 });
    expect((await read(jane, { from: "2026-03-02", to: "2026-03-02" })).landing.top).toEqual([
      { value: "/", clicks: 1 },
    ]);
  });

  it("are counted by the flush where they are many, and where they come after the roll-up", async () => {
    await flush(times(200, () => ({ landing: "/", sub: "mail" })));
    expect(await kept()).toMatchObject([{ count: 200 }, { count: 200 }]);
    await flush([{ landing: "/late" }]);
    await rollUp(START + 3 * HOUR);
    await flush([{ landing: "/late", sub: "late" }], START + 3 * HOUR + SECOND);
    expect((await read()).landing.top).toEqual([
      { value: "/", clicks: 200 },
      { value: "/late", clicks: 2 },
    ]);
  });

  it("are bounded for each day, however many there are: the rest is counted together", async () => {
    await flush(times(2 * MOST_SOURCES, (i) => ({ landing: "/", sub: `s-${i}` })));
    await rollUp(START + 3 * HOUR);
    await flush([{ landing: "/", sub: "s-0" }, ...times(5, (i) => ({ landing: "/", sub: `late-${i}` }))]);
    await rollUp(START + 6 * HOUR);
    const subs = (await kept()).filter(({ kind }) => kind === "sub");
    expect(subs).toHaveLength(MOST_SOURCES + 1);
    expect(subs[0]).toMatchObject({ value: "", count: MOST_SOURCES + 5 });
    const { sub } = await read();
    expect(sub.top).toHaveLength(20);
    expect(sub.top.reduce((sum, { clicks }) => sum + clicks, 0) + sub.others).toBe(2 * MOST_SOURCES + 6);
  });

  it("are recounted from the rows, also those from before there were counts (JOB-6)", async () => {
    await flush([...CAME, ...times(2 * MOST_SOURCES, (i) => ({ landing: `/${i}`, at: START + 2 * HOUR }))]);
    await rollUp(START + DAY);
    const right = await kept();
    const recount = async () => serveAll(recountEvents(testContext()));
    await recount();
    expect(await kept()).toEqual(right);
    const own = `partner_id = '${jane.id}'`;
    for (const damage of [
      `delete from click_sources where ${own}`,
      `update click_sources set count = count + 7 where ${own}`,
      `insert into click_sources values ('${program.id}', '${jane.id}', '2026-03-02', 'sub', 'never', 3)`,
    ]) {
      await env.DB.prepare(damage).run();
      expect(await kept()).not.toEqual(right);
      await recount();
      expect(await kept()).toEqual(right);
    }
  });
});

describe("clicks of the whole program by page, by referring host and by country (TRACK-20)", () => {
  const CAME: Came[] = [
    { landing: "/pricing", referrer: "https://Blog.example/a/post?x=https://other.example/", country: "DE" },
    { landing: "/pricing", referrer: "http://blog.example", ref: "joe", sub: "mail", country: "DE" },
    { landing: "/", referrer: "https://shop.example:8443?from=mail", country: "CH", at: START + HOUR },
    { landing: "/", referrer: "android-app://com.app/https/x", ref: "joe", country: "AT" },
    { landing: "/" },
    { landing: "/", referrer: "https://?nothing" },
  ];
  const SHOWN = {
    landing: {
      top: [
        { value: "/", clicks: 4 },
        { value: "/pricing", clicks: 2 },
      ],
      others: 0,
    },
    referrer: {
      top: [
        { value: "(none)", clicks: 2 },
        { value: "blog.example", clicks: 2 },
        { value: "com.app", clicks: 1 },
        { value: "shop.example:8443", clicks: 1 },
      ],
      others: 0,
    },
    country: {
      top: [
        { value: "DE", clicks: 2 },
        { value: "AT", clicks: 1 },
        { value: "CH", clicks: 1 },
      ],
      others: 0,
    },
  };
  const ofProgram = async (days = DAYS) => {
    const ctx = programContext(program, START + HOUR);
    const [rows] = await ctx.read(selectProgramSources(ctx, days));
    return programSourcesOf(rows);
  };
  const keptOfProgram = async () =>
    all<{ day: string; kind: string; value: string; count: number }>(
      `select day, kind, value, count from click_sources where program_id = ? and partner_id = '' and count > 0
        order by day, kind, value`,
      program.id,
    );

  it("are whoever's, of the days that are asked for, and the same before and after the roll-up", async () => {
    await flush(CAME);
    expect(await ofProgram()).toEqual(SHOWN);
    expect(await keptOfProgram()).toEqual([]);
    await rollUp(START + 3 * HOUR);
    expect(await ofProgram()).toEqual(SHOWN);
    expect(await keptOfProgram()).toHaveLength(10);
    const second = await ofProgram({ from: "2026-03-02", to: "2026-03-02" });
    expect(second.referrer.top).toEqual([{ value: "shop.example:8443", clicks: 1 }]);
    expect(second.country.top).toEqual([{ value: "CH", clicks: 1 }]);
    expect((await kept()).filter(({ kind }) => kind === "country")).toEqual([]);
    expect((await read(joe)).landing.top).toEqual([
      { value: "/", clicks: 1 },
      { value: "/pricing", clicks: 1 },
    ]);
  });

  it("are counted by the flush where they are many, bounded for each day, and no row of a click more", async () => {
    const hosts = (i: number) => `https://h-${i % (2 * MOST_SOURCES)}.example/${i}`;
    const countries = (i: number) => `${"ABCDEF"[i % 6]}${"ABCDEFGHIJ"[i % 10]}`;
    await flush(times(4_000, (i) => ({ landing: "/", referrer: hosts(i), country: countries(i) })));
    const kept = await keptOfProgram();
    expect(kept).toHaveLength(1 + MOST_SOURCES + 1 + 30);
    expect(kept.reduce((sum, { count }) => sum + count, 0)).toBe(12_000);
    expect((await ofProgram()).referrer.others).toBeGreaterThan(2_000);
  });

  it("are recounted from the rows, also those from before there were counts (JOB-6)", async () => {
    await flush(CAME);
    await rollUp(START + DAY);
    const right = await keptOfProgram();
    const own = `program_id = '${program.id}' and partner_id = ''`;
    for (const damage of [
      `delete from click_sources where ${own}`,
      `update click_sources set count = count + 7 where ${own}`,
      `insert into click_sources values ('${program.id}', '', '2026-03-02', 'referrer', 'never.example', 3)`,
      `delete from click_sources where ${own} and kind = 'country' and value = 'DE'`,
    ]) {
      await env.DB.prepare(damage).run();
      expect(await keptOfProgram()).not.toEqual(right);
      await serveAll(recountEvents(testContext()));
      expect(await keptOfProgram()).toEqual(right);
    }
  });
});
