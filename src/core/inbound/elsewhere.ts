/**
 * Programs of one vendor account that have a webhook address and a secret each: every event of the account comes to all of them.
 * One that claims a program which has stored that very event itself is decided there alone (IN-1). Each of the two may come
 * first: who stores the event without being its claimant notes that in the claimant's database before, who is the claimant
 * looks for such notes when it has stored it, and has the others give up what they decided by it.
 */
import { sql } from "drizzle-orm";
import { literal, runBatch, runThenRead } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import type { Fact } from "../../domain/fact.ts";
import { CLAIMED_ELSEWHERE } from "../../domain/payment.ts";
import type { ProviderName, VendorName } from "../../domain/provider-name.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import { claimsPrograms, vendorNamed } from "../../providers/registry.ts";
import { refuseIf } from "../kernel/conflict.ts";
import type { Ctx, ProgramCtx, Statement } from "../kernel/context.ts";
import { factsOfEvent, inOrder, storedEvent } from "../ledger/facts.ts";
import { unremember } from "../ledger/unremember.ts";
import { openProgramOrNull } from "./locate.ts";
import { receiveEvent } from "./receive.ts";

/** An event as it was received, or as it is stored. */
type Said = Pick<ProviderEvent, "event_id" | "event_type" | "occurred_at" | "facts">;

/** Whether a program decides anything by an event: what a customer or a code is called, all programs may know. */
export function decides({ facts }: Pick<ProviderEvent, "facts">): boolean {
  return facts.some((fact) => fact.kind === "payment" || isRemembered(fact));
}

function isRemembered({ kind }: Fact): boolean {
  return kind === "attribution" || kind === "code_use";
}

/**
 * How it is noted among `waiting_events` that another program has an event which may be this one's. With its payment: an event
 * of the same id that this program is sent by somebody else is of no payment of the other.
 */
export function announcement(program_id: string, { event_id, facts }: Pick<Said, "event_id" | "facts">): string {
  return `event:${program_id}:${event_id}:${paymentIn(facts)?.key ?? ""}`;
}

function paymentIn(facts: readonly Fact[]) {
  return facts.find((fact) => fact.kind === "payment");
}

/**
 * Whether one of the programs that may be an event's has stored it; the others have a note from then on that it has come to this
 * program. What this program has decided by it is given up then.
 */
export async function isAnothers(
  ctx: ProgramCtx,
  provider: VendorName,
  event: Said,
  claimants: readonly ProgramCtx[],
): Promise<boolean> {
  if (!decides(event)) return false;
  for (const claimant of claimants) {
    if (!(await announce(ctx, provider, event, claimant))) continue;
    await giveUp(ctx, provider, event, claimant.program.id);
    return true;
  }
  return false;
}

/** Whether the claimant has stored the event; notes in the same transaction that it has come to this program, where it has not. */
async function announce(
  { program }: ProgramCtx,
  provider: VendorName,
  event: Said,
  { db, program: { id } }: ProgramCtx,
): Promise<boolean> {
  const key = paymentIn(event.facts)?.key ?? null;
  const payment = sql`select 1 from payments where program_id = ${id} and provider = ${literal(provider)}
    and provider_transaction_id = ${key}`;
  const stored = sql`${storedEvent(id, provider, event.event_id)} and (${key} is null or exists (${payment}))`;
  const note = db.run(sql`insert into waiting_events (provider, subject, program_id)
    select ${provider}, ${announcement(id, event)}, ${program.id} where not exists (${stored}) on conflict do nothing`);
  const [rows] = await runThenRead(db, [note], [shaped(db, { event_id: text }, stored)]);
  return rows.length > 0;
}

/** Takes a note away, once the other program has given the event up. */
function forgetAnnounced({ db, program }: ProgramCtx, provider: VendorName, event: Said, other: string): Statement {
  return db.run(sql`delete from waiting_events
    where provider = ${provider} and subject = ${announcement(program.id, event)} and program_id = ${other}`);
}

