import { EXPIRED, type Deadline } from "./deadline.ts";

export interface BodyStart {
  bytes: Uint8Array<ArrayBuffer>;
  /** `complete`: whole; `cut`: at the limit; `expired`: at the deadline; `broken`: the stream failed. */
  ended: "complete" | "cut" | "expired" | "broken";
}

/**
 * Reads at most `limit` bytes within the deadline, and cancels the rest. Never throws: returns the bytes and why it
 * ended.
 */
export async function readAtMost(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  deadline: Deadline,
): Promise<BodyStart> {
  if (body === null) return { bytes: new Uint8Array(), ended: "complete" };
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  let ended: BodyStart["ended"] | undefined;
  while (ended === undefined) {
    try {
      const step = await deadline.race(reader.read());
      if (step === EXPIRED) ended = "expired";
      else if (step.done) ended = "complete";
      else {
        const part = step.value.subarray(0, limit - length);
        parts.push(part);
        length += part.length;
        if (length === limit) ended = "cut";
      }
    } catch {
      ended = "broken";
    }
  }
  if (ended !== "complete") void reader.cancel().catch(() => undefined);
  return { bytes: joined(parts, length), ended };
}

function joined(parts: Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
