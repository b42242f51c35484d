/** The names of the products and groups in conditions, and remarks about unknown ones (LINE-4, FLOW-16). */
import { sql } from "drizzle-orm";
import { literals } from "../../db/client.ts";
import { nullable, selectRows, text } from "../../db/rows.ts";
import { isList, type Condition, type ConditionField } from "../../domain/condition.ts";
import { PROVIDER_NAMES } from "../../providers/registry.ts";
import type { Reader } from "./context.ts";
import { selectGroups } from "./group-rows.ts";
import type { Group, Product } from "./rows.ts";
import { selectProducts } from "./seen-products.ts";

/** The known values of conditions, with their name; null without one. Groups are by lower-case slug. */
export interface ConditionNames {
  products: ReadonlyMap<string, string | null>;
  groups: ReadonlyMap<string, string>;
}

const NONE: ConditionNames = { products: new Map(), groups: new Map() };

/** Reads the names of the products and groups that these conditions compare, with one query at most. */
export async function readConditionNames(ctx: Reader, conditions: readonly Condition[]): Promise<ConditionNames> {
  const products = valuesOf(conditions, "product_id");
  const groups = valuesOf(conditions, "partner_group").map((slug) => slug.toLowerCase());
  if (products.length + groups.length === 0) return NONE;
  const each = (values: readonly string[]) =>
    sql`(select distinct value from json_each(${JSON.stringify([...new Set(values)])})) a`;
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { kind: text, id: text, name: nullable(text) },
      sql`select 'product' as kind, p.id as id, max(p.name) as name from ${each(products)}
        join products p on p.program_id = ${ctx.programId} and p.provider in ${literals(PROVIDER_NAMES)} and p.id = a.value
        group by p.id
        union all
        select 'group', a.value, g.name from ${each(groups)}
        join groups g on g.program_id = ${ctx.programId} and lower(g.slug) = a.value`,
    ),
  );
  const of = (kind: string) => rows.filter((row) => row.kind === kind);
  return {
    products: new Map(of("product").map(({ id, name }) => [id, name])),
    groups: new Map(of("group").map(({ id, name }) => [id, name ?? id])),
  };
}

/** The products and groups that an editor of conditions offers. */
export async function readChoices(ctx: Reader): Promise<{ products: Product[]; groups: Group[] }> {
  const [products, groups] = await ctx.read(selectProducts(ctx), selectGroups(ctx));
  return { products, groups };
}

function valuesOf(conditions: readonly Condition[], field: ConditionField): string[] {
  return conditions.flatMap((one) =>
    one.field === field ? (isList(one.value) ? one.value : [one.value]).map(String) : [],
  );
}

/** A remark about a saved flow: it may be a mistake, but need not be. */
export interface Warning {
  /** The field of the request. */
  path: string;
  message: string;
}

/** Warns of unknown values in conditions: products that payments have not contained yet, and slugs without a group. */
export function warnOfUnknown({ products, groups }: ConditionNames, conditions: readonly Condition[]): Warning[] {
  return conditions.flatMap((condition, i) => {
    const path = `conditions.${i}.value`;
    const values = (field: ConditionField) => valuesOf([condition], field);
    return [
      ...values("product_id")
        .filter((id) => !products.has(id))
        .map((id) => ({ path, message: `No payment has contained ${id} yet.` })),
      ...values("partner_group")
        .filter((slug) => !groups.has(slug.toLowerCase()))
        .map((slug) => ({ path, message: `No group has the slug ${slug}.` })),
    ];
  });
}
