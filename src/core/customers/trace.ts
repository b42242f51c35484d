/** Finds a customer's address, and the data linked to it, in a program: the input of an erasure. */
import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch, runThenRead } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { nullable, selectRows, text, textOf, whole } from "../../db/rows.ts";
import { payments } from "../../db/schema.ts";
import { holdsAddress, holdsId } from "../../domain/erasure.ts";
import { isEarning, type Fact } from "../../domain/fact.ts";
import type { ProviderName, VendorName } from "../../domain/provider-name.ts";
import { partsOf } from "../../lib/slices.ts";
import { OWNER_PROVIDER, PROVIDER_NAMES, providerOfCustomer, VENDOR_NAMES } from "../../providers/registry.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Payment } from "../kernel/rows.ts";
import { type ErasedSubject, hashOf, markErased, sameCustomersAt } from "../ledger/facts.ts";
import { paymentsNamed, linkedIds } from "../ledger/concerned-payments.ts";
import { FACT_OF_SUBJECT } from "../ledger/stages.ts";

export interface TracedFact {
  provider: ProviderName;
  fact_id: string;
  fact: Fact;
}

/** The vendor ids of one customer at one provider: of its payments, of itself, and of its subscriptions. */
type Ids = Record<"payment" | "customer" | "subscription", Set<string>>;

type IdsByProvider = Map<ProviderName, Ids>;

export interface CustomerTrace {
  /** The customer's payments, by id. */
  payments: Map<string, Payment>;
  /** The vendor ids by provider, if any are known there. */
  ids: IdsByProvider;
  /** Other customers' payments with the address in a reference. */
  naming: Payment[];
  /** Facts that contain the address, of any customer. */
  holding: TracedFact[];
}

/** The text that preselects rows with an address: whole if it is ASCII, because SQLite lowers only ASCII. */
function needleOf(address: string): string {
  if (/^\p{ASCII}+$/u.test(address)) return address;
  const domain = address.slice(address.lastIndexOf("@"));
  return /^\p{ASCII}+$/u.test(domain) ? domain : "@";
}

/**
 * Finds a customer by an address (in lower case): the payments with it, then those of the same customer ids (see
 * `sameCustomersAt`), and those that vendor ids link to them, until no more are found. All of it is marked as erased
 * before the last read, so that a concurrent report is either found here or stored without the address.
 */
export async function traceCustomer(ctx: ProgramCtx, address: string): Promise<CustomerTrace> {
  const program_id = ctx.program.id;
  const trace = await findByAddress(ctx, address);
  for (let known = -1; known < sizeOf(trace);) {
    known = sizeOf(trace);
    const marks = PROVIDER_NAMES.map((provider) =>
      markErased(ctx, program_id, provider, subjectsOf(idsAt(trace, provider))),
    );
    const named = PROVIDER_NAMES.map((provider) =>
      linkedIds(program_id, provider, sql`select value from json_each(${listOf(idsAt(trace, provider).payment)})`),
    );
    const aliases = named.map((subjects) => selectRows(ctx.db, { subject: text }, subjects));
    const paid = PROVIDER_NAMES.map((provider, i) =>
      ctx.db
        .select()
        .from(payments)
        .where(
          sql`${payments.id} in (${paymentsNamed(program_id, provider, named[i]!)}
          union select p.id from json_each(${listOf(customersAt(trace.ids, provider))}) c cross join payments p
            on p.program_id = ${program_id} and p.customer_id = c.value and +p.provider = ${provider})`,
        ),
    );
    const { name: owner } = OWNER_PROVIDER;
    // The marks come first, because every read must follow its mark.
    const results: readonly unknown[] = await runBatch(ctx.db, [
      ...marks,
      ...aliases,
      ...paid,
      selectRows(
        ctx.db,
        { subject: text },
        sql`select distinct s.subject as subject from json_each(${listOf(customersAt(trace.ids, owner))}) c
          cross join fact_subjects s on s.program_id = ${program_id} and s.provider = ${owner}
            and s.scope in ('customer', 'address') and s.subject = c.value`,
      ),
    ]);
    const found = results.slice(marks.length);
    for (const { subject } of found.at(-1) as { subject: string }[]) idsAt(trace, owner).customer.add(subject);
    for (const [i, provider] of PROVIDER_NAMES.entries()) {
      for (const { subject } of found[i] as { subject: string }[]) idsAt(trace, provider).payment.add(subject);
      for (const row of found[PROVIDER_NAMES.length + i] as Payment[]) addPayment(trace, row);
    }
  }
  trace.naming = trace.naming.filter(({ id }) => !trace.payments.has(id));
  return trace;
}

