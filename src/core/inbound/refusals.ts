import { sql } from "drizzle-orm";
import { jsonFields } from "../../db/json-object.ts";
import type { EventPayloads } from "../../domain/event.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { isAboutSignature, REFUSAL_REASONS, type RefusalReason } from "../../domain/refusal.ts";
import { firstIdAt, newId } from "../../lib/id.ts";
import { HOUR, iso } from "../../lib/time.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { connectionOf } from "../kernel/connections.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Program } from "../kernel/rows.ts";

/** A program's stored refusals of one provider, for each reason. */
interface Kept {
  /** The time of the last refusal. */
  at: string;
  count: number;
  /** The newest audit event that reported them. */
  event_id: string;
}

export interface Refusals {
  /** All refused deliveries so far, for any reason. */
  refused: number;
  last_refusal: Refusal | null;
}

export interface Refusal {
  at: string;
  reason: RefusalReason;
}

/**
 * Counts refused deliveries. `webhook.refused` reports the total hourly for each provider and reason: the row decides
 * which isolate writes it. `beside` is written with it.
 */
export async function noteRefusals(
  ctx: ProgramCtx,
  provider: VendorName,
  reason: RefusalReason,
  count: number,
  beside: Write[] = [],
): Promise<void> {
  const { db, program, now } = ctx;
  const kept = (field: keyof Kept) => sql`provider_connections.refusals ->> ${`$.${reason}.${field}`}`;
  const id = newId("event", now);
  await commit(ctx, {
    writes: [
      ...beside,
      {
        statement: db.run(sql`insert into provider_connections (program_id, provider, refusals)
          values (${program.id}, ${provider}, json_object(${reason},
            json_object('at', ${iso(now)}, 'count', ${count}, 'event_id', ${id})))
          on conflict (program_id, provider) do update set refusals = json_set(
            coalesce(provider_connections.refusals, '{}'), ${`$.${reason}`},
            json_object('at', max(${iso(now)}, coalesce(${kept("at")}, '')),
              'count', coalesce(${kept("count")}, 0) + ${count},
              'event_id', case when ${kept("event_id")} > ${firstIdAt("event", now - HOUR)} then ${kept("event_id")}
                else ${id} end))`),
      },
    ],
    occurrences: [],
    selected: [
      {
        type: "webhook.refused",
        id: sql`${id}`,
        payload: jsonFields<EventPayloads["webhook.refused"]>({
          provider: sql`${provider}`,
          reason: sql`${reason}`,
          count: kept("count"),
        }),
        from: sql`from provider_connections where program_id = ${program.id} and provider = ${provider}
          and ${kept("event_id")} = ${id}`,
      },
    ],
    ownerMails: [{ kind: "webhooks_refused" }],
  });
}

/** A program's refused deliveries of one provider. Reasons that this version does not support are left out. */
export function refusalsOf(program: Program, provider: VendorName): Refusals {
  const text = connectionOf(program, provider).refusals;
  const kept = text === null ? {} : (JSON.parse(text) as Partial<Record<RefusalReason, Kept>>);
  const all = REFUSAL_REASONS.flatMap((reason) => (kept[reason] ? [{ reason, ...kept[reason] }] : []));
  const [last] = all.toSorted((a, b) => (a.at < b.at ? 1 : -1));
  return {
    refused: all.reduce((sum, { count }) => sum + count, 0),
    last_refusal: last ? { at: last.at, reason: last.reason } : null,
  };
}

/** The last refused delivery, unless a verified event was received after it: then the problem is over. */
export function openRefusalOf(program: Program, provider: VendorName): Refusal | null {
  const { last_refusal } = refusalsOf(program, provider);
  const { last_event_at } = connectionOf(program, provider);
  if (last_refusal === null || isOfRemovedSecret(program, provider, last_refusal)) return null;
  const isOver = last_event_at !== null && last_event_at > last_refusal.at;
  return isOver ? null : last_refusal;
}

/** Whether a refusal was about a signature, whose secret is no longer set: it needs no action. */
export function isOfRemovedSecret(program: Program, provider: VendorName, { reason }: Refusal): boolean {
  return connectionOf(program, provider).webhook_secret === null && isAboutSignature(reason);
}
