import { fromBase64, sha256Hex, toBase64 } from "./crypto.ts";

const KEY_BYTES = 32;
const IV_BYTES = 12;

declare const sealed: unique symbol;

/** A secret sealed by `SecretSealer`; columns for secrets accept only this type. */
export type Sealed = string & { readonly [sealed]: true };

/** The one database value for which a secret is sealed: its table, its column, and its row's id. */
export interface Place {
  table: string;
  column: string;
  row: string;
}

/** A sealed value is `<form>.<key id>.<iv>.<ciphertext>`. */
const FORM = "v2";

/**
 * Encrypts secrets at rest with AES-GCM under the deployment's key. A sealed secret is `v2.<key id>.<iv>.<ciphertext>`,
 * so that a deployment can seal with a new key and still open values of an older one (ACCESS-6). Its place is
 * authenticated as additional data: copied to another row or column it does not open.
 */
export class SecretSealer {
  readonly #keys: readonly string[];

  /** `keys` are base64 of 32 bytes: the first seals, older ones only open. */
  constructor(keys: readonly (string | undefined)[]) {
    this.#keys = keys.filter((key) => key !== undefined && key !== "") as string[];
  }

  /** The prefix of every value that `seal` makes; values of older keys have another. */
  async mark(): Promise<string> {
    return markOf((await this.#sealing()).id);
  }

  /** The prefixes of all values that these keys have sealed: no other value can be opened. */
  async openable(): Promise<string[]> {
    return Promise.all(this.#keys.map(async (known) => markOf((await importKey(known)).id)));
  }

  async seal(plain: string, place: Place): Promise<Sealed> {
    const { id, key } = await this.#sealing();
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const algorithm = { name: "AES-GCM", iv, additionalData: bytesOf(place) };
    const ciphertext = await crypto.subtle.encrypt(algorithm, key, new TextEncoder().encode(plain));
    return `${markOf(id)}${toBase64(iv)}.${toBase64(new Uint8Array(ciphertext))}` as Sealed;
  }

  /** Opens a value of this place. Null without its key, at another place, or if tampered with. */
  async openOrNull(text: Sealed, place: Place): Promise<string | null> {
    try {
      return await this.#open(text, place);
    } catch {
      return null;
    }
  }

  async #open(text: Sealed, place: Place): Promise<string> {
    const [, wanted, iv, ciphertext] = text.split(".");
    const ivBytes = fromBase64(iv ?? "");
    const bytes = fromBase64(ciphertext ?? "");
    for (const known of this.#keys) {
      const { id, key } = await importKey(known);
      if (id !== wanted || !ivBytes || !bytes) continue;
      const algorithm = { name: "AES-GCM", iv: ivBytes, additionalData: bytesOf(place) };
      return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, bytes));
    }
    throw new Error(`no key with id ${wanted} is configured`);
  }

  #sealing(): Promise<{ id: string; key: CryptoKey }> {
    const text = this.#keys[0];
    if (text === undefined) throw new Error("ENCRYPTION_KEY is not set");
    return importKey(text);
  }
}

function markOf(key_id: string): string {
  return `${FORM}.${key_id}.`;
}

function bytesOf({ table, column, row }: Place): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify([table, column, row])) as Uint8Array<ArrayBuffer>;
}

const imported = new Map<string, Promise<{ id: string; key: CryptoKey }>>();

function importKey(text: string): Promise<{ id: string; key: CryptoKey }> {
  let known = imported.get(text);
  if (!known) {
    known = (async () => {
      const bytes = fromBase64(text);
      if (bytes?.length !== KEY_BYTES) throw new Error("ENCRYPTION_KEY must be base64 of 32 bytes");
      const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
      return { id: (await sha256Hex(text)).slice(0, 8), key };
    })();
    imported.set(text, known);
  }
  return known;
}