async function findByAddress(ctx: ProgramCtx, address: string): Promise<CustomerTrace> {
  const program_id = ctx.program.id;
  const needle = needleOf(address);
  const addresses = new Set([address]);
  const subject = await hashOf(program_id, address);
  const mark = (provider: ProviderName) => markErased(ctx, program_id, provider, [{ scope: "email", subject }]);
  const payers = ctx.db
    .select()
    .from(payments)
    .where(
      sql`program_id = ${program_id} and (instr(lower(customer_email), ${needle}) > 0 or instr(lower(ref), ${needle}) > 0
        or instr(lower(decision), ${needle}) > 0)`,
    );
  const factsWith = selectRows(
    ctx.db,
    { provider: textOf<ProviderName>(), fact_id: text, data: text },
    sql`select provider, fact_id, data from facts
    where program_id = ${program_id} and instr(lower(data), ${needle}) > 0`,
  );
  const [rows, factRows] = await runThenRead(ctx.db, PROVIDER_NAMES.map(mark), [payers, factsWith]);
  const trace: CustomerTrace = {
    payments: new Map(),
    ids: new Map(),
    naming: rows.filter(({ ref, decision }) =>
      holdsAddress(JSON.stringify([ref, decision?.ref, decision?.candidates]), addresses),
    ),
    holding: factRows.filter(({ data }) => holdsAddress(data, addresses)).map(factOf),
  };
  for (const row of rows) if (row.customer_email?.toLowerCase() === address) addPayment(trace, row);
  for (const { provider, fact } of trace.holding) {
    const ids = idsAt(trace, provider);
    if (isEarning(fact) && fact.customer_email?.toLowerCase() === address) {
      for (const alias of fact.aliases) ids.payment.add(alias);
      if (fact.customer_id !== null) ids.customer.add(fact.customer_id);
    }
    if (fact.kind === "customer" && fact.email?.toLowerCase() === address) ids.customer.add(fact.customer_id);
  }
  return trace;
}

function idsAt({ ids }: Pick<CustomerTrace, "ids">, provider: ProviderName): Ids {
  const known = ids.get(provider) ?? { payment: new Set(), customer: new Set(), subscription: new Set() };
  ids.set(provider, known);
  return known;
}

/** The customer ids by which a provider can name the customer. */
function customersAt(ids: IdsByProvider, provider: ProviderName): Set<string> {
  return new Set(sameCustomersAt(provider).flatMap((at) => [...(ids.get(at)?.customer ?? [])]));
}

function addPayment(trace: CustomerTrace, row: Payment): void {
  const { payment, customer, subscription } = idsAt(trace, row.provider);
  trace.payments.set(row.id, row);
  payment.add(row.provider_transaction_id);
  if (row.customer_id !== null) customer.add(row.customer_id);
  if (row.subscription_id !== null) subscription.add(row.subscription_id);
}

function sizeOf({ payments: found, ids }: CustomerTrace): number {
  return [...ids.values()].reduce(
    (sum, ofProvider) => Object.values(ofProvider).reduce((inner, { size }) => inner + size, sum),
    found.size,
  );
}

function subjectsOf(ids: Ids): ErasedSubject[] {
  return Object.entries(ids).flatMap(([scope, subjects]) =>
    [...subjects].map((subject) => ({ scope: scope as keyof Ids, subject })),
  );
}

const listOf = (values: Iterable<string>): string => JSON.stringify([...values]);

/** Selects all facts about the customer, by their ids. */
export function factsOfCustomer(program_id: string, ids: IdsByProvider): SQL {
  const about = PROVIDER_NAMES.flatMap((provider) => {
    const known = ids.get(provider);
    return [
      ...[...(known?.payment ?? [])].map((subject) => [provider, "payment", subject]),
      ...[...customersAt(ids, provider)].flatMap((subject) => [
        [provider, "customer", subject],
        [provider, "address", subject],
      ]),
      ...[...(known?.subscription ?? [])].map((subject) => [provider, "subscription", subject]),
    ];
  });
  return sql`select f.provider, f.fact_id, f.data from json_each(${JSON.stringify(about)}) a
    cross join fact_subjects s on s.program_id = ${program_id} and s.provider = a.value ->> 0
      and s.scope = a.value ->> 1 and s.subject = a.value ->> 2
    ${FACT_OF_SUBJECT}
    group by f.provider, f.fact_id`;
}

