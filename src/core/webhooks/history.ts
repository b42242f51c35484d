import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { cursorId, pageOf, window, type Order, type Page, type PageRequest } from "../../db/page.ts";
import { nullable, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { webhookEndpoints } from "../../db/schema.ts";
import type { AttemptError, DeliveryStatus } from "../../domain/delivery.ts";
import type { SentEventType } from "../../domain/event.ts";
import { notFound } from "../../lib/errors.ts";
import type { Reader } from "../kernel/context.ts";
import type { Endpoint } from "../kernel/rows.ts";
import { withoutPayoutDetails, type PartnerView } from "../kernel/views.ts";
import { liveEndpoints } from "./endpoints.ts";

export interface AttemptRecord {
  number: number;
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: AttemptError | null;
  response_excerpt: string | null;
}

/** One event to one endpoint with all its attempts (HOOK-14). */
export interface DeliveryRecord {
  id: string;
  event_id: string;
  event: SentEventType;
  status: DeliveryStatus;
  attempt_count: number;
  next_attempt_at: string | null;
  created_at: string;
  completed_at: string | null;
  /** The parsed body that was signed and sent. */
  payload: Record<string, unknown> | null;
  attempts: AttemptRecord[];
}

/**
 * A delivery as visible: without `payouts`, details are masked and answers hidden, which may repeat them (ACCESS-12).
 */
export function viewDelivery(delivery: DeliveryRecord, ctx: Pick<Reader, "may">): DeliveryRecord {
  const data = delivery.payload?.["data"] as Partial<PartnerView> | undefined;
  const masked = data && withoutPayoutDetails(data);
  if (ctx.may("payouts") || masked === data) return delivery;
  const attempts = delivery.attempts.map((attempt) => ({ ...attempt, response_excerpt: null }));
  return { ...delivery, payload: { ...delivery.payload, data: masked }, attempts };
}

export interface DeliveryFilter extends PageRequest {
  status?: DeliveryStatus | undefined;
}

/** How many of the newest deliveries an endpoint includes (HOOK-14). */
const SHOWN_WITH_ENDPOINT = 100;

/** An endpoint with its newest deliveries. */
export async function getEndpoint(
  ctx: Reader,
  id: string,
): Promise<{ endpoint: Endpoint; deliveries: DeliveryRecord[] }> {
  const [[endpoint], rows] = await ctx.read(
    ctx.db.select().from(webhookEndpoints).where(liveEndpoints(ctx, id)),
    selectRows(ctx.db, DELIVERY_ROW, selectDeliveries(ofEndpoint(ctx, id), SHOWN_WITH_ENDPOINT, 0)),
  );
  if (!endpoint) throw notFound("webhook endpoint");
  return { endpoint, deliveries: rows.map(recordOf) };
}

/** All deliveries of an endpoint, newest first by default. */
export async function listDeliveries(ctx: Reader, id: string, filter: DeliveryFilter): Promise<Page<DeliveryRecord>> {
  const matching =
    filter.status === undefined
      ? ofEndpoint(ctx, id)
      : sql`${ofEndpoint(ctx, id)} and d.status = ${literal(filter.status)}`;
  const after = cursorId(filter, "delivery");
  const { limit, offset } = window(filter);
  const beyond = filter.order === "oldest" ? sql`>` : sql`<`;
  const total =
    filter.counted === false
      ? sql`select 0 as total`
      : sql`select count(*) as total from deliveries d where ${matching}`;
  const [[endpoint], rows, [counted]] = await ctx.read(
    ctx.db.select().from(webhookEndpoints).where(liveEndpoints(ctx, id)),
    selectRows(
      ctx.db,
      DELIVERY_ROW,
      selectDeliveries(
        after === null ? matching : sql`${matching} and d.id ${beyond} ${after}`,
        limit,
        offset,
        filter.order,
      ),
    ),
    selectRows(ctx.db, { total: whole }, total),
  );
  if (!endpoint) throw notFound("webhook endpoint");
  return pageOf(filter, rows, counted?.total ?? 0, recordOf);
}

type DeliveryRow = Omit<DeliveryRecord, "payload" | "attempts"> & { body: string | null; attempts: string };

const DELIVERY_ROW: Columns<DeliveryRow> = {
  id: text,
  event_id: text,
  event: textOf<SentEventType>(),
  status: textOf<DeliveryStatus>(),
  attempt_count: whole,
  next_attempt_at: nullable(text),
  created_at: text,
  completed_at: nullable(text),
  body: nullable(text),
  attempts: text,
};

/** Selects one delivery of an endpoint, to be read with other statements; `recordOf` makes its record. */
export function selectDelivery(ctx: Reader, endpoint_id: string, id: string) {
  return selectRows(
    ctx.db,
    DELIVERY_ROW,
    selectDeliveries(sql`${ofEndpoint(ctx, endpoint_id)} and d.id = ${id}`, 1, 0),
  );
}

function ofEndpoint(ctx: Reader, id: string): SQL {
  return sql`d.endpoint_id = ${id} and d.program_id = ${ctx.programId}`;
}

function selectDeliveries(matching: SQL, limit: number, offset: number, order: Order = "newest"): SQL {
  const direction = order === "oldest" ? sql`asc` : sql`desc`;
  return sql`select d.id as id, d.event_id as event_id, d.event as event, d.status as status,
      d.attempt_count as attempt_count, d.next_attempt_at as next_attempt_at, d.created_at as created_at,
      d.completed_at as completed_at, (select body from messages m where m.event_id = d.event_id) as body,
      (select json_group_array(json_object('number', a.number, 'started_at', a.started_at,
          'duration_ms', a.duration_ms, 'status_code', a.status_code, 'error', a.error,
          'response_excerpt', a.response_excerpt) order by a.number)
        from delivery_attempts a where a.delivery_id = d.id) as attempts
    from deliveries d where ${matching} order by d.id ${direction} limit ${literal(limit)} offset ${offset}`;
}

export function recordOf({ body, attempts, ...row }: DeliveryRow): DeliveryRecord {
  return {
    ...row,
    payload: body === null ? null : (JSON.parse(body) as Record<string, unknown>),
    attempts: JSON.parse(attempts) as AttemptRecord[],
  };
}
