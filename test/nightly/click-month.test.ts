/**
 * Simulated traffic: at every hour, the API's totals and the overview's countries equal a count of the rows (TRACK-8,
 * TRACK-17, TRACK-20). Clicks come through a changing number of objects; flushes are late, fail or lose their reply; objects
 * are evicted; crons run; payments arrive; partners join and leave. It takes minutes; `MONTH_DAYS=1
 * npm test -- click-month` plays a day. A failure reports its seed for `PROPERTY_SEED`.
 */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { clickObject, isFirst } from "../../src/clicks/region.ts";
import { programSourcesOf, selectProgramSources } from "../../src/core/clicks/sources.ts";
import { DAY, HOUR, iso, MINUTE, utcDay } from "../../src/lib/time.ts";
import { Chance } from "../../src/dev/chance.ts";
import { clickStub, faultyDatabase, flush, unflushed, visit, VISITOR } from "../support/clicks.ts";
import { fireCron } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { all } from "../support/rows.ts";
import { eventually } from "../support/time.ts";
import { SEED } from "../support/seed.ts";

const DAYS = Number(env.MONTH_DAYS);
const PROGRAMS = 2;
/** The visitors' places: each has an object of its own, and two after a split. */
const PLACES = [
  { continent: "EU", longitude: "2.3", colo: "CDG", country: "FR" },
  { continent: "NA", longitude: "-74.0", colo: "EWR", country: "US" },
  { continent: "OC", longitude: "151.2", colo: "SYD" },
];
const OBJECTS = [...new Set(PLACES.map((cf) => clickObject(cf)).flatMap(({ first, name }) => [first, name]))];
const REFS = ["jane", "john", "changing", "nobody"];

interface Shop extends TestProgram {
  partners: Record<string, string>;
  /** The number of clicks that were answered with 202. */
  sent: number;
  payments: number;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Math.ceil(Date.now() / DAY) * DAY });
  // Flushes fail here on purpose and log it.
  vi.spyOn(console, "error").mockReturnValue();
});
afterEach(() => void vi.useRealTimers());

it(`holds at every look, each hour of ${DAYS} days (PROPERTY_SEED=${SEED})`, async () => {
  const chance = new Chance(SEED);
  const shops: Shop[] = [];
  for (let i = 0; i < PROGRAMS; i++) shops.push(await openShop());
  const start = Date.now();
  for (let hour = 1; hour <= DAYS * 24; hour++) {
    await anHour(chance, shops, start + (hour - 1) * HOUR);
    vi.setSystemTime(start + hour * HOUR);
    await fireCron("* * * * *");
    if (hour % 24 === 4) await fireCron("17 3 * * *");
    for (const shop of shops) await assertTotals(shop, start, `hour ${hour}`);
  }
  // Each accepted click is either recorded or counted as dropped, once.
  vi.setSystemTime(Date.now() + MINUTE);
  await fireCron("* * * * *");
  for (const object of OBJECTS) await eventually(async () => expect(await unflushed(object)).toBe(0));
  for (const shop of shops) {
    await assertTotals(shop, start, "at the end");
    const { recorded, dropped } = await summaryOf(shop, start);
    expect(recorded + Object.values(dropped).reduce((sum, n) => sum + n, 0)).toBe(shop.sent);
  }
});

async function openShop(): Promise<Shop> {
  const program = await makeProgram();
  const partners: Record<string, string> = {};
  for (const slug of REFS.slice(0, -1)) partners[slug] = (await makePartner(program, { slug })).id;
  return { ...program, partners, sent: 0, payments: 0 };
}

/** Traffic of one hour, in the order of its minutes. */
async function anHour(chance: Chance, shops: readonly Shop[], from: number): Promise<void> {
  const minutes = Array.from({ length: chance.whole(2, 12) }, () => chance.whole(0, 59)).toSorted((a, b) => a - b);
  for (const minute of minutes) {
    vi.setSystemTime(from + minute * MINUTE + chance.whole(0, MINUTE - 1));
    const shop = chance.of(shops);
    const object = chance.of(OBJECTS);
    const what = chance.whole(1, 20);
    if (what <= 13) await clicksOfVisitor(chance, shop);
    else if (what <= 15) await flushBadly(chance, object);
    else if (what <= 17) await pay(chance, shop);
    else if (what <= 18) await changePartner(chance, shop);
    else if (what <= 19) await restart(chance, object);
    else await fireCron("* * * * *");
    if (chance.happens(0.3)) await flush(object);
  }
}

/** One to four clicks, some repeated under the same id, some of a bot. */
async function clicksOfVisitor(chance: Chance, shop: Shop): Promise<void> {
  const cf = chance.of(PLACES);
  const id = chance.happens(0.2) ? `again-${chance.whole(0, 9)}` : undefined;
  const agent = chance.happens(0.1) ? "Googlebot/2.1" : VISITOR;
  const body = JSON.stringify({ program_id: shop.id, ref: chance.of(REFS), landing: "/", referrer: "", id });
  for (let i = chance.whole(1, 4); i > 0; i--) {
    const headers = { "content-type": "text/plain", "user-agent": agent };
    const { status } = await visit("/click", { method: "POST", headers, body, cf });
    expect(status).toBe(202);
    shop.sent++;
  }
}

