import type { Arrival } from "../domain/click.ts";
import { randomToken } from "../lib/crypto.ts";
import { MINUTE } from "../lib/time.ts";
import { batchKey, type ClickBatch } from "./batch.ts";
import { Seen } from "./recent-ids.ts";

/** How long the id of a click or batch is remembered, and how many at most: about 20 MB of an object's 128. */
export const SEEN_WINDOW = 30 * MINUTE;
const SEEN_LIMIT = 131_072;
/** UTF-16 units of entries in one row and in one flush: at most three bytes each, and a row or parameter holds 2 MB. */
const MAX_LENGTH = 600_000;
/** Rows that are kept for overwriting, because a deletion is billed as a row written. */
export const MAX_SPARE = 1_000;

/**
 * Arrivals after number `from` up to `to`, as a JSON array without brackets; those up to `known` are flushed, those
 * after `oldest` still stored.
 */
export interface Stretch {
  oldest: number;
  known: number;
  from: number;
  to: number;
  entries: string;
}

/**
 * The rows of one click object. Arrivals are numbered from 1 in the order they are stored; a row holds a group of them
 * and is named by the number of its last. Flushed rows stay until their ids need not be remembered any more; then new
 * ones overwrite them, so that a commit costs one row written and forgetting is free.
 *
 * Two numbers track the database. Arrivals up to `flushed` are known to be there: only these are ever overwritten.
 * Storing it costs a row written, so not every flush is reported to the object, and the number may be behind. Arrivals
 * handed out beyond it are in flight, lost or written: only memory knows that they were handed out, and the next
 * stretch begins after them.
 *
 * Every method is synchronous: its writes are one write, together with the caller's own.
 */
