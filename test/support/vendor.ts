/** Shared by the makers of all vendors' events. WebCrypto only: runs under Node and workerd alike. */

const encoder = new TextEncoder();
const run = crypto.randomUUID().replaceAll("-", "").slice(0, 12);
let made = 0;

/** A new vendor id, unlike any other of this run or another: `uniqueId("cs_test_")`. */
export function uniqueId(prefix: string): string {
  made += 1;
  return `${prefix}${run}${String(made).padStart(6, "0")}`;
}

/** `{a: null, b: null}` for "a b": vendors send fields that do not apply as null. */
export function nulls(names: string): Record<string, null> {
  return Object.fromEntries(names.split(" ").map((name) => [name, null]));
}

/** The bytes a body has on the wire. */
export function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(typeof body === "string" ? encoder.encode(body) : body);
}

/** HMAC-SHA256 of `before` and the body's exact bytes, in lower-case hex. */
export async function hmacHex(secret: string, before: string, body: string | Uint8Array): Promise<string> {
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const signed = new Uint8Array([...encoder.encode(before), ...bytesOf(body)]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  return [...mac].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Now, in whole seconds. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
