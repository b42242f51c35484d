import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { accept, MAX_BATCH, MAX_WAITING, type Acceptance, type Host } from "../../src/clicks/accept.ts";
import type { ClickBatch, CommitReply } from "../../src/clicks/batch.ts";
import { clickObject, type ClickObject } from "../../src/clicks/region.ts";

/** A click object with replies given by the test; it records the calls. */
class PlayedObject implements Host {
  readonly object: ClickObject;
  readonly calls: {
    batch: ClickBatch;
    names: string[];
    answer: (reply: CommitReply) => void;
    fail: (error: unknown) => void;
  }[] = [];
  open = 0;
  mostOpen = 0;
  readonly kept: Promise<unknown>[] = [];

  constructor(name: string) {
    this.object = { ...clickObject(undefined), name, first: name };
  }

  readonly CLICKS = {
    getByName: (name: string) => {
      expect(name).toBe(this.object.name);
      const commit = (batch: ClickBatch) => this.#commit(batch);
      const waiting = async () => {
        this.flushes.push(Date.now());
        return null;
      };
      return { commit, take: commit, waiting, flushed: waiting };
    },
  };
  readonly bindings = env;
  /** The times of the flushes. */
  readonly flushes: number[] = [];

  waitUntil = (work: Promise<unknown>) => void this.kept.push(work);

  click(name: string, length = 0): Promise<Acceptance> {
    return accept({ entry: JSON.stringify({ name, padding: "x".repeat(length) }), key: name }, this.object, this);
  }

  async #commit(batch: ClickBatch): Promise<CommitReply> {
    this.open++;
    this.mostOpen = Math.max(this.mostOpen, this.open);
    const { promise, resolve, reject } = Promise.withResolvers<CommitReply>();
    const names = (JSON.parse(`[${batch.entries}]`) as { name: string }[]).map(({ name }) => name);
    this.calls.push({ batch, names, answer: resolve, fail: reject });
    try {
      return await promise;
    } finally {
      this.open--;
    }
  }
}

const STORED: CommitReply = { stored: true };
let objects = 0;
let played: PlayedObject;

beforeEach(() => {
  vi.useFakeTimers();
  played = new PlayedObject(`played:${objects++}`);
});
afterEach(() => vi.useRealTimers());

const settle = () => vi.advanceTimersByTimeAsync(0);

