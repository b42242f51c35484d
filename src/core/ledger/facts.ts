import { sql, type SQL } from "drizzle-orm";
import { literal, literals, runBatch, runThenRead } from "../../db/client.ts";
import { jsonFields } from "../../db/json-object.ts";
import { unionOf } from "../../db/parts.ts";
import { selectRows, text, textOf, type Columns, type Row } from "../../db/rows.ts";
import { ADDRESS_SCOPES, type ErasedScope, type FactScope } from "../../db/schema.ts";
import { lowerAscii } from "../../domain/ascii.ts";
import { codeKey } from "../../domain/code.ts";
import { emailKey } from "../../domain/email.ts";
import { bareFact } from "../../domain/erasure.ts";
import { isEarning, type AttributionFact, type Fact } from "../../domain/fact.ts";
import { slugKey } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { comparedFacts, roleOf, amountTaken } from "../../domain/twin.ts";
import { sha256Hex } from "../../lib/crypto.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import { OWNER_PROVIDER, PROVIDER_NAMES, vendorNamed } from "../../providers/registry.ts";
import type { Write } from "../kernel/commit.ts";
import { conflictIn } from "../kernel/conflict.ts";
import type { BaseCtx, ProgramCtx, Statement } from "../kernel/context.ts";
import { recordProducts } from "../kernel/seen-products.ts";
import { recordSeenType } from "../kernel/seen-types.ts";
import {
  insertPayments,
  leadsToPartner,
  restartSettling,
  selectConcerned,
  unsettle,
  unsettleConcerned,
  selectUnsettled,
} from "./concerned-payments.ts";

/** The key for settling a payment: its row and its identity at the vendor. */
export interface PaymentKey {
  id: string;
  provider: ProviderName;
  provider_transaction_id: string;
}

export const PAYMENT_KEY: Columns<PaymentKey> = {
  id: text,
  provider: textOf<ProviderName>(),
  provider_transaction_id: text,
};

interface EventRow {
  outcome: string | null;
  audit_event_id: string | null;
  found: 0 | 1;
  ours: 0 | 1;
}

/** A row of a statement that reads several tables: the table, and its data, mostly as JSON. */
export const PART = { what: text, data: text };
export type Part = Row<typeof PART>;

export interface Recorded {
  /** Payments whose ledger may no longer match their facts. */
  unsettled: PaymentKey[];
  /** The outcome if the event was closed before; null while it is open. */
  closed: { outcome: string | null } | null;
  /** Whether the event was stored now, and not before. */
  isNew: boolean;
  /** False if no fact can be found by any subject: all its references lead to no partner. */
  found: boolean;
  /** The rows of `Beside.ask`. */
  asked: Part[];
}

export function storedEvent(program_id: string, provider: ProviderName, event_id: string | SQL): SQL {
  return sql`select event_id from provider_events where program_id = ${program_id} and provider = ${literal(provider)}
    and event_id = ${event_id}`;
}

/** Further statements in the transaction that stores an event. */
export interface Beside {
  /** Before it; if a guard among them refuses, the event is not stored. */
  before: Statement[];
  /** After it: selects of `PART`, with other names than `event` and `unsettled`. */
  ask: SQL[];
}

/**
 * Stores a vendor event and its facts, once, and marks every payment that they affect as unsettled, in one transaction.
 * A repetition has no effect and reports the payments that are still unsettled, so that it can finish work that a crash
 * interrupted. `body` is kept as the vendor sent it, unless the event is ignored or names an erased customer. Null if a
 * guard of `beside` refused; then the event was not stored.
 */