/** A flush during which the database is down, or whose reply is lost. */
async function flushBadly(chance: Chance, object: string): Promise<void> {
  const database = faultyDatabase();
  database.fault = chance.of(["down", "lost"] as const);
  await flush(object, { DB: database.binding });
}

/** Evicts an object that is running; sometimes splits its region first. */
async function restart(chance: Chance, object: string): Promise<void> {
  if (isFirst(object) && chance.happens(0.3)) await clickStub(object).knows([]);
  await clickStub(object).look();
  await evictDurableObject(clickStub(object));
}

async function pay(chance: Chance, shop: Shop): Promise<void> {
  const { status } = await sendA(shop, sessionCompleted({ ref: chance.of(REFS), amount: 1_000 }));
  expect(status).toBe(200);
}

async function changePartner(chance: Chance, shop: Shop): Promise<void> {
  const status = chance.of(["active", "deactivated"]);
  await shop.api("PATCH", `/api/v1/partners/${shop.partners["changing"]}`, { status });
}

interface Summary {
  recorded: number;
  dropped: Record<string, number>;
  data: { day: string; recorded: number }[];
}

async function summaryOf(shop: Shop, start: number): Promise<Summary> {
  const days = `from=${utcDay(start)}&to=${utcDay(Date.now())}`;
  return (await shop.api<Summary>("GET", `/api/v1/clicks/summary?${days}`)).body;
}

/** The clicks of each country, as in the overview. */
async function countriesOf(shop: Shop, start: number): Promise<Record<string, number>> {
  const ctx = programContext(shop);
  const [rows] = await ctx.read(selectProgramSources(ctx, { from: utcDay(start), to: utcDay(Date.now()) }));
  return Object.fromEntries(programSourcesOf(rows).country.top.map(({ value, clicks }) => [value, clicks]));
}

/**
 * Compares the API's totals with the program's rows. An object that flushes at the same time may change the rows between two
 * requests; if so, the comparison is repeated.
 */
async function assertTotals(shop: Shop, start: number, when: string): Promise<void> {
  const since = iso(Date.now() - 7 * HOUR - 30 * MINUTE);
  for (let before = await rowsOf(shop, since); ;) {
    const said = await totalsOf(shop, start, since);
    const after = await rowsOf(shop, since);
    if (JSON.stringify(before) === JSON.stringify(after)) return expect(said, when).toEqual(after);
    before = after;
  }
}

/** The API's totals, from several requests. */
async function totalsOf(shop: Shop, start: number, since: string): Promise<Record<string, unknown>> {
  const total = async (path: string) => (await shop.api<{ total: number }>("GET", `/api/v1/${path}`)).body.total;
  const clicks = async (id: string) =>
    (await shop.api<{ stats: { clicks: number } }>("GET", `/api/v1/partners/${id}`)).body.stats.clicks;
  const summary = await summaryOf(shop, start);
  return {
    events: await total("events"),
    clicks: await total("events?type=click"),
    since: await total(`events?type=click&from=${since}`),
    payments: await total("payments"),
    commissions: await total("commissions"),
    partners: await Promise.all(Object.values(shop.partners).map(clicks)),
    recorded: summary.recorded,
    countries: await countriesOf(shop, start),
    days: Object.fromEntries(summary.data.flatMap(({ day, recorded }) => (recorded > 0 ? [[day, recorded]] : []))),
  };
}

async function rowsOf(shop: Shop, since: string): Promise<Record<string, unknown>> {
  const count = async (from: string, ...values: string[]) =>
    (await all<{ n: number }>(`select count(*) as n from ${from}`, shop.id, ...values))[0]!.n;
  const clicks = "events where program_id = ? and type = 'click'";
  const days = await all<{ day: string; n: number }>(
    `select substr(created_at, 1, 10) as day, count(*) as n from ${clicks} group by 1`,
    shop.id,
  );
  const countries = await all<{ country: string; n: number }>(
    `select payload ->> 'country' as country, count(*) as n from ${clicks}
      and payload ->> 'country' is not null group by 1`,
    shop.id,
  );
  const inLog = await count(clicks);
  return {
    events: await count("events where program_id = ?"),
    clicks: inLog,
    since: await count(`${clicks} and created_at >= ?`, since),
    payments: await count("payments where program_id = ?"),
    commissions: await count("commissions where program_id = ?"),
    partners: await Promise.all(
      Object.values(shop.partners).map((id) => count(`${clicks} and payload ->> 'partner_id' = ?`, id)),
    ),
    recorded: inLog,
    countries: Object.fromEntries(countries.map(({ country, n }) => [country, n])),
    days: Object.fromEntries(days.map(({ day, n }) => [day, n])),
  };
}
