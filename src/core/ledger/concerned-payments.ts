/** The payments that facts concern: how ids, customers, references and codes lead to them, and their rows. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { isEarning, type CodeFact, type CustomerFact, type EarningFact, type Fact } from "../../domain/fact.ts";
import { slugKey } from "../../domain/partner.ts";
import { ATTRIBUTION_SLACK_MS, paymentState } from "../../domain/payment-state.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { UNPAID_SEEN } from "../../domain/rules.ts";
import { COMPARED, comparedFacts } from "../../domain/twin.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { FACT_OF_SUBJECT } from "./stages.ts";

/**
 * Every vendor id that names the payment of one of `seeds` (SQL for a one-column select): two facts that share an id
 * name one payment, so the ids are followed until no new one is found.
 *
 * `cross join` here and below fixes the order in which the tables are read. The database does not know their sizes:
 * without it, it assumes about ten rows for a program, and reads all of them.
 */
export function linkedIds(program_id: string | SQL, provider: ProviderName, seeds: SQL): SQL {
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

/** The vendor ids by which a stored fact names its payment: a one-column select. */
export function selectAliases(program_id: string | SQL, provider: ProviderName, fact_id: string | SQL): SQL {
  return sql`select subject from fact_subjects where program_id = ${program_id} and provider = ${provider}
    and fact_id = ${fact_id} and +scope = 'payment'`;
}

/** The ids of the payments that vendor ids name (`subjects`: SQL for a select of the column `subject`). */
export function paymentsNamed(program_id: string | SQL, provider: ProviderName, subjects: SQL): SQL {
  return sql`select p.id from (${subjects}) named cross join payments p
    on p.program_id = ${program_id} and p.provider = ${literal(provider)} and p.provider_transaction_id = named.subject`;
}

/** The ids of the payments whose ledger a set of facts can change. */
export function selectConcerned(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL {
  const selects: SQL[] = [];
  const those = <Kind extends Fact["kind"]>(kind: Kind) =>
    facts.filter((fact): fact is Extract<Fact, { kind: Kind }> => fact.kind === kind);
  const aliases = JSON.stringify(facts.flatMap((fact) => ("aliases" in fact ? fact.aliases : [])));
  if (aliases !== "[]") {
    const seeds = sql`select value from json_each(${aliases})`;
    selects.push(paymentsNamed(program_id, provider, linkedIds(program_id, provider, seeds)));
    if (facts.some(showsTwins)) selects.push(twinsOfNamed(program_id, provider, seeds));
  }
  const canceled = those("cancellation").map(({ subscription_id }) => subscription_id);
  if (canceled.length > 0) {
    // Only commissions are flagged; a payment that becomes one later reads the cancellation when it is settled.
    selects.push(sql`select p.id from json_each(${JSON.stringify(canceled)}) s cross join payments p
      on p.program_id = ${program_id} and p.subscription_id = s.value
      where +p.provider = ${provider} and ${matchesOrUnsettled("p", sql`+p.outcome = 'commission'`)}`);
  }
  const codes = those("code");
  if (codes.length > 0) selects.push(selectRenamedCodes(program_id, provider, codes));
  const customers = those("customer").filter(({ email }) => email !== null);
  if (customers.length > 0) selects.push(selectRenamedCustomers(program_id, provider, customers));
  selects.push(...selectServed(program_id, provider, facts));
  return selects.length === 0 ? sql`select null` : unionOf(selects, "different");
}

/**
 * The payments whose customer's address a fact changes: those with another address or none, made since the report. An
 * earlier payment uses the earlier report, if there was one (`domain/payment-state.ts`, `addressAt`).
 */
function selectRenamedCustomers(program_id: string, provider: ProviderName, facts: readonly CustomerFact[]): SQL {
  const named = facts.map(({ customer_id, email, occurred_at }) => {
    return { customer_id, email, at: occurred_at, since: iso(Date.parse(occurred_at) - ATTRIBUTION_SLACK_MS) };
  });
  const changed = sql`p.customer_email is not c.value ->> 'email'
    and (p.created_at >= c.value ->> 'since' or not exists (
      select 1 from fact_subjects s ${FACT_OF_SUBJECT} and f.occurred_at < c.value ->> 'at'
      where s.program_id = ${program_id} and s.provider = ${provider} and s.scope = 'address'
        and s.subject = c.value ->> 'customer_id'))`;
  return sql`select p.id from json_each(${JSON.stringify(named)}) c cross join payments p
    on p.program_id = ${program_id} and p.customer_id = c.value ->> 'customer_id'
    where +p.provider = ${provider} and ${matchesOrUnsettled("p", changed)}`;
}

/** The payments that facts affect and whose settling is due; empty for an event without facts. */
export function selectUnsettled(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL {
  return sql`select id, provider, provider_transaction_id from payments
    where id in (${facts.length > 0 ? selectConcerned(program_id, provider, facts) : sql`select null`})
      and settled_revision < facts_revision order by id`;
}

/**
 * The payments to which new references and codes can apply, by their subjects: selects of their ids. A stored reference
 * applies only to payments that carry no partner's reference, made at most the slack before it. A code that is given to
 * a partner later marks its payments then: before the program's first one there are none. An event can contain any
 * number of references, and the database limits the parts of a union, so they are one parameter. By an address only
 * settled payments are found: marking them makes running settlings read again (`recordFacts`).
 */
export function selectServed(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL[] {
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
          and case when r.value ->> 'key' is null then ${hasCodes} else ${leadsToPartner(program_id, sql`r.value ->> 'key'`)} end`,
    ];
  };
  const byId = matchesOrUnsettled("p", served(sql`+p.partner_id is null`));
  // A code leads a renewal to its partner at its first use, and may precede the renewal's own reference.
  const bySubscription = matchesOrUnsettled("p", served(sql`r.value ->> 'key' is null or +p.partner_id is null`));
  return [
    ...of("subscription_id", sql`p.subscription_id = r.value ->> 'subscription_id'`, bySubscription),
    ...of("customer_id", sql`p.customer_id = r.value ->> 'customer_id'`, byId),
    ...of(
      "customer_email",
      sql`p.customer_email is not null and lower(p.customer_email) = r.value ->> 'customer_email'`,
      // As in the condition of the index, which is not used otherwise.
      served(sql`p.partner_id is null`),
    ),
  ];
}

/** True if a partner of the program has, or had, this slug (`key`: its `slugKey`). */
export function leadsToPartner(program_id: string | SQL, key: SQL): SQL {
  return sql`exists (select 1 from partner_slugs where program_id = ${program_id} and slug_key = ${key})`;
}

/**
 * The ids of the payments that carry one of some codes, or whose customer or subscription used one. `seeds`: SQL for a
 * one-column select of the vendor's ids and of `codeKey`s.
 */
export function paymentsWithCodes(program_id: string, provider: ProviderName, seeds: SQL): SQL {
  const ofVendor = (table: SQL) => sql`${table}.program_id = ${program_id} and ${table}.provider = ${provider}`;
  const byUse = (
    column: SQL,
  ) => sql`select p.id from used u cross join payments p on p.${column} = u.data ->> '${column}'
    and p.program_id = ${program_id} and +p.provider = ${provider} where u.kind = 'code_use'`;
  return sql`select id from (with recursive below (id) as (
      ${seeds}
      union
      select f.ref_key from below
        cross join fact_subjects s on ${ofVendor(sql`s`)} and s.scope = 'code' and s.subject = below.id
        cross join facts f on ${ofVendor(sql`f`)} and f.fact_id = s.fact_id
    ), used as materialized (select distinct f.fact_id, f.kind, f.data from below
        cross join fact_subjects s on ${ofVendor(sql`s`)} and s.scope = 'coded' and s.subject = below.id
        cross join facts f on ${ofVendor(sql`f`)} and f.fact_id = s.fact_id)
    select p.id from used u cross join fact_subjects n on ${ofVendor(sql`n`)} and n.fact_id = u.fact_id
        and +n.scope = 'payment'
      cross join payments p on p.program_id = ${program_id} and p.provider = ${literal(provider)}
        and p.provider_transaction_id = n.subject
    union all ${byUse(sql.raw("subscription_id"))}
    union all ${byUse(sql.raw("customer_id"))})`;
}

/**
 * The payments that reports about codes can affect: none if the report before a code's new one, or after its first one,
 * is the same, and no other report has the same time.
 */
export function selectRenamedCodes(program_id: string, provider: ProviderName, facts: readonly CodeFact[]): SQL {
  const codes = facts.map(({ code_id, name, parents, occurred_at }) => {
    return { id: code_id, at: occurred_at, said: JSON.stringify([name, parents]) };
  });
  const said = (rest: SQL) => sql`(select json_array(data ->> 'name', json(data -> 'parents'))
    from facts indexed by facts_of_code
    where program_id = ${program_id} and provider = ${provider} and kind = 'code' and ref_key = c.value ->> 'id' and ${rest} limit 1)`;
  const before = said(sql`occurred_at < c.value ->> 'at' order by occurred_at desc, fact_id desc`);
  const after = said(sql`occurred_at > c.value ->> 'at' order by occurred_at, fact_id`);
  // Reports of one time are ordered by id.
  const beside = said(sql`occurred_at = c.value ->> 'at'
    and json_array(data ->> 'name', json(data -> 'parents')) <> c.value ->> 'said'`);
  const seeds = sql`select c.value ->> 'id' from json_each(${JSON.stringify(codes)}) c
    where coalesce(${before}, ${after}, '') <> c.value ->> 'said' or ${beside} is not null`;
  return paymentsWithCodes(program_id, provider, seeds);
}

/** Whether a fact can make two payments one, or show that they may be. */
export function showsTwins(fact: Fact): boolean {
  return fact.kind === "link" || comparedFacts([fact]).length > 0;
}

const TIME = "2000-01-01T00:00:00.000Z".length;

/** A join of the sums `t` that are compared with those of the fact that `fact_id` names. */
export function joinComparedSums(program_id: SQL, provider: ProviderName, fact_id: SQL): SQL {
  const compared = COMPARED.map(({ role, other, within_ms }) => [`|${role}|`, `|${other}|`, within_ms / 1000]);
  const [role, other, seconds] = [sql`c.value ->> 0`, sql`c.value ->> 1`, sql`c.value ->> 2`];
  const fromRole = sql`-${literal(TIME)} - length(${role})`;
  const limit = (sign: 1 | -1) => sql`substr(s.subject, 1, length(s.subject) ${fromRole}) || (${other})
    || strftime('%Y-%m-%dT%H:%M:%fZ', substr(s.subject, -${literal(TIME)}), (${literal(sign)} * (${seconds})) || ' seconds')`;
  return sql`fact_subjects s on s.program_id = ${program_id} and s.provider = ${literal(provider)} and s.fact_id = ${fact_id}
      and +s.scope = 'sum'
    cross join json_each(${JSON.stringify(compared)}) c on substr(s.subject, ${fromRole}, length(${role})) = ${role}
    cross join fact_subjects t on t.program_id = s.program_id and t.provider = s.provider and t.scope = 'sum'
      and t.subject between ${limit(-1)} and ${limit(1)}`;
}

/** The ids of the payments that may be one with the payment that vendor ids name (`seeds`: SQL for a one-column select). */
export function twinsOfNamed(program_id: string, provider: ProviderName, seeds: SQL): SQL {
  const twins = sql`select n.subject from (${linkedIds(program_id, provider, seeds)}) r
    cross join fact_subjects a on a.program_id = ${program_id} and a.provider = ${literal(provider)}
      and a.scope = 'payment' and a.subject = r.subject
    cross join ${joinComparedSums(sql`${program_id}`, provider, sql`a.fact_id`)}
    cross join fact_subjects n on n.program_id = t.program_id and n.provider = t.provider and n.fact_id = t.fact_id
      and +n.scope = 'payment'`;
  return paymentsNamed(program_id, provider, linkedIds(program_id, provider, twins));
}

/** Marks payments (`which`: a condition) as unsettled; the minute's job settles the rest. */
export function unsettle({ db, now }: Pick<ProgramCtx, "db" | "now">, which: SQL): Write & { statement: Statement } {
  return { statement: db.run(updateUnsettled(now, which)) };
}

function updateUnsettled(now: number, which: SQL, also: SQL = sql``): SQL {
  return sql`update payments set facts_revision = facts_revision + 1, updated_at = ${iso(now)}${also} where ${which}`;
}

/**
 * Marks the payments that facts concern as unsettled, except rows `made` with them; only `when`. Returns their ids and
 * providers.
 */
export function unsettleConcerned(
  { program, now }: Pick<ProgramCtx, "program" | "now">,
  provider: ProviderName,
  facts: readonly Fact[],
  made: readonly string[],
  when: SQL,
): SQL {
  const others = sql`id in (${selectConcerned(program.id, provider, facts)})
    and id not in (select value from json_each(${JSON.stringify(made)})) and ${when}`;
  return sql`${updateUnsettled(now, others, sql`, ${setRulesSeen(program.id, provider, facts)}`)}
    returning id, provider, provider_transaction_id`;
}

/** A running settling has read before the change: it loses its race, and reads again. */
export function restartSettling({ db, program }: ProgramCtx, when: SQL = sql`true`): Statement {
  return db.run(sql`update payments indexed by payments_unsettled set facts_revision = facts_revision + 1
    where settled_revision < facts_revision and program_id = ${program.id} and ${when}`);
}

/**
 * The same for a settling of these customers' payments: it may have read their payments before the change. A payment
 * that is not settled yet may have its customer's address in its facts only.
 */
export function restartSettlingOf(
  ctx: ProgramCtx,
  { ids, emails }: { ids: readonly string[]; emails: readonly string[] },
): Statement {
  const program_id = sql`payments.program_id`;
  const isNamed = (value: SQL, among: readonly string[]) =>
    sql`${value} in (select value from json_each(${JSON.stringify(among)}))`;
  const facts = (scope: SQL, subjects: SQL, address: SQL) => sql`exists (select 1 from (${subjects}) named
    cross join fact_subjects s on s.program_id = ${program_id} and s.provider = payments.provider and s.scope = ${scope}
      and s.subject = named.subject
    ${FACT_OF_SUBJECT}
    where ${isNamed(sql`lower(${address})`, emails)})`;
  const reached = sql`with recursive reach (subject) as (
      select payments.provider_transaction_id
      union
      select b.subject from reach
        cross join fact_subjects a on a.program_id = ${program_id} and a.provider = payments.provider
          and a.scope = 'payment' and a.subject = reach.subject
        cross join fact_subjects b on b.program_id = a.program_id and b.provider = a.provider and b.fact_id = a.fact_id
          and +b.scope = 'payment'
    ) select subject from reach`;
  return restartSettling(
    ctx,
    sql`(${isNamed(sql`customer_id`, ids)} or ${isNamed(sql`lower(customer_email)`, emails)}
      or ${facts(sql`'payment'`, reached, sql`f.data ->> 'customer_email'`)}
      or ${facts(sql`'address'`, sql`select payments.customer_id as subject`, sql`f.data ->> 'email'`)})`,
  );
}

/** A condition on a payment's settled result (`alias`), or unsettled: running settlings may write an older result. */
export function matchesOrUnsettled(alias: string, condition: SQL): SQL {
  const p = sql.raw(alias);
  return sql`(${p}.settled_revision < ${p}.facts_revision or (${condition}))`;
}

/** Changes are numbered over all programs. */
export const NEWEST_CHANGE = sql`(select ifnull(max(seq), 0) from past_rules)`;

/**
 * The newest change when a payment is first reported as paid, stored then: earlier changes do not decide it (PAY-16).
 * Only facts that name it pay it.
 */
function setRulesSeen(program_id: string, provider: ProviderName, facts: readonly Fact[]): SQL {
  const aliases = facts.flatMap((fact) => ("aliases" in fact ? fact.aliases : []));
  const ids = linkedIds(program_id, provider, sql`select value from json_each(${JSON.stringify(aliases)})`);
  const heard =
    aliases.length === 0
      ? UNPAID_SEEN
      : sql`iif(id in (${paymentsNamed(program_id, provider, ids)}), ${newestChangeIfPaid(program_id, provider, ids)}, ${UNPAID_SEEN})`;
  return sql`rules_seen = iif(rules_seen = ${UNPAID_SEEN}, ${heard}, rules_seen)`;
}

/** The newest change, if a stored fact reports that the payment of these vendor ids was paid. */
function newestChangeIfPaid(program_id: string, provider: ProviderName, ids: SQL): SQL {
  return sql`iif(exists (select 1 from (${ids}) named
      cross join fact_subjects s on s.program_id = ${program_id} and s.provider = ${literal(provider)} and s.scope = 'payment'
        and s.subject = named.subject
      ${FACT_OF_SUBJECT}
      where f.kind = 'payment' and f.data ->> 'paid'),
    ${NEWEST_CHANGE}, ${UNPAID_SEEN})`;
}

/**
 * The rows that guard the settling of payments, unsettled; only the unique index decides whether one exists already. An
 * intent's report makes none if the payment has a row under another id, from a session or an invoice. `ids` are those
 * of the rows that are new.
 */
export function insertPayments(ctx: ProgramCtx, provider: ProviderName, facts: readonly Fact[], isOurs: SQL) {
  const earning = facts.filter(isEarning);
  const made = earning.map((fact) => ({ id: newId("payment", Date.parse(fact.occurred_at)), fact }));
  const statements = made.flatMap(({ id, fact }) => {
    const state = paymentState([fact])!;
    // The report of its money may have arrived before.
    const seen = state.paid
      ? NEWEST_CHANGE
      : newestChangeIfPaid(ctx.program.id, provider, linkedIds(ctx.program.id, provider, sql`select ${fact.key}`));
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

function selectPaymentsOf(program_id: string, provider: ProviderName, { aliases }: EarningFact): SQL {
  return paymentsNamed(
    program_id,
    provider,
    linkedIds(program_id, provider, sql`select value from json_each(${JSON.stringify(aliases)})`),
  );
}

/** False for an intent's report about a payment that has a row. */
function isNews(program_id: string, provider: ProviderName, fact: EarningFact): SQL {
  return isByIntent(fact) ? sql`not exists (${selectPaymentsOf(program_id, provider, fact)})` : sql`true`;
}

/** A payment first reported by its intent gets the id of its session or invoice, so that it is not a second one. */
function renameIntent({ db, program }: ProgramCtx, provider: ProviderName, fact: EarningFact, isOurs: SQL) {
  const isOfIntent = sql`exists (select 1 from fact_subjects s
    ${FACT_OF_SUBJECT}
    where s.program_id = ${program.id} and s.provider = ${literal(provider)} and s.scope = 'payment'
      and s.subject = provider_transaction_id and f.kind = 'payment' and f.data ->> 'source' = 'intent'
      and f.data ->> 'key' = provider_transaction_id)`;
  const taken = sql`select 1 from payments o where o.program_id = ${program.id} and o.provider = ${literal(provider)}
    and o.provider_transaction_id = ${fact.key}`;
  return db.run(sql`update payments set provider_transaction_id = ${fact.key}
    where id = (select min(id) from payments where id in (${selectPaymentsOf(program.id, provider, fact)}) and ${isOfIntent})
      and ${isOurs} and not exists (${taken})`);
}