export async function recordFacts(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string | null,
  beside: Beside,
): Promise<Recorded | null> {
  const { db } = ctx;
  const program_id = ctx.program.id;
  const stamp = iso(ctx.now);
  const token = newId("event", ctx.now);
  const ofEvent = sql`program_id = ${program_id} and provider = ${provider} and event_id = ${event.event_id}`;
  const isOurs = sql`exists (select 1 from provider_events where ${ofEvent} and recorded_by = ${token})`;
  const subjects = await subjectsIn(program_id, event.facts);
  const ofErased = isErased(program_id, provider, subjects, event.occurred_at);
  // Unused events are not kept, nor are those that would restore an erased customer's data.
  const kept = event.ignored === null ? body : null;
  const vendor = vendorNamed(provider);
  const statements: Statement[] = [
    ...beside.before,
    db.run(sql`insert into provider_events
        (program_id, provider, event_id, event_type, occurred_at, received_at, recorded_by, ignored, body)
      values (${program_id}, ${provider}, ${event.event_id}, ${event.event_type}, ${event.occurred_at}, ${stamp},
        ${token}, ${event.ignored},
        case when ${ofErased} then null else ${kept} end)
      on conflict do nothing`),
    ...(vendor && !event.listed ? recordSeenType(ctx, vendor.name, event) : []),
  ];
  const ids = subjects.filter(({ scope }) => scope !== "email");
  const made = insertPayments(ctx, provider, event.facts, isOurs);
  if (event.facts.length > 0) {
    statements.push(
      ...insertFacts(ctx, provider, event, isOurs, ofErased),
      ...(event.ignored === null ? recordProducts(ctx, provider, event.facts, isOurs) : []),
      markErased(ctx, program_id, provider, ids, sql`${isOurs} and ${ofErased}`),
      ...made.statements,
    );
  }
  // The address of a payment is found once it is settled (`concerned-payments.ts`).
  if (event.facts.some((fact) => fact.kind === "attribution" && fact.customer_email !== undefined)) {
    statements.push(restartSettling(ctx, isOurs));
  }
  const mark = selectRows(db, PAYMENT_KEY, unsettleConcerned(ctx, provider, event.facts, made.ids, isOurs));
  const read = selectRows(
    db,
    PART,
    unionOf(
      [
        sql`select 'event' as what, ${EVENT_ROW(isFindable(program_id, provider, event), token)} as data
          from provider_events where ${ofEvent}`,
        sql`select 'unsettled', ${UNSETTLED} from payments where id in (select value from json_each(${JSON.stringify(made.ids)}))`,
        ...beside.ask.map((ask) => sql`select what, data from (${ask})`),
      ],
      "different",
    ),
  );
  try {
    const [marked, parts] = await runThenRead(db, statements, [mark, read]);
    const recorded = recordedIn(parts, marked);
    if (recorded.isNew || event.facts.length === 0) return recorded;
    // An event that was stored before does not mark payments: a crash may have left payments that it concerns.
    const [unsettled] = await runBatch(db, [
      selectRows(db, PAYMENT_KEY, selectUnsettled(program_id, provider, event.facts)),
    ]);
    return { ...recorded, unsettled };
  } catch (error) {
    if (conflictIn(error)?.kind === "lost_race") return null;
    throw error;
  }
}

const EVENT_ROW = (found: SQL, token: string) =>
  jsonFields<EventRow>({
    ...{ outcome: sql`outcome`, audit_event_id: sql`audit_event_id`, found },
    ours: sql`recorded_by = ${token}`,
  });
const UNSETTLED = jsonFields<PaymentKey>({
  ...{ id: sql`id`, provider: sql`provider`, provider_transaction_id: sql`provider_transaction_id` },
});

function recordedIn(parts: Part[], marked: PaymentKey[]): Recorded {
  const {
    event = [],
    unsettled = [],
    asked = [],
  } = Object.groupBy(parts, ({ what }) => (what === "event" || what === "unsettled" ? what : "asked"));
  const row = event.map(({ data }) => JSON.parse(data) as EventRow)[0];
  const keys = [...marked, ...unsettled.map(({ data }) => JSON.parse(data) as PaymentKey)];
  return {
    unsettled: keys.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    closed: row && row.audit_event_id !== null ? { outcome: row.outcome } : null,
    isNew: row?.ours === 1,
    found: row?.found === 1,
    asked,
  };
}

/** SQL that is true if a fact of this event can be found by a subject; for one with references if one of them can. */
export function isFindable(
  program_id: string,
  provider: ProviderName,
  { event_id, facts }: Pick<ProviderEvent, "event_id" | "facts">,
): SQL {
  const references = facts.flatMap(({ kind }, i) => (kind === "attribution" ? [factId(event_id, i)] : []));
  const sought =
    references.length > 0
      ? sql`fact_id in (select value from json_each(${JSON.stringify(references)}))`
      : sql`fact_id >= ${`${event_id}#`} and fact_id < ${`${event_id}$`}`;
  return sql`exists (select 1 from fact_subjects where program_id = ${program_id} and provider = ${provider}
    and ${sought})`;
}

/** The id under which a fact of a vendor's event is stored, by its position in the event. */
export function factId(event_id: string, position: number): string {
  return `${event_id}#${position}`;
}

const FACT_OF_EVENT = { fact_id: text, data: text };

/** The stored facts of one event, for `sortFacts`. */
export function factsOfEvent({ db, program }: ProgramCtx, provider: ProviderName, event_id: string) {
  return selectRows(
    db,
    FACT_OF_EVENT,
    sql`select fact_id, data from facts where program_id = ${program.id}
      and provider = ${provider} and fact_id >= ${`${event_id}#`} and fact_id < ${`${event_id}$`}`,
  );
}

