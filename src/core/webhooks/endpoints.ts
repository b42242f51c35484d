import { and, desc, eq, isNull, sql, type SQL } from "drizzle-orm";
import { deliveries, webhookEndpoints } from "../../db/schema.ts";
import type { EventPayloads, Subscription } from "../../domain/event.ts";
import { isOwnHost, OWN_HOST_REASON } from "../../domain/own-host.ts";
import { toBase64 } from "../../lib/crypto.ts";
import { invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import type { ENDPOINT } from "../../resources/endpoint.ts";
import type { InputOf, PatchOf } from "../../resources/field.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type Occurrence } from "../kernel/commit.ts";
import { prove, type Caller, type Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Endpoint } from "../kernel/rows.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";

/** The most endpoints of a program (HOOK-1). */
export const MAX_ENDPOINTS = 20;

/** `url` was already checked by `domain/target-url.ts`, and is checked again before every attempt. */
export type EndpointInput = InputOf<Endpoint, typeof ENDPOINT>;

export type EndpointPatch = PatchOf<Endpoint, typeof ENDPOINT>;

/** An endpoint with its unencrypted signing secret: only for the reply that shows it. */
export interface EndpointWithSecret {
  endpoint: Endpoint;
  secret: string;
}

/** Registers an endpoint with a new signing secret. @throws `validation_failed` past the limit of endpoints. */
export async function createEndpoint(caller: Caller, input: EndpointInput): Promise<EndpointWithSecret> {
  refuseOwnHost(caller, input.url);
  const secret = newEndpointSecret();
  return untilWon(async () => {
    const [ctx, [held]] = await prove(
      caller,
      caller.db
        .select({ endpoints: sql<number>`count(*)` })
        .from(webhookEndpoints)
        .where(liveEndpoints(caller)),
    );
    if ((held?.endpoints ?? 0) >= MAX_ENDPOINTS) {
      throw invalidField("webhooks", `A program has at most ${MAX_ENDPOINTS} endpoints.`);
    }
    const stamp = iso(ctx.now);
    const id = newId("endpoint", ctx.now);
    const endpoint: Endpoint = {
      id,
      program_id: ctx.program.id,
      url: input.url,
      secret: await ctx.sealer.seal(secret, { table: "webhook_endpoints", column: "secret", row: id }),
      secret_previous: null,
      secret_previous_until: null,
      events: eventList(input.events),
      description: input.description ?? null,
      active: true,
      failing_since: null,
      failure_count: 0,
      disabled_at: null,
      deleted_at: null,
      created_at: stamp,
      updated_at: stamp,
    };
    const made = { endpoint, secret };
    await commit(ctx, {
      writes: [
        { statement: ctx.db.insert(webhookEndpoints).values(endpoint) },
        // The limit also holds for concurrent creations: the loser reads again and is refused.
        refuseWhere(
          ctx,
          sql`(select count(*) from webhook_endpoints where program_id = ${endpoint.program_id}
            and deleted_at is null) > ${MAX_ENDPOINTS}`,
        ),
      ],
      occurrences: [{ type: "webhook_endpoint.created", payload: payloadOf(endpoint) }],
      result: made,
    });
    return made;
  });
}

/** The program's endpoints, newest first. */
export async function listEndpoints(ctx: Reader): Promise<Endpoint[]> {
  const [rows] = await ctx.read(
    ctx.db.select().from(webhookEndpoints).where(liveEndpoints(ctx)).orderBy(desc(webhookEndpoints.id)),
  );
  return rows;
}

/**
 * Changes an endpoint. Setting it active again resets its failures, so that old ones do not disable it.
 * @throws {StaleChange} if `shown`, the values in the submitted form, differs from the stored endpoint (PAGE-30).
 */
export async function updateEndpoint(
  caller: Caller,
  id: string,
  patch: EndpointPatch,
  shown?: Shown,
): Promise<Endpoint> {
  const all: Partial<Endpoint> = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  if (all.url !== undefined) refuseOwnHost(caller, all.url);
  if (all.events) all.events = eventList(all.events);
  if (all.active) Object.assign(all, { disabled_at: null, failing_since: null, failure_count: 0 });
  return untilWon(async () => {
    const before = await readEndpoint(caller, id);
    const given = pickChanged(before, all, { shown });
    const [ctx] = await prove(caller);
    if (Object.keys(given).length === 0) return before;
    const endpoint: Endpoint = { ...before, ...given, updated_at: nextStamp(before.updated_at, ctx.now) };
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(webhookEndpoints)
            .set({ ...given, updated_at: endpoint.updated_at })
            .where(and(liveEndpoints(ctx, id), eq(webhookEndpoints.updated_at, before.updated_at))),
          expect: 1,
        },
      ],
      occurrences: [endpointChanged(before, endpoint)],
      result: endpoint,
    });
    return endpoint;
  });
}

