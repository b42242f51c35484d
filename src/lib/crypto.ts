const encoder = new TextEncoder();

/** SHA-256 of the concatenated parts as lower-case hex; a text counts as its UTF-8. */
export async function sha256Hex(...parts: (string | Uint8Array)[]): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", concat(parts))));
}

/** HMAC-SHA256 over the concatenated parts, keyed with the bytes of `key` (a text as its UTF-8). */
export async function hmacSha256(
  key: string | Uint8Array<ArrayBuffer>,
  ...parts: (string | Uint8Array)[]
): Promise<Uint8Array> {
  const raw = typeof key === "string" ? encoder.encode(key) : key;
  const imported = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, concat(parts)));
}

/** Equality in time that depends on the lengths only. */
export function constantTimeEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}

/** Equality of two texts in constant time for any lengths, because both are hashed first. */
export async function constantTimeEqualText(a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([a, b].map((text) => crypto.subtle.digest("SHA-256", encoder.encode(text))));
  return constantTimeEqual(new Uint8Array(left!), new Uint8Array(right!));
}

export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte]!;
  return text;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The bytes of a hex text in either case, or null if it is not hex. */
export function fromHex(text: string): Uint8Array | null {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += CHUNK) text += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
  return btoa(text);
}

/** The limit of arguments in one call. */
const CHUNK = 0x2000;

export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

/** `bytes` random bytes as url-safe base64 without padding: 32 bytes give 43 characters. */
export function randomToken(bytes: number): string {
  return toBase64(crypto.getRandomValues(new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

function concat(parts: (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const [only] = parts;
  if (parts.length === 1 && typeof only === "string") return encoder.encode(only) as Uint8Array<ArrayBuffer>;
  const chunks = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  const joined = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}
