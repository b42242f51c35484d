/**
 * Texts that drizzle composes part by part are written at once, and are the same (`test/support/setup.ts` compares every
 * sent statement).
 */
import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { env } from "cloudflare:workers";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import { describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { joinParts, unionOf } from "../../src/db/parts.ts";
import { checkTexts, DirectDialect } from "../../src/db/query-text.ts";
import { commissions, partnerSlugs, partners, payments } from "../../src/db/schema.ts";

const binding = { prepare: (text: string) => ({ text }) } as unknown as D1Database;
const own = drizzle(binding);
const direct = openDatabase(binding);

type Client = Pick<typeof own, "select" | "update" | "insert">;
const sentBy = (query: unknown) => (query as { getQuery(): { params: unknown[] } }).getQuery().params;
const QUERIES: Record<string, (db: Client) => { toSQL(): { sql: string; params: unknown[] } }> = {
  "a select with a condition": (db) =>
    db
      .select()
      .from(payments)
      .where(and(eq(payments.id, "a"), isNull(payments.ref), sql`${payments.provider} = ${sql.raw("'provider_b'")}`)),
  "a list of values": (db) =>
    db
      .select({ id: partners.id })
      .from(partners)
      .where(inArray(partners.id, ["a", "b"])),
  "a join and an alias": (db) =>
    db
      .select({ id: partners.id, n: sql<number>`count(*)`.as("n") })
      .from(partners)
      .innerJoin(payments, eq(payments.partner_id, partners.id))
      .orderBy(sql`n`),
  "null, JSON and truth values": (db) =>
    db.update(commissions).set({ note: null, flagged: true, rate: { type: "percent" } as never }),
  "a query within a query": (db) =>
    db
      .select()
      .from(partners)
      .where(sql`${partners.id} in ${db.select({ id: payments.partner_id }).from(payments)}`),
  "a placeholder": (db) =>
    db
      .select()
      .from(partners)
      .where(and(eq(partners.id, sql.placeholder("id")), sql`slug = ${sql.placeholder("slug")}`)),
  "a row": (db) =>
    db
      .insert(partners)
      .values({ id: "a", program_id: "b", email: "c", slug: "d", search_text: "e", created_at: "f", updated_at: "g" })
      .onConflictDoNothing(),
  "names in quotes": (db) => db.select({ id: sql`${sql.identifier('a"b')}` }).from(partners),
};

describe("a query's text", () => {
  it.each(Object.entries(QUERIES))("is drizzle's own: %s", (_, make) => {
    expect(make(direct).toSQL()).toEqual(make(own).toSQL());
  });

  it("is compared with drizzle's where a test wants it", () => {
    checkTexts();
    vi.spyOn(SQLiteAsyncDialect.prototype, "sqlToQuery").mockReturnValueOnce({ sql: "select 2", params: [] });
    expect(() => new DirectDialect().sqlToQuery(sql`select 1`)).toThrow("select 1 is not select 2");
  });

  it("is refused where it would not fit with as many parts as it may have", () => {
    checkTexts();
    const named = (most: number) => sql`select 1 where ${joinParts([sql`a = ${"b"}`], sql` or `, most)} or c = ${"d"}`;
    expect(sentBy(direct.run(named(99)))).toHaveLength(2);
    expect(() => sentBy(direct.run(named(100)))).toThrow("may have 101 parameters");
    expect(() => sentBy(direct.run(joinParts([sql`1`, sql`2`], sql`, `, 1)))).toThrow("2 parts");
    const kinds = Array.from({ length: 101 }, (_, i) => sql`${i}`);
    expect(() => sentBy(direct.run(joinParts(kinds, sql`, `, "different")))).toThrow("may have 101 parameters");
    const nested = joinParts([joinParts([sql`${1}`], sql`, `, 20)], sql`, `, 6);
    expect(() => sentBy(direct.run(nested))).toThrow("may have 120 parameters");
  });

  it("is refused where each of a list is a parameter", () => {
    checkTexts();
    expect(() => sentBy(direct.run(sql`select 1 where 1 in ${[1, 2]}`))).toThrow("a parameter for each of a list");
    const link = { program_id: "a", slug_key: "b", partner_id: "c" };
    expect(direct.insert(partnerSlugs).values([link]).toSQL().params).toEqual(["a", "b", "c"]);
    expect(() => direct.insert(partnerSlugs).values([link, link]).toSQL()).toThrow("for each of some rows");
  });
});

describe("a union", () => {
  it.each([1, 5, 6, 25, 26, 60, 99])("of %d selects is one that the database takes", async (length) => {
    const numbers = Array.from({ length }, (_, i) => i);
    const union = unionOf(
      numbers.map((i) => sql`select ${i} as n`),
      99,
    );
    expect(await openDatabase(env.DB).all(sql`select n from (${union})`)).toEqual(numbers.map((n) => ({ n })));
  });
});
