/** The rows of payments, as these are first heard of and heard of as paid. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { isEarning, type Fact } from "../../domain/fact.ts";
import { paymentState } from "../../domain/payment-state.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { UNPAID_SEEN } from "../../domain/rules.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { paymentsNamed, reachable } from "./named.ts";

/** Changes are numbered over all programs. */
export const NEWEST_CHANGE = sql`(select ifnull(max(seq), 0) from past_rules)`;

/**
 * Of a payment that was not paid until these facts, by which change it was heard of as paid; kept with them, so that no change
 * that comes before it is settled decides it (PAY-16). Facts that concern it, and do not name it, do not pay it.
 */
export function heardAs(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL {
  const aliases = facts.flatMap((fact) => ("aliases" in fact ? fact.aliases : []));
  const ids = reachable(program_id, provider, sql`select value from json_each(${JSON.stringify(aliases)})`);
  const heard =
    aliases.length === 0
      ? UNPAID_SEEN
      : sql`iif(id in (${paymentsNamed(program_id, provider, ids)}), ${changeHeardBy(program_id, provider, ids)}, ${UNPAID_SEEN})`;
  return sql`rules_seen = iif(rules_seen = ${UNPAID_SEEN} or (outcome = 'unpaid' and settled_revision = facts_revision),
    ${heard}, rules_seen)`;
}

/** The newest change, where a stored fact says that the payment of these vendor ids was paid. */
function changeHeardBy(program_id: string, provider: ProviderName, ids: SQL): SQL {
  return sql`iif(exists (select 1 from (${ids}) named
      cross join fact_subjects s on s.program_id = ${program_id} and s.provider = ${literal(provider)} and s.scope = 'payment'
        and s.subject = named.subject
      cross join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id
      where (f.kind = 'payment' and f.data ->> 'paid') or (f.kind = 'link' and f.data ->> 'received' is not null)),
    ${NEWEST_CHANGE}, ${UNPAID_SEEN})`;
}

/**
 * The rows that the settling of payments is guarded by, unsettled; only the unique index decides whether one exists
 * already. `ids` are those of the rows where none did.
 */
export function insertPayments(ctx: ProgramCtx, provider: ProviderName, facts: readonly Fact[], isOurs: SQL) {
  const earning = facts.filter(isEarning);
  const made = earning.map((fact) => ({ id: newId("payment", Date.parse(fact.occurred_at)), fact }));
  const statements = made.map(({ id, fact }) => {
    const state = paymentState([fact])!;
    // What takes its money may have been heard of before.
    const seen = state.paid
      ? NEWEST_CHANGE
      : changeHeardBy(ctx.program.id, provider, reachable(ctx.program.id, provider, sql`select ${fact.key}`));
    return ctx.db.run(sql`insert into payments (id, program_id, provider, provider_transaction_id, currency,
        txn_amount_cents, gross_cents, customer_id, subscription_id, facts_revision, created_at, updated_at,
        rules_seen, event, seen_at)
      select ${id}, ${ctx.program.id}, ${provider}, ${fact.key}, ${fact.currency}, ${state.base_cents},
        ${state.gross_cents}, ${state.customer_id}, ${state.subscription_id}, 1, ${fact.occurred_at}, ${iso(ctx.now)},
        ${seen}, ${state.event}, ${iso(ctx.now)}
      where ${isOurs}
      on conflict (program_id, provider, provider_transaction_id) do update set
        customer_id = coalesce(customer_id, excluded.customer_id),
        subscription_id = coalesce(subscription_id, excluded.subscription_id)`);
  });
  return { statements, ids: made.map(({ id }) => id) };
}
