/** Durable Objects as the click objects see them, on SQLite in this process: storage, alarms, restarts. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { PlayedDatabase } from "./database.ts";
import type { ClickCounter } from "./worker.ts";

/** Carries out calls when their turn comes, and keeps the process waiting for work. */
interface Turns {
  gate: <T>(call: () => T, faults: readonly ("before" | "after" | "silence")[]) => Promise<T>;
  waitUntil: (work: Promise<unknown>) => void;
}

/** The platform marks retryable errors. */
function lost(): Error {
  return Object.assign(new Error("Network connection lost."), { retryable: true });
}

/** A promise that never settles: the answer of an evicted object. */
const NEVER = new Promise<never>(() => {});

interface Life {
  object: ClickCounter;
  ready: Promise<unknown>;
  isOver: boolean;
  /** Rejects when it is over. */
  end: Promise<never>;
  fail: (error: Error) => void;
}

type IsKept = () => Promise<unknown>;

/** Makes the service's object; its calls leave when `sent` is called. */
type Make = (state: object, isKept: IsKept) => ClickCounter;

/**
 * One object. Writes without a wait between them are one write; no reply leaves it before the earlier writes are kept.
 * When it goes, its unsaved writes are lost, and the next call finds it new.
 */
class PlayedObject {
  readonly name: string;
  readonly #sqlite = new DatabaseSync(":memory:");
  readonly #prepared = new Map<string, { statement: StatementSync; hasRows: boolean }>();
  readonly #turns: Turns;
  readonly #make: Make;
  #life: Life | null = null;
  #keeping: Promise<void> | null = null;
  #alarm: number | null = null;
  #keptAlarm: number | null = null;

  constructor(name: string, turns: Turns, make: Make) {
    this.name = name;
    this.#turns = turns;
    this.#make = make;
  }

  /** A call on its way here, and its reply on the way back, which may fail in these ways. */
  async call<T>(run: (object: ClickCounter) => Promise<T>, faults: ("after" | "silence")[]): Promise<T> {
    const onTheWay = (faults: ("before" | "after" | "silence")[]) =>
      this.#turns
        .gate(() => {}, faults)
        .catch(() => {
          throw lost();
        });
    await onTheWay(["before"]);
    const reply = await this.#run(run);
    await onTheWay(faults);
    return reply;
  }

  /** Rings its alarm if due, and again if the object goes meanwhile. */
  async ring(now: number, isLost: boolean): Promise<void> {
    if (this.#keptAlarm === null || this.#keptAlarm > now) return;
    this.#alarm = null;
    this.#keptAlarm = null;
    if (isLost) return;
    await this.#run((object) => object.alarm()).catch(() => {
      this.#alarm ??= now + 2_000;
      this.#keptAlarm ??= this.#alarm;
    });
  }

  /** The identity of its storage and the number of its clicks; null without any. */
  get taken(): { epoch: string; last: number } | null {
    const [table] = this.#rowsOf("select 1 from sqlite_master where name = 'object'", []);
    if (!table) return null;
    const [row] = this.#rowsOf("select epoch, coalesce((select max(last) from batches), 0) as last from object", []);
    return row as { epoch: string; last: number };
  }

  /** Inspects the object and its storage, for checks only. */
  async inside<T>(run: (object: ClickCounter, state: { storage: object }) => Promise<T> | T): Promise<T> {
    return this.#run(async (object) => run(object, { storage: this.#storageOf(this.#life!) }));
  }

  die(): void {
    if (this.#sqlite.isTransaction) this.#sqlite.exec("rollback");
    this.#alarm = this.#keptAlarm;
    this.#keeping = null;
    const life = this.#life;
    this.#life = null;
    if (!life) return;
    life.isOver = true;
    life.fail(lost());
  }

  close(): void {
    this.#sqlite.close();
  }

  async #run<T>(run: (object: ClickCounter) => Promise<T>): Promise<T> {
    const life = (this.#life ??= this.#begin());
    await Promise.race([life.ready, life.end]);
    const reply = await Promise.race([run(life.object), life.end]);
    await Promise.race([this.#keeping, life.end]);
    return reply;
  }

  #begin(): Life {
    const { promise: end, reject: fail } = Promise.withResolvers<never>();
    end.catch(() => {});
    const object = null as unknown as ClickCounter;
    const life: Life = { object, ready: Promise.resolve(), isOver: false, end, fail };
    const state = {
      storage: this.#storageOf(life),
      id: { name: this.name, toString: () => this.name },
      waitUntil: (work: Promise<unknown>) => this.#turns.waitUntil(Promise.race([work, end])),
      blockConcurrencyWhile: (run: () => Promise<unknown>) => (life.ready = run()),
    };
    life.object = this.#make(state, () => (life.isOver ? NEVER : (this.#keeping ?? Promise.resolve())));
    return life;
  }

  #storageOf(life: Life): object {
    const check = () => {
      if (life.isOver) throw new Error("The object is gone.");
    };
    return {
      sql: {
        exec: (sql: string, ...values: SQLInputValue[]) => {
          check();
          if (!/^\s*select/i.test(sql)) this.#written(life);
          const rows = this.#rowsOf(sql, values);
          return Object.assign(rows, { toArray: () => rows, one: () => rows[0] });
        },
      },
      transactionSync: (run: () => unknown) => {
        check();
        this.#written(life);
        this.#sqlite.exec("savepoint one");
        try {
          const result = run();
          this.#sqlite.exec("release one");
          return result;
        } catch (error) {
          this.#sqlite.exec("rollback to one");
          throw error;
        }
      },
      getAlarm: async () => this.#alarm,
      setAlarm: async (at: number) => {
        if (life.isOver) return;
        this.#alarm = at;
        this.#written(life);
      },
      sync: () => this.#keeping ?? Promise.resolve(),
    };
  }

  /** All writes until its turn are kept together, or lost with the object. */
  #written(life: Life): void {
    if (!this.#sqlite.isTransaction) this.#sqlite.exec("begin");
    this.#keeping ??= this.#turns
      .gate(() => {
        if (life.isOver) return false;
        if (this.#sqlite.isTransaction) this.#sqlite.exec("commit");
        this.#keptAlarm = this.#alarm;
        this.#keeping = null;
        return true;
      }, ["before", "after"])
      .then(
        (isKept) => (isKept ? undefined : NEVER),
        () => {
          if (!life.isOver) this.die();
          return NEVER;
        },
      );
  }

  #rowsOf(sql: string, values: SQLInputValue[]): Record<string, unknown>[] {
    let prepared = this.#prepared.get(sql);
    if (!prepared) {
      const statement = this.#sqlite.prepare(sql);
      prepared = { statement, hasRows: statement.columns().length > 0 };
      this.#prepared.set(sql, prepared);
    }
    const { statement, hasRows } = prepared;
    if (hasRows) return statement.all(...values);
    statement.run(...values);
    return [];
  }
}

