/** The number of a region's click objects: one for few clicks; more, permanently, after many clicks (TRACK-18). */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { accept, type CommitTarget, type Host } from "../../src/clicks/accept.ts";
import { arrivalOf, batchOf, idsOf, type ClickBatch, type CommitReply } from "../../src/clicks/batch.ts";
import { ASK_FOR, SPLIT_LOAD } from "../../src/clicks/split.ts";
import { SEEN_WINDOW } from "../../src/clicks/store.ts";
import { listClickObjects } from "../../src/core/clicks/clicks.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { clickStub, clicksOf, countsOf, flush, holdTime, recorded, unflushed } from "../support/clicks.ts";
import { testContext, type TestProgram, programOfJane } from "../support/program.ts";

/** Matches a stored batch, whether or not its sender must flush. */
const STORED = expect.objectContaining({ stored: true }) as CommitReply;
const MOVED: CommitReply = { stored: false, reason: "moved" };

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 3);

let regions = 0;
let made = 0;
let region: string;
let first: string;
let program: TestProgram;

beforeEach(async () => {
  holdTime();
  vi.spyOn(console, "error").mockReturnValue();
  region = `region-${regions++}`;
  first = `${region}:0`;
  program = await programOfJane();
});
afterEach(() => void vi.useRealTimers());

/** A batch of one click, with an id of its own by default. */
function batch(id = `click-${made++}`): ClickBatch {
  const click = { program_id: program.id, ref: "jane", landing: `/${id}`, referrer: "", id };
  return batchOf([arrivalOf(click, Date.now())], `batch-${made++}`);
}

const own = (number: number) => `${region}:${number}`;
const take = (one: ClickBatch) => clickStub(first).take(one);
const pass = (ms: number) => void vi.setSystemTime(Date.now() + ms);

/** Sends a batch as a new isolate does, which has not seen the region's split. */
async function send(one: ClickBatch, number: number): Promise<CommitReply> {
  if (number === 0) return clickStub(first).commit(one);
  const reply = await take(one);
  return reply.stored || reply.reason !== "moved" ? reply : clickStub(own(number)).commit(one);
}

async function splitAfter(commits: number): Promise<void> {
  await runInDurableObject(clickStub(first), (object) => {
    object.splitLoad = { ...SPLIT_LOAD, commits };
  });
}

/** Flushes until all objects of the region are empty. */
async function flushAll(): Promise<void> {
  for (let number = 0; number < 4; number++) if ((await unflushed(own(number))) > 0) await recorded(own(number));
}

async function expectRecorded(rows: number, drops: Record<string, number> = {}): Promise<void> {
  await flushAll();
  const found = await countsOf(program.id);
  expect([found.rows, found.events, found.drops]).toEqual([rows, rows, drops]);
}

/** Counts the `knows` calls to the first object during `work`. */
async function asked(work: () => Promise<unknown>): Promise<number> {
  const knows = await runInDurableObject(clickStub(first), (object) =>
    vi.spyOn(Object.getPrototypeOf(object) as typeof object, "knows"),
  );
  knows.mockClear();
  await work();
  const { length } = knows.mock.calls;
  knows.mockRestore();
  return length;
}

