import { fromBase64, sha256Hex, toBase64 } from "./crypto.ts";

const KEY_BYTES = 32;
const IV_BYTES = 12;

/**
 * Secrets at rest: AES-GCM under the deployment's key. A sealed secret is `<key id>.<iv>.<ciphertext>`, so that a
 * deployment can seal with a new key and still open what an older one sealed (contract §3).
 */
export class SecretSealer {
  readonly #keys: readonly string[];

  /** `keys` are base64 of 32 bytes: the one that seals first, then older ones that only open. */
  constructor(keys: readonly (string | undefined)[]) {
    this.#keys = keys.filter((key) => key !== undefined && key !== "") as string[];
  }

  /** The id of the key that seals: what it sealed begins with this and a dot. */
  async keyId(): Promise<string> {
    return (await this.#sealing()).id;
  }

  async seal(plain: string): Promise<string> {
    const { id, key } = await this.#sealing();
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new TextEncoder().encode(plain));
    return [id, toBase64(iv), toBase64(new Uint8Array(sealed))].join(".");
  }

  /** @throws when no known key sealed it or it was tampered with. */
  async open(sealed: string): Promise<string> {
    const [wanted, iv, ciphertext] = sealed.split(".");
    const ivBytes = fromBase64(iv ?? "");
    const bytes = fromBase64(ciphertext ?? "");
    for (const text of this.#keys) {
      const { id, key } = await importKey(text);
      if (id !== wanted || !ivBytes || !bytes) continue;
      return new TextDecoder().decode(await crypto.subtle.decrypt({ name: "AES-GCM", iv: ivBytes }, key, bytes));
    }
    throw new Error(`no key with id ${wanted} is configured`);
  }

  #sealing(): Promise<{ id: string; key: CryptoKey }> {
    const text = this.#keys[0];
    if (text === undefined) throw new Error("ENCRYPTION_KEY is not set");
    return importKey(text);
  }
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
