import { findActiveRefs, type RefKey } from "../core/clicks/clicks.ts";
import { isBound, type DatabaseBindings } from "../core/kernel/database.ts";
import { slugKey } from "../domain/partner.ts";
import { shardOfProgram } from "../domain/shard.ts";
import { withTimeout } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { MINUTE, SECOND } from "../lib/time.ts";

/** Whether a reference leads to an active partner; null if the answer is unavailable now. */
export type Known = boolean | null;

/** The parts of the request that a lookup needs. */
export interface Asker {
  bindings: DatabaseBindings;
  waitUntil(promise: Promise<unknown>): void;
}

/** Looks up a reference: in memory, synchronously, or in the database within `PATIENCE` ms. Never throws. */
export function leadsToPartner(program_id: string, ref: string, asker: Asker): Known | Promise<Known> {
  const shard = shardOfProgram(program_id);
  if (!isBound(asker.bindings, shard)) return false;
  let refs = shards.get(shard);
  if (!refs) {
    refs = new KnownRefs((keys, { bindings }) => findActiveRefs(bindings, shard, keys));
    shards.set(shard, refs);
  }
  return refs.leads({ program_id, slug_key: slugKey(ref) }, asker);
}

const shards = new Map<number, KnownRefs>();

/** How long an answer is cached, and so how long a deactivated or new partner may count wrongly. */
export const REMEMBERED = { known: MINUTE, unknown: 10 * SECOND };
/** Cache sizes, with a separate limit for invented references. */
export const MAX_REMEMBERED = { known: 10_000, unknown: 2_000 };
/** References in one query, and the most that may wait for the next one. */
export const MAX_ASKED = 100;
export const MAX_WAITING = 500;
/** How long a click waits for the answer. */
export const PATIENCE = 300;
/** Between the starts of two queries, and after a failed one. */
const GAP = 20;
const PAUSE = 5 * SECOND;
/** A slower query counts as failed; so does one whose request is gone. */
const QUERY_MS = 3 * SECOND;
/** How long one request makes the queries; then the next click's does. */
const LEAD_MS = SECOND;

/** Returns the positions of the references that lead to an active partner. */
export type FindActive = (refs: readonly RefKey[], asker: Asker) => Promise<number[]>;

type Wake = (known: Known) => void;

/**
 * The references of one database, as an isolate knows them. At most one query is in flight, for all references gathered
 * during the last one, so that neither invented references nor many visitors cause one query per click. After a failed
 * query no click waits until one has succeeded; one is tried every `PAUSE` ms.
 *
 * As in `accept`, the query belongs to one of the waiting requests, and each waits with its own timer.
 */
export class KnownRefs {
  readonly #find: FindActive;
  readonly #until = { known: new Map<string, number>(), unknown: new Map<string, number>() };
  readonly #waiting = new Map<string, { ref: RefKey; wakes: Wake[] }>();
  #askedAt: number | null = null;
  #failedAt: number | null = null;

  constructor(find: FindActive) {
    this.#find = find;
  }

  leads(ref: RefKey, asker: Asker): Known | Promise<Known> {
    const key = `${ref.program_id}/${ref.slug_key}`;
    const now = Date.now();
    if ((this.#until.known.get(key) ?? 0) > now) return true;
    if ((this.#until.unknown.get(key) ?? 0) > now) return false;
    const isFailing = this.#failedAt !== null;
    if (this.#failedAt !== null && now - this.#failedAt < PAUSE) return null;
    let waiting = this.#waiting.get(key);
    if (!waiting) {
      if (this.#waiting.size >= MAX_WAITING) return null;
      this.#waiting.set(key, (waiting = { ref, wakes: [] }));
    }
    const { promise, resolve } = Promise.withResolvers<Known>();
    if (!isFailing) waiting.wakes.push(resolve);
    if (this.#askedAt === null || now - this.#askedAt > 2 * QUERY_MS) asker.waitUntil(this.#ask(asker));
    if (isFailing) return null;
    const timer = setTimeout(resolve, PATIENCE, null);
    return promise.finally(() => clearTimeout(timer));
  }

  async #ask(asker: Asker): Promise<void> {
    const began = Date.now();
    while (this.#waiting.size > 0 && Date.now() - began < LEAD_MS) {
      this.#askedAt = Date.now();
      const asked = [...this.#waiting].slice(0, MAX_ASKED);
      const found = await this.#answer(
        asked.map(([, { ref }]) => ref),
        asker,
      );
      asked.forEach(([key, { wakes }], position) => {
        const known = found && found.has(position);
        if (known !== null) this.#remember(key, known);
        this.#waiting.delete(key);
        for (const wake of wakes) wake(known);
      });
      if (!found) this.#giveUp();
      else if (this.#waiting.size > 0) await new Promise((resolve) => setTimeout(resolve, GAP));
    }
    this.#askedAt = null;
  }

  async #answer(refs: readonly RefKey[], asker: Asker): Promise<Set<number> | null> {
    try {
      const found = await withTimeout(QUERY_MS, "the database", this.#find(refs, asker));
      this.#failedAt = null;
      return new Set(found);
    } catch (error) {
      logLine("error", { what: "references not looked up", reason: reasonOf(error) });
      this.#failedAt = Date.now();
      return null;
    }
  }

  #giveUp(): void {
    for (const { wakes } of this.#waiting.values()) for (const wake of wakes) wake(null);
    this.#waiting.clear();
  }

  #remember(key: string, known: boolean): void {
    const kind = known ? "known" : "unknown";
    const until = this.#until[kind];
    if (until.size >= MAX_REMEMBERED[kind]) until.clear();
    until.set(key, Date.now() + REMEMBERED[kind]);
  }
}
