import { describe, expect, it } from "vitest";
import { boundedDatabase } from "../../src/db/bounded-database.ts";
import { StorageUnavailable } from "../../src/lib/errors.ts";

/** A database all of whose calls end as `answer` does; `asked` holds its calls. */
function played(answer: () => Promise<unknown>) {
  const asked: unknown[] = [];
  const prepare = (query: string, values: unknown[] = []): unknown => ({
    query,
    values,
    bind: (...bound: unknown[]) => prepare(query, bound),
    ...Object.fromEntries(
      ["all", "run", "raw", "first"].map((name) => [
        name,
        (...args: unknown[]) => (asked.push([name, query, values, ...args]), answer()),
      ]),
    ),
  });
  const batch = (statements: { query: string; values: unknown[] }[]) => {
    asked.push(["batch", ...statements.map(({ query, values }) => [query, values])]);
    return answer();
  };
  return { binding: { prepare, batch } as unknown as D1Database, asked };
}

/** Every way to ask. */
function askAll(db: D1Database): Promise<unknown>[] {
  const bound = db.prepare("select ?").bind(1);
  return [bound.all(), bound.run(), bound.raw(), bound.first(), bound.first("a"), db.batch([db.prepare("x"), bound])];
}

const failing = (message: string) => played(() => Promise.reject(new Error(message)));

describe("the bounded database", () => {
  it("asks what it is asked and gives what it is given", async () => {
    const { binding, asked } = played(async () => "answer");
    expect(await Promise.all(askAll(boundedDatabase(binding)))).toEqual(Array.from({ length: 6 }, () => "answer"));
    expect(asked).toEqual([
      ["all", "select ?", [1]],
      ["run", "select ?", [1]],
      ["raw", "select ?", [1], undefined],
      ["first", "select ?", [1]],
      ["first", "select ?", [1], "a"],
      ["batch", ["x", []], ["select ?", [1]]],
    ]);
  });

  it("waits for no answer longer than the limit, whichever way it is asked (HTTP-16)", async () => {
    const { binding } = played(() => new Promise(() => {}));
    const ends = await Promise.allSettled(askAll(boundedDatabase(binding, 20)));
    expect(ends.map((end) => end.status === "rejected" && end.reason instanceof StorageUnavailable)).toEqual(
      Array.from({ length: 6 }, () => true),
    );
  });

  it.each([
    "D1_ERROR: Network connection lost.",
    "D1_ERROR: D1 DB is overloaded. Requests queued for too long.",
    "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.",
    "D1_ERROR: Internal error in D1 DB storage caused object to be reset.",
    "D1_ERROR: Exceeded maximum DB size",
    "D1_ERROR: database is locked: SQLITE_BUSY",
    "D1_ERROR: database or disk is full: SQLITE_FULL",
    "something nobody has seen yet",
  ])("is unavailable where it says: %s", async (message) => {
    for (const asked of askAll(boundedDatabase(failing(message).binding))) {
      const error = await asked.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StorageUnavailable);
      expect(String(error), "the text stays inside").not.toContain(message);
      expect((error as Error).cause).toMatchObject({ message });
    }
  });

  it.each([
    "D1_ERROR: UNIQUE constraint failed: partners.program_id, partners.email: SQLITE_CONSTRAINT",
    "CHECK constraint failed: lost_race",
    "D1_ERROR: no such table: nowhere: SQLITE_ERROR",
    "D1_TYPE_ERROR: Type 'undefined' not supported for value 'undefined'",
  ])("leaves to its caller what the query did: %s", async (message) => {
    for (const asked of askAll(boundedDatabase(failing(message).binding))) {
      await expect(asked).rejects.toMatchObject({ message });
    }
  });
});
