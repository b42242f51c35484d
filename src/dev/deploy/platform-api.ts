/** The calls to the platform's API that `npm run deploy` makes itself, mostly to look at the account before it changes it. */

/** The API refused a call, or gave no answer that could be read. */
export class PlatformRefusal extends Error {
  /** Of the answer; 0 where there was none. */
  readonly status: number;
  /** The API's own; none where something else answered, or nothing. */
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

/** For how long an answer is waited for. */
const PATIENCE_SECONDS = 60;

/** The platform's API with the credentials of who deploys. */
export class PlatformApi {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #stopped: AbortSignal | null;
  readonly #seconds: number;

  /** Once `stopped` is aborted, no call is made, and none is waited for. */
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

  /** The same, for a last look at what is true after the command was ended. */
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

  /** Null where the API says that there is no such thing. @throws PlatformRefusal */
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

/** What the API answered; null where it is the answer of something else, such as the page of a proxy. */
function replyIn(text: string): Reply | null {
  try {
    const reply = JSON.parse(text) as Partial<Reply> | null;
    return typeof reply?.success === "boolean" ? (reply as Reply) : null;
  } catch {
    return null;
  }
}

/** Why there was no answer: of a failed connection the reason is in the cause. */
function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  return `${message}: ${cause.message || String((cause as NodeJS.ErrnoException).code)}`;
}

/** The permissions that a token needs, by the paths that they open. The first that matches counts. */
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

/** The codes by which a token is refused, of which no message names the permission. */
const DENIED = [10000, 7403];
/** Codes of a token that lacks a permission as well as of one that has run out. */
const DENIED_OR_INVALID = [9109, 10001];

/**
 * What a refusal, or what wrangler printed about one, says of the token: that it lacks a permission, and which. Null where
 * the failure was something else.
 */
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
  // A proxy's own page says nothing of the token, whatever its status.
  const isForbidden = failure instanceof PlatformRefusal && failure.status === 403 && codes.length > 0;
  const isDenied = isForbidden || codes.some((code) => DENIED.includes(code));
  return isDenied ? `The token lacks a permission: ${permission}.` : null;
}
