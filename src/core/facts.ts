import { sql, type SQL } from "drizzle-orm";
import type { Fact } from "../domain/fact.ts";
import { slugKey } from "../domain/partner.ts";
import { ATTRIBUTION_SLACK_MS } from "../domain/payment.ts";
import type { ProviderEvent } from "../providers/provider.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { newId } from "../lib/id.ts";
import { iso, MINUTE } from "../lib/time.ts";
import { runBatch } from "../db/client.ts";
import type { ProgramCtx, Statement } from "./context.ts";

/** By what a payment is settled: its row and its identity at the vendor. */
export interface PaymentKey {
  id: string;
  provider: ProviderName;
  provider_transaction_id: string;
}

export interface Recorded {
  /** Payments whose ledger may no longer match their facts. */
  unsettled: PaymentKey[];
  /** What the event came to when it was closed before; null while it is open. */
  closed: { outcome: string | null } | null;
}

/**
 * Stores a vendor event and its facts, once, and marks every payment that they concern as unsettled, in one
 * transaction. A repetition changes nothing and reports what is still unsettled, so that it can finish what a crash
 * left undone. `body` is kept as the vendor sent it.
 */
export async function recordFacts(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string,
): Promise<Recorded> {
  const { db } = ctx;
  const program_id = ctx.program.id;
  const stamp = iso(ctx.now);
  const token = newId("event", ctx.now);
  const isOurs = sql`exists (select 1 from provider_events where program_id = ${program_id} and provider = ${provider}
    and event_id = ${event.event_id} and recorded_by = ${token})`;
  const statements: Statement[] = [
    db.run(sql`insert into provider_events
        (program_id, provider, event_id, event_type, occurred_at, received_at, recorded_by, ignored, body)
      values (${program_id}, ${provider}, ${event.event_id}, ${event.event_type}, ${event.occurred_at}, ${stamp},
        ${token}, ${event.ignored}, ${body})
      on conflict do nothing`),
    db.run(touchProvider(ctx, provider)),
  ];
  if (event.facts.length > 0) {
    const concerned = concernedBy(program_id, provider, event.facts);
    statements.push(
      ...insertFacts(ctx, provider, event),
      ...insertPayments(ctx, provider, event.facts),
      db.run(sql`update payments set facts_revision = facts_revision + 1, updated_at = ${stamp}
        where id in (${concerned}) and ${isOurs}`),
    );
  }
  statements.push(
    db.all(sql`select outcome, audit_event_id from provider_events where program_id = ${program_id}
      and provider = ${provider} and event_id = ${event.event_id}`),
    db.all(unsettledAmong(program_id, provider, event.facts)),
  );
  const results: unknown[] = await runBatch(db, statements);
  const [row] = results.at(-2) as { outcome: string | null; audit_event_id: string | null }[];
  return {
    unsettled: results.at(-1) as PaymentKey[],
    closed: row && row.audit_event_id !== null ? { outcome: row.outcome } : null,
  };
}

