/** Provider A's thin events: of API v1 objects, which have a snapshot event under the same name, and of API v2 ones. */
import * as z from "zod";
import type { ParseResult } from "../provider.ts";
import type { ThinEvent } from "../reads.ts";
import { field, id, ignore, parseWith, refuse, type Envelope, type Reader } from "../wire.ts";

const OF_V1 = "v1.";
const THIN_TYPE = /^v[0-9]+\./;

/** What is put into the address of a call. */
const event_id = id.regex(/^\w+$/);
const path = id.regex(/^(?:\/\w+){2,}$/, "expected a path of the vendor's API");
/** In whose name the vendor's objects are read. */
const context = id.regex(/^[\w/]+$/);

const named = z
  .object({
    snapshot_event: event_id.nullish(),
    related_object: z.object({ id: id.nullish(), type: id, url: path }).nullish(),
    context: context.nullish(),
  })
  .refine(({ snapshot_event, related_object }) => snapshot_event || related_object, {
    path: ["related_object"],
    message: "a thin event names what it is about",
  });

/** Whether a body is a thin event's: no type of a snapshot event begins so. */
export function isThin(body: unknown): boolean {
  const type = field(body, "type");
  return typeof type === "string" && THIN_TYPE.test(type);
}

/** The type of the snapshot event that says the same. */
export function snapshotType(type: string): string {
  return type.startsWith(OF_V1) ? type.slice(OF_V1.length) : type;
}

/**
 * Parses a thin event alone: one that nothing is read of is ignored, for the reason of its snapshot event. Another is
 * refused: it is to be read in full first.
 */
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
    const read = named.safeParse(body);
    const problems = read.success
      ? [{ path: "type", message: "this event only names what it is about" }]
      : read.error.issues.map(({ path: at, message }) => ({ path: at.map(String).join("."), message }));
    return refuse(...problems);
  };
}

/** What a thin event names, where something is read of its type; null for one of another type or shape. */
export function thinEvent(
  envelope: z.ZodType<Envelope>,
  readers: ReadonlyMap<string, Reader>,
  body: unknown,
): ThinEvent | null {
  const event = isThin(body) ? envelope.safeParse(body).data : undefined;
  if (!event?.event_type.startsWith(OF_V1)) return null;
  const reader = readers.get(snapshotType(event.event_type));
  const names = named.safeParse(body).data;
  if (!reader || reader.ignores !== undefined || !names) return null;
  const { snapshot_event, related_object: object } = names;
  return {
    ...event,
    snapshot_id: snapshot_event ?? null,
    object: object ? { id: object.id ?? null, type: object.type, path: object.url } : null,
    context: names.context ?? null,
  };
}
