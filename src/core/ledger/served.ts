/** Which payments a remembered reference or code can serve. */
import { sql, type SQL } from "drizzle-orm";
import type { Fact } from "../../domain/fact.ts";
import { slugKey } from "../../domain/partner.ts";
import { ATTRIBUTION_SLACK_MS } from "../../domain/payment-state.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { iso } from "../../lib/time.ts";
import { orUnsettled } from "./unsettled.ts";

/**
 * The payments that references and codes to be remembered can serve, by what they are remembered for: selects of their ids.
 * What is remembered serves only payments that carry no partner's reference, made no earlier than the slack before it. A
 * code that is given to a partner later marks what it serves then: before the program's first there is none. An event names
 * as many as its owner likes, and the database takes few parts to a union: they travel in one parameter. By an address only
 * settled payments are found: what marks them has what is unsettled read again (`recordFacts`).
 */
export function servedBy(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL[] {
  const references = facts.flatMap((fact) => {
    if (fact.kind !== "attribution" && fact.kind !== "code_use") return [];
    const { occurred_at, subscription_id, customer_id } = fact;
    const named = fact.kind === "attribution" ? { key: slugKey(fact.ref), customer_email: fact.customer_email } : {};
    const of = fact.kind === "attribution" && fact.any_provider ? null : provider;
    const since = iso(Date.parse(occurred_at) - ATTRIBUTION_SLACK_MS);
    return [{ key: null, customer_email: undefined, ...named, of, since, subscription_id, customer_id }];
  });
  const hasCodes = sql`exists (select 1 from partner_codes where program_id = ${program_id} and provider = ${provider})`;
  const served = (isUnnamed: SQL) => sql`p.created_at >= r.value ->> 'since'
    and (${isUnnamed} or coalesce(p.decision ->> 'ref_source', '') <> 'payment')`;
  const of = (field: "subscription_id" | "customer_id" | "customer_email", isOf: SQL, isServed: SQL): SQL[] => {
    const named = references.filter((fact) => (fact[field] ?? null) !== null);
    if (named.length === 0) return [];
    return [
      sql`select p.id from json_each(${JSON.stringify(named)}) r cross join payments p on p.program_id = ${program_id}
        and ${isOf} where +p.provider = coalesce(r.value ->> 'of', p.provider) and ${isServed}
          and case when r.value ->> 'key' is null then ${hasCodes} else ${leads(program_id, sql`r.value ->> 'key'`)} end`,
    ];
  };
  const byId = orUnsettled("p", served(sql`+p.partner_id is null`));
  // A code leads a renewal that carries it where it led at its first use, and may go before the renewal's own reference.
  const bySubscription = orUnsettled("p", served(sql`r.value ->> 'key' is null or +p.partner_id is null`));
  return [
    ...of("subscription_id", sql`p.subscription_id = r.value ->> 'subscription_id'`, bySubscription),
    ...of("customer_id", sql`p.customer_id = r.value ->> 'customer_id'`, byId),
    ...of(
      "customer_email",
      sql`p.customer_email is not null and lower(p.customer_email) = r.value ->> 'customer_email'`,
      // As the condition of the index has it, which finds nothing else.
      served(sql`p.partner_id is null`),
    ),
  ];
}

/** True where a partner of the program has, or had, this slug (`key`: its `slugKey`). */
export function leads(program_id: string | SQL, key: SQL): SQL {
  return sql`exists (select 1 from partner_slugs where program_id = ${program_id} and slug_key = ${key})`;
}