/** Under which id a program keeps that it has given up an event. */
function givenUpId(event_id: string): string {
  return `${event_id}:elsewhere`;
}

export async function isGivenUp({ db, program }: ProgramCtx, provider: VendorName, event_id: string): Promise<boolean> {
  const rows = await shaped(db, { event_id: text }, storedEvent(program.id, provider, givenUpId(event_id)));
  return rows.length > 0;
}

/** Refuses the batch that stores an event as this program's where it was given up meanwhile. */
export function unlessGivenUp({ db, program }: ProgramCtx, provider: VendorName, event_id: string): Statement {
  return db.run(refuseIf(sql`exists (${storedEvent(program.id, provider, givenUpId(event_id))})`));
}

/**
 * Makes an event the program's `owner`, whether this program has stored it or will: its payment earns nothing here, and
 * nothing is remembered by it. It may be done again.
 */
async function giveUp(ctx: ProgramCtx, provider: VendorName, event: Said, owner: string): Promise<void> {
  const { event_id, event_type, occurred_at, facts } = event;
  const payment = paymentIn(facts);
  const said: Fact[] = payment ? [{ kind: "elsewhere", occurred_at, aliases: payment.aliases, program_id: owner }] : [];
  const subscription_id = payment?.subscription_id ?? null;
  await receiveEvent(
    ctx,
    provider,
    {
      ...{ event_id: givenUpId(event_id), event_type, occurred_at, facts: said, test: false, listed: true },
      ignored: payment ? null : CLAIMED_ELSEWHERE,
    },
    null,
    [
      ...unremember(ctx, provider, event_id, payment?.key ?? null),
      ...(subscription_id === null ? [] : [noteClaim(ctx, owner, subscription_id)]),
    ],
  );
}

/** Has other programs give up an event that is this one's, and that this one has stored. */
export async function haveGivenUp(
  ctx: ProgramCtx,
  provider: VendorName,
  event: Said,
  others: readonly string[],
): Promise<void> {
  for (const program_id of others) {
    const other = await openProgramOrNull(ctx, provider, program_id);
    if (other) await giveUp(other, provider, event, ctx.program.id);
    await runBatch(ctx.db, [forgetAnnounced(ctx, provider, event, program_id)]);
  }
}

/** Does of an event that a crash left open what is done between storing and closing it. */
export async function finishGivingUp(ctx: ProgramCtx, name: ProviderName, event_id: string): Promise<void> {
  const provider = vendorNamed(name)?.name;
  if (!provider || !claimsPrograms(provider)) return;
  const ofProgram = sql`program_id = ${ctx.program.id} and provider = ${literal(provider)} and event_id = ${event_id}`;
  const [[row], rows] = await ctx.read(
    shaped(
      ctx.db,
      { event_type: text, occurred_at: text },
      sql`select event_type, occurred_at from provider_events where ${ofProgram}`,
    ),
    factsOfEvent(ctx, provider, event_id),
  );
  if (!row) return;
  const event: Said = { event_id, ...row, facts: inOrder(rows) };
  const noted = await shaped(
    ctx.db,
    { program_id: text },
    sql`select program_id from waiting_events where provider = ${literal(provider)}
      and subject = ${announcement(ctx.program.id, event)}`,
  );
  await haveGivenUp(
    ctx,
    provider,
    event,
    noted.map(({ program_id }) => program_id),
  );
}

/** What of an event is stored in a program that it is not for. */
export function givenUp(event: ProviderEvent): ProviderEvent {
  const facts = event.facts.filter((fact) => !isRemembered(fact));
  return facts.length > 0 ? { ...event, facts } : { ...event, facts, ignored: CLAIMED_ELSEWHERE };
}

/** Notes in the database of the URL's program that a subscription whose events come to it is another program's. */
export function noteClaim({ db }: Ctx, program_id: string, subscription_id: string): Statement {
  return db.run(sql`insert into claimed_subscriptions (subscription_id, program_id)
    values (${subscription_id}, ${program_id}) on conflict do nothing`);
}
