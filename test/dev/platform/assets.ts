import { Refusal } from "./refusal.ts";

/** A static asset, as it was uploaded. */
export interface Asset {
  text: string;
  /** The content type. */
  type: string;
}

/** The assets of a version, by their path, and how they are matched and served. */
export interface VersionAssets {
  files: Record<string, Asset>;
  config: Record<string, unknown>;
}

type Manifest = Record<string, { hash: string; size: number }>;

/**
 * The static assets of an account. A session is opened with a manifest; files that the account does not have are uploaded
 * under the session's token; the token for a version is given once it has all of them.
 */
export class PlayedAssets {
  /** Files by hash. */
  readonly #files = new Map<string, Asset>();
  /** Sessions by token. */
  readonly #sessions = new Map<string, Manifest>();
  readonly #complete = new Map<string, Manifest>();

  /** Answers a manifest: which files to send, under which token; or at once the token for a version. */
  open(manifest: Manifest): { jwt: string; buckets: string[][] } {
    const missing = this.#missing(manifest);
    if (missing.length === 0) return { jwt: this.#completed(manifest), buckets: [] };
    const jwt = newToken();
    this.#sessions.set(jwt, manifest);
    return { jwt, buckets: [missing] };
  }

  /**
   * Stores the files of an upload, named by their hashes and in base64.
   * @throws Refusal of files that the session does not name
   */
  async take(token: string, form: FormData): Promise<{ jwt?: string }> {
    const manifest = this.#sessions.get(token);
    if (!manifest) throw new Refusal(401, 10001, "Unable to authenticate request");
    for (const [hash, value] of form) {
      const size = Object.values(manifest).find((file) => file.hash === hash)?.size;
      if (typeof value === "string") throw new Refusal(400, 10021, "a part of the form is no file");
      const bytes = Buffer.from(await value.text(), "base64");
      if (bytes.length !== size)
        throw new Refusal(400, 10021, `${hash} is not in the manifest with ${bytes.length} bytes`);
      this.#files.set(hash, { text: bytes.toString(), type: value.type });
    }
    return this.#missing(manifest).length === 0 ? { jwt: this.#completed(manifest) } : {};
  }

  /** The assets of a version for its token. */
  ofVersion(token: string, config: Record<string, unknown>): VersionAssets {
    const manifest = this.#complete.get(token);
    if (!manifest) throw new Refusal(400, 10021, "The completion token of the assets is not valid.");
    const files = Object.entries(manifest).map(([path, { hash }]) => [path, this.#files.get(hash)!] as const);
    return { files: Object.fromEntries(files), config };
  }

  #missing(manifest: Manifest): string[] {
    const hashes = Object.values(manifest).map(({ hash }) => hash);
    return [...new Set(hashes)].filter((hash) => !this.#files.has(hash));
  }

  #completed(manifest: Manifest): string {
    const jwt = newToken();
    this.#complete.set(jwt, manifest);
    return jwt;
  }
}

/** A token in the form from which wrangler reads an expiry. */
function newToken(): string {
  const parts = [{ alg: "none" }, { id: crypto.randomUUID(), exp: Math.floor(Date.now() / 1000) + 3600 }];
  return [...parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")), "s"].join(".");
}