/** Removes an endpoint: no further event is sent to it, and its pending deliveries end as failed. */
export async function deleteEndpoint(caller: Caller, id: string): Promise<Endpoint> {
  return untilWon(async () => {
    const endpoint = await readEndpoint(caller, id);
    const [ctx] = await prove(caller);
    const stamp = iso(ctx.now);
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(webhookEndpoints)
            .set({ deleted_at: stamp, updated_at: stamp })
            .where(liveEndpoints(ctx, id)),
          expect: 1,
        },
        {
          statement: ctx.db
            .update(deliveries)
            .set({ status: "failed", next_attempt_at: null, claimed_until: null, completed_at: stamp })
            .where(and(eq(deliveries.endpoint_id, id), sql`${deliveries.status} in ('pending', 'delivering')`)),
        },
      ],
      occurrences: [{ type: "webhook_endpoint.deleted", payload: payloadOf(endpoint) }],
      result: endpoint,
    });
    return endpoint;
  });
}

export async function readEndpoint(ctx: Reader, id: string): Promise<Endpoint> {
  const [[endpoint]] = await ctx.read(ctx.db.select().from(webhookEndpoints).where(liveEndpoints(ctx, id)));
  if (!endpoint) throw notFound("webhook endpoint");
  return endpoint;
}

/** The endpoints of the program that are not deleted, or the one of them with this id. */
export function liveEndpoints(ctx: Reader, id?: string): SQL | undefined {
  return and(
    sql`${webhookEndpoints.program_id} = ${ctx.programId}`,
    id === undefined ? undefined : eq(webhookEndpoints.id, id),
    isNull(webhookEndpoints.deleted_at),
  );
}

/** Also checked before every attempt (`core/kernel/target.ts`). */
function refuseOwnHost({ ownHosts }: Reader, url: string): void {
  if (isOwnHost(new URL(url).hostname, ownHosts)) throw invalidField("url", `The URL ${OWN_HOST_REASON}.`);
}

const SECRET_BYTES = 32;

/** `whsec_` + base64 of 32 random bytes (HOOK-17): the format of stock verification libraries. */
export function newEndpointSecret(): string {
  return `whsec_${toBase64(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)))}`;
}

/** Each type once; `*` stands for all types and replaces the others. */
function eventList(events: readonly Subscription[]): Subscription[] {
  return events.includes("*") ? ["*"] : [...new Set(events)];
}

/** A change of an endpoint, for the audit log; `why` is set if it is not an ordinary change by the owner. */
export function endpointChanged(
  before: Endpoint,
  after: Endpoint,
  why: Partial<Omit<EventPayloads["webhook_endpoint.updated"], keyof ReturnType<typeof payloadOf>>> = {},
): Occurrence {
  return {
    type: "webhook_endpoint.updated",
    changes: changesOf("endpoint", before, after),
    payload: { ...payloadOf(after), ...why },
  };
}

function payloadOf(endpoint: Endpoint): EventPayloads["webhook_endpoint.created"] {
  const { id: endpoint_id, url, events, description, active } = endpoint;
  return { endpoint_id, url, events, description, active };
}
