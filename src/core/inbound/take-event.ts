import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { nullable, selectRows, text } from "../../db/rows.ts";
import type { CustomerFact, Fact, PaymentFact } from "../../domain/fact.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { ClaimedOwner, ProviderEvent } from "../../providers/provider.ts";
import { claimsPrograms } from "../../providers/registry.ts";
import { CommitConflict, refuseIf } from "../kernel/conflict.ts";
import type { Ctx, ProgramCtx, Statement } from "../kernel/context.ts";
import { everyShard } from "../kernel/shards.ts";
import type { Part } from "../ledger/facts.ts";
import {
  announcementText,
  hasDecidingFacts,
  withdrawnPart,
  withdrawOthers,
  isOwnedElsewhere,
  isWithdrawn,
  noteClaim,
  refuseIfWithdrawn,
} from "./elsewhere.ts";
import {
  isOfAccount,
  locateClaimed,
  locateOwner,
  MAX_STORING,
  ofSubscription,
  ofTransaction,
  openProgramOrNull,
  readPrograms,
  refuseIfStoredElsewhere,
  type KnownProgramCtx,
  type Proof,
} from "./locate.ts";
import { receiveEvent, settleEvent, storeEvent, type Received, type StoredEvent } from "./receive.ts";
import { codesReferenced, recordFetchedCodes, recordSeenCodes, selectSeers, selectUnfetched } from "./seen-codes.ts";

/** The most bytes of an event by webhook (HTTP-13) or list: a longer body may exceed a row. */
export const MAX_EVENT_BYTES = 1024 * 1024;

/** A vendor's event on its way to its program. */
export interface Delivery {
  provider: VendorName;
  event: ProviderEvent;
  /** The vendor's original; null if it is too long to be stored. */
  body: string | null;
  claim: ClaimedOwner;
  proof: Proof;
  /** Programs that it claims and whose secrets do not verify it: it is theirs if they have received it themselves. */
  claimants?: readonly ProgramCtx[];
  before?: (home: ProgramCtx) => Statement[];
}

/**
 * Ingests an event that the secret of `verified` has verified, in the program it belongs to.
 *
 * Candidates are the program that the event claims, the one that already stores its payment or subscription, then the
 * URL's; the first whose secret verifies the event stores it. A verified event is never refused because the buyer's
 * data claims another program, and a refund is always filed with its payment (IN-1). Programs of one vendor account
 * share a secret and perhaps one address. So a program can receive a refund before the payment's program receives the
 * payment: there it waits under its ids, and the payment's program fetches it with the payment. Each of the two stores
 * first and then looks for the other, so that in any order, or at once, one of them finds the other.
 *
 * A payment without a claim belongs to the URL's program, even if another program of the account stores it: its buyer
 * came by no other way. But the subscription whose payments were claimed at this URL keeps its program.
 *
 * Programs of one account may have an address and a secret each: then all receive an event that one of them claims, and
 * only the claimed one decides it, if it has stored it by its own secret (`elsewhere.ts`).
 *
 * If a provider's events make no claims, their program is the URL's (IN-1).
 *
 * Null if `verified` is cached and its row has changed, or if other programs must be read too: then no event was
 * stored.
 */
export async function takeEvent(verified: ProgramCtx | KnownProgramCtx, given: Delivery): Promise<Received | null> {
  const { provider, event, claim } = given;
  if (!claimsPrograms(provider)) return receiveAlone(verified, given);
  const isAlone =
    verified.databases.shards.length === 1 && (claim.program_id ?? verified.program.id) === verified.program.id;
  if ("unchanged" in verified && !isAlone) return null;
  const { claimed, claimants } = await locateClaimed(verified, given);
  const delivery = { ...given, claimants };
  const home = claimed ?? verified;
  // If the program counts only live events, a test event meets only other test events of its program.
  if (event.test && home.program.live_only) return receiveAlone(home, given);
  const unclaimed = event.facts.some(mayWait) ? receiveChange : receiveUnclaimed;
  const taken = await (claimed ? receive(claimed, delivery, null, verified) : unclaimed(verified, delivery));
  if (!taken) return null;
  const customers = event.facts.filter((fact) => fact.kind === "customer");
  for (const customer of customers) await tellOthers(home, delivery, customer);
  await tellNames(home, delivery);
  return taken;
}

/** Receives an event that does not concern another program. */
async function receiveAlone(
  home: ProgramCtx | KnownProgramCtx,
  { provider, event, body, before = () => [] }: Delivery,
): Promise<Received | null> {
  const stored = await storeEvent(home, provider, event, body, { before: before(home), ask: [] });
  return stored && settleEvent(home, stored);
}