describe("the objects of a region (TRACK-18)", () => {
  it("are one while few clicks come, whatever data center they come from", async () => {
    for (const number of [0, 1, 2, 3, 1]) expect(await send(batch(), number)).toEqual(STORED);
    await expectRecorded(5);
    const names = await listClickObjects(testContext().db, "", 1_000);
    expect(names.filter((name) => name.startsWith(`${region}:`))).toEqual([first]);
  });

  it("are several once so many commits came within ten seconds; what comes then is sent to its own", async () => {
    await clickStub(first).commit(batch());
    await splitAfter(3);
    expect(await take(batch())).toEqual(STORED);
    pass(SPLIT_LOAD.within);
    expect(await take(batch())).toEqual(STORED);
    expect(await take(batch())).toEqual(STORED);
    expect(await take(batch()), "the last that it takes").toEqual(STORED);
    for (let i = 0; i < 3; i++) expect(await take(batch())).toEqual(MOVED);
    expect(await clickStub(first).commit(batch())).toEqual(STORED);
    for (const number of [1, 2, 3]) expect(await send(batch(), number)).toEqual(STORED);
    await expectRecorded(9);
  });

  it("are several once it remembers as many ids as it should", async () => {
    await clickStub(first).commit(batch());
    await runInDurableObject(clickStub(first), (object) => {
      object.splitLoad = { ...SPLIT_LOAD, ids: 6 };
    });
    for (let i = 0; i < 2; i++) expect(await take(batch())).toEqual(STORED);
    expect(await take(batch())).toEqual(MOVED);
  });

  it("stay several: after an eviction, and when clicks are few again", async () => {
    await clickStub(first).commit(batch());
    await clickStub(first).knows([]);
    await evictDurableObject(clickStub(first));
    expect(await take(batch())).toEqual(MOVED);
    pass(100 * SEEN_WINDOW);
    expect(await take(batch())).toEqual(MOVED);
  });

  it("know each a click and a batch that the first one took before the split, for 30 minutes", async () => {
    const [one, other] = [batch("again"), batch()];
    await send(one, 1);
    await send(other, 1);
    await clickStub(first).knows([]);
    expect(await clickStub(own(1)).commit(other), "the same batch").toEqual(STORED);
    expect(await clickStub(own(1)).commit(batch("again")), "the same click").toEqual(STORED);
    await evictDurableObject(clickStub(first));
    await evictDurableObject(clickStub(own(1)));
    pass(SEEN_WINDOW - MINUTE);
    expect(await clickStub(own(1)).commit(batch("again"))).toEqual(STORED);
    await expectRecorded(2, { duplicate: 2 });
    pass(MINUTE);
    expect(await clickStub(own(1)).commit(batch("again"))).toEqual(STORED);
    await expectRecorded(3, { duplicate: 2 });
  });

  it("ask the first one for 30 minutes and no longer, once for all that came together", async () => {
    await clickStub(first).commit(batch());
    await clickStub(first).knows([]);
    expect(await asked(() => clickStub(own(1)).commit(batch()))).toBe(1);
    const many = () => Promise.all(Array.from({ length: 20 }, () => clickStub(own(1)).commit(batch())));
    expect(await asked(many)).toBeLessThan(10);
    pass(ASK_FOR);
    expect(await asked(many)).toBe(0);
    await evictDurableObject(clickStub(own(1)));
    expect(await asked(many)).toBe(0);
    await expectRecorded(62);
  });

  it("refuse while the first one cannot be asked, and take the same batch when it can", async () => {
    await clickStub(first).commit(batch());
    await clickStub(first).knows([]);
    const one = batch();
    const knows = await runInDurableObject(clickStub(first), (object) =>
      vi.spyOn(Object.getPrototypeOf(object) as typeof object, "knows").mockRejectedValue(new Error("away")),
    );
    expect(await clickStub(own(1)).commit(one)).toEqual({ stored: false, reason: "storage" });
    knows.mockRestore();
    expect(await clickStub(own(1)).commit(one)).toEqual(STORED);
    expect(await clickStub(own(1)).commit(one)).toEqual(STORED);
    await expectRecorded(2);
  });

  it("are split by the batches that gathered, each of which is stored or moved, and not both", async () => {
    await clickStub(first).commit(batch());
    await splitAfter(10);
    const all = Array.from({ length: 40 }, () => batch());
    const replies = await Promise.all(all.map((one) => take(one)));
    const again = await Promise.all(all.map((one) => clickStub(own(1)).commit(one)));
    expect(new Set(again.map((reply) => reply.stored))).toEqual(new Set([true]));
    expect(replies).toContainEqual(STORED);
    expect(replies).toContainEqual(MOVED);
    await expectRecorded(41);
  });

  it("are split in the turn that stores what waits for the write on its way", async () => {
    await clickStub(first).commit(batch());
    const waiting = batch();
    const replies = await runInDurableObject(clickStub(first), async (object) => {
      const ahead = object.commit(batch());
      const behind = object.take(waiting);
      // The click also arrives at its own object, which checks for it before the write.
      const report = object.knows(idsOf(waiting));
      return [await ahead, await behind, (await report).known];
    });
    expect(replies).toEqual([STORED, STORED, idsOf(waiting)]);
    await expectRecorded(3);
  });
});

describe("an isolate that calls its own object of a region that is not split (TRACK-18)", () => {
  it("splits the region, and nothing counts twice", async () => {
    const one = batch("again");
    expect(await take(one)).toEqual(STORED);
    expect(await clickStub(own(1)).commit(batch("again"))).toEqual(STORED);
    expect(await clickStub(own(1)).commit(one)).toEqual(STORED);
    expect(await take(batch("again"))).toEqual(MOVED);
    await expectRecorded(1, { duplicate: 1 });
  });

  it("splits a region whose first object has not taken a click yet", async () => {
    expect(await clickStub(own(1)).commit(batch("again"))).toEqual(STORED);
    await evictDurableObject(clickStub(first));
    expect(await take(batch("again"))).toEqual(MOVED);
    expect(await send(batch("again"), 1)).toEqual(STORED);
    await expectRecorded(1, { duplicate: 1 });
  });
});

