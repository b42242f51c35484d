/**
 * Refunds and disputes whose payment is not known, for they name it by other ids than the payment does: with an API key the
 * provider is asked which belong together (IN-19).
 */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ReadFailure, VendorReads } from "../../providers/reads.ts";
import { hasSameKey } from "../kernel/connections.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { paymentsNamed, reachable } from "../ledger/named.ts";
import { isNoInvoice } from "./lines.ts";
import { isNoCode } from "./unnamed-codes.ts";
import { receiveEvent } from "./receive.ts";

/** Notes, before the event is stored, what of it names a payment that is not known; nothing of one that gives nothing back. */
export function noteUnlinked(
  { db, program }: ProgramCtx,
  provider: VendorName,
  { facts, test }: ProviderEvent,
): Statement[] {
  if (test && program.live_only) return [];
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

/** Before the id of what was asked for with another key: in the order of texts it comes after what never was. */
const AGAIN = "~";

/** Notes again what of some events (`within`: SQL about `e`) names a payment that is not known. */
export function noteUnlinkedAgain({ db, program }: ProgramCtx, provider: VendorName, within: SQL): Statement {
  const seeds = sql`select value from json_each(f.data, '$.aliases')`;
  const named = reachable(program.id, provider, seeds);
  const last = sql`f.data ->> '$.aliases[#-1]'`;
  return db.run(sql`insert into waiting_events (provider, subject, program_id)
    select ${provider}, ${AGAIN} || (${last}), ${program.id} from provider_events e
      cross join facts f on f.program_id = e.program_id and f.provider = e.provider
        and f.fact_id >= e.event_id || '#' and f.fact_id < e.event_id || '$' and f.kind = 'adjustment'
    where ${within} and e.ignored is null and not exists (${paymentsNamed(program.id, provider, named)})
      and not exists (select 1 from waiting_events where provider = ${provider} and subject = ${last}
        and program_id = ${program.id})
    on conflict do nothing`);
}

/** Those of a program that wait, some of them. */
export async function unlinkedOf({ db, program }: ProgramCtx, provider: VendorName, most: number): Promise<string[]> {
  const rows = await shaped(
    db,
    { subject: text },
    sql`select subject from waiting_events indexed by waiting_events_of_program
      where program_id = ${program.id} and provider = ${provider} and ${isNoCode(sql`subject`)}
        and ${isNoInvoice(sql`subject`)}
      order by subject limit ${literal(most)}`,
  );
  return rows.map(({ subject }) => subject);
}

/**
 * Asks which payment an id is of, unless that is known by now, and stores what the provider says, once. Why it did not
 * answer, and is to be asked again; null where it did. Where it knows nothing of the id, the refund waits for an event that
 * does, or for another API key.
 */
export async function linkPayment(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  api_key: string,
  noted: string,
): Promise<ReadFailure | null> {
  const subject = noted.startsWith(AGAIN) ? noted.slice(AGAIN.length) : noted;
  const seeds = reachable(ctx.program.id, provider, sql`select ${subject}`);
  const known = await shaped(ctx.db, { id: text }, paymentsNamed(ctx.program.id, provider, seeds));
  let isFound = known.length > 0;
  if (!isFound && reads.readLinks) {
    const answer = await reads.readLinks(api_key, subject);
    if (answer.outcome === "failed" && answer.reason !== "refused") return answer;
    const aliases = answer.outcome === "read" ? answer.aliases : [];
    const occurred_at = iso(ctx.now);
    isFound = aliases.length > 1;
    if (isFound) {
      const event = { event_id: `link:${subject}`, event_type: "link", occurred_at, test: false, ignored: null };
      await receiveEvent(
        ctx,
        provider,
        { ...event, listed: true, facts: [{ kind: "link", occurred_at, aliases }] },
        null,
      );
    }
  }
  // That nothing is known holds of one key: where another is stored meanwhile, it is asked with that one.
  await ctx.db.run(sql`delete from waiting_events
    where provider = ${provider} and subject in (${subject}, ${AGAIN + subject}) and program_id = ${ctx.program.id}
      and ${isFound ? sql`true` : hasSameKey(ctx.program, provider)}`);
  return null;
}