/** A customer belongs to the account: every program with payments of the customer gets the address as well. */
async function tellOthers(home: ProgramCtx, delivery: Delivery, fact: CustomerFact): Promise<void> {
  const paid = sql`select program_id, 0 as rank from payments where customer_id = ${fact.customer_id}
    and +provider = ${literal(delivery.provider)}`;
  await passOn(home, delivery, paid, [fact]);
}

/** A promotion code does too: each program with an event that references it receives its names (CODE-2). */
async function tellNames(home: ProgramCtx, delivery: Delivery): Promise<void> {
  const codes = delivery.event.facts.filter((fact) => fact.kind === "code");
  if (codes.length === 0) return;
  const ids = codes.map(({ code_id }) => code_id);
  await passOn(home, delivery, selectSeers(delivery.provider, ids), codes);
}

/** Passes facts of an event on to the other programs of a select (`readPrograms`) that are of its account. */
async function passOn(home: ProgramCtx, delivery: Delivery, ranked: SQL, facts: Fact[]): Promise<void> {
  const { found, failure } = await readPrograms(home, delivery.provider, ranked, [home.program.id]);
  if (failure) throw failure.reason;
  for (const { ctx } of found) {
    if (!(await isOfAccount(ctx, delivery))) continue;
    await receiveEvent(ctx, delivery.provider, partOf(delivery.event, facts), delivery.body);
  }
}

/** Some facts of an event, under an id of exactly these: a program may also receive the rest. */
function partOf(event: ProviderEvent, facts: Fact[]): ProviderEvent {
  if (facts.length === event.facts.length) return event;
  const places = facts.map((fact) => event.facts.indexOf(fact));
  return { ...event, event_id: `${event.event_id}:${places.join("+")}`, facts };
}

/** Every refusal means that another program has stored the event's payment or subscription meanwhile. */
const MAX_REFUSALS = 20;

/**
 * Receives a change of a payment, in the program that stores the payment, else in the URL's, which stores it until the
 * payment's program fetches it. The database refuses to store it there if another program of the same database has the
 * payment. Only then are the programs looked up, so the usual case, without another program, needs no lookup.
 */
async function receiveChange(url: ProgramCtx | KnownProgramCtx, delivery: Delivery): Promise<Received | null> {
  const { provider, claim } = delivery;
  /** Programs of another account that store its payment or subscription: their secrets do not verify it. */
  const strangers: string[] = [];
  const isOnlyDatabase = url.databases.shards.length === 1;
  if (!isOnlyDatabase) {
    const { owner, failure } = await locateOwner(url, delivery, strangers);
    if (owner) return receive(owner, delivery);
    if (failure) throw failure.reason;
    await announceWaiting(url, delivery);
  }
  for (let refusals = 0; refusals < MAX_REFUSALS; refusals++) {
    const received = await receive(url, delivery, refuseIfStoredElsewhere(url, provider, claim, strangers));
    if (received ? isOnlyDatabase : "unchanged" in url) return received;
    const { owner, failure } = await locateOwner(url, delivery, strangers);
    if (owner && owner.program.id !== url.program.id) return receive(owner, delivery);
    if (received && failure) throw failure.reason;
    if (received) return received;
  }
  throw new CommitConflict("lost_race", "the program of an event");
}

/** Receives a payment of a subscription in the program that claimed it at this URL before, else in the URL's. */
async function receiveUnclaimed(url: ProgramCtx | KnownProgramCtx, delivery: Delivery): Promise<Received | null> {
  const { subscription_id } = delivery.claim;
  if (subscription_id === null) return receive(url, delivery);
  const claimed = sql`select program_id from claimed_subscriptions where subscription_id = ${subscription_id}
    and program_id <> ${url.program.id}
    and not exists (${ofSubscription(url.program.id, delivery.provider, subscription_id)})`;
  const guard = url.db.run(refuseIf(sql`exists (${claimed})`));
  const received = await receive(url, delivery, guard);
  if (received || "unchanged" in url) return received;
  const claimants = [...(delivery.claimants ?? [])];
  for (const { program_id } of await selectRows(url.db, { program_id: text }, claimed)) {
    const owner = await openProgramOrNull(url, delivery.provider, program_id);
    if (!owner) continue;
    if (await isOfAccount(owner, delivery)) return receive(owner, delivery);
    claimants.push(owner);
  }
  return receive(url, { ...delivery, claimants });
}

/** Whether a fact can precede the payment that it changes, and has no other reference to its program. */
function mayWait(fact: Fact): boolean {
  return fact.kind === "adjustment" || fact.kind === "cancellation";
}

/** The ids under which an event waits for the payment that it changes. */
function waitingFor({ facts }: ProviderEvent): string[] {
  return facts.flatMap((fact) => {
    if (fact.kind === "adjustment") return fact.aliases;
    return fact.kind === "cancellation" ? [fact.subscription_id] : [];
  });
}

