import { sql } from "drizzle-orm";
import { emailKey } from "../domain/email.ts";
import { PROVIDER_NAMES } from "../domain/provider-name.ts";
import { iso } from "../lib/time.ts";
import { runBatch } from "../db/client.ts";
import type { ProgramCtx } from "./context.ts";

export interface Erased {
  payments: number;
  commissions: number;
  provider_events: number;
}

/** What stands where an address stood. */
const ERASED = "[erased]";

/**
 * Removes a customer's e-mail address from payments, commissions, facts, traces and stored provider bodies (contract
 * §12). Sums stay the same: an erased payment keeps the rule recorded on it, and the partner whom an import had bound
 * to the address, which is forgotten too. No audit event is written, for it would
 * have to name whom it forgot.
 */
export async function eraseCustomer(ctx: ProgramCtx, email: string): Promise<Erased> {
  await ctx.read();
  const { db } = ctx;
  const program_id = ctx.program.id;
  const address = emailKey(email);
  const stamp = iso(ctx.now);
  const ofCustomer = sql`program_id = ${program_id} and kind = 'payment' and lower(data ->> 'customer_email') = ${address}`;
  // Refunds and customer updates name the address too; an event of the customer's payment goes whatever its spelling.
  const told = sql`program_id = ${program_id} and body is not null and (
    instr(lower(body), ${JSON.stringify(address).slice(1, -1)}) > 0
    or event_id in (select substr(fact_id, 1, instr(fact_id, '#') - 1) from facts where ${ofCustomer}))`;
  // What the address led to is written where the payment's own reference stands, so that it is not asked again.
  const boundTo = sql`(select p.ref from payments p where p.program_id = facts.program_id
    and p.provider = facts.provider and p.provider_transaction_id = facts.data ->> 'key'
    and p.decision ->> 'ref_source' = 'email')`;
  // Every provider is named, for their key has them before the subject.
  const bindings = sql`program_id = ${program_id} and provider in ${PROVIDER_NAMES} and scope = 'email'
    and subject = ${address}`;
  const forgetBinding = [
    db.run(sql`delete from facts where (program_id, provider, fact_id) in (
      select program_id, provider, fact_id from fact_subjects where ${bindings})`),
    db.run(sql`delete from fact_subjects where ${bindings}`),
  ] as const;
  const statements = [
    db.all(sql`update payments set erased_at = ${stamp}, customer_email = null,
        facts_revision = facts_revision + 1,
        settled_revision = case when settled_revision = facts_revision then facts_revision + 1 else settled_revision end,
        decision = case when decision is null then null else json_set(decision, '$.decided_on', null, '$.flows', (
          select json_group_array(json_set(flow.value, '$.conditions', (
            select json_group_array(case when condition.value ->> 'field' = 'customer_email'
              and lower(condition.value ->> 'saw') = ${address}
              then json_set(condition.value, '$.saw', ${ERASED}) else json(condition.value) end)
            from json_each(flow.value, '$.conditions') condition)))
          from json_each(decision, '$.flows') flow)) end
      where program_id = ${program_id} and lower(customer_email) = ${address} returning 1 as erased`),
    db.all(sql`update commissions set customer_email = null
      where program_id = ${program_id} and lower(customer_email) = ${address} returning 1 as erased`),
    db.all(sql`update provider_events set body = null where ${told} returning 1 as erased`),
    db.run(sql`update facts set data = json_set(data, '$.customer_email', null, '$.ref', coalesce(data ->> 'ref', ${boundTo})),
        ref_key = coalesce(ref_key, lower(${boundTo})) where ${ofCustomer}`),
    ...forgetBinding,
  ] as const;
  const [paid, earned, received] = await runBatch(db, statements);
  return { payments: paid.length, commissions: earned.length, provider_events: received.length };
}
