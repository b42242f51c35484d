/**
 * What no webhook brought is taken in from the provider's list of events (IN-15): random lives of customers at every
 * provider, of which webhooks are lost, end in the ledger of lives without loss.
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { vendorNamed } from "../../src/providers/registry.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { deliver } from "../support/disorder.ts";
import {
  happenedAt,
  LIST_KEYS,
  openEventLists,
  PASSING_FAULTS,
  putOnList,
  type EventLists,
} from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { makeWorldProgram } from "../support/ledger-world.ts";
import { ledgerOf } from "../support/ledger.ts";
import { liveAll, moneyWorld, type MoneyWorld, type Reported } from "../support/money-world.ts";
import { testContext, type TestProgram } from "../support/program.ts";

const RUNS = Number(env.PROPERTY_RUNS ?? 100);
const SEED = Number(env.PROPERTY_SEED ?? Date.now() % 2 ** 31);
const options = (runs: number) => ({
  seed: SEED,
  numRuns: Math.ceil(runs),
  interruptAfterTimeLimit: 60_000 + RUNS * 4_000,
});

/** The owner's server has no list. */
const vendorsWorld = moneyWorld.map((world) => ({
  ...world,
  lives: world.lives.filter(({ provider }) => vendorNamed(provider) !== undefined),
}));

/** Everything of the lives lies between. */
const BEGAN = 1_780_000_000_000 - HOUR;
const NOW = BEGAN + 20 * DAY;

function programOf({ attribution }: MoneyWorld): Promise<TestProgram> {
  return makeWorldProgram([], {
    ...{ attribution, created_at: iso(BEGAN) },
    ...{ provider_a_api_key: LIST_KEYS.provider_a, provider_b_api_key: LIST_KEYS.provider_b },
  });
}

/** An id of the service's own, wherever it is. */
const OWN_ID = /\b[a-z]+_[0-9a-hjkmnp-tv-z]{26}\b/g;
/** When something was written, and how often: not what. */
const WRITTEN = new Set(["updated_at", "facts_revision", "settled_revision", "decided_at", "seq"]);

/** The rows of a program's ledger, without the ids and the instants of their writing. */
async function ledgerSeen(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  const { db } = testContext();
  const named = new Map<string, string>(payments.map((row) => [row.id, row.provider_transaction_id]));
  for (const { id, slug } of await db.all<{ id: string; slug: string }>(
    sql`select id, slug from partners where program_id = ${program.id}`,
  )) {
    named.set(id, slug);
  }
  const clean = (row: object): string =>
    JSON.stringify(Object.fromEntries(Object.entries(row).filter(([name]) => !WRITTEN.has(name)))).replaceAll(
      OWN_ID,
      (id) => named.get(id) ?? "(id)",
    );
  // How often something was settled on the way shows in the entries, and not in their sums.
  const balances = await db.all<object>(
    sql`select partner_id, currency, account, sum(amount) as amount from (
        select partner_id, currency, to_account as account, amount_cents as amount from entries where program_id = ${program.id}
        union all
        select partner_id, currency, from_account, -amount_cents from entries where program_id = ${program.id})
      group by 1, 2, 3 having sum(amount) <> 0 order by 1, 2, 3`,
  );
  return {
    payments: payments.map(clean).toSorted(),
    commissions: commissions.map(clean).toSorted(),
    balances: balances.map(clean).toSorted(),
  };
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

/** Those that a list has: an event of which nothing is read is not asked for. */
const isRead = ({ event }: Reported) => event.facts.length > 0;

async function removePrograms(): Promise<void> {
  // Those of the run before are read no more.
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
}

describe(`a day of lost webhooks costs nothing (seed ${SEED}, ${RUNS} runs) (IN-15, LAW-1)`, () => {
  it("where all are lost, those of every provider are found in one run, and nothing twice", async () => {
    await fc.assert(
      fc.asyncProperty(vendorsWorld, async (world) => {
        await removePrograms();
        const { events } = liveAll(world);
        const [whole, lost] = await Promise.all([programOf(world), programOf(world)]);
        for (const each of events) await deliver(whole, each);
        const lists = openEventLists();
        for (const { provider, body } of events) putOnList(lists, provider, body);
        await read(lists, NOW);
        expect(await ledgerSeen(lost)).toEqual(await ledgerSeen(whole));
        const status = await statusOf(lost);
        for (const provider of ["provider_a", "provider_b"] as const) {
          expect(status[provider]).toMatchObject({ complete_until: iso(NOW - MINUTE) });
        }
        const ids = new Set(events.filter(isRead).map(({ provider, event }) => `${provider} ${event.event_id}`));
        expect(status.provider_a.recovered + status.provider_b.recovered).toBeGreaterThanOrEqual(ids.size);
        // Read again: nothing is found, nothing changes; and a program without loss lacks nothing.
        await read(lists, NOW + HOUR);
        expect(await ledgerSeen(lost)).toEqual(await ledgerSeen(whole));
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
        const events = liveAll(world).events.toSorted((x, y) => happenedAt(x.body) - happenedAt(y.body));
        const [whole, torn] = await Promise.all([programOf(world), programOf(world)]);
        const lists = openEventLists();
        for (const each of events) await deliver(whole, each);
        for (const [i, each] of events.entries()) {
          if (!lost[i % lost.length]) await deliver(torn, each, crashed[i % crashed.length]);
        }
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
        let now = Math.max(BEGAN, ...events.slice(0, early).map(({ body }) => happenedAt(body))) + 2 * MINUTE;
        for (const most of steps) {
          let left = most;
          await read(lists, now, () => left-- > 0);
          now += 11 * MINUTE;
        }
        // What is on its way comes to its end, and what a crash left open is finished.
        for (const { provider, body } of late.splice(0)) putOnList(lists, provider, body);
        now = await readToEnd(lists, now);
        await readToEnd(lists, Math.max(now, NOW));
        await serveAll(finishVendorEvents(testContext(Date.now() + HOUR)));
        await serveAll(settleUnsettled(testContext(Date.now() + HOUR)));
        expect(await ledgerSeen(torn)).toEqual(await ledgerSeen(whole));
        const { provider_a, provider_b } = await statusOf(torn);
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