/** Records that an event waits in a program, unless the program has its payment or subscription. */
function noteWaiting(db: Ctx["db"], program_id: string, { provider, event }: Delivery): Statement {
  return db.run(sql`insert into waiting_events (provider, subject, program_id)
    select ${literal(provider)}, value, ${program_id} from json_each(${JSON.stringify(waitingFor(event))})
    where not exists (${ofTransaction(program_id, provider, sql`value`)})
      and not exists (${ofSubscription(program_id, provider, sql`value`)})
    on conflict do nothing`);
}

/** Records the wait in the other databases before the event is stored: any of them may receive the payment. */
async function announceWaiting(url: ProgramCtx, delivery: Delivery): Promise<void> {
  const others = everyShard(url).filter(({ shard }) => shard !== url.shard);
  await Promise.all(others.map(({ db }) => runBatch(db, [noteWaiting(db, url.program.id, delivery)])));
}

/**
 * Stores the event in this program and settles it, and fetches the events that other programs of the account received
 * before its payment: the programs in which one waits, and `from`, whose secret verified the event first. Null if the
 * guard refused, or if the program is cached and has changed; then no event was stored.
 */
async function receive(
  ctx: ProgramCtx | KnownProgramCtx,
  delivery: Delivery,
  guard: Statement | null = null,
  from: ProgramCtx = ctx,
): Promise<Received | null> {
  const stored = await store(ctx, delivery, guard, from);
  return stored && settle(ctx, delivery, stored, from);
}

async function store(
  ctx: ProgramCtx | KnownProgramCtx,
  delivery: Delivery,
  guard: Statement | null,
  from: ProgramCtx,
): Promise<StoredEvent | null> {
  const { provider, body, claimants = [] } = delivery;
  const isOthers = await isOwnedElsewhere(ctx, provider, delivery.event, claimants);
  const event = isOthers ? withdrawnPart(delivery.event) : delivery.event;
  const mayBeOthers = claimants.length > 0 && !isOthers;
  const payment = paymentIn(event);
  const codes = codesReferenced(event.facts);
  const claims =
    payment && from.program.id !== ctx.program.id && payment.subscription_id !== null
      ? [noteClaim(from, ctx.program.id, payment.subscription_id)]
      : [];
  if (from.shard !== ctx.shard) await runBatch(from.db, claims);
  const stored = await storeEvent(ctx, provider, event, body, {
    before: [
      ...(from.shard === ctx.shard ? claims : []),
      ...(guard ? [guard] : []),
      ...(mayBeOthers ? [refuseIfWithdrawn(ctx, provider, event.event_id)] : []),
      ...(event.facts.some(mayWait) ? [noteWaiting(ctx.db, ctx.program.id, delivery)] : []),
      ...(codes.length > 0 ? [recordSeenCodes(ctx, provider, codes)] : []),
      ...(delivery.before?.(ctx) ?? []),
    ],
    ask: [...notedFor(ctx, delivery, payment), ...(codes.length > 0 ? [selectUnfetched(ctx, provider, codes)] : [])],
  });
  if (stored || !mayBeOthers || !(await isWithdrawn(ctx, provider, event.event_id))) return stored;
  // The program has withdrawn from it meanwhile.
  return store(ctx, { ...delivery, event: withdrawnPart(event), claimants: [] }, guard, from);
}

async function settle(ctx: ProgramCtx, delivery: Delivery, stored: StoredEvent, from: ProgramCtx): Promise<Received> {
  const { provider } = delivery;
  const { asked, given } = stored;
  // After a crash the process that closes the event does it (`finishWithdrawal`).
  await withdrawOthers(ctx, provider, given, idsOf(asked, "announced"));
  const received = await settleEvent(ctx, stored);
  const unfetched = idsOf(asked, "unfetched");
  if (unfetched.length > 0) await fetchNames(ctx, delivery, unfetched);
  const payment = paymentIn(given);
  if (!payment) return received;
  const noted = idsOf(asked, "waiting");
  for (const program_id of noted) {
    const source = program_id === from.program.id ? from : await openProgramOrNull(ctx, provider, program_id);
    if (!source || !(await isOfAccount(source, delivery))) continue;
    await fetchFrom(source, ctx, provider, payment);
    await runBatch(ctx.db, [forgetWaiting(ctx, provider, payment, program_id)]);
  }
  const isElsewhere = from.program.id !== ctx.program.id;
  if (isElsewhere && !noted.includes(from.program.id)) await fetchFrom(from, ctx, provider, payment);
  return received;
}

function paymentIn({ facts }: ProviderEvent): PaymentFact | undefined {
  return facts.find((fact) => fact.kind === "payment");
}

