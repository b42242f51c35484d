import type { Context } from "hono";
import * as z from "zod";
import type { Answered } from "../../core/sessions/passkeys.ts";
import { constantTimeEqual, hmacSha256 } from "../../lib/crypto.ts";
import { base64url, challengeOf, PASSKEY_ALGORITHMS, PasskeyRefused } from "../../lib/passkey.ts";
import { readPublicUrl } from "../../lib/public-url.ts";
import type { PageEnv } from "../session.ts";

const base64 = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\w-]+$/);

/** A browser's answer for a new passkey (`lib/passkey.ts`); other fields are ignored. */
const registration = z.object({
  id: base64(1_400),
  response: z.object({
    clientDataJSON: base64(4_000),
    authenticatorData: base64(4_000),
    publicKey: base64(2_000),
    publicKeyAlgorithm: z.literal(PASSKEY_ALGORITHMS),
  }),
});

/** A browser's answer for a sign-in with a passkey. */
const assertion = z.object({
  id: base64(1_400),
  response: z.object({
    clientDataJSON: base64(4_000),
    authenticatorData: base64(4_000),
    signature: base64(2_000),
    userHandle: base64(100).optional(),
  }),
});

const SCHEMAS = { create: registration, get: assertion };
export type Purpose = keyof typeof SCHEMAS;
type Json<P extends Purpose> = z.output<(typeof SCHEMAS)[P]>;

/** The longest text of an answer that is read. */
const MOST_CHARACTERS = 40_000;
const TIME_BYTES = 8;

/** The address that passkeys are valid for, and the secret that marks challenges. */
interface Site {
  origin: string;
  host: string;
  key: string;
}

/** Null if the deployment has no address or no key of its own yet: then it does not offer passkeys. */
function siteOf({ env }: Context<PageEnv>): Site | null {
  const { ENCRYPTION_KEY: key } = env;
  const base = readPublicUrl(env);
  if ("problem" in base || !key) return null;
  return { origin: base.origin, host: new URL(base.origin).hostname, key };
}

/**
 * Makes a challenge: its time and a mark for this page's forms. Nothing is stored, and another browser's answer does
 * not fit. Only the deployment can make the mark, so a challenge cannot be prepared for later.
 */
async function challengeFor(c: Context<PageEnv>, { key }: Site, purpose: Purpose, at = c.var.now): Promise<Uint8Array> {
  const challenge = new Uint8Array(TIME_BYTES + 32);
  new DataView(challenge.buffer).setBigUint64(0, BigInt(at));
  challenge.set(await hmacSha256(key, JSON.stringify(["passkey", purpose, at, c.var.csrf])), TIME_BYTES);
  return challenge;
}

/** The answer in the field `credential`; null if it does not answer a challenge of this browser's page. */
export async function readAnswer<P extends Purpose>(
  c: Context<PageEnv>,
  purpose: P,
  text: string,
): Promise<Answered<Json<P>> | null> {
  const site = siteOf(c);
  const answer = parseAnswer(purpose, text);
  if (!answer || !site) return null;
  try {
    const given = challengeOf(answer);
    if (given.length < TIME_BYTES) return null;
    const at = Number(new DataView(given.buffer, given.byteOffset).getBigUint64(0));
    const challenge = await challengeFor(c, site, purpose, at);
    if (!constantTimeEqual(challenge, given)) return null;
    return { answer, challenged_at: at, challenge, origin: site.origin };
  } catch (error) {
    if (error instanceof PasskeyRefused) return null;
    throw error;
  }
}

export function parseAnswer<P extends Purpose>(purpose: P, text: string): Json<P> | null {
  if (text.length > MOST_CHARACTERS) return null;
  try {
    return (SCHEMAS[purpose].safeParse(JSON.parse(text)).data ?? null) as Json<P> | null;
  } catch {
    return null;
  }
}

/** Options of `navigator.credentials.get`: any passkey of this site, verified on the device. Null without passkeys. */
export async function requestOptions(c: Context<PageEnv>) {
  const site = siteOf(c);
  if (!site) return null;
  return {
    challenge: base64url(await challengeFor(c, site, "get")),
    rpId: site.host,
    userVerification: "required",
  };
}

/** The options of `navigator.credentials.create`: a new passkey of this address, other than `existing`. */
export async function creationOptions(
  c: Context<PageEnv>,
  { handle, email, existing }: { handle: string; email: string; existing: readonly string[] },
) {
  const site = siteOf(c);
  if (!site) return null;
  return {
    challenge: base64url(await challengeFor(c, site, "create")),
    rp: { id: site.host, name: "Affiliate programs" },
    user: { id: base64url(new TextEncoder().encode(handle)), name: email, displayName: email },
    pubKeyCredParams: PASSKEY_ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
    excludeCredentials: existing.map((id) => ({ type: "public-key", id })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    attestation: "none",
  };
}
