/** The metered Worker on the local runtime, for `measure.ts`. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { convertV4MiniflareOptions, Miniflare, Response, type Request } from "miniflare";
import { builtWorker, migrate } from "../raw-service.ts";
import { sumOf, type Usage } from "./prices.ts";

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, "content-type": "application/json" };
}

/** The longest time that the database is busy after a reply. */
const BUSY_MS = 10_000;

/** The metered Worker on the local runtime, and the file of its database. */
export class MeteredService {
  readonly #miniflare: Miniflare;
  readonly #file: string;

  private constructor(miniflare: Miniflare, file: string) {
    this.#miniflare = miniflare;
    this.#file = file;
  }

  static async start(folder: string): Promise<MeteredService> {
    const state = join(folder, "state");
    const options = convertV4MiniflareOptions({
      name: "worker",
      cf: false,
      ...(await builtWorker(join(folder, "worker"), "measured.js")),
      outboundService: playOutside,
    });
    const miniflare = new Miniflare({ ...options, resourcePersistencePath: state });
    await miniflare.ready;
    await migrate(await miniflare.getD1Database("DB"));
    const files = (await readdir(state, { recursive: true })).filter((name) => /d1.*\.sqlite$/i.test(name));
    const file = files.map((name) => join(state, name)).find((path) => holds(path, "events"));
    if (file === undefined) throw new Error(`no database among ${files.join(", ")}`);
    return new MeteredService(miniflare, file);
  }

  stop(): Promise<void> {
    return this.#miniflare.dispose();
  }

  async call(method: string, path: string, headers: Record<string, string>, body?: string): Promise<string> {
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    const response = await this.#miniflare.dispatchFetch(`https://service.example${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  }

  async json<T>(method: string, path: string, token: string, body: unknown): Promise<T> {
    return JSON.parse(await this.call(method, path, bearer(token), JSON.stringify(body))) as T;
  }

  async control<T>(name: string, input: unknown = {}): Promise<T> {
    return JSON.parse(await this.call("POST", `/measure/${name}`, {}, JSON.stringify(input))) as T;
  }

  async sql<T>(sql: string): Promise<T[]> {
    return (await this.control<{ results: T[] }>("sql", { sql })).results;
  }

  /** The platform's counts since the last call. */
  async tally(): Promise<Usage> {
    return sumOf([await this.control<Partial<Usage>>("tally"), 1]);
  }

  async cron(cron: string): Promise<void> {
    const worker = await this.#miniflare.getWorker();
    const { outcome } = await worker.scheduled({ cron });
    if (outcome !== "ok") throw new Error(`the cron ${cron} ended with ${outcome}`);
  }

  /** Waits until no request is on its way to a receiver. */
  async delivered(): Promise<void> {
    for (let i = 0; i < 600; i++) {
      const [row] = await this.sql<{ open: number; failed: number }>(
        `select count(*) filter (where status in ('pending', 'delivering')) as open,
          count(*) filter (where status in ('failed', 'blocked')) as failed from deliveries`,
      );
      if (row?.failed) throw new Error(`${row.failed} deliveries failed`);
      if (row?.open === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("the deliveries do not end");
  }

  /** The bytes of each table together with its indexes, as SQLite counts its pages. */
  bytes(): Map<string, number> {
    const database = new DatabaseSync(this.#file, { readOnly: true, timeout: BUSY_MS });
    try {
      const rows = database
        .prepare(
          `select m.tbl_name as name, sum(s.pgsize) as bytes from dbstat s join sqlite_schema m on m.name = s.name group by 1`,
        )
        .all() as { name: string; bytes: number }[];
      return new Map(rows.map(({ name, bytes }) => [name, bytes]));
    } finally {
      database.close();
    }
  }
}

function holds(path: string, table: string): boolean {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare("select 1 from sqlite_schema where name = ?").get(table) !== undefined;
  } finally {
    database.close();
  }
}

/** Every name resolves to a public address, and every receiver accepts its requests. */
function playOutside(request: Request): Response {
  const url = new URL(request.url);
  if (url.pathname !== "/dns-query") return new Response(null, { status: 204 });
  const isV4 = url.searchParams.get("type") === "A";
  const name = url.searchParams.get("name");
  const Answer = isV4 ? [{ name, type: 1, TTL: 60, data: "93.184.216.34" }] : [];
  return Response.json({ Status: 0, Answer });
}