export function factOf({
  provider,
  fact_id,
  data,
}: {
  provider: ProviderName;
  fact_id: string;
  data: string;
}): TracedFact {
  return { provider, fact_id, fact: JSON.parse(data) as Fact };
}

export interface EventKey {
  provider: ProviderName;
  event_id: string;
}

/**
 * The number of stored bodies that one statement searches, in about one of the 30 seconds that D1 allows. 900 of D1's
 * 1,000 statements search 9 million bodies, which is more than its 10 GB hold. The other statements read the possible
 * matches, a million characters each, because of memory.
 */
const LOOKED_THROUGH = 10_000;

/** The customer's ids in a vendor's bodies. An owner's id must have the vendor's form: a bare number is in many. */
function namesAt(ids: IdsByProvider, vendor: VendorName): Set<string> {
  const isNamed = (id: string) => ids.get(vendor)?.customer.has(id) === true || providerOfCustomer(id) === vendor;
  return new Set([...customersAt(ids, vendor)].filter(isNamed));
}

/**
 * Finds the events whose stored body contains the address or, for a vendor, a whole id of the customer, even if they
 * are about another object. A report of the owner's server about an id is found by its facts.
 */
export async function eventsHolding(ctx: ProgramCtx, address: string, ids: IdsByProvider): Promise<EventKey[]> {
  const addresses = new Set([address]);
  const namedAt = new Map<ProviderName, Set<string>>(VENDOR_NAMES.map((vendor) => [vendor, namesAt(ids, vendor)]));
  const all = JSON.stringify(Object.fromEntries([...namedAt].map(([vendor, names]) => [vendor, [...names]])));
  const isSought = sql`(${mayHold(needleOf(address))}
    or exists (select 1 from json_each(${all}, '$.' || provider) i where instr(body, i.value) > 0))`;
  const found: EventKey[] = [];
  let after = { provider: "", event_id: "" };
  for (;;) {
    const looked = await selectRows(
      ctx.db,
      { provider: textOf<ProviderName>(), event_id: text, length: nullable(whole) },
      sql`
      select provider, event_id, case when ${isSought} then length(body) end as length from (
        select provider, event_id, body from provider_events
        where program_id = ${ctx.program.id} and (provider, event_id) > (${after.provider}, ${after.event_id})
          and body is not null
        order by provider, event_id limit ${literal(LOOKED_THROUGH)})`,
    );
    const sought = looked.filter(({ length }) => length !== null);
    for (const part of partsOf(sought, LOOKED_THROUGH, ({ length }) => length ?? 0)) {
      for (const { body, ...event } of await readBodies(ctx, part)) {
        if (holdsAddress(body, addresses) || holdsId(body, namedAt.get(event.provider) ?? NOBODY)) found.push(event);
      }
    }
    const last = looked.at(-1);
    if (!last || looked.length < LOOKED_THROUGH) return found;
    after = last;
  }
}

const NOBODY: ReadonlySet<string> = new Set();

function readBodies(ctx: ProgramCtx, events: readonly EventKey[]) {
  const keys = JSON.stringify(events.map(({ provider, event_id }) => [provider, event_id]));
  return selectRows(
    ctx.db,
    { provider: textOf<ProviderName>(), event_id: text, body: text },
    sql`select v.provider as provider, v.event_id as event_id, v.body as body from json_each(${keys}) k
      cross join provider_events v on v.program_id = ${ctx.program.id} and v.provider = k.value ->> 0
        and v.event_id = k.value ->> 1 and v.body is not null`,
  );
}

/** A condition: a body may contain a text, as it is or with some of its characters escaped for JSON or for a URL. */
function mayHold(needle: string): SQL {
  const rows = Map.groupBy(`@${needle}${needle.toUpperCase()}`, (character) => hexOf(character).charAt(0));
  const globs = [...rows].map(([high, characters]) => {
    const low = [...new Set(characters.map((character) => hexOf(character).charAt(1)))].join("");
    return sql`body glob ${`*\\u00${high}[${low}${low.toUpperCase()}]*`}`;
  });
  return sql`instr(lower(body), ${needle}) > 0 or instr(body, '%40') > 0
    or (instr(body, ${"\\u00"}) > 0 and (${joinParts(globs, sql` or `, 16)}))`;
}

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, "0");
}
