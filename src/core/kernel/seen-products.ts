/** The products that payments contain, for the editor of flows (PRODUCT-1). */
import { sql, type SQL } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { products } from "../../db/schema.ts";
import type { Fact } from "../../domain/fact.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { DAY, iso } from "../../lib/time.ts";
import type { ProgramCtx, Reader, Statement } from "./context.ts";
import type { Product } from "./rows.ts";

/** The most products that are listed. */
export const MAX_PRODUCTS = 1_000;

/**
 * A statement that records the products in an event's payments, with the names that the event states; empty
 * without products. A row is written at most once a day, or if its name changes. An id or name with an `@` is not recorded: it
 * may contain a customer's address.
 */
export function recordProducts(
  { db, program, now }: ProgramCtx,
  provider: ProviderName,
  facts: readonly Fact[],
  when: SQL,
): Statement[] {
  const names = new Map<string, string | null>();
  for (const { products: ids, names: given = [] } of facts.flatMap((fact) =>
    fact.kind === "payment" ? (fact.lines ?? []) : [],
  )) {
    ids.forEach((id, i) => !id.includes("@") && names.set(id, given[i] ?? names.get(id) ?? null));
  }
  if (names.size === 0) return [];
  return [
    db.run(sql`insert into products (program_id, provider, id, name, last_seen_at)
      select ${program.id}, ${provider}, value ->> 0, value ->> 1, ${iso(now)}
      from json_each(${JSON.stringify([...names])}) where ${when}
      on conflict do update set name = coalesce(excluded.name, name), last_seen_at = excluded.last_seen_at
        where last_seen_at < ${iso(now - DAY)} or (excluded.name is not null and name is not excluded.name)`),
  ];
}

/** Lists the products and prices seen in payments, the last seen first, at most `MAX_PRODUCTS`. */
export async function listProducts(ctx: Reader): Promise<Product[]> {
  const [rows] = await ctx.read(selectProducts(ctx));
  return rows;
}

export function selectProducts(ctx: Reader) {
  return ctx.db
    .select()
    .from(products)
    .where(sql`${products.program_id} = ${ctx.programId}`)
    .orderBy(sql`${products.last_seen_at} desc`, products.provider, products.id)
    .limit(atMost(MAX_PRODUCTS));
}
