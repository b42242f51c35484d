import { sql, type SQL } from "drizzle-orm";
import type { ErasedScope } from "../../db/schema.ts";
import { isEarning, type Fact } from "../../domain/fact.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { sha256Hex } from "../../lib/crypto.ts";
import { iso } from "../../lib/time.ts";
import { OWNER_PROVIDER, PROVIDER_NAMES } from "../../providers/registry.ts";
import type { BaseCtx, Statement } from "../kernel/context.ts";

/** Something by which a customer, or what they paid, is known at a vendor. */
export interface ErasedSubject {
  scope: ErasedScope;
  subject: string;
}

/** How facts name a customer; the address itself is kept nowhere, so its hash stands for it. */
export async function subjectsIn(program_id: string, facts: readonly Fact[]): Promise<ErasedSubject[]> {
  const subjects: ErasedSubject[] = [];
  const add = (scope: ErasedScope, subject: string | null) => subject !== null && subjects.push({ scope, subject });
  const emails = new Set<string>();
  for (const fact of facts) {
    if ("aliases" in fact) for (const alias of fact.aliases) add("payment", alias);
    if ("subscription_id" in fact) add("subscription", fact.subscription_id);
    if ("customer_id" in fact) add("customer", fact.customer_id ?? null);
    const email = addressIn(fact);
    if (email !== null) emails.add(email);
  }
  for (const email of emails) add("email", await hashOf(program_id, email));
  return subjects;
}

/** The address of a customer that a fact says, as it says it. */
export function addressIn(fact: Fact): string | null {
  if (isEarning(fact) || fact.kind === "attribution") return fact.customer_email ?? null;
  return fact.kind === "customer" ? fact.email : null;
}

/** Salted with the program, so that one address is not the same in two. */
export function hashOf(program_id: string, email: string): Promise<string> {
  return sha256Hex(`${program_id} ${email.toLowerCase()}`);
}

/**
 * The providers at which a customer of one has the same id: what the owner's server reports names a customer by the id that
 * they have at the provider of their payments (FACT-4), and the ids of two vendors never clash.
 */
export function sameCustomersAt(provider: ProviderName): readonly ProviderName[] {
  return provider === OWNER_PROVIDER.name ? PROVIDER_NAMES : [provider, OWNER_PROVIDER.name];
}

/**
 * SQL that is true where a vendor's event of this time names an erased customer: of the customer or a payment at any
 * time, by the address alone only until it was erased, for whoever buys with it later is a customer again.
 */
export function isErased(
  program_id: string,
  provider: ProviderName,
  subjects: readonly ErasedSubject[],
  occurred_at: string,
): SQL {
  if (subjects.length === 0) return sql`false`;
  const named = subjects.flatMap(({ scope, subject }) =>
    (scope === "customer" ? sameCustomersAt(provider) : [provider]).map((at) => ({ at, scope, subject })),
  );
  return sql`exists (select 1 from json_each(${JSON.stringify(named)}) s
    cross join erased_subjects e on e.program_id = ${program_id} and e.provider = s.value ->> 'at'
      and e.scope = s.value ->> 'scope' and e.subject = s.value ->> 'subject'
    where e.scope <> 'email' or e.erased_at >= ${occurred_at})`;
}

/** The statement by which what is known by these subjects counts as erased from now on. */
export function markErased(
  ctx: Pick<BaseCtx, "db" | "now">,
  program_id: string,
  provider: ProviderName,
  subjects: readonly ErasedSubject[],
  when: SQL = sql`true`,
): Statement {
  return ctx.db.run(sql`insert into erased_subjects (program_id, provider, scope, subject, erased_at)
    select ${program_id}, ${provider}, value ->> 'scope', value ->> 'subject', ${iso(ctx.now)}
    from json_each(${JSON.stringify(subjects)}) where ${when}
    on conflict (program_id, provider, scope, subject) do update set erased_at = excluded.erased_at
      where excluded.erased_at > erased_at`);
}
