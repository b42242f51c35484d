/**
 * The reader ingests missed events from the provider's list (IN-15): random lives of customers at every provider, with
 * lost webhooks, end in the same ledger as lives without loss.
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { vendorNamed, VENDORS } from "../../src/providers/registry.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { booksOf } from "../support/books.ts";
import { giveCode } from "../support/codes.ts";
import { deliver } from "../support/disorder.ts";
import { LIST_KEYS, openEventLists, PASSING_FAULTS, putOnList, type EventLists } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { makeWorldProgram } from "../support/ledger-world.ts";
import type { Discount } from "../support/money-life.ts";
import { liveAll, moneyWorld, understood, type MoneyWorld, type Reported } from "../support/money-world.ts";
import { testContext, type TestProgram } from "../support/program.ts";
import { all } from "../support/rows.ts";
import { CODED, TEST_VENDORS } from "../support/vendors/index.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Number(env.PROPERTY_RUNS);
const options = (runs: number) => ({
  numRuns: Math.ceil(runs),
  interruptAfterTimeLimit: 60_000 + RUNS * 4_000,
});

const CODE = "HALF";

const LISTED = CODED.filter(([name]) => vendorNamed(name)!.reads !== undefined);

/** A provider without an API has no list. Some purchases use a promotion code. */
const vendorsWorld = fc
  .record({ world: moneyWorld, coded: fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }) })
  .map(({ world, coded }) => ({
    ...world,
    lives: world.lives
      .filter(({ provider }) => vendorNamed(provider)?.reads !== undefined)
      .map((life) => ({ ...life, chapters: life.chapters.map((one, i) => (coded[i] ? discounted(one) : one)) })),
  }));

type Chapter = MoneyWorld["lives"][number]["chapters"][number];

/** An intent alone does not contain codes. */
function discounted(chapter: Chapter): Chapter {
  const isBought = chapter.do === "buy" || chapter.do === "subscribe";
  if (!isBought || chapter.via === "intent") return chapter;
  const discount: Discount = { code: CODE, off: Math.floor(chapter.amount / 2) };
  return Object.assign({ discount }, chapter);
}

/** All lives take place between these instants. */
const BEGAN = 1_780_000_000_000 - HOUR;
const NOW = BEGAN + 20 * DAY;

/** The vendors' events of the code, before the first purchase. */
function codeSaid(): Reported[] {
  return LISTED.map(([provider, codes]) => {
    const body = TEST_VENDORS[provider].bodyOf(codes.created(CODE, BEGAN / 1000));
    return { provider, body, event: understood(provider, body) };
  });
}

const happenedAt = ({ event }: Reported) => Date.parse(event.occurred_at);

/** Everything that the vendors report of a world, in the order in which it happened. */
const eventsOf = (world: MoneyWorld): Reported[] => [...codeSaid(), ...liveAll(world).events];

async function programOf({ attribution }: MoneyWorld): Promise<TestProgram> {
  const program = await makeWorldProgram([], {
    ...{ attribution, created_at: iso(BEGAN) },
    ...{ provider_a_api_key: LIST_KEYS.provider_a, provider_b_api_key: LIST_KEYS.provider_b },
  });
  const [bob] = await all<{ id: string }>("select id from partners where program_id = ? and slug = 'Bob'", program.id);
  for (const [provider] of LISTED) await giveCode(program, bob!.id, { code: CODE, provider }, BEGAN);
  return program;
}

const WANTED = VENDORS.flatMap(({ wanted_events: { needed, better } }) =>
  [...needed, ...better].map(({ type }) => type),
);

/**
 * The number of stored vendor events, of the selected types and of the received ones. Other stored rows are answers to
 * look-ups.
 */
async function storedOf({ id }: TestProgram): Promise<number> {
  const [row] = await all<{ n: number }>(
    `select count(*) as n from provider_events e where program_id = ?1 and event_id not like '%:%' and (
      event_type in (select value from json_each(?2)) or exists (select 1 from provider_connections c
        cross join json_each(c.seen_types) s where c.program_id = ?1 and c.provider = e.provider and s.key = e.event_type))`,
    id,
    JSON.stringify(WANTED),
  );
  return row!.n;
}

/** Runs until every list was read to its end after `from`; the instant of the last. */
async function readToEnd(lists: EventLists, from: number): Promise<number> {
  const behind = sql`select count(*) as n from provider_connections
    where api_key is not null and coalesce(reading ->> '$.complete_until', '') < ${iso(from - MINUTE)}`;
  let now = from;
  for (let run = 0; run < 300; run++, now += 11 * MINUTE) {
    await read(lists, now);
    if ((await testContext().db.get<{ n: number }>(behind))?.n === 0) return now;
  }
  throw new Error("a list is never read to its end");
}

