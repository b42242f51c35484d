/**
 * Refunds and disputes whose payment is not known, for they name it by other ids than the payment does: with an API key the
 * provider is asked which belong together (IN-19).
 */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import { isLiveOnly } from "../../domain/program.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ReadFailure, VendorReads } from "../../providers/reads.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { paymentsNamed, reachable } from "../ledger/facts.ts";
import { isNoCode } from "./unnamed-codes.ts";
import { receiveEvent } from "./receive.ts";

/** Notes, before the event is stored, what of it names a payment that is not known; nothing of one that gives nothing back. */
export function noteUnlinked(
  { db, program }: ProgramCtx,
  provider: VendorName,
  { facts, test }: ProviderEvent,
): Statement[] {
  if (test && isLiveOnly(program)) return [];
  return facts.flatMap((fact) => {
    if (fact.kind !== "adjustment") return [];
    const named = reachable(program.id, provider, sql`select value from json_each(${JSON.stringify(fact.aliases)})`);
    // The last id is the nearest to what the payment goes by.
    return [
      db.run(sql`insert into waiting_events (provider, subject, program_id)
        select ${provider}, ${fact.aliases.at(-1)}, ${program.id}
        where not exists (${paymentsNamed(program.id, provider, named)}) on conflict do nothing`),
    ];
  });
}

/** Those of a program that wait, some of them. */
export async function unlinkedOf({ db, program }: ProgramCtx, provider: VendorName, most: number): Promise<string[]> {
  const rows = await shaped(
    db,
    { subject: text },
    sql`select subject from waiting_events indexed by waiting_events_of_program
      where program_id = ${program.id} and provider = ${provider} and ${isNoCode(sql`subject`)}
      order by subject limit ${literal(most)}`,
  );
  return rows.map(({ subject }) => subject);
}

/**
 * Asks which payment an id is of, unless that is known by now, and stores what the provider says, once. Why it did not
 * answer, and is to be asked again; null where it did. Where it knows nothing of the id, the refund waits for an event that
 * does.
 */
export async function linkPayment(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  api_key: string,
  subject: string,
): Promise<ReadFailure | null> {
  const seeds = reachable(ctx.program.id, provider, sql`select ${subject}`);
  const known = await shaped(ctx.db, { id: text }, paymentsNamed(ctx.program.id, provider, seeds));
  if (known.length === 0 && reads.readLinks) {
    const answer = await reads.readLinks(api_key, subject);
    if (answer.outcome === "failed" && answer.reason !== "refused") return answer;
    const aliases = answer.outcome === "read" ? answer.aliases : [];
    const occurred_at = iso(ctx.now);
    if (aliases.length > 1) {
      const event = { event_id: `link:${subject}`, event_type: "link", occurred_at, test: false, ignored: null };
      await receiveEvent(
        ctx,
        provider,
        { ...event, listed: true, facts: [{ kind: "link", occurred_at, aliases }] },
        null,
      );
    }
  }
  await ctx.db.run(sql`delete from waiting_events
    where provider = ${provider} and subject = ${subject} and program_id = ${ctx.program.id}`);
  return null;
}
