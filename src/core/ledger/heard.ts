/** The rows of payments, as these are first heard of and heard of as paid. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { isEarning, type EarningFact, type Fact } from "../../domain/fact.ts";
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
  return sql`rules_seen = iif(rules_seen = ${UNPAID_SEEN}, ${heard}, rules_seen)`;
}

/** The newest change, where a stored fact says that the payment of these vendor ids was paid. */
function changeHeardBy(program_id: string, provider: ProviderName, ids: SQL): SQL {
  return sql`iif(exists (select 1 from (${ids}) named
      cross join fact_subjects s on s.program_id = ${program_id} and s.provider = ${literal(provider)} and s.scope = 'payment'
        and s.subject = named.subject
      cross join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id
      where f.kind = 'payment' and f.data ->> 'paid'),
    ${NEWEST_CHANGE}, ${UNPAID_SEEN})`;
}

/**
 * The rows that the settling of payments is guarded by, unsettled; only the unique index decides whether one exists
 * already. What an intent says makes none if the payment has a row under another id: of a session, or of an invoice. `ids` are
 * those of the rows where none did.
 */
export function insertPayments(ctx: ProgramCtx, provider: ProviderName, facts: readonly Fact[], isOurs: SQL) {
  const earning = facts.filter(isEarning);
  const made = earning.map((fact) => ({ id: newId("payment", Date.parse(fact.occurred_at)), fact }));
  const statements = made.flatMap(({ id, fact }) => {
    const state = paymentState([fact])!;
    // What takes its money may have been heard of before.
    const seen = state.paid
      ? NEWEST_CHANGE
      : changeHeardBy(ctx.program.id, provider, reachable(ctx.program.id, provider, sql`select ${fact.key}`));
    const insert = ctx.db.run(sql`insert into payments (id, program_id, provider, provider_transaction_id, currency,
        txn_amount_cents, gross_cents, customer_id, subscription_id, facts_revision, created_at, updated_at,
        rules_seen, event, seen_at)
      select ${id}, ${ctx.program.id}, ${provider}, ${fact.key}, ${fact.currency}, ${state.base_cents},
        ${state.gross_cents}, ${state.customer_id}, ${state.subscription_id}, 1, ${fact.occurred_at}, ${iso(ctx.now)},
        ${seen}, ${state.event}, ${iso(ctx.now)}
      where ${isOurs} and ${isNews(ctx.program.id, provider, fact)}
      on conflict (program_id, provider, provider_transaction_id) do update set
        customer_id = coalesce(customer_id, excluded.customer_id),
        subscription_id = coalesce(subscription_id, excluded.subscription_id)`);
    const isNaming = fact.kind === "payment" && (fact.source === "session" || fact.source === "invoice");
    return isNaming ? [renameIntent(ctx, provider, fact, isOurs), insert] : [insert];
  });
  return { statements, ids: made.map(({ id }) => id) };
}

function isByIntent(fact: EarningFact): boolean {
  return fact.kind === "payment" && fact.source === "intent";
}

function namedBy(program_id: string, provider: ProviderName, { aliases }: EarningFact): SQL {
  return paymentsNamed(
    program_id,
    provider,
    reachable(program_id, provider, sql`select value from json_each(${JSON.stringify(aliases)})`),
  );
}

/** False for what an intent says of a payment that has a row. */
function isNews(program_id: string, provider: ProviderName, fact: EarningFact): SQL {
  return isByIntent(fact) ? sql`not exists (${namedBy(program_id, provider, fact)})` : sql`true`;
}

/** A payment that was heard of by its intent first goes by the id of its session or invoice from then on: it is no second one. */
function renameIntent({ db, program }: ProgramCtx, provider: ProviderName, fact: EarningFact, isOurs: SQL) {
  const isOfIntent = sql`exists (select 1 from fact_subjects s
    cross join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id
    where s.program_id = ${program.id} and s.provider = ${literal(provider)} and s.scope = 'payment'
      and s.subject = provider_transaction_id and f.kind = 'payment' and f.data ->> 'source' = 'intent'
      and f.data ->> 'key' = provider_transaction_id)`;
  const taken = sql`select 1 from payments o where o.program_id = ${program.id} and o.provider = ${literal(provider)}
    and o.provider_transaction_id = ${fact.key}`;
  return db.run(sql`update payments set provider_transaction_id = ${fact.key}
    where id = (select min(id) from payments where id in (${namedBy(program.id, provider, fact)}) and ${isOfIntent})
      and ${isOurs} and not exists (${taken})`);
}