/** One run of the cron at an instant; `goOn` false is the end of the process. */
async function read(lists: EventLists, now: number, goOn?: () => boolean): Promise<void> {
  await serveAll(readEventLists(testContext(now), lists.readsOf), goOn);
}

interface Status {
  complete_until: string | null;
  recovered: number;
}

async function statusOf(program: TestProgram): Promise<Record<"provider_a" | "provider_b", Status>> {
  return (await program.api<Record<"provider_a" | "provider_b", Status>>("GET", "/api/v1/integrations/status")).body;
}

async function removePrograms(): Promise<void> {
  // The programs of the run before are no longer read, and their accounts do not receive events of a code.
  await testContext().db.run(sql`update provider_connections set api_key = null, webhook_secret = null
    where api_key is not null`);
}

describe(`a day of lost webhooks costs nothing (seed ${SEED}, ${RUNS} runs) (IN-15, LAW-1)`, () => {
  it("where all are lost, those of every provider are found in one run, and nothing twice", async () => {
    await fc.assert(
      fc.asyncProperty(vendorsWorld, async (world) => {
        await removePrograms();
        const events = eventsOf(world);
        const [whole, lost] = await Promise.all([programOf(world), programOf(world)]);
        for (const each of events) await deliver(whole, each);
        const lists = openEventLists();
        for (const { provider, body } of events) putOnList(lists, provider, body);
        await read(lists, NOW);
        expect(await booksOf(lost)).toEqual(await booksOf(whole));
        const status = await statusOf(lost);
        for (const provider of ["provider_a", "provider_b"] as const) {
          expect(status[provider]).toMatchObject({ complete_until: iso(NOW - MINUTE) });
        }
        expect(status.provider_a.recovered + status.provider_b.recovered).toBe(await storedOf(lost));
        // A second reading finds and changes no rows; and a program without loss has no missing events.
        await read(lists, NOW + HOUR);
        expect(await booksOf(lost)).toEqual(await booksOf(whole));
        expect(await statusOf(lost)).toMatchObject({
          provider_a: { recovered: status.provider_a.recovered },
          provider_b: { recovered: status.provider_b.recovered },
        });
      }),
      options(RUNS / 3),
    );
  });

  it("where half are lost, calls fail, pages shift, and the process dies again and again", async () => {
    const chaos = fc.record({
      lost: fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
      crashed: fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
      steps: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 5, maxLength: 5 }),
      fault: fc.constantFrom(...PASSING_FAULTS),
      small: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(vendorsWorld, chaos, async (world, { lost, crashed, steps, fault, small }) => {
        await removePrograms();
        const events = eventsOf(world).toSorted((x, y) => happenedAt(x) - happenedAt(y));
        const [whole, torn] = await Promise.all([programOf(world), programOf(world)]);
        const lists = openEventLists();
        for (const each of events) await deliver(whole, each);
        for (const [i, each] of events.entries()) {
          if (!lost[i % lost.length]) await deliver(torn, each, crashed[i % crashed.length]);
        }
        const came = await storedOf(torn);
        // The last third happens while the list is read: it comes at the top, and shifts every page.
        const early = Math.ceil((events.length * 2) / 3);
        for (const { provider, body } of events.slice(0, early)) putOnList(lists, provider, body);
        const late = events.slice(early);
        lists.meanwhile = () => {
          const next = late.shift();
          if (next) putOnList(lists, next.provider, next.body);
        };
        lists.faultOf = (call) => (call % 3 === 0 ? fault : null);
        if (small) lists.fetch = smallPages(lists.fetch);
        let now = Math.max(BEGAN, ...events.slice(0, early).map(happenedAt)) + 2 * MINUTE;
        for (const most of steps) {
          let left = most;
          await read(lists, now, () => left-- > 0);
          now += 11 * MINUTE;
        }
        // Delayed events arrive, and work that a crash left open is finished.
        for (const { provider, body } of late.splice(0)) putOnList(lists, provider, body);
        now = await readToEnd(lists, now);
        await readToEnd(lists, Math.max(now, NOW));
        await serveAll(finishVendorEvents(testContext(Date.now() + HOUR)));
        await serveAll(settleUnsettled(testContext(Date.now() + HOUR)));
        expect(await booksOf(torn)).toEqual(await booksOf(whole));
        const { provider_a, provider_b } = await statusOf(torn);
        expect(provider_a.recovered + provider_b.recovered).toBe((await storedOf(torn)) - came);
        for (const { complete_until } of [provider_a, provider_b]) {
          expect(complete_until! >= iso(NOW - MINUTE)).toBe(true);
        }
      }),
      options(RUNS / 3),
    );
  });
});

/** The same lists in pages of two. */
function smallPages(fetch: EventLists["fetch"]): EventLists["fetch"] {
  return (url, init) => {
    const small = new URL(url);
    for (const name of ["limit", "per_page"]) if (small.searchParams.has(name)) small.searchParams.set(name, "2");
    return fetch(small.href, init);
  };
}
