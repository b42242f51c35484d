import { constantTimeEqual, fromBase64, sha256Hex, toBase64, toHex } from "./crypto.ts";

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const RSA = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;

/** ES256 and RS256 in the COSE registry: every authenticator supports one. In the order of preference. */
export const PASSKEY_ALGORITHMS = [-7, -257] as const;

/** A public key as JWK, its numbers in base64url. */
export type PasskeyKey = { kty: "EC"; crv: "P-256"; x: string; y: string } | { kty: "RSA"; n: string; e: string };

/** The site and challenge that a browser's answer must match. */
export interface PasskeyExpected {
  /** `https://app.example.com` */
  origin: string;
  challenge: Uint8Array;
}

/**
 * The result of `PublicKeyCredential.toJSON()` for a new credential, with bytes in base64url (WebAuthn 3, 5.1). The
 * browser reads `publicKey`, a SubjectPublicKeyInfo, and `authenticatorData` from the attestation, which is neither
 * requested nor verified.
 */
export interface RegistrationJson {
  id: string;
  response: {
    clientDataJSON: string;
    authenticatorData: string;
    publicKey: string;
    publicKeyAlgorithm: (typeof PASSKEY_ALGORITHMS)[number];
  };
}

/** The result for a used credential. */
export interface AssertionJson {
  id: string;
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string | undefined };
}

export interface NewPasskey {
  credential_id: string;
  public_key: PasskeyKey;
  sign_count: number;
}

/** A browser's answer does not match the request. `message` is for the log. */
export class PasskeyRefused extends Error {}

/** Reads a browser's new credential for this origin and challenge, person verified. @throws {PasskeyRefused} */
export async function readRegistration(
  { id, response }: RegistrationJson,
  expected: PasskeyExpected,
): Promise<NewPasskey> {
  checkClientData(bytesOf(response.clientDataJSON), "webauthn.create", expected);
  const data = bytesOf(response.authenticatorData);
  const sign_count = await checkAuthenticator(data, expected);
  if (credentialId(data) !== id) throw new PasskeyRefused("no such credential");
  const algorithm = response.publicKeyAlgorithm === -257 ? RSA : ECDSA;
  const spki = bytesOf(response.publicKey);
  const key = await crypto.subtle.importKey("spki", spki, algorithm, true, ["verify"]).catch(refuseKey);
  const { kty, crv, x, y, n, e } = (await crypto.subtle.exportKey("jwk", key)) as JsonWebKey;
  const public_key = (kty === "RSA" ? { kty, n, e } : { kty, crv, x, y }) as PasskeyKey;
  return { credential_id: id, public_key, sign_count };
}

/** The signature counter, if the credential signed this challenge for this origin. @throws {PasskeyRefused} */
export async function readAssertion(
  { response }: AssertionJson,
  public_key: PasskeyKey,
  expected: PasskeyExpected,
): Promise<{ sign_count: number }> {
  const clientData = bytesOf(response.clientDataJSON);
  const data = bytesOf(response.authenticatorData);
  checkClientData(clientData, "webauthn.get", expected);
  const sign_count = await checkAuthenticator(data, expected);
  const signature = bytesOf(response.signature);
  const algorithm = public_key.kty === "RSA" ? RSA : ECDSA;
  const key = await crypto.subtle.importKey("jwk", public_key, algorithm, false, ["verify"]).catch(refuseKey);
  const raw = algorithm === RSA ? signature : rawSignature(signature);
  const signed = new Uint8Array(data.length + 32);
  signed.set(data);
  signed.set(new Uint8Array(await crypto.subtle.digest("SHA-256", clientData)), data.length);
  if (!(await crypto.subtle.verify(algorithm, key, raw, signed))) {
    throw new PasskeyRefused("the signature does not match");
  }
  return { sign_count };
}

/** The challenge in a browser's answer. @throws {PasskeyRefused} */
export function challengeOf({ response }: { response: { clientDataJSON: string } }): Uint8Array {
  return readClientData(bytesOf(response.clientDataJSON)).challenge;
}

export function base64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The members of the client data that are checked (WebAuthn 3, 5.8.1). @throws {PasskeyRefused} */
function readClientData(bytes: Uint8Array) {
  const { challenge, ...data } = parseObject(new TextDecoder().decode(bytes));
  if (typeof challenge !== "string") throw new PasskeyRefused("no challenge");
  return { ...data, challenge: bytesOf(challenge) } as { challenge: Uint8Array; [member: string]: unknown };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(text) as object) };
  } catch {
    throw new PasskeyRefused("not JSON");
  }
}

function checkClientData(bytes: Uint8Array, type: string, expected: PasskeyExpected): void {
  const { crossOrigin = false, ...data } = readClientData(bytes);
  if (data["type"] !== type) throw new PasskeyRefused("another kind of answer");
  if (data["origin"] !== expected.origin || crossOrigin !== false) throw new PasskeyRefused("made for another site");
  if (!constantTimeEqual(data.challenge, expected.challenge))
    throw new PasskeyRefused("an answer to another challenge");
}

/** Authenticator data (WebAuthn 3, 6.1): the SHA-256 of the host, a byte of flags, the counter, and a new credential. */
const [FLAGS_AT, COUNTER_AT, CREDENTIAL_AT] = [32, 33, 37] as const;
const [USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL] = [0x01, 0x04, 0x40] as const;

/** The counter. @throws {PasskeyRefused} for another host, or if the device did not verify the person */
async function checkAuthenticator(data: Uint8Array, { origin }: PasskeyExpected): Promise<number> {
  if (data.length < CREDENTIAL_AT) throw new PasskeyRefused("no authenticator data");
  if (toHex(data.subarray(0, FLAGS_AT)) !== (await sha256Hex(new URL(origin).hostname))) {
    throw new PasskeyRefused("made for another host");
  }
  const flags = data[FLAGS_AT]!;
  if (!(flags & USER_PRESENT) || !(flags & USER_VERIFIED)) {
    throw new PasskeyRefused("the device did not verify who used it");
  }
  return new DataView(data.buffer).getUint32(COUNTER_AT);
}

/** The id of the new credential, after 16 bytes of the device's model and two of the id's length. */
function credentialId(data: Uint8Array<ArrayBuffer>): string | null {
  const lengthAt = CREDENTIAL_AT + 16;
  const from = lengthAt + 2;
  if (!(data[FLAGS_AT]! & HAS_CREDENTIAL) || data.length < from) return null;
  const to = from + new DataView(data.buffer).getUint16(lengthAt);
  return data.length < to ? null : base64url(data.subarray(from, to));
}

function refuseKey(): never {
  throw new PasskeyRefused("no public key");
}

/** Converts strict DER of an ECDSA signature (r, s) to WebCrypto's 32 bytes of each. */
function rawSignature(der: Uint8Array): Uint8Array<ArrayBuffer> {
  const raw = new Uint8Array(64);
  let at = 2;
  for (const end of [32, 64]) {
    const length = der[at + 1] ?? 0;
    const number = der.subarray(at + 2, at + 2 + length);
    const isInteger = der[at] === 0x02 && length > 0 && number.length === length && number[0]! < 0x80;
    const digits = number[0] === 0 ? number.subarray(1) : number;
    const isPadded = digits.length < length && length > 1 && digits[0]! < 0x80;
    if (!isInteger || isPadded || digits.length > 32) throw new PasskeyRefused("no signature");
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || at !== der.length) throw new PasskeyRefused("no signature");
  return raw;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  if (!bytes) throw new PasskeyRefused("not base64url");
  return bytes;
}
