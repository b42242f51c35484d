/** Provider A's thin events: of API v1 objects, with a snapshot of the same name, and of API v2 objects. */
import * as z from "zod";
import type { ParseResult } from "../provider.ts";
import type { ThinEvent } from "../reads.ts";
import { field, id, ignore, parseWith, refuse, type Envelope, type Reader } from "../wire.ts";

const OF_V1 = "v1.";
const THIN_TYPE = /^v[0-9]+\./;

/** Inserted into the address of a call. */
const event_id = id.regex(/^\w+$/);
/** The owner chooses coupon ids, so they are encoded. No segment leads up, in either spelling. */
const path = id.regex(
  /^(?:\/(?!(?:\.|%2e){1,2}(?:\/|$))(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2})+){2,}$/i,
  "This must be a path of the vendor's API.",
);
/** The account in whose name objects are read. */
const context = id.regex(/^[\w/]+$/);

const bySnapshot = z
  .object({ snapshot_event: event_id, context: context.nullish() })
  .transform((names) => ({ ...names, related_object: null }));
const byObject = z
  .object({ related_object: z.object({ id: id.nullish(), type: id, url: path }), context: context.nullish() })
  .transform((names) => ({ ...names, snapshot_event: null }));

/** The references in a thin event: if it names a snapshot event, its object is irrelevant. */
function namesIn(body: unknown) {
  const snapshot = field(body, "snapshot_event") ?? null;
  return snapshot === null ? byObject.safeParse(body) : bySnapshot.safeParse(body);
}

/** Whether a body is a thin event: no snapshot event's type begins like this. */
export function isThin(body: unknown): boolean {
  const type = field(body, "type");
  return typeof type === "string" && THIN_TYPE.test(type);
}

/** The type of the snapshot event with the same content. */
export function snapshotType(type: string): string {
  return type.startsWith(OF_V1) ? type.slice(OF_V1.length) : type;
}

/** Parses a thin event without data: ignored like its snapshot, otherwise refused until it is read in full. */
export function parseThin(
  envelope: z.ZodType<Envelope>,
  readers: ReadonlyMap<string, Reader>,
  body: unknown,
): ParseResult {
  return parseWith(envelope, new Map([...readers].map(([type, read]) => [OF_V1 + type, alone(read)])), body);
}

function alone({ ignores }: Reader): Reader {
  if (ignores !== undefined) return ignore(ignores);
  return (body) => {
    const read = namesIn(body);
    const problems = read.success
      ? [{ path: "type", message: "this event only names what it is about" }]
      : read.error.issues.map(({ path: at, message }) => ({ path: at.map(String).join("."), message }));
    return refuse(...problems);
  };
}

/** Parses a thin event whose type has a reader; null for another type or shape. */
export function thinEvent(
  envelope: z.ZodType<Envelope>,
  readers: ReadonlyMap<string, Reader>,
  body: unknown,
): ThinEvent | null {
  const event = isThin(body) ? envelope.safeParse(body).data : undefined;
  if (!event?.event_type.startsWith(OF_V1)) return null;
  const reader = readers.get(snapshotType(event.event_type));
  const names = namesIn(body).data;
  if (!reader || reader.ignores !== undefined || !names) return null;
  const { snapshot_event: snapshot_id, related_object: object } = names;
  return {
    ...event,
    snapshot_id,
    object: object ? { id: object.id ?? null, type: object.type, path: object.url } : null,
    context: names.context ?? null,
  };
}
