import { constantTimeEqual, fromHex, hmacSha256 } from "../lib/crypto.ts";

/** A vendor's signature header: `key=value` pairs around one HMAC-SHA256. */
export interface SignatureScheme {
  /** Separates the pairs of the header. */
  separator: string;
  timestamp_key: string;
  signature_key: string;
  /** Joins the timestamp and the body in the signed text. */
  joiner: string;
}

/** IN-3: a timestamp more than 300 s away is refused; exactly 300 s is accepted. */
const TOLERANCE_SECONDS = 300;

/** A vendor that rotates its secret sends two; a sender of more than this is not a vendor. */
const MAX_SIGNATURES = 10;

const PAIR = /^([A-Za-z0-9_-]+)=(.*)$/s;
const TIMESTAMP = /^(0|[1-9][0-9]{0,14})$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * True if one of the first ten well-formed signatures in `header` is the HMAC-SHA256, under one of `secrets`, of
 * `<timestamp><joiner><body>` over the exact body bytes, and the timestamp is at most 300 s from `now` (ms), in the
 * vendor's whole seconds. Malformed input is false; never throws.
 */
export async function verifySignature(
  scheme: SignatureScheme,
  input: { header: string | null; body: Uint8Array; secrets: readonly string[]; now: number },
): Promise<boolean> {
  const signed = readHeader(scheme, input.header ?? "");
  if (!signed || !isTimely(signed, input.now)) return false;
  let matched = false;
  for (const secret of input.secrets) {
    if (secret === "") continue;
    const expected = await hmacSha256(secret, `${signed.timestamp}${scheme.joiner}`, input.body);
    for (const signature of signed.signatures) matched = constantTimeEqual(expected, signature) || matched;
  }
  return matched;
}

/** The part of `verifySignature` that needs only the header: null if the body decides. */
export function checkHeader(
  scheme: SignatureScheme,
  input: { header: string | null; now: number },
): "no_signature" | "time" | null {
  const signed = readHeader(scheme, input.header ?? "");
  if (!signed) return "no_signature";
  return isTimely(signed, input.now) ? null : "time";
}

function isTimely({ timestamp }: { timestamp: string }, now: number): boolean {
  return Math.abs(Math.floor(now / 1000) - Number(timestamp)) <= TOLERANCE_SECONDS;
}

/** The only timestamp, as written, and the candidate signatures; null unless the header has the scheme's form. */
function readHeader(scheme: SignatureScheme, header: string): { timestamp: string; signatures: Uint8Array[] } | null {
  let timestamp: string | null = null;
  const signatures: Uint8Array[] = [];
  for (const element of header.split(scheme.separator)) {
    const [, key, value] = PAIR.exec(element) ?? [];
    if (key === undefined || value === undefined) return null;
    if (key === scheme.timestamp_key) {
      if (timestamp !== null || !TIMESTAMP.test(value)) return null;
      timestamp = value;
    } else if (key === scheme.signature_key && SIGNATURE.test(value) && signatures.length < MAX_SIGNATURES) {
      signatures.push(fromHex(value)!);
    }
  }
  return timestamp === null || signatures.length === 0 ? null : { timestamp, signatures };
}
