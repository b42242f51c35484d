import { parseASN1NoLeftoverBytes } from "@oslojs/asn1";
import {
  ClientDataType,
  coseAlgorithmES256,
  coseAlgorithmRS256,
  coseEllipticCurveP256,
  createAssertionSignatureMessage,
  parseAttestationObject,
  parseAuthenticatorData,
  parseClientDataJSON,
  type COSEPublicKey,
} from "@oslojs/webauthn";
import { constantTimeEqual, fromBase64, toBase64 } from "./crypto.ts";

/** By the registry of COSE: those that every authenticator has one of, in the order of preference. */
export const PASSKEY_ALGORITHMS = [coseAlgorithmES256, coseAlgorithmRS256] as const;

/** A public key as JWK, its numbers in base64url. */
export type PasskeyKey = { kty: "EC"; crv: "P-256"; x: string; y: string } | { kty: "RSA"; n: string; e: string };

/** What a browser must have answered: for this site, and to this challenge. */
export interface PasskeyExpected {
  /** `https://app.example.com` */
  origin: string;
  challenge: Uint8Array;
}

/** What `PublicKeyCredential.toJSON()` gives of a new credential, its bytes in base64url (WebAuthn 3, 5.1). */
export interface RegistrationJson {
  id: string;
  response: { clientDataJSON: string; attestationObject: string };
}

/** The same of one that was used. */
export interface AssertionJson {
  id: string;
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string | undefined };
}

export interface NewPasskey {
  credential_id: string;
  public_key: PasskeyKey;
  sign_count: number;
}

/** The answer of a browser is not what was asked for. `message` is for the log. */
export class PasskeyRefused extends Error {}

/**
 * The credential that a browser made: for this origin, to this challenge, with the person verified by the device. What the
 * device says of its maker is not looked at. @throws {PasskeyRefused}
 */
export async function readRegistration(given: RegistrationJson, expected: PasskeyExpected): Promise<NewPasskey> {
  checkClientData(bytesOf(given.response.clientDataJSON), ClientDataType.Create, expected);
  const { authenticatorData } = parsed(() => parseAttestationObject(bytesOf(given.response.attestationObject)));
  checkAuthenticator(authenticatorData, expected);
  const { credential, signatureCounter } = authenticatorData;
  if (!credential || base64url(credential.id) !== given.id) throw new PasskeyRefused("no such credential");
  const public_key = parsed(() => keyOf(credential.publicKey));
  await importKey(public_key);
  return { credential_id: given.id, public_key, sign_count: signatureCounter };
}

/**
 * The device's counter of signatures, where the credential signed this challenge for this origin with `public_key`.
 * @throws {PasskeyRefused}
 */
export async function readAssertion(
  { response }: AssertionJson,
  public_key: PasskeyKey,
  expected: PasskeyExpected,
): Promise<{ sign_count: number }> {
  const clientData = bytesOf(response.clientDataJSON);
  const authenticator = bytesOf(response.authenticatorData);
  checkClientData(clientData, ClientDataType.Get, expected);
  const data = parsed(() => parseAuthenticatorData(authenticator));
  checkAuthenticator(data, expected);
  const signature = bytesOf(response.signature);
  const isRsa = public_key.kty === "RSA";
  const isSigned = await crypto.subtle.verify(
    isRsa ? RSA : ECDSA,
    await importKey(public_key),
    isRsa ? signature : parsed(() => rawSignature(signature)),
    new Uint8Array(createAssertionSignatureMessage(authenticator, clientData)),
  );
  if (!isSigned) throw new PasskeyRefused("the signature does not match");
  return { sign_count: data.signatureCounter };
}

/** The challenge that an answer says it answers. @throws {PasskeyRefused} */
export function challengeOf({ response }: { response: { clientDataJSON: string } }): Uint8Array {
  return parsed(() => parseClientDataJSON(bytesOf(response.clientDataJSON))).challenge;
}

export function base64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const RSA = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;
const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
/** Bytes of a coordinate and of each half of a signature. */
const P256_BYTES = 32;

function checkClientData(bytes: Uint8Array, type: ClientDataType, { origin, challenge }: PasskeyExpected): void {
  const data = parsed(() => parseClientDataJSON(bytes));
  if (data.type !== type) throw new PasskeyRefused("another kind of answer");
  if (data.origin !== origin || data.crossOrigin === true) throw new PasskeyRefused("made for another site");
  if (!constantTimeEqual(data.challenge, challenge)) throw new PasskeyRefused("an answer to another challenge");
}

function checkAuthenticator(data: ReturnType<typeof parseAuthenticatorData>, { origin }: PasskeyExpected): void {
  if (!data.verifyRelyingPartyIdHash(new URL(origin).hostname)) throw new PasskeyRefused("made for another host");
  if (!data.userPresent || !data.userVerified) throw new PasskeyRefused("the device did not verify who used it");
}

function keyOf(key: COSEPublicKey): PasskeyKey {
  const algorithm = key.algorithm();
  if (algorithm === coseAlgorithmRS256) {
    const { n, e } = key.rsa();
    return { kty: "RSA", n: base64url(bigEndian(n)), e: base64url(bigEndian(e)) };
  }
  const { curve, x, y } = key.ec2();
  if (algorithm !== coseAlgorithmES256 || curve !== coseEllipticCurveP256)
    throw new PasskeyRefused("another algorithm");
  return {
    ...({ kty: "EC", crv: "P-256" } as const),
    x: base64url(bigEndian(x, P256_BYTES)),
    y: base64url(bigEndian(y, P256_BYTES)),
  };
}

async function importKey(key: PasskeyKey): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey("jwk", key, key.kty === "RSA" ? RSA : ECDSA, false, ["verify"]);
  } catch {
    throw new PasskeyRefused("no public key");
  }
}

/** A signature as devices write it, a sequence of two integers, as WebCrypto reads it: both of 32 bytes. */
function rawSignature(der: Uint8Array): Uint8Array<ArrayBuffer> {
  const [r, s, ...more] = parseASN1NoLeftoverBytes(der)
    .sequence()
    .elements.map((element) => element.integer().value);
  if (r === undefined || s === undefined || more.length > 0) throw new PasskeyRefused("no signature");
  const raw = new Uint8Array(2 * P256_BYTES);
  raw.set(bigEndian(r, P256_BYTES));
  raw.set(bigEndian(s, P256_BYTES), P256_BYTES);
  return raw;
}

/** A number's bytes, the first the highest, with zeros before them up to `size`. @throws where it has more bytes, or is negative. */
function bigEndian(number: bigint, size = Math.ceil(number.toString(16).length / 2)): Uint8Array {
  const hex = number.toString(16).padStart(2 * size, "0");
  if (number < 0n || hex.length > 2 * size) throw new RangeError("a number of another size");
  return Uint8Array.from({ length: size }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  if (!bytes) throw new PasskeyRefused("not base64url");
  return bytes;
}

/** What cannot be read is refused, whatever the parser throws. */
function parsed<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof PasskeyRefused ? error : new PasskeyRefused(`unreadable: ${String(error)}`);
  }
}
