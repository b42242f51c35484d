/** Schedules every call that leaves the service, and its faults: each waits here for its turn. */
import type { Chance } from "../../src/dev/chance.ts";
import { breathe, breatheLightly, time } from "./played-globals.ts";

/** The fates of a call: it fails before or after it runs, or it runs without an answer. */
export type Fault = "before" | "after" | "silence";

interface Waiting {
  faults: readonly Fault[];
  carryOut: (fault: Fault | null) => void;
}

/** One step's chance, and how many calls of it may fail; and after how many calls the machine goes, if it does. */
export interface Luck {
  chance: Chance;
  faults: number;
  crash?: { after: number; happens: () => void } | null;
}

/** So many turns of the event loop without a call mean that only time can bring one. */
const IDLE_TURNS = 5;
const MAX_TURNS = 200_000;
/** After so many turns, code that waits for no call is at rest. */
const QUIET_TURNS = 20;

export class Turns {
  #waiting: Waiting[] = [];
  #open = 0;
  #lives = 1;
  /** How many calls failed so far. */
  failed = 0;
  /** Waits for its turn, then runs `call`, which may fail in these ways. */
  readonly gate = <T>(call: () => T, faults: readonly Fault[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        faults,
        carryOut: (fault) => {
          const lost = () => reject(new Error("D1_ERROR: Network connection lost."));
          if (fault === "before") return lost();
          try {
            const result = call();
            if (fault === "after") lost();
            else if (fault === null) resolve(result);
          } catch (error) {
            reject(error);
          }
        },
      });
    });

  /** Work that the run waits for, beside the operations themselves. */
  readonly waitUntil = (work: Promise<unknown>): void => {
    const life = this.#lives;
    this.#open += 1;
    const ended = () => {
      if (life === this.#lives) this.#open -= 1;
    };
    work.then(ended, ended);
  };

  /** Runs operations side by side to their end, with all follow-ups. Null if the machine failed before. */
  async drive<T>(operations: (() => Promise<T>)[], { chance, faults, crash = null }: Luck): Promise<(T | null)[]> {
    const ended: (T | null)[] = operations.map(() => null);
    const outcomes = operations.map(async (operation, i) => void (ended[i] = await operation()));
    for (const outcome of outcomes) this.waitUntil(outcome);
    let left = faults;
    // Every order is possible; the one that ran last mostly continues, so that others wait long.
    const goesOn = chance.happens(0.5) ? 0.75 : 0;
    let idle = 0;
    let calls = 0;
    for (let turn = 0; ; turn++) {
      if (turn > MAX_TURNS) throw new Error("the service goes on forever");
      await (turn === 0 || idle > 0 ? breathe() : breatheLightly());
      if (crash !== null && calls === crash.after) {
        await this.#end(crash.happens);
        return ended;
      }
      if (this.#waiting.length > 0) {
        calls += 1;
        const last = this.#waiting.length - 1;
        const [next] = this.#waiting.splice(goesOn > 0 && chance.happens(goesOn) ? last : chance.whole(0, last), 1);
        const fails = left > 0 && next!.faults.length > 0 && chance.happens(0.15);
        const fault = fails ? chance.of(next!.faults) : null;
        if (fault) {
          left -= 1;
          this.failed += 1;
        }
        time.advance(1);
        next!.carryOut(fault);
        idle = 0;
      } else if (this.#open === 0) break;
      // A body takes some turns of the event loop to be read.
      else if (idle++ < IDLE_TURNS) continue;
      else if (!time.fireNext()) throw new Error("the service waits for nothing");
    }
    await Promise.all(outcomes);
    return ended;
  }

  /** Waiting calls never run, nor their successors, because the rest is gone. */
  async #end(happens: () => void): Promise<void> {
    this.failed += 1;
    happens();
    for (let turn = 0; turn < QUIET_TURNS; turn++) {
      this.#waiting = [];
      await breathe();
    }
    this.#waiting = [];
    happens();
    this.#lives += 1;
    this.#open = 0;
  }
}