/** The namespace's view of an object. */
type Stub = Omit<ClickCounter, "alarm" | "splitLoad">;

/** The namespace that the service is bound to, and all its objects. */
export class PlayedObjects {
  /** Whether the Worker is gone by now that an object asked to come back and flush. */
  isGone: (name: string) => boolean = () => false;
  readonly #objects = new Map<string, PlayedObject>();
  readonly #turns: Turns;
  readonly #make: Make;

  constructor(turns: Turns, make: Make) {
    this.#turns = turns;
    this.#make = make;
  }

  /** As an object is bound to it. */
  behind(isKept: IsKept): { getByName(name: string): Stub } {
    return { getByName: (name) => this.#stubOf(name, isKept) };
  }

  /** The Worker's binding; an object's location is not simulated. */
  getByName(name: string): Stub {
    return this.#stubOf(name, async () => {});
  }

  /** Inspects an object, for checks only. */
  inside<T>(name: string, run: (object: ClickCounter, state: { storage: object }) => Promise<T> | T): Promise<T> {
    return this.#objectOf(name).inside(run);
  }

  #objectOf(name: string): PlayedObject {
    let object = this.#objects.get(name);
    if (!object) {
      object = new PlayedObject(name, this.#turns, this.#make);
      this.#objects.set(name, object);
    }
    return object;
  }

  #stubOf(name: string, isKept: IsKept): Stub {
    const found = this.#objectOf(name);
    const call = async <T>(run: (one: ClickCounter) => Promise<T>, isSilent = true): Promise<T> => {
      await isKept();
      return found.call(run, isSilent ? ["after", "silence"] : ["after"]);
    };
    return {
      commit: (batch) => call((one) => one.commit(structuredClone(batch))),
      take: (batch) => call((one) => one.take(structuredClone(batch))),
      knows: (ids) => call((one) => one.knows(structuredClone(ids))),
      waiting: async () => {
        if (this.isGone(name)) throw lost();
        return call((one) => one.waiting());
      },
      flushed: (done) => call((one) => one.flushed(structuredClone(done))),
      // An unanswered cron ends with its invocation, which is not simulated.
      look: () => call((one) => one.look(), false),
      catchUp: (cursor) => call((one) => one.catchUp(cursor), false),
    };
  }

  /** Every alarm that is due, some of which never ring: of objects that the cron knows. */
  async ring(now: number, isLost: (name: string) => boolean): Promise<void> {
    await Promise.all([...this.#objects.values()].map((object) => object.ring(now, isLost(object.name))));
  }

  /** How many clicks are not in the database of theirs. */
  waiting(databases: readonly PlayedDatabase[]): number {
    const cursorOf = (epoch: string) =>
      databases
        .flatMap((one) => one.look<{ id: string }>("select id from click_batches where id like ? || ':%'", epoch))
        .map(({ id }) => Number(id.slice(epoch.length + 1)))[0] ?? 0;
    return [...this.#objects.values()]
      .flatMap(({ taken }) => taken ?? [])
      .reduce((sum, { epoch, last }) => sum + Math.max(0, last - cursorOf(epoch)), 0);
  }

  /** They lose their memory, and unsaved writes. */
  die(): void {
    for (const object of this.#objects.values()) object.die();
  }

  /** They get no further calls. */
  close(): void {
    for (const object of this.#objects.values()) object.close();
  }
}
