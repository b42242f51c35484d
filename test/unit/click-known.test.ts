import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  KnownRefs,
  MAX_ASKED,
  MAX_REMEMBERED,
  MAX_WAITING,
  PATIENCE,
  REMEMBERED,
} from "../../src/clicks/active-refs.ts";
import type { RefKey } from "../../src/core/clicks/clicks.ts";

const asker = { bindings: {} as never, waitUntil: () => {} };
const ref = (slug_key: string): RefKey => ({ program_id: "prog_1", slug_key });

/** References of a database in which `partners` are active, and its queries. */
function refsOf(
  partners: string[],
  answer: (found: number[]) => Promise<number[]> = (found) => Promise.resolve(found),
) {
  const queries: string[][] = [];
  const refs = new KnownRefs((keys) => {
    queries.push(keys.map(({ slug_key }) => slug_key));
    return answer(keys.flatMap(({ slug_key }, i) => (partners.includes(slug_key) ? [i] : [])));
  });
  return { refs, queries, leads: (slug: string) => refs.leads(ref(slug), asker) };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("what an isolate knows of references", () => {
  it("is asked once and remembered: a known one for a minute, an unknown one for less", async () => {
    const { leads, queries } = refsOf(["noah"]);
    expect(await leads("noah")).toBe(true);
    expect(await leads("nobody")).toBe(false);
    vi.advanceTimersByTime(REMEMBERED.unknown - 1_000);
    expect([await leads("noah"), await leads("nobody")]).toEqual([true, false]);
    expect(queries).toEqual([["noah"], ["nobody"]]);
    vi.advanceTimersByTime(2_000);
    expect([await leads("noah"), await leads("nobody")]).toEqual([true, false]);
    expect(queries).toEqual([["noah"], ["nobody"], ["nobody"]]);
    vi.advanceTimersByTime(REMEMBERED.known);
    expect(await leads("noah")).toBe(true);
    expect(queries.at(-1)).toEqual(["noah"]);
    expect(REMEMBERED.known).toBeLessThanOrEqual(60_000);
  });

  it("is one query at a time, for all that gathered during the last one", async () => {
    const open = Promise.withResolvers<void>();
    const { leads, queries } = refsOf(["noah"], async (found) => {
      await open.promise;
      return found;
    });
    const answers = ["noah", "noah", "a", "b", "noah", "a"].map(async (slug) => leads(slug));
    expect(queries).toEqual([["noah"]]);
    open.resolve();
    await vi.advanceTimersByTimeAsync(100);
    expect(await Promise.all(answers)).toEqual([true, true, false, false, true, false]);
    expect(queries).toEqual([["noah"], ["a", "b"]]);
  });

  it("is bounded: in a query, in what waits and in what is remembered; who makes up references displaces no known one", async () => {
    const open = Promise.withResolvers<void>();
    let isOpen = false;
    const { leads, queries } = refsOf(["noah"], async (found) => {
      if (!isOpen) await open.promise;
      return found;
    });
    const noah = leads("noah");
    const answers = Array.from({ length: MAX_WAITING + 50 }, async (_, i) => leads(`made-up-${i}`));
    isOpen = true;
    open.resolve();
    await vi.advanceTimersByTimeAsync(PATIENCE - 1);
    expect(await noah).toBe(true);
    const said = await Promise.all(answers);
    expect(said.filter((known) => known === null)).toHaveLength(51);
    expect(said.filter((known) => known === false)).toHaveLength(MAX_WAITING - 1);
    expect(Math.max(...queries.map((keys) => keys.length))).toBe(MAX_ASKED);
    for (let i = 0; i < MAX_REMEMBERED.unknown + 10; i++) {
      const answer = leads(`more-${i}`);
      await vi.advanceTimersByTimeAsync(20);
      expect(await answer).toBe(false);
    }
    const before = queries.length;
    vi.setSystemTime(Date.now() - 30_000);
    expect(await leads("noah")).toBe(true);
    expect(queries).toHaveLength(before);
  });

  it("a slow database holds a click up for a moment only, and its answer serves the next one", async () => {
    const { leads } = refsOf(["noah"], (found) => new Promise((resolve) => setTimeout(resolve, 2 * PATIENCE, found)));
    const first = leads("noah");
    await vi.advanceTimersByTimeAsync(PATIENCE);
    expect(await first).toBeNull();
    await vi.advanceTimersByTimeAsync(2 * PATIENCE);
    expect(await leads("noah")).toBe(true);
  });

  for (const [what, answer] of [
    ["fails", () => Promise.reject(new Error("away"))],
    ["never answers", () => new Promise<never>(() => {})],
  ] as const) {
    it(`a database that ${what} holds nobody up after the first, is asked again now and then, and is back when it is`, async () => {
      let isAway = true;
      const { leads, queries } = refsOf(["noah"], (found) => (isAway ? answer() : Promise.resolve(found)));
      const first = leads("noah");
      await vi.advanceTimersByTimeAsync(4_000);
      expect(await first).toBeNull();
      const began = Date.now();
      for (let i = 0; i < 1_000; i++) expect(await leads(`ref-${i}`)).toBeNull();
      expect(Date.now()).toBe(began);
      expect(queries).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(5_000);
      isAway = false;
      expect(await leads("noah"), "asked beside, and not waited for").toBeNull();
      await vi.advanceTimersByTimeAsync(1);
      expect(await leads("noah")).toBe(true);
      expect(await leads("other")).toBe(false);
    });
  }

  it("a query whose request is gone is asked by another one", async () => {
    let isFirst = true;
    const { leads } = refsOf(["noah"], (found) => {
      if (!isFirst) return Promise.resolve(found);
      isFirst = false;
      return new Promise(() => {});
    });
    void leads("noah");
    // The runtime stops the work of a finished request: neither an answer nor a timer comes.
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(10_000);
    const again = leads("noah");
    await vi.advanceTimersByTimeAsync(100);
    expect(await again).toBe(true);
  });
});
