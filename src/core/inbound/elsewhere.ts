/**
 * Handles programs of one vendor account that have a webhook address and a secret each: every event of the account is
 * delivered to all of them. If an event claims a program that has stored the same event itself, only that program
 * decides it (IN-1). Either program may receive it first. A program that stores the event without being its claimant
 * first writes a note in the claimant's database. The claimant reads such notes when it has stored the event, and makes
 * the other programs withdraw their decisions by it.
 */
import { sql } from "drizzle-orm";
import { literal, runBatch, runThenRead } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import type { Fact } from "../../domain/fact.ts";
import { CLAIMED_ELSEWHERE } from "../../domain/payment.ts";
import type { ProviderName, VendorName } from "../../domain/provider-name.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import { claimsPrograms, vendorNamed } from "../../providers/registry.ts";
import { refuseIf } from "../kernel/conflict.ts";
import type { Ctx, ProgramCtx, Statement } from "../kernel/context.ts";
import { factsOfEvent, sortFacts, storedEvent } from "../ledger/facts.ts";
import { forgetReferences } from "../ledger/unremember.ts";
import { openProgramOrNull } from "./locate.ts";
import { receiveEvent } from "./receive.ts";

/** An event as it was received, or as it is stored. */
type Said = Pick<ProviderEvent, "event_id" | "event_type" | "occurred_at" | "facts">;

/** Whether a program decides anything by an event: all programs may store the names of customers and codes. */
export function hasDecidingFacts({ facts }: Pick<ProviderEvent, "facts">): boolean {
  return facts.some((fact) => fact.kind === "payment" || isRemembered(fact));
}

function isRemembered({ kind }: Fact): boolean {
  return kind === "attribution" || kind === "code_use";
}

/**
 * The note in `waiting_events` that another program has an event which may be this one's, with the event's payment:
 * another sender's event of the same id has another.
 */
export function announcementText(program_id: string, { event_id, facts }: Pick<Said, "event_id" | "facts">): string {
  return `event:${program_id}:${event_id}:${paymentIn(facts)?.key ?? ""}`;
}

function paymentIn(facts: readonly Fact[]) {
  return facts.find((fact) => fact.kind === "payment");
}

/**
 * Whether one of the event's possible programs has stored it. The others get a note that this program received it. If
 * one has, this program withdraws its decisions by the event.
 */
export async function isOwnedElsewhere(
  ctx: ProgramCtx,
  provider: VendorName,
  event: Said,
  claimants: readonly ProgramCtx[],
): Promise<boolean> {
  if (!hasDecidingFacts(event)) return false;
  for (const claimant of claimants) {
    if (!(await announce(ctx, provider, event, claimant))) continue;
    await giveUp(ctx, provider, event, claimant.program.id);
    return true;
  }
  return false;
}

/** Whether the claimant has stored the event; if not, the same transaction notes that this program received it. */
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
    select ${provider}, ${announcementText(id, event)}, ${program.id} where not exists (${stored}) on conflict do nothing`);
  const [rows] = await runThenRead(db, [note], [selectRows(db, { event_id: text }, stored)]);
  return rows.length > 0;
}

/** Deletes a note, once the other program has withdrawn its decisions by the event. */
function forgetAnnounced({ db, program }: ProgramCtx, provider: VendorName, event: Said, other: string): Statement {
  return db.run(sql`delete from waiting_events
    where provider = ${provider} and subject = ${announcementText(program.id, event)} and program_id = ${other}`);
}

/** The event id under which a program records that it has withdrawn its decisions by an event. */
function givenUpId(event_id: string): string {
  return `${event_id}:elsewhere`;
}

export async function isWithdrawn(
  { db, program }: ProgramCtx,
  provider: VendorName,
  event_id: string,
): Promise<boolean> {
  const rows = await selectRows(db, { event_id: text }, storedEvent(program.id, provider, givenUpId(event_id)));
  return rows.length > 0;
}

/** Refuses the batch that stores an event as this program's if the program has withdrawn from it meanwhile. */
export function refuseIfWithdrawn({ db, program }: ProgramCtx, provider: VendorName, event_id: string): Statement {
  return db.run(refuseIf(sql`exists (${storedEvent(program.id, provider, givenUpId(event_id))})`));
}

/**
 * Makes an event the program's `owner`, whether this program has stored it or will: in this program its payment earns
 * no commission and its references are dropped. It can be repeated.
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
      ...forgetReferences(ctx, provider, event_id, payment?.key ?? null),
      ...(subscription_id === null ? [] : [noteClaim(ctx, owner, subscription_id)]),
    ],
  );
}

/** Makes other programs withdraw from an event that this program owns and has stored. */
export async function withdrawOthers(
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

/** Repeats the step between storing and closing an event that a crash left open. */
export async function finishWithdrawal(ctx: ProgramCtx, name: ProviderName, event_id: string): Promise<void> {
  const provider = vendorNamed(name)?.name;
  if (!provider || !claimsPrograms(provider)) return;
  const ofProgram = sql`program_id = ${ctx.program.id} and provider = ${literal(provider)} and event_id = ${event_id}`;
  const [[row], rows] = await ctx.read(
    selectRows(
      ctx.db,
      { event_type: text, occurred_at: text },
      sql`select event_type, occurred_at from provider_events where ${ofProgram}`,
    ),
    factsOfEvent(ctx, provider, event_id),
  );
  if (!row) return;
  const event: Said = { event_id, ...row, facts: sortFacts(rows) };
  const noted = await selectRows(
    ctx.db,
    { program_id: text },
    sql`select program_id from waiting_events where provider = ${literal(provider)}
      and subject = ${announcementText(ctx.program.id, event)}`,
  );
  await withdrawOthers(
    ctx,
    provider,
    event,
    noted.map(({ program_id }) => program_id),
  );
}

/** The part of an event that is stored in a program it is not for. */
export function withdrawnPart(event: ProviderEvent): ProviderEvent {
  const facts = event.facts.filter((fact) => !isRemembered(fact));
  return facts.length > 0 ? { ...event, facts } : { ...event, facts, ignored: CLAIMED_ELSEWHERE };
}

/** Records in the URL's program's database that a subscription's events there belong to another program. */
export function noteClaim({ db }: Ctx, program_id: string, subscription_id: string): Statement {
  return db.run(sql`insert into claimed_subscriptions (subscription_id, program_id)
    values (${subscription_id}, ${program_id}) on conflict do nothing`);
}