/** The facts of an event, each at its position. */
export function sortFacts(rows: readonly Row<typeof FACT_OF_EVENT>[]): Fact[] {
  const place = ({ fact_id }: Row<typeof FACT_OF_EVENT>) => Number(fact_id.slice(fact_id.lastIndexOf("#") + 1));
  return rows.toSorted((a, b) => place(a) - place(b)).map(({ data }) => JSON.parse(data) as Fact);
}

/** A fact with the id and provider it is stored under. */
export interface StoredFact {
  provider: ProviderName;
  fact_id: string;
  fact: Fact;
  /** For a reference: the `slugKey`s of those before it in its event. */
  stronger?: readonly string[];
}

function insertFacts(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  isOurs: SQL,
  ofErased: SQL,
): Statement[] {
  const stronger: string[] = [];
  return insertStoredFacts(
    ctx,
    event.facts.map((fact, position) => {
      const own = fact.kind === "attribution" ? slugKey(fact.ref) : null;
      const others = stronger.filter((slug) => slug !== own);
      if (own !== null) stronger.push(own);
      return { provider, fact_id: factId(event.event_id, position), fact, stronger: others };
    }),
    isOurs,
    ofErased,
  );
}

/**
 * Stores facts and their subjects, in this order; one whose id exists has no effect. A reference is stored for lookup
 * by its subscription or customer only if it leads to a partner by now, and only the first of one event: a shop's own
 * number belongs to no partner, even if a partner with that slug is added later. If `ofErased`, they are stored without
 * the address of their customer.
 */
export function insertStoredFacts(
  ctx: ProgramCtx,
  stored: readonly StoredFact[],
  when: SQL = sql`true`,
  ofErased: SQL = sql`false`,
): [Statement, Statement] {
  const program_id = ctx.program.id;
  const rows = stored.map(({ provider, fact_id, fact }) => ({
    provider,
    fact_id,
    kind: fact.kind,
    occurred_at: fact.occurred_at,
    ref_key: refKeyOf(fact),
    data: JSON.stringify(fact),
    bare: JSON.stringify(bareFact(fact)),
  }));
  const subjects = stored.flatMap(({ provider, fact_id, fact, stronger = [] }) => {
    const named = fact.kind === "attribution" ? { named: slugKey(fact.ref), stronger } : {};
    return subjectsOf(fact).map((subject) => ({ ...subject, ...named, provider, fact_id }));
  });
  return [
    ctx.db.run(sql`insert into facts (program_id, provider, fact_id, kind, occurred_at, ref_key, data)
      select ${program_id}, value ->> 'provider', value ->> 'fact_id', value ->> 'kind', value ->> 'occurred_at',
        value ->> 'ref_key', case when ${ofErased} then value ->> 'bare' else value ->> 'data' end from json_each(${JSON.stringify(rows)}) where ${when}
      on conflict do nothing`),
    ctx.db.run(sql`insert into fact_subjects (program_id, provider, scope, subject, fact_id)
      select ${program_id}, f.value ->> 'provider', f.value ->> 'scope', f.value ->> 'subject', f.value ->> 'fact_id'
        from json_each(${JSON.stringify(subjects)}) f
        where ${when} and not (f.value ->> 'scope' in ${literals(ADDRESS_SCOPES)} and ${ofErased})
          and (f.value ->> 'named' is null or (${leadsToPartner(program_id, sql`f.value ->> 'named'`)} and not exists (
          select 1 from json_each(f.value, '$.stronger') s where ${leadsToPartner(program_id, sql`s.value`)})))
      on conflict do nothing`),
  ];
}

/**
 * Stores the reference of a payment for its subscription and customer, once, and marks the payments to which it can
 * apply as unsettled: for a reference that led to no partner when it arrived. `facts` are for one reference, each with
 * another subject or keeper; the first for each counts. As for a vendor's event, an erased address is not stored.
 */
export async function rememberReferences(
  ctx: ProgramCtx,
  payment: PaymentKey,
  facts: readonly AttributionFact[],
): Promise<Write[]> {
  const { provider, provider_transaction_id: subject } = payment;
  const subjects = [...(await subjectsIn(ctx.program.id, facts)), { scope: "payment" as const, subject }];
  const ofErased = isErased(ctx.program.id, provider, subjects, facts[0]!.occurred_at);
  const stored = facts.map((fact) => {
    // The reference from a granted claim does not replace the one that a request stores: each has its own id.
    const of = fact.granted ? [] : ["requested"];
    const by = fact.customer_email === undefined ? (fact.kept_by ?? []) : "email";
    return { provider, fact_id: ["reprocess", payment.id, slugKey(fact.ref), ...of].concat(by).join(":"), fact };
  });
  return [
    ...insertStoredFacts(ctx, stored, sql`true`, ofErased).map((statement) => ({ statement })),
    unsettle(ctx, sql`id in (${selectConcerned(ctx.program.id, provider, facts)})`),
    { statement: restartSettling(ctx) },
  ];
}

