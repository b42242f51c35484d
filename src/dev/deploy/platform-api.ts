/** The calls of `npm run deploy` to the platform's API, mostly to check the account before a change. */

/** The API refused a call, or its answer could not be read. */
export class PlatformRefusal extends Error {
  /** The status of the answer, or 0 without an answer. */
  readonly status: number;
  /** The API's error codes. Empty if a proxy answered, or without an answer. */
  readonly codes: readonly number[];
  readonly path: string;

  constructor(method: string, path: string, said: string, status = 0, codes: readonly number[] = []) {
    super(`${method} ${path} ${said}`);
    this.status = status;
    this.codes = codes;
    this.path = path;
  }
}

interface Reply {
  success: boolean;
  errors?: { code: number; message: string }[];
  result: unknown;
}

/** The time-out of a call. */
const PATIENCE_SECONDS = 60;

/** The platform's API with the deployer's credentials. */
export class PlatformApi {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #stopped: AbortSignal | null;
  readonly #seconds: number;

  /** After an abort of `stopped`, calls neither start nor continue. */
  constructor(
    base: string,
    headers: Record<string, string>,
    stopped: AbortSignal | null = null,
    seconds = PATIENCE_SECONDS,
  ) {
    this.#base = base;
    this.#headers = headers;
    this.#stopped = stopped;
    this.#seconds = seconds;
  }

  /** Returns the same API without `stopped`, to look up the state after the command was ended. */
  afterStop(): PlatformApi {
    return new PlatformApi(this.#base, this.#headers, null, this.#seconds);
  }

  /** @throws PlatformRefusal */
  async call<T>(method: "GET" | "POST" | "PUT", path: string, body?: unknown): Promise<T> {
    const { status, text } = await this.#answer(method, path, body);
    const reply = replyIn(text);
    if (reply === null) {
      throw new PlatformRefusal(method, path, `got an answer that is not the API's: HTTP ${status}`, status);
    }
    if (reply.success) return reply.result as T;
    const errors = reply.errors ?? [];
    const reasons = errors.map(({ code, message }) => `${message} [code: ${code}]`).join(", ");
    const codes = errors.map(({ code }) => code);
    throw new PlatformRefusal(method, path, `was refused: ${reasons || `HTTP ${status}`}`, status, codes);
  }

  /** Returns null if the object does not exist. @throws PlatformRefusal */
  async find<T>(path: string): Promise<T | null> {
    try {
      return await this.call<T>("GET", path);
    } catch (error) {
      if (error instanceof PlatformRefusal && error.status === 404 && error.codes.length > 0) return null;
      throw error;
    }
  }

  async #answer(method: string, path: string, body: unknown): Promise<{ status: number; text: string }> {
    const patience = AbortSignal.timeout(this.#seconds * 1000);
    try {
      const response = await fetch(`${this.#base}${path}`, {
        ...{ method, headers: { ...this.#headers, "content-type": "application/json" } },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: this.#stopped ? AbortSignal.any([patience, this.#stopped]) : patience,
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      const why = patience.aborted ? `none within ${this.#seconds} seconds` : reasonOf(error as Error);
      throw new PlatformRefusal(method, path, `got no answer: ${why}`);
    }
  }
}

/** Reads the API's answer. Returns null for another answer, such as the page of a proxy. */
function replyIn(text: string): Reply | null {
  try {
    const reply = JSON.parse(text) as Partial<Reply> | null;
    return typeof reply?.success === "boolean" ? (reply as Reply) : null;
  } catch {
    return null;
  }
}

/** Describes a missing answer. The reason of a failed connection is in the cause. */
function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  return `${message}: ${cause.message || String((cause as NodeJS.ErrnoException).code)}`;
}

/** The permissions of a token, by the paths that they open. The first match counts. */
const PERMISSIONS: [RegExp, string][] = [
  [/\/d1\//, "Account, D1: Edit"],
  [/\/email\/sending\//, "Account, Email Sending: Read"],
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

/** The codes of a refused token. Their messages do not name the permission. */
const DENIED = [10000, 7403];
/** Codes of a token that lacks a permission or has expired. */
const DENIED_OR_INVALID = [9109, 10001];

/** Names the permission that a token lacks, from a refusal or wrangler's output; null for another failure. */
export function whatTokenLacks(failure: PlatformRefusal | string): string | null {
  const { codes, path } =
    failure instanceof PlatformRefusal
      ? failure
      : {
          codes: [...failure.matchAll(/\[code: (\d+)\]/g)].map(([, code]) => Number(code)),
          path: /A request to the Cloudflare API \((\S+)\) failed/.exec(failure)?.[1] ?? "",
        };
  const permission = permissionOf(path);
  if (permission === null) return null;
  if (codes.some((code) => DENIED_OR_INVALID.includes(code))) {
    return `The token is not valid, or lacks a permission: ${permission}.`;
  }
  // A proxy's own page is unrelated to the token, at any status.
  const isForbidden = failure instanceof PlatformRefusal && failure.status === 403 && codes.length > 0;
  const isDenied = isForbidden || codes.some((code) => DENIED.includes(code));
  return isDenied ? `The token lacks a permission: ${permission}.` : null;
}
