/** The calls to the platform's API that `npm run deploy` makes itself, mostly to look at the account before it changes it. */

/** The API refused a call, or gave no answer that could be read (status 0). */
export class PlatformRefusal extends Error {
  readonly status: number;
  readonly codes: number[];
  readonly path: string;

  constructor(method: string, path: string, status: number, errors: { code: number; message: string }[]) {
    const reasons = errors.map(({ code, message }) => `${message} [code: ${code}]`).join(", ");
    super(`${method} ${path} was refused: ${reasons || "no answer"}`);
    this.status = status;
    this.codes = errors.map(({ code }) => code);
    this.path = path;
  }
}

/** A token may be refused in these ways, of which no message names the permission. */
const DENIED = [10000, 10001, 7403, 9109];

interface Reply {
  success: boolean;
  errors?: { code: number; message: string }[];
  result: unknown;
}

/** The platform's API with the credentials of who deploys. */
export class PlatformApi {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(base: string, headers: Record<string, string>) {
    this.#base = base;
    this.#headers = headers;
  }

  /** @throws PlatformRefusal */
  async call<T>(method: "GET" | "POST" | "PUT", path: string, body?: unknown): Promise<T> {
    const init = { method, headers: { ...this.#headers, "content-type": "application/json" } };
    const { status, reply } = await fetch(`${this.#base}${path}`, {
      ...init,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    }).then(
      async (response) => ({
        status: response.status,
        reply: (await response.json().catch(() => null)) as Reply | null,
      }),
      (error: Error) => ({
        status: 0,
        reply: { success: false, errors: [{ code: 0, message: error.message }], result: null },
      }),
    );
    if (!reply?.success) throw new PlatformRefusal(method, path, status, reply?.errors ?? []);
    return reply.result as T;
  }

  /** Null where there is no such thing. @throws PlatformRefusal */
  async find<T>(path: string): Promise<T | null> {
    try {
      return await this.call<T>("GET", path);
    } catch (error) {
      if (error instanceof PlatformRefusal && error.status === 404) return null;
      throw error;
    }
  }
}

/** The permissions that a token needs, by the paths that they open. The first that matches counts. */
const PERMISSIONS: [RegExp, string][] = [
  [/\/d1\//, "Account, D1: Edit"],
  [/\/queues/, "Account, Queues: Edit"],
  [/\/r2\//, "Account, Workers R2 Storage: Edit"],
  [/\/dns_records/, "Zone, DNS: Read"],
  [/\/routes|\/domains\/(?:changeset|records)/, "Zone, Workers Routes: Edit"],
  [/\/workers\//, "Account, Workers Scripts: Edit"],
  [/^\/zones/, "Zone, Zone: Read"],
  [/^\/accounts|^\/memberships/, "Account, Account Settings: Read"],
];

function permissionOf(path: string): string | null {
  return PERMISSIONS.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}

/** The permission that was missing, of a refusal or of what wrangler printed about one. Null where it was something else. */
export function missingPermission(failure: PlatformRefusal | string): string | null {
  if (failure instanceof PlatformRefusal) {
    const isDenied = failure.status === 403 || failure.codes.some((code) => DENIED.includes(code));
    return isDenied ? permissionOf(failure.path) : null;
  }
  if (!DENIED.some((code) => failure.includes(`[code: ${code}]`))) return null;
  const path = /A request to the Cloudflare API \((\S+)\) failed/.exec(failure)?.[1];
  return path === undefined ? null : permissionOf(path);
}
