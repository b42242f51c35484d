import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { PlayedAccount } from "./account.ts";
import { failAs, type Fault } from "./fault.ts";
import { Refusal } from "./refusal.ts";
import { ROUTES, SESSION, type Permission } from "./routes.ts";

/** The permissions of a token: everything, as after `wrangler login`, or a list. */
export type Granted = "everything" | Permission[];

/** A token of a person who is logged in, and one of a CI system. */
export const TOKEN = "a-token-of-the-tests";

/** A call that the platform takes, for who decides whether it fails. */
export interface TakenCall {
  /** The call as in `calls`. */
  call: string;
  /** Distinguishes it from others of the name: the migration or the first words of a query, the subject of a read. */
  detail: string;
  /** The position in `calls`. */
  place: number;
}

/**
 * The platform's API on loopback, for the real wrangler and for `npm run deploy`: `CLOUDFLARE_API_BASE_URL` is its
 * `url`. Each accepted call is kept in `calls`. `failWhen` refuses a call before it takes effect, `faultAt` makes it
 * fail in any way; calls that the tests do not play are answered with 404 and kept in `unknown`.
 */
export class PlayedPlatform {
  readonly accounts: PlayedAccount[];
  granted: Granted = "everything";
  /** Method and path, with `:account` and ids of databases, queues and zones left out. */
  calls: string[] = [];
  unknown: string[] = [];
  /** Whether a call is refused, by its name and its place in `calls`. */
  failWhen: (call: string, place: number) => boolean = () => false;
  /** The failure of a call; null if it succeeds. */
  faultAt: (taken: TakenCall) => Fault | null = () => null;
  /** Files for an import, by their checksum. */
  readonly files = new Map<string, string>();
  /** The answer of `GET /healthz` on the internet. */
  isHealthy: (origin: string) => boolean = () => false;
  url = "";
  #server: Server | null = null;

  constructor(...accounts: PlayedAccount[]) {
    this.accounts = accounts;
  }

  async start(): Promise<void> {
    // A request of a killed process may end before it is complete.
    const take = (request: IncomingMessage, response: ServerResponse) =>
      void this.#take(request, response).catch(() => response.destroy());
    this.#server = createServer(take);
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { pathname, searchParams } = new URL(request.url ?? "/", this.url);
    if (pathname.startsWith("/files/")) {
      const etag = pathname.slice("/files/".length);
      this.files.set(etag, body.toString());
      response.setHeader("etag", `"${etag}"`).end();
      return;
    }
    if (pathname.startsWith("/internet/")) {
      const host = pathname.split("/")[2] ?? "";
      response.writeHead(this.isHealthy(`https://${host}`) ? 200 : 503).end();
      return;
    }
    const call = `${request.method} ${pathname.replaceAll(/\/[0-9a-f]{32}(?=\/|$)|\/[0-9a-f-]{36}(?=\/|$)/g, "/:id")}`;
    const place = this.calls.push(call) - 1;
    const taken = { call, detail: detailOf(pathname, searchParams, body.toString()), place };
    const fault = this.faultAt(taken);
    if (fault?.is_done === false) return failAs(response, fault);
    const answered = await this.#answer(request, taken, pathname, searchParams, body).then(
      (result) => ({ status: 200, reply: { success: true, errors: [], messages: [], ...paged(result) } }),
      (error: unknown) => {
        const { status, code, message } = error instanceof Refusal ? error : new Refusal(500, 1, String(error));
        return { status, reply: { success: false, errors: [{ code, message }], messages: [], result: null } };
      },
    );
    if (fault) return failAs(response, fault);
    response.statusCode = answered.status;
    response.setHeader("content-type", "application/json").end(JSON.stringify(answered.reply));
  }

  async #answer(
    request: IncomingMessage,
    { call, place }: TakenCall,
    path: string,
    query: URLSearchParams,
    body: Buffer,
  ): Promise<unknown> {
    const route = ROUTES.find((one) => one.method === request.method && one.path.test(path));
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    if (token !== TOKEN && route?.needs !== SESSION) throw new Refusal(401, 10001, "Unable to authenticate request");
    if (this.failWhen(call, place)) throw new Refusal(400, 10013, "An unknown error has occurred.");
    if (!route) {
      this.unknown.push(call);
      throw new Refusal(404, 7003, "Could not route to it, perhaps your object identifier is invalid?");
    }
    const { needs } = route;
    if (needs && needs !== SESSION && this.granted !== "everything" && !this.granted.includes(needs)) {
      throw new Refusal(403, 10000, "Authentication error");
    }
    const named = /^\/accounts\/([^/]+)/.exec(path)?.[1] ?? query.get("account.id");
    const account = this.accounts.find(({ id }) => id === (named ?? this.accounts[0]?.id));
    if (!account)
      throw new Refusal(403, 7403, "The given account is not valid or is not authorized to access this service");
    const parts = (route.path.exec(path) ?? []).slice(1).map((part) => decodeURIComponent(part));
    const type = request.headers["content-type"] ?? "";
    const form = () => new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
    return route.answer({ platform: this, account, parts, query, token, body: body.toString(), form });
  }
}

function detailOf(path: string, query: URLSearchParams, body: string): string {
  if (!path.endsWith("/query")) return query.get("name") ?? query.get("hostname") ?? query.get("service") ?? "";
  const { sql } = JSON.parse(body) as { sql: string };
  const migration = /INSERT INTO \S*d1_migrations\S* \(name\)\s+values \('([^']+)'\)/i.exec(sql)?.[1];
  return migration ?? sql.trim().replaceAll(/\s+/g, " ").slice(0, 60);
}

function paged(result: unknown): { result: unknown; result_info?: unknown } {
  if (!Array.isArray(result)) return { result };
  return { result, result_info: { page: 1, per_page: 100, count: result.length, total_count: result.length } };
}
