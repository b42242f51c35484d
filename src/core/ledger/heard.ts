/** The rows of payments, as these are first heard of and heard of as paid. */
import { sql, type SQL } from "drizzle-orm";
import { isEarning, type Fact } from "../../domain/fact.ts";
import { paymentState } from "../../domain/payment-state.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { UNPAID_SEEN } from "../../domain/rules.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import type { ProgramCtx } from "../kernel/context.ts";

/** Changes are numbered over all programs. */
export const NEWEST_CHANGE = sql`(select ifnull(max(seq), 0) from past_rules)`;

/**
 * Of a payment that was not paid until these facts, by which change it was heard of as paid; kept with them, so that no change
 * that comes before it is settled decides it (PAY-16).
 */
export function heardAs(facts: readonly Fact[]): SQL {
  const isPaying = facts.some(
    (fact) => (fact.kind === "payment" && fact.paid) || (fact.kind === "link" && fact.received !== undefined),
  );
  return sql`rules_seen = iif(rules_seen = ${UNPAID_SEEN} or (outcome = 'unpaid' and settled_revision = facts_revision),
    ${isPaying ? NEWEST_CHANGE : UNPAID_SEEN}, rules_seen)`;
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
    return ctx.db.run(sql`insert into payments (id, program_id, provider, provider_transaction_id, currency,
        txn_amount_cents, gross_cents, customer_id, subscription_id, facts_revision, created_at, updated_at,
        rules_seen, event)
      select ${id}, ${ctx.program.id}, ${provider}, ${fact.key}, ${fact.currency}, ${state.base_cents},
        ${state.gross_cents}, ${state.customer_id}, ${state.subscription_id}, 1, ${fact.occurred_at}, ${iso(ctx.now)},
        ${state.paid ? NEWEST_CHANGE : UNPAID_SEEN}, ${state.event}
      where ${isOurs}
      on conflict (program_id, provider, provider_transaction_id) do update set
        customer_id = coalesce(customer_id, excluded.customer_id),
        subscription_id = coalesce(subscription_id, excluded.subscription_id)`);
  });
  return { statements, ids: made.map(({ id }) => id) };
}