export class ClickStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #seen = new Seen(SEEN_WINDOW, SEEN_LIMIT);
  #epoch = "";
  #name = "";
  #last = 0;
  #flushed = 0;
  #handed = 0;
  #length = 0;
  #forgotAt = 0;
  #isRemembered = false;
  #splitAt: number | null = null;
  /** The names of rows that may be overwritten, the oldest last. */
  #spare: number[] = [];
  #now: number;

  /** `now` in ms, as in every method. */
  constructor(storage: DurableObjectStorage, now: number) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#now = now;
    this.#load();
  }

  /** Identifies this storage for the object's cursor in the database. Empty before the first batch. */
  get epoch(): string {
    return this.#epoch;
  }

  get isNew(): boolean {
    return this.#epoch === "";
  }

  /** When the region was split, in ms, as far as this object knows. */
  get splitAt(): number | null {
    return this.#splitAt;
  }

  split(at: number): void {
    this.#sql.exec("create table if not exists split (id integer primary key, at integer not null)");
    this.#sql.exec("insert into split (id, at) values (1, ?) on conflict (id) do update set at = excluded.at", at);
    this.#splitAt = at;
  }

  /** How many ids of clicks and batches are remembered. */
  get ids(): number {
    this.#remember();
    return this.#seen.size;
  }

  /** Whether an id (see `idsOf`) was taken within the window. */
  knows(id: string, now: number): boolean {
    this.#remember();
    return this.#seen.has(id, Math.max(this.#now, now));
  }

  /** The name: `given` by the platform or stored, because opening by id gives none. @throws if it was never given */
  nameFor(given: string | undefined): string {
    if (this.#name === "" && given !== undefined) {
      this.#sql.exec("create table if not exists name (name text primary key) without rowid");
      this.#sql.exec("insert into name values (?) on conflict do nothing", given);
      this.#name = given;
    }
    if (this.#name === "") this.#name = this.#keptName();
    return this.#name;
  }

  /** Arrivals that are not known to be flushed, and UTF-16 units of their entries. */
  get backlog(): { clicks: number; length: number } {
    return { clicks: this.#last - this.#flushed, length: this.#length };
  }

  /** How many arrivals were not handed out yet. */
  get left(): number {
    return this.#last - this.#handed;
  }

  /** How many arrivals there were at `at`, in ms; 0 if every stored one is later. */
  takenBy(at: number): number {
    if (this.isNew) return 0;
    const [row] = this.#sql.exec<{ last: number }>(
      "select last from batches where stored_at <= ? order by last desc limit 1",
      at,
    );
    return row?.last ?? 0;
  }

  /**
   * Stores batches in few rows. A batch with a known id is left out; an arrival with a known key becomes one that is
   * counted as a duplicate. `elsewhere` are ids known to another object. Throws if the storage refuses, without storing
   * any.
   */
  add(batches: readonly ClickBatch[], now: number, elsewhere: ReadonlySet<string> = NOTHING): void {
    this.#now = Math.max(this.#now, now);
    try {
      this.#remember();
      this.#forget();
      const rows = this.#rowsOf(batches, elsewhere);
      if (rows.length === 1 && !this.isNew) this.#insert(rows[0]!);
      else this.#storage.transactionSync(() => this.#insertAll(rows));
      this.#seen.prune(this.#now);
    } catch (error) {
      this.#load();
      throw error;
    }
  }

  /** Hands out the oldest arrivals that were not handed out yet, or null. */
  next(): Stretch | null {
    const from = this.#handed;
    if (from === this.#last) return null;
    let entries = "";
    let to = from;
    for (const row of this.#sql.exec<{ last: number; entries: string }>(
      "select last, entries from batches where last > ? order by last",
      from,
    )) {
      if (entries !== "" && entries.length + row.entries.length > MAX_LENGTH) break;
      entries += entries === "" ? row.entries : `,${row.entries}`;
      to = row.last;
    }
    this.#handed = to;
    return { oldest: this.#oldest(), known: this.#flushed, from, to, entries };
  }

  /**
   * Stores the database's cursor after a flush up to `to`. If the cursor is behind it, the stretch was lost or refused,
   * or the database was restored: all arrivals after the cursor are handed out again. Otherwise the position never goes
   * back.
   */
  flushed({ to, cursor }: { to: number; cursor: number }): void {
    const isBehind = cursor < to;
    const at = Math.min(cursor, this.#last);
    this.#handed = isBehind ? at : Math.max(at, this.#handed);
    if (isBehind || at > this.#flushed) this.#keepFlushed(at);
  }

  /** All arrivals that are not known to be flushed are handed out again. */
  takeBack(): void {
    this.#handed = this.#flushed;
  }

  /** The end of the part of the oldest row that is not handed out any more; 0 if no row can have been overwritten. */
  #oldest(): number {
    if (this.#flushed === 0) return 0;
    const [row] = this.#sql.exec<{ last: number }>("select last from batches order by last limit 1");
    return Math.min(this.#flushed, (row?.last ?? 1) - 1);
  }

  #keepFlushed(cursor: number): void {
    if (cursor === this.#flushed) return;
    const before = this.#flushed;
    this.#flushed = cursor;
    this.#sql.exec("update object set flushed = ?", this.#flushed);
    this.#spare = this.#spare.filter((last) => last <= this.#flushed);
    this.#length += this.#lengthBetween(this.#flushed, before) - this.#lengthBetween(before, this.#flushed);
  }

  /** Finds flushed rows whose ids are out of the window, at most once a minute, and deletes surplus ones. */
  #forget(): void {
    if (this.isNew || this.#now - this.#forgotAt < MINUTE) return;
    const past = this.#sql.exec<{ last: number }>(
      "select last from batches where last <= ? and (stored_at < ? or last <= ?) order by last",
      this.#flushed,
      this.#now - SEEN_WINDOW,
      this.#last - SEEN_LIMIT,
    );
    this.#keepSpare([...past].map(({ last }) => last));
  }

  #keepSpare(past: readonly number[]): void {
    this.#forgotAt = this.#now;
    // The newest row is never deleted: its name is the number of arrivals.
    const kept = past.slice(-MAX_SPARE);
    if (kept.length < past.length) this.#sql.exec("delete from batches where last < ?", kept[0]!);
    this.#spare = kept.toReversed();
  }

  #keptName(): string {
    const [kept] = this.#hasTable("name") ? this.#sql.exec<{ name: string }>("select name from name") : [];
    if (!kept) throw new Error("the click object does not know its name");
    return kept.name;
  }

  #begin(): void {
    this.#sql.exec("create table if not exists object (epoch text not null, flushed integer not null)");
    this.#sql.exec(`create table if not exists batches (
      last integer primary key, stored_at integer not null, length integer not null, keys text not null, entries text not null
    )`);
    this.#epoch = randomToken(12);
    this.#sql.exec("insert into object (epoch, flushed) values (?, 0)", this.#epoch);
  }

  #rowsOf(batches: readonly ClickBatch[], elsewhere: ReadonlySet<string>): Row[] {
    const rows: Row[] = [];
    let row: Row | undefined;
    for (const batch of batches) {
      const key = batchKey(batch.id);
      if (elsewhere.has(key) || !this.#seen.add(key, this.#now)) continue;
      const { entries, keys } = this.#withoutRepetitions(batch, elsewhere);
      if (!row || row.entries.length + entries.length > MAX_LENGTH)
        rows.push((row = { count: 0, keys: "", entries: "" }));
      row.entries += row.count === 0 ? entries : `,${entries}`;
      row.keys += `,${key}${keys === "" ? "" : `,${keys}`}`;
      row.count += batch.count;
    }
    return rows;
  }

  #insertAll(rows: readonly Row[]): void {
    if (this.isNew) this.#begin();
    for (const row of rows) this.#insert(row);
  }

  #insert({ count, keys, entries }: Row): void {
    const values = [this.#last + count, this.#now, entries.length, keys, entries];
    const spare = this.#spare.pop();
    if (spare === undefined) {
      this.#sql.exec("insert into batches (last, stored_at, length, keys, entries) values (?, ?, ?, ?, ?)", ...values);
    } else {
      this.#sql.exec(
        "update batches set last = ?, stored_at = ?, length = ?, keys = ?, entries = ? where last = ?",
        ...values,
        spare,
      );
    }
    this.#last += count;
    this.#length += entries.length;
  }

  /** A repetition's key is not stored: when read back, it would restart the window. */
  #withoutRepetitions(batch: ClickBatch, elsewhere: ReadonlySet<string>): Pick<ClickBatch, "entries" | "keys"> {
    if (batch.keys === "") return batch;
    const keys = batch.keys.split(",");
    const repeated: number[] = [];
    keys.forEach((key, i) => {
      if (key !== "" && (elsewhere.has(key) || !this.#seen.add(key, this.#now))) repeated.push(i);
    });
    if (repeated.length === 0) return batch;
    const arrivals = JSON.parse(`[${batch.entries}]`) as Arrival[];
    for (const i of repeated) {
      const { created_at, program_id } = arrivals[i]!;
      arrivals[i] = { created_at, program_id, dropped: "duplicate" };
      keys[i] = "";
    }
    return { entries: JSON.stringify(arrivals).slice(1, -1), keys: keys.join(",") };
  }

  /** Reads back the state that an object needs before it takes another click. */
  #load(): void {
    this.#isRemembered = false;
    this.#seen.clear();
    this.#spare = [];
    this.#forgotAt = 0;
    const [split] = this.#hasTable("split") ? this.#sql.exec<{ at: number }>("select at from split") : [];
    this.#splitAt = split?.at ?? null;
    const [object] = this.#hasTable("object")
      ? this.#sql.exec<{ epoch: string; flushed: number }>("select epoch, flushed from object")
      : [];
    this.#epoch = object?.epoch ?? "";
    this.#flushed = object?.flushed ?? 0;
    this.#handed = this.#flushed;
    this.#last = this.#flushed;
    this.#length = 0;
    if (!object) return;
    const [newest] = this.#sql.exec<{ last: number }>("select last from batches order by last desc limit 1");
    this.#last = Math.max(this.#last, newest?.last ?? 0);
    this.#length = this.#lengthBetween(this.#flushed, this.#last);
  }

  /** Reads back all ids and reusable rows: once, and only when clicks arrive, because it reads every row. */
  #remember(): void {
    if (this.#isRemembered) return;
    this.#isRemembered = true;
    if (this.isNew) return;
    const past: number[] = [];
    for (const row of this.#sql.exec<{ last: number; stored_at: number; keys: string }>(
      "select last, stored_at, keys from batches order by last",
    )) {
      if (row.stored_at < this.#now - SEEN_WINDOW) {
        if (row.last <= this.#flushed) past.push(row.last);
        continue;
      }
      for (const key of row.keys.split(",")) if (key !== "") this.#seen.add(key, row.stored_at);
    }
    this.#seen.prune(this.#now);
    this.#keepSpare(past);
  }

  #hasTable(name: string): boolean {
    return this.#sql.exec("select 1 from sqlite_master where type = 'table' and name = ?", name).toArray().length > 0;
  }

  #lengthBetween(after: number, upTo: number): number {
    const [row] = this.#sql.exec<{ length: number }>(
      "select coalesce(sum(length), 0) as length from batches where last > ? and last <= ?",
      after,
      upTo,
    );
    return row?.length ?? 0;
  }
}

const NOTHING: ReadonlySet<string> = new Set();

interface Row {
  count: number;
  keys: string;
  entries: string;
}