describe("exactly once, whatever the number of objects (TRACK-8, TRACK-18)", () => {
  /** The sender is an isolate that has not seen the split, or sends straight to the click's own object. */
  const attempt = fc.record({
    do: fc.constant("send" as const),
    click: fc.integer({ min: 0, max: 9 }),
    isSame: fc.boolean(),
    number: fc.constantFrom(0, 1, 1, 2),
    isStraight: fc.constantFrom(false, false, true),
  });
  const happening = fc.oneof(
    { weight: 8, arbitrary: attempt },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("split" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("object" as const),
        happens: fc.constantFrom("evict" as const, "cron" as const, "flush" as const),
        number: fc.constantFrom(0, 1, 2),
      }),
    },
  );

  it("holds for batches, repetitions, splits, evictions, crons and flushes, at once and in any order", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(happening, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 8 }),
        fc.integer({ min: 1, max: 12 }),
        async (rounds, most) => {
          region = `region-${regions++}`;
          first = `${region}:0`;
          program = await programOfJane();
          await clickStub(first).commit(batch("first"));
          const last = new Map<string, ClickBatch>();
          const home = new Map<string, number>();
          const stored = new Set<string>(["first"]);
          const sent = new Set<string>(["first"]);
          let [answered, batches] = [1, 1];
          const run = async (one: (typeof rounds)[number][number]): Promise<void> => {
            if (one.do === "split") return void (await clickStub(first).knows([]));
            if (one.do === "object") {
              if (one.happens === "evict") return evictDurableObject(clickStub(own(one.number)));
              if (one.happens === "cron") return void (await clickStub(own(one.number)).look());
              return void (await flush(own(one.number)));
            }
            const id = `${program.id}-${one.click}`;
            // A visitor stays near one data center.
            if (!home.has(id)) home.set(id, one.number);
            const number = home.get(id)!;
            const isSame = one.isSame && last.has(id);
            const mine = isSame ? last.get(id)! : batch(id);
            if (!isSame) batches++;
            last.set(id, mine);
            sent.add(id);
            const reply = await (one.isStraight ? clickStub(own(number)).commit(mine) : send(mine, number));
            if (reply.stored) stored.add(id);
            if (reply.stored && !isSame) answered++;
          };
          for (const round of rounds) {
            await splitAfter(most);
            // An eviction interrupts a call without a reply; its clicks may be stored.
            await Promise.allSettled(round.map(run));
          }
          await flushAll();
          const rows = (await clicksOf(program.id)).map(({ payload }) => payload.landing.slice(1));
          expect(rows.toSorted(), "none twice").toEqual([...new Set(rows)].toSorted());
          expect(
            [...stored].filter((id) => !rows.includes(id)),
            "none lost",
          ).toEqual([]);
          expect(
            rows.filter((id) => !sent.has(id)),
            "nothing else",
          ).toEqual([]);
          const { drops } = await countsOf(program.id);
          const all = rows.length + (drops["duplicate"] ?? 0);
          expect(all, "each batch once").toBeGreaterThanOrEqual(answered);
          expect(all).toBeLessThanOrEqual(batches);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

describe("an isolate (TRACK-18)", () => {
  type Target = Pick<CommitTarget, "commit" | "take">;
  const FLUSHED_BY_THE_TEST = { waiting: async () => null, flushed: async () => null };

  /** A host that counts its calls. */
  function counting(calls: string[], targets: (name: string) => Target = clickStub): Host {
    const getByName = (name: string): CommitTarget => ({
      ...FLUSHED_BY_THE_TEST,
      commit: (one) => (calls.push(`commit ${name}`), targets(name).commit(one)),
      take: (one) => (calls.push(`take ${name}`), targets(name).take(one)),
    });
    return { bindings: env, CLICKS: { getByName }, waitUntil: () => {} };
  }

  const click = (number: number, host: Host) => {
    const id = `click-${made++}`;
    const arrival = arrivalOf({ program_id: program.id, ref: "jane", landing: `/${id}`, referrer: "", id }, Date.now());
    return accept(arrival, { name: own(number), first, hint: "weur" }, host);
  };

  it("makes one call for a click; two for the one by which it learns of the split, and one again from then on", async () => {
    const calls: string[] = [];
    const host = counting(calls);
    expect(await click(1, host)).toBe("stored");
    expect(calls).toEqual([`take ${first}`]);
    await clickStub(first).knows([]);
    expect(await click(1, host)).toBe("stored");
    expect(await click(1, host)).toBe("stored");
    expect(calls.slice(1)).toEqual([`take ${first}`, `commit ${own(1)}`, `commit ${own(1)}`]);
    expect(await click(0, host)).toBe("stored");
    expect(calls.slice(4)).toEqual([`commit ${first}`]);
    await expectRecorded(4);
  });

  it("sends what the first object may have stored to it again, as the same batch, and then on to its own", async () => {
    await clickStub(first).commit(batch());
    let isLost = true;
    const host = counting([], (name) => ({
      commit: (one) => clickStub(name).commit(one),
      take: async (one) => {
        const reply = await clickStub(name).take(one);
        if (!isLost) return reply;
        isLost = false;
        await clickStub(first).knows([]);
        throw Object.assign(new Error("Network connection lost."), { retryable: true });
      },
    }));
    expect(await click(1, host)).toBe("stored");
    await expectRecorded(2);
  });
});