/** The further lookup key of a fact: a reference's slug, a code's id. */
export function refKeyOf(fact: Fact): string | null {
  if (fact.kind === "code") return fact.code_id;
  return "ref" in fact && fact.ref !== null ? slugKey(fact.ref) : null;
}

/** The subjects by which a fact about a code, or one that carries codes, is found. */
export function codeSubjects(fact: Fact): { scope: FactScope; subject: string }[] {
  if (fact.kind === "code") {
    const named = fact.name === null ? [] : [codeKey(fact.name)];
    return [...new Set([...named, ...fact.parents])].map((subject) => ({ scope: "code", subject }));
  }
  const codes = "codes" in fact ? (fact.codes ?? []) : [];
  return [...new Set(codes.flatMap((id) => [id, lowerAscii(id)]))].map((subject) => ({ scope: "coded", subject }));
}

/** Subjects that compare reports of money: the role precedes the time, so a range reads one role only. */
export function sumSubjects(fact: Fact): { scope: FactScope; subject: string }[] {
  return comparedFacts([fact]).map((paid) => {
    const subject = [paid.customer_id, paid.currency, amountTaken(paid), roleOf(paid), paid.occurred_at].join("|");
    return { scope: "sum", subject };
  });
}

/** The vendor ids by which a fact is found. */
export function subjectsOf(fact: Fact): { scope: FactScope; subject: string }[] {
  return [...ownSubjectsOf(fact), ...codeSubjects(fact), ...sumSubjects(fact)];
}

function ownSubjectsOf(fact: Fact): { scope: FactScope; subject: string }[] {
  if (fact.kind === "code") return [];
  if (fact.kind === "customer") {
    const found = { scope: "address" as const, subject: fact.customer_id };
    return fact.email === null ? [found] : [found, { scope: "email", subject: emailKey(fact.email) }];
  }
  if (fact.kind === "cancellation") return [{ scope: "subscription", subject: fact.subscription_id }];
  if (fact.kind === "attribution" || fact.kind === "code_use") {
    return [
      ...(fact.subscription_id === null ? [] : [{ scope: "subscription" as const, subject: fact.subscription_id }]),
      ...(fact.customer_id === null ? [] : [{ scope: "customer" as const, subject: fact.customer_id }]),
      ...(fact.kind === "code_use" || fact.customer_email === undefined
        ? []
        : [{ scope: "email" as const, subject: fact.customer_email }]),
    ];
  }
  return fact.aliases.map((subject) => ({ scope: "payment" as const, subject }));
}

/** An identifier of a customer, or of the customer's payments, at a vendor. */
export interface ErasedSubject {
  scope: ErasedScope;
  subject: string;
}

/** The identifiers of a customer in facts; the address itself is not stored, only its hash. */
export async function subjectsIn(program_id: string, facts: readonly Fact[]): Promise<ErasedSubject[]> {
  const subjects = new Map<string, ErasedSubject>();
  const add = (scope: ErasedScope, subject: string | null) =>
    subject !== null && subjects.set(`${scope} ${subject}`, { scope, subject });
  const emails = new Set<string>();
  for (const fact of facts) {
    if ("aliases" in fact) for (const alias of fact.aliases) add("payment", alias);
    if ("subscription_id" in fact) add("subscription", fact.subscription_id);
    if ("customer_id" in fact) add("customer", fact.customer_id ?? null);
    const email = addressIn(fact);
    if (email !== null) emails.add(email);
  }
  for (const email of emails) add("email", await hashOf(program_id, email));
  return [...subjects.values()];
}

/** The address of a customer in a fact, as written there. */
export function addressIn(fact: Fact): string | null {
  if (isEarning(fact) || fact.kind === "attribution") return fact.customer_email ?? null;
  return fact.kind === "customer" ? fact.email : null;
}

/** Salted with the program, so that one address has different hashes in two. */
export function hashOf(program_id: string, email: string): Promise<string> {
  return sha256Hex(`${program_id} ${email.toLowerCase()}`);
}

/** Providers at which a customer has the same id: the owner's reports use the id at the provider (FACT-4). */
export function sameCustomersAt(provider: ProviderName): readonly ProviderName[] {
  return provider === OWNER_PROVIDER.name ? PROVIDER_NAMES : [provider, OWNER_PROVIDER.name];
}

/**
 * SQL that is true if a vendor's event of this time names an erased customer: by the customer or a payment at any time,
 * by the address alone only until it was erased, because a later buyer with it is a new customer.
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

/** The statement that marks these subjects as erased from now on. */
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