function idsOf(asked: readonly Part[], of: string): string[] {
  return asked.flatMap(({ what, data }) => (what === of ? [data] : []));
}

/** Other programs with events that wait for a payment, or with this event, which may be this program's. */
function notedFor(ctx: ProgramCtx, { provider, event, claim }: Delivery, payment: PaymentFact | undefined): SQL[] {
  const subscription_id = payment?.subscription_id ?? null;
  const isOwn = hasDecidingFacts(event) && (claim.program_id === ctx.program.id || subscription_id !== null);
  if (!payment && !isOwn) return [];
  const own = isOwn ? announcementText(ctx.program.id, event) : null;
  return [
    sql`select distinct iif(subject = ${own}, 'announced', 'waiting') as what, program_id as data from waiting_events
      where provider = ${literal(provider)} and subject in (${payment?.key ?? null}, ${subscription_id}, ${own})
        and program_id <> ${ctx.program.id} limit ${literal(MAX_STORING)}`,
  ];
}

function forgetWaiting(ctx: ProgramCtx, provider: VendorName, payment: PaymentFact, program_id: string): Statement {
  const { key, subscription_id } = payment;
  return ctx.db.run(sql`delete from waiting_events
    where provider = ${literal(provider)} and subject in (${key}, ${subscription_id}) and program_id = ${program_id}`);
}

/** Fetches a program's events of another program's payment: refunds, subscription ends, addresses. */
async function fetchFrom(
  source: ProgramCtx,
  ctx: ProgramCtx,
  provider: VendorName,
  payment: PaymentFact,
): Promise<void> {
  const { key, subscription_id, customer_id } = payment;
  const ofSource = sql`program_id = ${source.program.id} and provider = ${literal(provider)}`;
  const rows = await selectRows(
    source.db,
    { event_id: text, event_type: text, occurred_at: text, body: nullable(text), facts: text },
    sql`select e.event_id, e.event_type, e.occurred_at, e.body, (
      select json_group_array(json(data)) from (select data from facts where ${ofSource}
        and fact_id >= e.event_id || '#' and fact_id < e.event_id || '$' order by fact_id)) as facts
    from (select distinct substr(fact_id, 1, instr(fact_id, '#') - 1) as event_id from fact_subjects
      where ${ofSource} and (scope, subject) in (values ('payment', ${key}), ('subscription', ${subscription_id}),
        ('address', ${customer_id}))) named
    cross join provider_events e on e.program_id = ${source.program.id} and e.provider = ${literal(provider)}
      and e.event_id = named.event_id`,
  );
  for (const { body, facts: texts, ...row } of rows) {
    const event = { ...row, facts: JSON.parse(texts) as Fact[], ignored: null, test: false };
    // A fact that claims a payment or a reference for the other program stays there.
    if (event.facts.some(({ kind }) => kind === "payment")) continue;
    const facts = event.facts.filter(({ kind }) => kind !== "attribution" && kind !== "elsewhere");
    if (facts.length > 0) await receiveEvent(ctx, provider, partOf(event, facts), body);
  }
}

/**
 * Fetches names of codes that other programs of the account received earlier; later ones are passed on (`tellNames`).
 */
async function fetchNames(ctx: ProgramCtx, delivery: Delivery, codes: readonly string[]): Promise<void> {
  const { provider } = delivery;
  const { found, failure } = await readPrograms(ctx, provider, selectSeers(provider, codes), [ctx.program.id]);
  if (failure) throw failure.reason;
  for (const { ctx: source } of found) {
    if (await isOfAccount(source, delivery)) await fetchNamesFrom(source, ctx, provider, codes);
  }
  await runBatch(ctx.db, [recordFetchedCodes(ctx, provider, codes)]);
}

async function fetchNamesFrom(
  source: ProgramCtx,
  ctx: ProgramCtx,
  provider: VendorName,
  codes: readonly string[],
): Promise<void> {
  const rows = await selectRows(
    source.db,
    { event_id: text, event_type: text, occurred_at: text, body: nullable(text), fact: text },
    sql`select e.event_id, e.event_type, e.occurred_at, e.body, f.data as fact
      from json_each(${JSON.stringify(codes)}) c
      cross join facts f indexed by facts_of_code on f.program_id = ${source.program.id} and f.provider = ${literal(provider)}
        and f.kind = 'code' and f.ref_key = c.value
      cross join provider_events e on e.program_id = f.program_id and e.provider = f.provider
        and e.event_id = substr(f.fact_id, 1, instr(f.fact_id, '#') - 1)`,
  );
  for (const { fact, body, ...row } of rows) {
    const facts = [JSON.parse(fact) as Fact];
    await receiveEvent(ctx, provider, { ...row, facts, ignored: null, test: false }, body);
  }
}
