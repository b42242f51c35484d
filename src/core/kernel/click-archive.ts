import type { InferSelectModel } from "drizzle-orm";
import { columnsOf, text, type Columns } from "../../db/rows.ts";
import { clickArchives } from "../../db/schema.ts";
import { sha256Hex } from "../../lib/crypto.ts";
import { withTimeout } from "../../lib/deadline.ts";
import { StorageUnavailable } from "../../lib/errors.ts";
import { gunzip, gzip } from "../../lib/gzip.ts";
import { SECOND } from "../../lib/time.ts";

export type Archive = Pick<R2Bucket, "put" | "head" | "get">;

export type ClickStretch = InferSelectModel<typeof clickArchives>;

export const CLICK_STRETCH = columnsOf(clickArchives);

/** A click as it is stored in `events` and in the archive; the payload is JSON. */
export interface StoredClick {
  id: string;
  payload: string;
  created_at: string;
}

export const STORED_CLICK: Columns<StoredClick> = { id: text, payload: text, created_at: text };

/** Clicks of one object, which is read, unpacked and parsed whole for a page. */
export const STRETCH_CLICKS = 2_000;

/** Calls to the bucket that write a stretch. */
export const CALLS_A_STRETCH = 2;

/** Timeout of a call to the bucket. */
const ANSWER_WITHIN = 10 * SECOND;

/**
 * Writes clicks of one program and day, oldest first, into an object and verifies that it exists. Its name is derived
 * from its content, so that a repetition has no effect. Returns its key. @throws {StorageUnavailable} if the bucket
 * refuses it.
 */
export async function writeStretch(
  archive: Archive,
  program_id: string,
  day: string,
  clicks: readonly StoredClick[],
): Promise<string> {
  const lines = clicks.map(
    ({ id, payload, created_at }) =>
      `{"id":${JSON.stringify(id)},"program_id":${JSON.stringify(program_id)},"type":"click","payload":${payload},` +
      `"created_at":${JSON.stringify(created_at)}}\n`,
  );
  const text = lines.join("");
  const key = `clicks/${program_id}/${day}/${clicks[0]?.id ?? ""}-${(await sha256Hex(text)).slice(0, 16)}.ndjson.gz`;
  const packed = await gzip(text);
  const sha256 = await crypto.subtle.digest("SHA-256", packed);
  await within(async () => {
    await archive.put(key, packed, { sha256, httpMetadata: { contentType: "application/gzip" } });
    const stored = await archive.head(key);
    if (stored?.size !== packed.byteLength) throw new Error("the archive did not keep the object");
  });
  return key;
}

/** The content of a line of an object. */
export interface ArchivedClick {
  id: string;
  program_id: string;
  type: "click";
  payload: Record<string, unknown>;
  created_at: string;
}

/**
 * A stretch's clicks, oldest first, only this program's. @throws {StorageUnavailable} if the object is not readable or
 * not the written one
 */
export async function readStretch(archive: Archive | null, stretch: ClickStretch): Promise<ArchivedClick[]> {
  return within(async () => {
    if (!archive) throw new Error("there are archived clicks, and no ARCHIVE bucket is bound");
    const object = await archive.get(stretch.key);
    if (!object) throw new Error("an object of the archive is missing");
    const lines = (await gunzip(object.body)).trimEnd().split("\n");
    const clicks = lines.map((line) => JSON.parse(line) as ArchivedClick);
    const isWhole =
      clicks.length === stretch.count &&
      clicks[0]?.id === stretch.first_id &&
      clicks.at(-1)?.id === stretch.last_id &&
      clicks.every(({ program_id }) => program_id === stretch.program_id);
    if (!isWhole) throw new Error("an object of the archive is not what was stored");
    return clicks;
  });
}

async function within<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await withTimeout(ANSWER_WITHIN, "the archive", call());
  } catch (error) {
    throw new StorageUnavailable(error);
  }
}
