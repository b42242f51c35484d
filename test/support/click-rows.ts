/** The storage of a click object, and its writes. */
import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { clickStub } from "./clicks.ts";

/** The last click of each batch that an object keeps. */
export function rowsOf(object: string): Promise<number[]> {
  return runInDurableObject(clickStub(object), (_, state) =>
    state.storage.sql
      .exec<{ last: number }>("select last from batches order by last")
      .toArray()
      .map(({ last }) => last),
  );
}

/** The rows that an object writes meanwhile, as they are billed: an alarm that is set would be one. */
export async function writtenBy(object: string, work: () => Promise<void>): Promise<number> {
  let alarms = 0;
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  const spies = await runInDurableObject(clickStub(object), (_, { storage }) => {
    const sql = Object.getPrototypeOf(storage.sql) as SqlStorage;
    const { exec } = sql;
    const { setAlarm } = Object.getPrototypeOf(storage) as DurableObjectStorage;
    return [
      vi.spyOn(sql, "exec").mockImplementation(function counted(this: SqlStorage, ...args: unknown[]) {
        const cursor = Reflect.apply(exec, this, args) as (typeof cursors)[number];
        cursors.push(cursor);
        return cursor;
      } as typeof sql.exec),
      vi.spyOn(Object.getPrototypeOf(storage) as DurableObjectStorage, "setAlarm").mockImplementation(function counted(
        this: DurableObjectStorage,
        ...args
      ) {
        alarms++;
        return Reflect.apply(setAlarm, this, args);
      }),
    ];
  });
  await work();
  for (const spy of spies) spy.mockRestore();
  return cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, alarms);
}
