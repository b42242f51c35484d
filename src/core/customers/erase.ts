import { sql, type SQL } from "drizzle-orm";
import { literals, runBatch } from "../../db/client.ts";
import { selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { ADDRESS_SCOPES, ASKED_BY_EMAIL, commissions } from "../../db/schema.ts";
import { emailKey } from "../../domain/email.ts";
import { bareFact, holdsAddress, withoutAddresses } from "../../domain/erasure.ts";
import { isEarning, type Fact } from "../../domain/fact.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { isUnavailable } from "../../lib/errors.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { bytesIn, partsOf } from "../../lib/slices.ts";
import { iso } from "../../lib/time.ts";
import { PROVIDER_NAMES } from "../../providers/registry.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx } from "../kernel/context.ts";
import { customersReplies, redactedReplies } from "../kernel/idempotency.ts";
import { forgetKept } from "../kernel/kept.ts";
import { forgetMailsToApplicant } from "../mails/mails.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Commission, Decided, Payment } from "../kernel/rows.ts";
import { addressIn, codeSubjects } from "../ledger/facts.ts";
import { restartSettling } from "../ledger/concerned-payments.ts";
import { refKeyOf } from "../ledger/facts.ts";
import { settle } from "../ledger/settle.ts";
import { FACT_OF_SUBJECT } from "../ledger/stages.ts";
import { forgetClaims, selectForgotten } from "./claims.ts";
import {
  eventsHolding,
  factOf,
  factsOfCustomer,
  traceCustomer,
  type CustomerTrace,
  type EventKey,
  type TracedFact,
} from "./trace.ts";

export interface Erased {
  payments: number;
  commissions: number;
  provider_events: number;
}

/**
 * Erases a customer by an address: all payments, facts and bodies linked to the customer ids of that address, and no
 * others (JOB-1), and the address itself wherever a vendor wrote it. Sums stay the same: an erased payment keeps its
 * recorded rule, and its partner even if an import bound the partner to the address, although that binding is erased
 * too. Later reports of a vendor about the customer are stored without body and address (`core/ledger/facts.ts`). No
 * audit event is written, because it would have to name the erased person. The owner's texts, rules and notes, stay.
 */
export async function eraseCustomer(caller: Caller, email: string): Promise<Erased> {
  const [ctx] = await prove(caller);
  const address = email.toLowerCase();
  const tried = new Set<string>();
  return untilWon(async () => {
    const trace = await traceCustomer(ctx, address);
    await settleFirst(ctx, [...trace.payments.values()], tried);
    return forget(ctx, address, trace, await readForgotten(ctx, email, trace));
  });
}

/**
 * Settles the stored payments that are not settled yet, because they are decided by the address, which the erasure
 * removes. `tried` are the payments that this call has settled, each with its revision. A payment that cannot be
 * settled is erased as well.
 */
async function settleFirst(ctx: ProgramCtx, own: readonly Payment[], tried: Set<string>): Promise<void> {
  const asOf = ({ id, facts_revision }: Payment) => `${id} ${facts_revision}`;
  const left = own.filter((row) => row.settled_revision < row.facts_revision && !tried.has(asOf(row)));
  for (const payment of left) {
    tried.add(asOf(payment));
    try {
      await settle(ctx, payment);
    } catch (error) {
      const isRaced = error instanceof CommitConflict && error.kind === "lost_race";
      if (isRaced || isUnavailable(error)) throw error;
      const { program_id, id: payment_id } = payment;
      const reason = reasonOf(error);
      logLine("error", { what: "a payment is erased that could not be settled", program_id, payment_id, reason });
    }
  }
  if (left.length > 0) throw new CommitConflict("lost_race", "a payment was not settled");
}

const EVENT_KEY: Columns<EventKey> = { provider: textOf<ProviderName>(), event_id: text };

const FACT_ROW: Columns<Parameters<typeof factOf>[0]> = { provider: textOf<ProviderName>(), fact_id: text, data: text };

type Forgotten = Awaited<ReturnType<typeof readForgotten>>;

/** Reads the stored data of a traced customer beside the payments. An address is found in each of its spellings. */
async function readForgotten(ctx: ProgramCtx, email: string, trace: CustomerTrace) {
  const { db } = ctx;
  const program_id = ctx.program.id;
  const address = email.toLowerCase();
  const isIt = (one: string | null) => one?.toLowerCase() === address;
  const own = [...trace.payments.values()];
  const payment_ids = JSON.stringify(own.map(({ id }) => id));
  const [linked, [earned]] = await runBatch(db, [
    selectRows(db, FACT_ROW, factsOfCustomer(program_id, trace.ids)),
    selectRows(
      db,
      { count: whole },
      sql`select count(*) as count from json_each(${payment_ids}) p
      cross join commissions c on c.payment_id = p.value and c.customer_email is not null`,
    ),
  ]);
  const facts = linked.map(factOf);
  const said = [...facts, ...trace.holding].flatMap(({ fact }) => addressIn(fact) ?? []);
  const spellings = [email, ...said.filter(isIt)];
  const keys = keysOf(spellings);
  const known = [...spellings, ...said, ...own.flatMap(({ customer_email }) => customer_email ?? [])];
  const addresses = addressesOf(address, own, facts);
  const holding = await eventsHolding(ctx, address, trace.ids);
  const [named, bodies, claims, replies] = await runBatch(db, [
    selectRows(
      db,
      FACT_ROW,
      sql`select f.provider, f.fact_id, f.data from ${bindingsBy(program_id, keysOf(known))}
      where k.value in (select value from json_each(${JSON.stringify(keys)}))
        or not exists (${othersServed(ctx, payment_ids, sql`k.value`)})`,
    ),
    keptBodies(ctx, [...facts.flatMap(eventOf), ...holding]),
    selectForgotten(ctx, trace, addresses),
    customersReplies(ctx),
  ]);
  const isOwn = saidOf(own, facts);
  // A binding of a further address is erased with the customer, unless the address is another customer's too.
  const bound = named.map(factOf).filter((one) => isIt(addressIn(one.fact)) || isOwn(one));
  return {
    own,
    payment_ids,
    facts,
    // A reference without a partner when it was stored has no subject: it is found by its text.
    bound: [...bound, ...trace.holding.filter((one) => isBinding(one) && isIt(addressIn(one.fact)))],
    addresses,
    keys,
    bodies,
    claims,
    replies,
    commissions: earned?.count ?? 0,
  };
}

async function forget(
  ctx: ProgramCtx,
  address: string,
  trace: CustomerTrace,
  { own, payment_ids, facts, bound, addresses, keys, bodies, claims, replies, commissions: earned }: Forgotten,
): Promise<Erased> {
  const { db } = ctx;
  const program_id = ctx.program.id;
  await commit(ctx, {
    writes: [
      unlessBound(ctx, keys, trace.holding),
      ...paymentWrites(ctx, own, (payment) => barePayment(payment, addresses)),
      ...paymentWrites(ctx, trace.naming, (payment) => unnamedPayment(payment, address)),
      {
        statement: db
          .update(commissions)
          .set(NAMELESS)
          .where(sql`payment_id in (select value from json_each(${payment_ids})) and customer_email is not null`),
      },
      ...parametersOf(bodies).map(({ json }) => ({
        statement: db.run(sql`update provider_events set body = null where (program_id, provider, event_id) in (
          select ${program_id}, value ->> 'provider', value ->> 'event_id' from json_each(${json}))`),
      })),
      ...factWrites(ctx, bareFacts(facts, own, addresses)),
      ...factWrites(ctx, unnamedFacts(trace.holding, facts, address)),
      ...forgetSubjects(ctx, [...facts, ...bound]),
      forgetCodes(ctx, trace.holding, address),
      forgetClaims(ctx, claims),
      {
        statement: db.run(sql`delete from fact_subjects where program_id = ${program_id}
          and provider in ${literals(PROVIDER_NAMES)} and scope in ${literals(ADDRESS_SCOPES)}
          and subject in (select value from json_each(${JSON.stringify(keys)}))`),
      },
      ...forgetApplications(ctx, address),
      {
        statement: db.run(sql`delete from facts where (program_id, provider, fact_id) in (
          select ${program_id}, value ->> 'provider', value ->> 'fact_id' from json_each(${JSON.stringify(bound)}))`),
      },
      ...unlessServed(ctx, payment_ids, bound, keys),
      forgetKept(ctx),
      ...(await redactedReplies(ctx, replies, addresses, new Set(claims.map(({ id }) => id)))),
    ],
    occurrences: [],
  });
  return {
    payments: own.filter(({ erased_at, customer_email }) => erased_at === null || customer_email !== null).length,
    commissions: earned,
    provider_events: bodies.length,
  };
}

/** Refuses if anything was bound to the address since the trace, by an import or a lead: it would stay stored. */
function unlessBound({ db, program }: ProgramCtx, keys: readonly string[], holding: readonly TracedFact[]): Write {
  const traced = holding.filter(isBinding).map(({ provider, fact_id }) => [provider, fact_id]);
  return refuseWhere(
    { db },
    sql`exists (select 1 from ${bindingsBy(program.id, keys)} where (f.provider, f.fact_id) not in (
        select value ->> 0, value ->> 1 from json_each(${JSON.stringify(traced)})))`,
  );
}

/** A FROM clause: the facts `f` that bind the address of each key `k.value`. */
function bindingsBy(program_id: string, keys: readonly string[]): SQL {
  return sql`json_each(${JSON.stringify(keys)}) k
    cross join fact_subjects s on s.program_id = ${program_id} and s.provider in ${literals(PROVIDER_NAMES)}
      and s.scope = 'email' and s.subject = k.value
    ${FACT_OF_SUBJECT}
      and f.kind = 'attribution'`;
}

function isBinding({ fact }: TracedFact): boolean {
  return fact.kind === "attribution";
}

/** Selects other customers' payments that a stored binding of an address (`key`) can serve. */
function othersServed({ program }: ProgramCtx, payment_ids: string, key: SQL): SQL {
  return sql`select 1 from payments where program_id = ${program.id} and customer_email is not null
    and lower(customer_email) = ${key} and ${sql.raw(ASKED_BY_EMAIL)}
    and id not in (select value from json_each(${payment_ids}))`;
}

/** Refuses if a binding of a further address (not in `keys`) serves other customers by now. */
function unlessServed(
  ctx: ProgramCtx,
  payment_ids: string,
  bound: readonly TracedFact[],
  keys: readonly string[],
): Write[] {
  const further = keysOf(bound.flatMap(({ fact }) => addressIn(fact) ?? [])).filter((key) => !keys.includes(key));
  if (further.length === 0) return [];
  const isServing = sql`exists (select 1 from json_each(${JSON.stringify(further)}) k
    where exists (${othersServed(ctx, payment_ids, sql`k.value`)}))`;
  return [refuseWhere(ctx, isServing), { statement: restartSettling(ctx) }];
}

/** Deletes the applications and the queued e-mails of a customer who has also applied to become a partner (JOIN-8). */
function forgetApplications(ctx: ProgramCtx, address: string): Write[] {
  const ofAddress = sql`program_id = ${ctx.program.id} and lower(email) = ${address}`;
  return [
    ...["applications", "application_drafts"].map((table) => ({
      statement: ctx.db.run(sql`delete from ${sql.raw(table)} where ${ofAddress}`),
    })),
    ...forgetMailsToApplicant(ctx, address),
  ];
}

/** The columns of a commission that contain no customer's text. `note` and the reasons are the owner's. */
type ImpersonalOfCommission =
  | ("id" | "program_id" | "partner_id" | "payment_id" | "flow_id" | "payout_id" | "kind" | "source_commission_id")
  | ("status" | "flagged" | "review_reason" | "review_reasons" | "dismissed_reasons" | "rejected_reason" | "note")
  | (
      | "amount_cents"
      | "txn_amount_cents"
      | "base_cents"
      | "currency"
      | "provider"
      | "provider_transaction_id"
      | "subscription_id"
    )
  | ("rate" | "event_id" | "created_at" | "seen_at" | "hold_until" | "approved_at" | "paid_at" | "updated_at");

const NAMELESS: { [K in keyof Decided<Commission, "customer_email", ImpersonalOfCommission>]: null } = {
  customer_email: null,
};

/** The event that reported a fact; empty for a fact from an import or from reprocessing. */
function eventOf({ provider, fact_id }: TracedFact): EventKey[] {
  const end = fact_id.lastIndexOf("#");
  return end < 0 ? [] : [{ provider, event_id: fact_id.slice(0, end) }];
}

const keysOf = (spellings: readonly string[]): string[] => [...new Set(spellings.map(emailKey))];

/** Returns a test: a fact comes from one of the customer's events, or from reprocessing their payments. */
function saidOf(own: readonly Payment[], facts: readonly TracedFact[]): (fact: TracedFact) => boolean {
  const nameOf = ({ provider, event_id }: EventKey) => `${provider} ${event_id}`;
  const events = new Set(facts.flatMap(eventOf).map(nameOf));
  const remembered = own.map(({ id }) => `reprocess:${id}:`);
  return (fact) =>
    eventOf(fact).some((event) => events.has(nameOf(event))) ||
    remembered.some((start) => fact.fact_id.startsWith(start));
}

/** Selects the events whose body is still stored, each once. */
function keptBodies(ctx: ProgramCtx, events: readonly EventKey[]) {
  return selectRows(
    ctx.db,
    EVENT_KEY,
    sql`select distinct v.provider as provider, v.event_id as event_id from provider_events v
    where v.body is not null and (v.program_id, v.provider, v.event_id) in (
      select ${ctx.program.id}, value ->> 'provider', value ->> 'event_id' from json_each(${JSON.stringify(events)}))`,
  );
}

/** Every known address of the customer, in lower case. */
function addressesOf(address: string, own: readonly Payment[], facts: readonly TracedFact[]): Set<string> {
  const all = [
    address,
    ...own.map(({ customer_email }) => customer_email),
    ...facts.map(({ fact }) => addressIn(fact)),
  ];
  return new Set(all.flatMap((one) => (one ? [one.toLowerCase()] : [])));
}

/** The columns of a payment that contain no customer's text. */
type Impersonal =
  | ("id" | "program_id" | "provider" | "provider_transaction_id" | "outcome" | "partner_id" | "code_id" | "currency")
  | ("txn_amount_cents" | "gross_cents" | "adjusted_cents" | "customer_id" | "subscription_id" | "rules_seen")
  | ("facts_revision" | "settled_revision" | "erased_at" | "created_at" | "seen_at" | "updated_at" | "event");

type Redacted = Decided<Payment, "ref" | "decision" | "customer_email", Impersonal> & { is_erased: boolean };

/** Redacts a payment. Its rule stays recorded, and is kept because `decided_on` is null (`domain/payment.ts`). */
function barePayment({ ref, decision }: Payment, addresses: ReadonlySet<string>): Redacted {
  const bare = decision && withoutAddresses({ ...decision, decided_on: null }, addresses);
  return { ref: withoutAddresses(ref, addresses), decision: bare, customer_email: null, is_erased: true };
}

/** Redacts another customer's payment whose reference contains the address. */
function unnamedPayment({ ref, decision, customer_email }: Payment, address: string): Redacted {
  const clean = <T>(value: T) => withoutAddresses(value, new Set([address]));
  const cleaned = decision && {
    ...decision,
    ref: clean(decision.ref),
    candidates: clean(decision.candidates),
  };
  return { ref: clean(ref), decision: cleaned, customer_email, is_erased: false };
}

const ROWS_PER_STATEMENT = 100;

/** Converts rows to the parameters of statements. */
function parametersOf(rows: readonly object[]): { json: string; count: number }[] {
  const texts = rows.map((row) => JSON.stringify(row));
  const parts = Array.from(partsOf(texts, ROWS_PER_STATEMENT, bytesIn));
  return parts.map((part) => ({ json: `[${part.join(",")}]`, count: part.length }));
}

/** Updates each payment only at the revision that was read; settling compares the same revision. */
function paymentWrites(ctx: ProgramCtx, found: readonly Payment[], redact: (payment: Payment) => Redacted): Write[] {
  const rows = found.map((payment) => {
    const { decision, ...rest } = redact(payment);
    const { id, facts_revision: revision } = payment;
    return { ...rest, id, revision, decision: decision && JSON.stringify(decision) };
  });
  return parametersOf(rows).map(({ json, count }) => ({
    statement: ctx.db.run(sql`update payments set ref = v.value ->> 'ref', decision = v.value ->> 'decision',
        customer_email = v.value ->> 'customer_email',
        erased_at = case when v.value ->> 'is_erased' then ${iso(ctx.now)} else erased_at end,
        facts_revision = facts_revision + 1,
        settled_revision = case when settled_revision = facts_revision then facts_revision + 1 else settled_revision end
      from json_each(${json}) v
      where payments.id = v.value ->> 'id' and facts_revision = v.value ->> 'revision'`),
    expect: count,
  }));
}

/** Removes the addresses from the customer's facts. An imported partner becomes the payment's own reference. */
function bareFacts(
  facts: readonly TracedFact[],
  own: readonly Payment[],
  addresses: ReadonlySet<string>,
): TracedFact[] {
  const bound = own.filter(({ decision }) => decision?.ref_source === "email");
  return facts.map(({ fact, ...where }) => {
    const bare = withoutAddresses(bareFact(fact), addresses);
    const payment = bound.find(
      (row) => isEarning(fact) && row.provider === where.provider && row.provider_transaction_id === fact.key,
    );
    return { ...where, fact: payment ? ({ ...bare, ref: payment.ref } as Fact) : bare };
  });
}

/** Removes the address from other customers' facts that contain it as a reference. */
function unnamedFacts(holding: readonly TracedFact[], own: readonly TracedFact[], address: string): TracedFact[] {
  const isOwn = (one: TracedFact) =>
    own.some(({ provider, fact_id }) => provider === one.provider && fact_id === one.fact_id);
  return holding
    .filter((one) => !isOwn(one))
    .map(({ fact, ...where }) => ({ ...where, fact: withoutAddresses(fact, new Set([address])) }));
}

function factWrites(ctx: ProgramCtx, facts: readonly TracedFact[]): Write[] {
  const rows = facts.map(({ provider, fact_id, fact }) => ({
    provider,
    fact_id,
    ref_key: refKeyOf(fact),
    data: JSON.stringify(fact),
  }));
  return parametersOf(rows).map(({ json }) => ({
    statement: ctx.db.run(sql`update facts set data = v.value ->> 'data', ref_key = v.value ->> 'ref_key'
      from json_each(${json}) v
      where facts.program_id = ${ctx.program.id} and facts.provider = v.value ->> 'provider'
        and facts.fact_id = v.value ->> 'fact_id'`),
  }));
}

/** Deletes the subjects by which facts are found through the customer's other addresses. */
function forgetSubjects(ctx: ProgramCtx, facts: readonly TracedFact[]): Write[] {
  const rows = facts.flatMap(({ provider, fact_id, fact }) => {
    const email = addressIn(fact);
    return email === null ? [] : [{ provider, fact_id, subject: emailKey(email) }];
  });
  return parametersOf(rows).map(({ json }) => ({
    statement: ctx.db.run(sql`delete from fact_subjects where (program_id, provider, scope, subject, fact_id) in (
      select ${ctx.program.id}, r.value ->> 'provider', scope.value, r.value ->> 'subject', r.value ->> 'fact_id'
      from json_each(${json}) r cross join json_each(${JSON.stringify(ADDRESS_SCOPES)}) scope)`),
  }));
}

/** Deletes the subjects of codes whose name or id contains the address. */
function forgetCodes(ctx: ProgramCtx, holding: readonly TracedFact[], address: string): Write {
  const addresses = new Set([address]);
  const rows = holding.flatMap(({ provider, fact_id, fact }) =>
    codeSubjects(fact).flatMap((found) =>
      holdsAddress(found.subject, addresses) ? [{ provider, fact_id, ...found }] : [],
    ),
  );
  return {
    statement: ctx.db.run(sql`delete from fact_subjects where (program_id, provider, scope, subject, fact_id) in (
      select ${ctx.program.id}, value ->> 'provider', value ->> 'scope', value ->> 'subject', value ->> 'fact_id'
      from json_each(${JSON.stringify(rows)}))`),
  };
}