/** The payments that facts concern and whose settling is due; nothing for an event without facts. */
export function unsettledAmong(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL {
  return sql`select id, provider, provider_transaction_id from payments
    where id in (${facts.length > 0 ? concernedBy(program_id, provider, facts) : sql`select null`})
      and settled_revision < facts_revision order by id`;
}

/**
 * Every vendor id that names the payment of one of `seeds` (SQL for a one-column select): two facts that share an id
 * speak of one payment, so the ids are walked until no new one turns up.
 *
 * `cross join` here and below keeps the order in which the tables are read. The database knows nothing of their sizes:
 * left to itself it takes a program for about ten rows, and reads all of them.
 */
export function reachable(program_id: string, provider: ProviderName, seeds: SQL): SQL {
  return sql`with recursive reach (subject) as (
      ${seeds}
      union
      select b.subject from reach
        cross join fact_subjects a on a.program_id = ${program_id} and a.provider = ${provider} and a.scope = 'payment'
          and a.subject = reach.subject
        cross join fact_subjects b on b.program_id = a.program_id and b.provider = a.provider and b.fact_id = a.fact_id
          and +b.scope = 'payment'
    ) select subject from reach`;
}

/** The ids of the payments that vendor ids name (`subjects`: SQL for a select of the column `subject`). */
export function paymentsNamed(program_id: string, provider: ProviderName, subjects: SQL): SQL {
  return sql`select p.id from (${subjects}) named cross join payments p
    on p.program_id = ${program_id} and p.provider = ${provider} and p.provider_transaction_id = named.subject`;
}

/** The ids of the payments whose ledger a set of facts can change. */
function concernedBy(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL {
  const selects: SQL[] = [];
  const aliases = JSON.stringify(facts.flatMap((fact) => ("aliases" in fact ? fact.aliases : [])));
  if (aliases !== "[]") {
    const seeds = sql`select value from json_each(${aliases})`;
    selects.push(paymentsNamed(program_id, provider, reachable(program_id, provider, seeds)));
  }
  for (const fact of facts) {
    if (fact.kind === "cancellation") {
      // Only commissions are flagged; a payment that becomes one later reads the cancellation when it is settled.
      selects.push(sql`select id from payments where program_id = ${program_id}
        and subscription_id = ${fact.subscription_id} and +provider = ${provider}
        and (+outcome is null or +outcome = 'commission')`);
    }
    if (fact.kind === "attribution") {
      // A remembered reference serves only payments that carry none, made no earlier than the slack before it.
      const servedBy = sql`+provider = ${provider}
        and created_at >= ${iso(Date.parse(fact.occurred_at) - ATTRIBUTION_SLACK_MS)}
        and (+outcome is null or coalesce(decision ->> 'ref_source', '') <> 'payment')`;
      selects.push(
        sql`select id from payments where program_id = ${program_id} and subscription_id = ${fact.subscription_id}
          and ${servedBy}`,
        sql`select id from payments where program_id = ${program_id} and customer_id = ${fact.customer_id}
          and ${servedBy}`,
      );
    }
  }
  return selects.length === 0 ? sql`select null` : sql.join(selects, sql` union all `);
}

/** A fact with the id and provider it is stored under. */
export interface StoredFact {
  provider: ProviderName;
  fact_id: string;
  fact: Fact;
}

function insertFacts(ctx: ProgramCtx, provider: ProviderName, event: ProviderEvent): Statement[] {
  return insertStoredFacts(
    ctx,
    event.facts.map((fact, position) => ({ provider, fact_id: `${event.event_id}#${position}`, fact })),
  );
}

/** Stores facts and what they are found by, in this order; one whose id is taken changes nothing. */
export function insertStoredFacts(ctx: ProgramCtx, stored: readonly StoredFact[]): [Statement, Statement] {
  const program_id = ctx.program.id;
  const rows = stored.map(({ provider, fact_id, fact }) => ({
    provider,
    fact_id,
    kind: fact.kind,
    occurred_at: fact.occurred_at,
    ref_key: "ref" in fact && fact.ref !== null ? slugKey(fact.ref) : null,
    data: JSON.stringify(fact),
  }));
  const subjects = stored.flatMap(({ provider, fact_id, fact }) =>
    subjectsOf(fact).map((subject) => ({ ...subject, provider, fact_id })),
  );
  return [
    ctx.db.run(sql`insert into facts (program_id, provider, fact_id, kind, occurred_at, ref_key, data)
      select ${program_id}, value ->> 'provider', value ->> 'fact_id', value ->> 'kind', value ->> 'occurred_at',
        value ->> 'ref_key', value ->> 'data' from json_each(${JSON.stringify(rows)}) where true
      on conflict do nothing`),
    ctx.db.run(sql`insert into fact_subjects (program_id, provider, scope, subject, fact_id)
      select ${program_id}, value ->> 'provider', value ->> 'scope', value ->> 'subject', value ->> 'fact_id'
        from json_each(${JSON.stringify(subjects)}) where true
      on conflict do nothing`),
  ];
}

/** By which vendor ids a fact is found again. */
function subjectsOf(fact: Fact): { scope: "payment" | "subscription" | "customer" | "email"; subject: string }[] {
  if (fact.kind === "cancellation") return [{ scope: "subscription", subject: fact.subscription_id }];
  if (fact.kind === "attribution") {
    return [
      ...(fact.subscription_id === null ? [] : [{ scope: "subscription" as const, subject: fact.subscription_id }]),
      ...(fact.customer_id === null ? [] : [{ scope: "customer" as const, subject: fact.customer_id }]),
      ...(fact.customer_email === undefined ? [] : [{ scope: "email" as const, subject: fact.customer_email }]),
    ];
  }
  return fact.aliases.map((subject) => ({ scope: "payment", subject }));
}

/** The row that the payment's settling is guarded by; only the unique index decides whether it exists already. */
function insertPayments(ctx: ProgramCtx, provider: ProviderName, facts: readonly Fact[]): Statement[] {
  return facts.flatMap((fact) => {
    if (fact.kind !== "payment") return [];
    const id = newId("payment", Date.parse(fact.occurred_at));
    return [
      ctx.db.run(sql`insert into payments (id, program_id, provider, provider_transaction_id, currency,
          txn_amount_cents, gross_cents, customer_id, subscription_id, created_at, updated_at)
        values (${id}, ${ctx.program.id}, ${provider}, ${fact.key}, ${fact.currency}, ${fact.base_cents},
          ${fact.gross_cents}, ${fact.customer_id}, ${fact.subscription_id}, ${fact.occurred_at}, ${iso(ctx.now)})
        on conflict (program_id, provider, provider_transaction_id) do update set
          customer_id = coalesce(customer_id, excluded.customer_id),
          subscription_id = coalesce(subscription_id, excluded.subscription_id)`),
    ];
  });
}

/** Notes that the provider reached us, to the minute: what the integrations status shows. */
function touchProvider(ctx: ProgramCtx, provider: ProviderName): SQL {
  const column = sql.identifier(`${provider}_last_event_at`);
  return sql`update programs set ${column} = ${iso(ctx.now)}
    where id = ${ctx.program.id} and (${column} is null or ${column} < ${iso(ctx.now - MINUTE)})`;
}
