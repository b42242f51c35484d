/**
 * Invoices of which an event has some of the lines: with an API key the provider is asked for the others, once (IN-22). Until then
 * the invoice waits among `waiting_events`, as `lines:` and its id.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import type { PaymentFact } from "../../domain/fact.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ReadFailure, VendorReads } from "../../providers/reads.ts";
import { hasSameKey } from "../kernel/connections.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { storedEvent } from "../ledger/facts.ts";
import { receiveEvent } from "./receive.ts";

const PREFIX = "lines:";
/** After every text that begins with the prefix. */
const BEYOND = "lines;";

/** Those of `waiting_events` that are no invoices. */
export function isNoInvoice(subject: SQL): SQL {
  return sql`not (${subject} >= ${PREFIX} and ${subject} < ${BEYOND})`;
}

/** Notes, before the event is stored, an invoice whose further lines were never read. */
export function noteUnreadLines(
  { db, program }: Pick<ProgramCtx, "db" | "program">,
  provider: VendorName,
  { facts, test }: ProviderEvent,
): Statement[] {
  if (test && program.live_only) return [];
  return facts.flatMap((fact) => {
    if (fact.kind !== "payment" || !fact.more_lines) return [];
    const subject = PREFIX + fact.key;
    return [
      db.run(sql`insert into waiting_events (provider, subject, program_id)
        select ${literal(provider)}, ${subject}, ${program.id}
        where not exists (${storedEvent(program.id, provider, subject)}) on conflict do nothing`),
    ];
  });
}

/** Notes again the invoices of some events (`within`: SQL about `e`) whose further lines were never read. */
export function noteUnreadLinesAgain({ db, program }: ProgramCtx, provider: VendorName, within: SQL): Statement {
  const subject = sql`${PREFIX} || (f.data ->> 'key')`;
  return db.run(sql`insert into waiting_events (provider, subject, program_id)
    select ${provider}, ${subject}, ${program.id} from provider_events e
      cross join facts f on f.program_id = e.program_id and f.provider = e.provider
        and f.fact_id >= e.event_id || '#' and f.fact_id < e.event_id || '$' and f.kind = 'payment'
    where ${within} and f.data ->> 'more_lines' and not exists (${storedEvent(program.id, provider, subject)})
    on conflict do nothing`);
}

/** The invoices of a program whose lines wait to be read, some of them. */
export async function unreadLinesOf({ db, program }: ProgramCtx, provider: VendorName, most: number) {
  const rows = await shaped(
    db,
    { id: text },
    sql`select substr(subject, ${literal(PREFIX.length + 1)}) as id
      from waiting_events indexed by waiting_events_of_program
      where program_id = ${program.id} and provider = ${provider} and subject >= ${PREFIX} and subject < ${BEYOND}
      order by subject limit ${literal(most)}`,
  );
  return rows.map(({ id }) => id);
}

/** Asks for the lines of an invoice and stores what they say. Why the provider did not answer; null where it did. */
export async function askLines(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  api_key: string,
  key: string,
): Promise<ReadFailure | null> {
  const { db, program } = ctx;
  const [stored] = await shaped(
    db,
    { data: text },
    sql`select f.data from fact_subjects s
      cross join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id
      where s.program_id = ${program.id} and s.provider = ${provider} and s.scope = 'payment' and s.subject = ${key}
        and f.kind = 'payment' and f.data ->> 'more_lines' order by f.occurred_at desc limit 1`,
  );
  let isRead = false;
  if (stored && reads.readLines) {
    const answer = await reads.readLines(api_key, JSON.parse(stored.data) as PaymentFact);
    if (answer.outcome === "failed" && answer.reason !== "refused") return answer;
    isRead = answer.outcome === "read";
    if (answer.outcome === "read") {
      const { facts } = answer;
      const event = { event_id: PREFIX + key, event_type: "lines", occurred_at: iso(ctx.now), test: false };
      const ignored = facts.length === 0 ? "no_ref" : null;
      await receiveEvent(ctx, provider, { ...event, listed: true, facts, ignored }, null);
    }
  }
  await db.run(sql`delete from waiting_events
    where provider = ${provider} and subject = ${PREFIX + key} and program_id = ${program.id}
      and ${isRead ? sql`true` : hasSameKey(program, provider)}`);
  return null;
}
