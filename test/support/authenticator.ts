/** A device with passkeys, as a browser gives its answers (WebAuthn 3): its own keys and signatures. */
import type { Reply } from "./program.ts";
import { BASE_URL } from "./program.ts";
import type { Visitor } from "./visitor.ts";

export interface Authenticator {
  create: (options: CreationOptions, changed?: Changed) => Promise<object>;
  get: (options: RequestOptions, changed?: Changed) => Promise<object>;
}

interface CreationOptions {
  challenge: string;
  rp: { id: string };
  user: { id: string };
  excludeCredentials: { id: string }[];
}

interface RequestOptions {
  challenge: string;
  rpId: string;
}

/** The differences from a well-behaved browser and device. */
export interface Changed {
  origin?: string;
  rpId?: string;
  type?: string;
  /** Bits of the flags: user present 1, user verified 4. */
  flags?: number;
  sign_count?: number;
  crossOrigin?: boolean;
  userHandle?: string;
}

const PRESENT_AND_VERIFIED = 0x05;
const ATTESTED = 0x40;
const encoder = new TextEncoder();

/** `counts`: it counts its signatures, as security keys do; others always report 0. */
export async function makeAuthenticator({ rsa = false, counts = false } = {}): Promise<Authenticator> {
  const keys = rsa ? await rsaKeys() : await ecKeys();
  const id = crypto.getRandomValues(new Uint8Array(20));
  let handle = "";
  let used = 0;
  const dataOf = async (rpId: string, flags: number, count: number, more = new Uint8Array()) => {
    const data = new Uint8Array(37);
    data.set(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(rpId))));
    data[32] = flags;
    new DataView(data.buffer).setUint32(33, count);
    return joined(data, more);
  };
  const client = (type: string, challenge: string, changed: Changed) =>
    encoder.encode(
      JSON.stringify({
        type: changed.type ?? type,
        challenge,
        origin: changed.origin ?? BASE_URL,
        crossOrigin: changed.crossOrigin ?? false,
      }),
    );
  return {
    create: async (options, changed = {}) => {
      handle = options.user.id;
      const credential = joined(new Uint8Array(16), [0, id.length], id);
      const flags = (changed.flags ?? PRESENT_AND_VERIFIED) | ATTESTED;
      const data = await dataOf(changed.rpId ?? options.rp.id, flags, changed.sign_count ?? 0, credential);
      const publicKey = (await crypto.subtle.exportKey("spki", keys.publicKey)) as ArrayBuffer;
      return {
        id: base64url(id),
        rawId: base64url(id),
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64url(client("webauthn.create", options.challenge, changed)),
          authenticatorData: base64url(data),
          publicKey: base64url(new Uint8Array(publicKey)),
          publicKeyAlgorithm: rsa ? -257 : -7,
          transports: ["internal"],
        },
      };
    },
    get: async (options, changed = {}) => {
      if (counts) used += 1;
      const data = await dataOf(
        changed.rpId ?? options.rpId,
        changed.flags ?? PRESENT_AND_VERIFIED,
        changed.sign_count ?? used,
      );
      const clientData = client("webauthn.get", options.challenge, changed);
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", clientData));
      return {
        id: base64url(id),
        rawId: base64url(id),
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64url(clientData),
          authenticatorData: base64url(data),
          signature: base64url(await keys.sign(joined(data, digest))),
          userHandle: changed.userHandle ?? handle,
        },
      };
    },
  };
}

interface Keys {
  publicKey: CryptoKey;
  sign: (message: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;
}

async function ecKeys(): Promise<Keys> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const pair = (await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as CryptoKeyPair;
  return {
    publicKey: pair.publicKey,
    sign: async (message) => {
      const raw = new Uint8Array(await crypto.subtle.sign(algorithm, pair.privateKey, message));
      return der(raw.slice(0, 32), raw.slice(32));
    },
  };
}

async function rsaKeys(): Promise<Keys> {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const pair = (await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as CryptoKeyPair;
  return {
    publicKey: pair.publicKey,
    sign: async (message) => new Uint8Array(await crypto.subtle.sign(algorithm, pair.privateKey, message)),
  };
}

/** A sequence of two integers, each as short as it can be. */
export function der(r: Uint8Array, s: Uint8Array): Uint8Array {
  const integer = (value: Uint8Array) => {
    let from = 0;
    while (from < value.length - 1 && value[from] === 0) from += 1;
    const short = value.slice(from);
    const content = short[0]! >= 0x80 ? joined([0], short) : short;
    return joined([0x02, content.length], content);
  };
  const content = joined(integer(r), integer(s));
  return joined([0x30, content.length], content);
}

type Bytes = Uint8Array | readonly number[];

function joined(...parts: Bytes[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

export function base64url(value: Uint8Array): string {
  return btoa(String.fromCharCode(...value))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

const SESSIONS = "/dashboard/settings/sessions";

/** The request of the visitor's page to the browser. */
export function askedFor<T>({ html }: Visitor): T {
  const [, options = "null"] = /data-options="([^"]*)"/.exec(html) ?? [];
  return JSON.parse(options.replaceAll("&quot;", '"').replaceAll("&amp;", "&")) as T;
}

/** Adds a passkey of the device as the page does. */
export async function addPasskey(visitor: Visitor, device: Authenticator, changed?: Changed): Promise<Reply<string>> {
  await visitor.get(SESSIONS);
  const credential = JSON.stringify(await device.create(askedFor(visitor), changed));
  return visitor.post(`${SESSIONS}/passkeys`, { credential });
}

export async function removePasskeys(visitor: Visitor): Promise<void> {
  await visitor.get(SESSIONS);
  for (const [, id = ""] of visitor.html.matchAll(/name="id" value="(pky_[^"]+)"/g)) {
    await visitor.post(`${SESSIONS}/passkeys/remove`, { id });
  }
}

/** Signs in with a passkey of the device, on a page that is opened for it unless `options` are of another one. */
export async function usePasskey(
  visitor: Visitor,
  device: Authenticator,
  { changed, as }: { changed?: Changed; as?: string } = {},
): Promise<Reply<string>> {
  await visitor.get("/sign-in");
  const credential = JSON.stringify(await device.get(askedFor(visitor), changed));
  return visitor.post("/sign-in/passkey", { credential, ...(as === undefined ? {} : { as }) });
}