describe("group commit in the isolate (facts: exactly one commit in flight, it carries all that waits)", () => {
  it("sends a lone click at once and alone", async () => {
    const click = played.click("a");
    expect(played.calls.map(({ names }) => names)).toEqual([["a"]]);
    played.calls[0]?.answer(STORED);
    expect(await click).toBe("stored");
  });

  it("answers nobody before the commit that carries the click is durable (LAW-10)", async () => {
    const answers: string[] = [];
    const clicks = ["a", "b", "c"].map((name) =>
      played.click(name).then((answer) => answers.push(`${name} ${answer}`)),
    );
    await settle();
    expect(answers).toEqual([]);
    expect(played.calls.map(({ names }) => names)).toEqual([["a"]]);
    played.calls[0]?.answer(STORED);
    await settle();
    expect(answers).toEqual(["a stored"]);
    expect(played.calls.map(({ names }) => names)).toEqual([["a"], ["b", "c"]]);
    played.calls[1]?.answer(STORED);
    await Promise.all(clicks);
    expect(answers.toSorted()).toEqual(["a stored", "b stored", "c stored"]);
    expect(played.mostOpen).toBe(1);
  });

  it("waits after a commit for as many as were there before, and leaves at once when the last of them comes", async () => {
    void played.click("a");
    void played.click("b");
    void played.click("c");
    await vi.advanceTimersByTimeAsync(6);
    played.calls[0]?.answer(STORED);
    await settle();
    expect(played.calls).toHaveLength(1);
    void played.click("d");
    expect(played.calls.map(({ names }) => names)).toEqual([["a"], ["b", "c", "d"]]);
    await vi.advanceTimersByTimeAsync(6);
    expect(played.calls).toHaveLength(2);
    played.calls[1]?.answer(STORED);
  });

  it("waits no longer for them than the last commit took, nor than 10 ms", async () => {
    for (const [took, waits] of [
      [4, 4],
      [300, 10],
    ] as const) {
      const { calls } = (played = new PlayedObject(`played:${objects++}`));
      const clicks = [played.click("a"), played.click("b")];
      await vi.advanceTimersByTimeAsync(took);
      calls[0]?.answer(STORED);
      await vi.advanceTimersByTimeAsync(waits - 1);
      expect([took, calls.length]).toEqual([took, 1]);
      await vi.advanceTimersByTimeAsync(1);
      expect([took, calls.length]).toEqual([took, 2]);
      calls[1]?.answer(STORED);
      expect(await Promise.all(clicks)).toEqual(["stored", "stored"]);
      expect(played.mostOpen).toBe(1);
    }
  });

  it("lets a lone click after a lone one go at once", async () => {
    const first = played.click("a");
    await vi.advanceTimersByTimeAsync(8);
    played.calls[0]?.answer(STORED);
    expect(await first).toBe("stored");
    void played.click("b");
    expect(played.calls.map(({ names }) => names)).toEqual([["a"], ["b"]]);
    played.calls[1]?.answer(STORED);
  });

  it("takes at most 512 clicks a commit, fewer when they are long, each exactly once", async () => {
    const clicks = Array.from({ length: 1_500 }, (_, i) => played.click(`n${i}`));
    const long = Array.from({ length: 200 }, (_, i) => played.click(`l${i}`, 3_000));
    for (let i = 0; i < played.calls.length; i++) {
      played.calls[i]?.answer(STORED);
      await settle();
    }
    expect(new Set(await Promise.all([...clicks, ...long]))).toEqual(new Set(["stored"]));
    const sent = played.calls.flatMap(({ names }) => names);
    expect(sent).toHaveLength(1_700);
    expect(new Set(sent).size).toBe(1_700);
    for (const { batch, names } of played.calls) {
      expect(batch.count).toBe(names.length);
      expect(batch.count).toBeLessThanOrEqual(MAX_BATCH);
      expect(batch.entries.length).toBeLessThanOrEqual(310_000);
      expect(batch.keys.split(",")).toEqual(names);
    }
    expect(played.mostOpen).toBe(1);
  });

  it("comes back to flush after as long as the object asks, once, long after the click was answered (TRACK-16)", async () => {
    const began = Date.now();
    const clicks = ["a", "b"].map((name) => played.click(name));
    played.calls[0]?.answer({ stored: true, flush_in: 15_000 });
    await settle();
    played.calls[1]?.answer(STORED);
    expect(await Promise.all(clicks)).toEqual(["stored", "stored"]);
    await vi.advanceTimersByTimeAsync(14_999);
    expect(played.flushes).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(played.flushes).toEqual([began + 15_000]);
    await Promise.all(played.kept);
  });

  it("passes a refusal on to those it carried, and goes on with the next", async () => {
    const first = played.click("a");
    const second = played.click("b");
    played.calls[0]?.answer({ stored: false, reason: "backlog" });
    expect(await first).toBe("refused");
    await settle();
    played.calls[1]?.answer(STORED);
    expect(await second).toBe("stored");
  });

  it("refuses at once when too many wait, so that memory stays bounded", async () => {
    const clicks = Array.from({ length: MAX_WAITING + 1 }, (_, i) => played.click(`n${i}`));
    expect(await played.click("one too many")).toBe("refused");
    for (let i = 0; i < played.calls.length; i++) {
      played.calls[i]?.answer(STORED);
      await settle();
    }
    expect(new Set(await Promise.all(clicks))).toEqual(new Set(["stored"]));
    expect(played.calls.flatMap(({ names }) => names)).not.toContain("one too many");
  });

  it("repeats a call once, as the same batch, where the object only moved; not where it is overloaded or broken", async () => {
    const moved = played.click("a");
    played.calls[0]?.fail(Object.assign(new Error("moved"), { retryable: true }));
    await settle();
    expect(played.calls[1]?.batch).toEqual(played.calls[0]?.batch);
    played.calls[1]?.answer(STORED);
    expect(await moved).toBe("stored");
    for (const marks of [{ retryable: true, overloaded: true }, {}]) {
      await settle();
      const refused = played.click("b");
      const before = played.calls.length;
      played.calls.at(-1)?.fail(Object.assign(new Error("no"), marks));
      expect(await refused).toBe("refused");
      expect(played.calls.length).toBe(before);
    }
    await settle();
    const twice = played.click("c");
    for (let i = 0; i < 2; i++) {
      played.calls.at(-1)?.fail(Object.assign(new Error("moved"), { retryable: true }));
      await settle();
    }
    expect(await twice).toBe("refused");
  });

  it("bounds every wait: a call that never answers, and all that wait behind it", async () => {
    const answers: Acceptance[] = [];
    for (const name of ["a", "b"]) void played.click(name).then((answer) => answers.push(answer));
    await vi.advanceTimersByTimeAsync(9_100);
    expect(answers).toEqual(["refused", "refused"]);
  });

  it("goes on when the leader's request is lost: who waits takes the lead after three seconds", async () => {
    const lost = played.click("a");
    // The leader's call neither answers nor ends; its clicks are never reported as stored.
    const behind = played.click("b");
    await vi.advanceTimersByTimeAsync(3_100);
    expect(played.calls.map(({ names }) => names)).toEqual([["a"], ["b"]]);
    played.calls[1]?.answer(STORED);
    expect(await behind).toBe("stored");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await lost).toBe("refused");
  });

  it("does not send a click after its sender was asked to try again", async () => {
    const clicks = ["a", "b"].map((name) => played.click(name));
    await vi.advanceTimersByTimeAsync(40_000);
    expect(await Promise.all(clicks)).toEqual(["refused", "refused"]);
    const calls = played.calls.length;
    const later = played.click("c");
    await settle();
    expect(played.calls.slice(calls).map(({ names }) => names)).toEqual([["c"]]);
    played.calls.at(-1)?.answer(STORED);
    expect(await later).toBe("stored");
  });

  it("hands the lead on after a second, still one call at a time, and keeps every leader alive", async () => {
    const clicks: Promise<Acceptance>[] = [];
    for (let i = 0; i < 40; i++) {
      clicks.push(played.click(`x${i}`), played.click(`y${i}`));
      await vi.advanceTimersByTimeAsync(100);
      for (const call of played.calls.slice()) call.answer(STORED);
      await settle();
    }
    for (let i = 0; i < played.calls.length; i++) {
      played.calls[i]?.answer(STORED);
      await settle();
    }
    expect(new Set(await Promise.all(clicks))).toEqual(new Set(["stored"]));
    expect(played.kept.length, "leaders").toBeGreaterThanOrEqual(4);
    expect(played.mostOpen).toBeLessThanOrEqual(2);
    expect(played.calls.flatMap(({ names }) => names)).toHaveLength(80);
  });
});
