/**
 * `npm run bench:lists`: the list of events and its like in a program with 1,000,000 clicks against one with 1,000, in
 * the same database and by turns: time by ratio, and the rows that D1 says it read. The clicks lie in thirty days, or
 * all in one day, or all in one hour.
 *
 * The lists whose rows are in tables of their own: 100,000 payments and partners against 1,000.
 *
 *   --spreads=days,day,hour   some of these
 *   --rounds=201              calls of each, of which the median counts
 *   --json                    one JSON document instead of the table
 */
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { freePort } from "../../src/dev/local-service.ts";
import { builtWorker, buildWorker, migrate } from "./raw-service.ts";

const { values: options } = parseArgs({
  options: {
    spreads: { type: "string", default: "days,day,hour" },
    rounds: { type: "string", default: "201" },
    json: { type: "boolean", default: false },
  },
});

const SIZES = { few: 1_000, many: 1_000_000 } as const;
const DAY = 86_400_000;
const HOUR = 3_600_000;
/** The start and the length of the stretch with clicks. */
const START = Date.parse("2026-03-01T00:00:00.000Z");
const SPREADS: Record<string, { from: number; length: number }> = {
  days: { from: START, length: 30 * DAY },
  day: { from: START, length: DAY },
  hour: { from: START + 10 * HOUR, length: HOUR },
};

interface Case {
  name: string;
  path: (spread: { from: number; length: number }, cursor: string) => string;
}

const iso = (ms: number) => new Date(ms).toISOString();
const range = ({ from, length }: { from: number; length: number }, edge: number) =>
  `from=${iso(from + edge + Math.floor(length / 4 / 60_000) * 60_000)}&to=${iso(from + edge + Math.floor((length * 3) / 4 / 60_000) * 60_000)}`;

const CASES: Case[] = [
  { name: "first page", path: () => "/events" },
  { name: "page 3", path: () => "/events?page=3" },
  { name: "deep cursor", path: (_, cursor) => `/events?cursor=${cursor}` },
  { name: "type filter, click", path: () => "/events?type=click" },
  { name: "type filter, another", path: () => "/events?type=partner.created" },
  { name: "time filter, edges on minutes", path: (spread) => `/events?${range(spread, 0)}` },
  { name: "time filter, edges in minutes", path: (spread) => `/events?${range(spread, 31_234)}` },
  { name: "time and type", path: (spread) => `/events?type=click&${range(spread, 31_234)}` },
  { name: "time filter and deep cursor", path: (spread, cursor) => `/events?${range(spread, 0)}&cursor=${cursor}` },
  { name: "clicks summary, a year", path: () => "/clicks/summary?from=2025-11-01&to=2026-10-31" },
];

/** Rows of other tables, in the programs whose clicks lie in thirty days. */
const OTHER_LISTS: Case[] = ["/payments", "/payments?outcome=no_ref", "/partners", "/partners?status=active"].map(
  (path) => ({ name: path, path: () => path }),
);
const OTHER_SIZES = { few: 1_000, many: 100_000 };

/** Counts the rows that the database reads for the current request. Limiters are simulated as in the other benches. */
const COUNTING_WORKER = `
import worker, { ClickCounter } from "./index.js";
export { ClickCounter };
let rows = 0;
const limiter = { limit: async () => ({ success: true }) };
const count = (results) => { for (const { meta } of results) rows += meta.rows_read; return results; };
// Raw reads come without counts.
const raw = (statement) => async () => count([await statement.all()])[0].results.map(Object.values);
const prepared = (statement) => new Proxy(statement, { get(target, name) {
  if (name === "bind") return (...values) => prepared(target.bind(...values));
  return name === "raw" ? raw(target) : Reflect.get(target, name);
} });
const counting = (database) => new Proxy(database, { get(target, name) {
  if (name === "prepare") return (sql) => prepared(target.prepare(sql));
  if (name === "batch") return async (statements) => count(await target.batch(statements));
  if (name === "withSession") return (...args) => counting(target.withSession(...args));
  const member = Reflect.get(target, name);
  return typeof member === "function" ? member.bind(target) : member;
} });
let env;
export default { async fetch(request, bound, execution) {
  env ??= Object.assign(Object.create(bound), { DB: counting(bound.DB) }, Object.fromEntries(
    ["API", "FAILED_AUTH", "FAILED_AUTH_SITE", "CLICK", "CLICK_SITE", "SIGN_IN", "SIGN_IN_SITE"].map((name) => ["RATE_LIMIT_" + name, limiter])));
  rows = 0;
  const response = await worker.fetch(request, env, execution);
  const copy = new Response(response.body, response);
  copy.headers.set("x-rows-read", String(rows));
  return copy;
} };`;

interface Line {
  spread: string;
  case: string;
  total: { few: number; many: number };
  rows_read: { few: number; many: number };
  ms: { few: number; many: number };
  /** Median time with 1,000,000 clicks over that with 1,000. */
  ratio: number;
}

const folder = await mkdtemp(join(tmpdir(), "affiliate-lists-"));
let miniflare: Miniflare | undefined;
try {
  await buildWorker(join(folder, "worker"));
  await writeFile(join(folder, "worker", "lists.js"), COUNTING_WORKER);
  const port = await freePort();
  const shared = { name: "worker", cf: false as const, unsafeDirectSockets: [{ host: "127.0.0.1", port }] };
  const worker = await builtWorker(join(folder, "worker"), "lists.js");
  worker.modules = worker.modules.filter(({ path }) => !path.endsWith("bench.js"));
  miniflare = new Miniflare({
    ...convertV4MiniflareOptions({ ...shared, ...worker }),
    resourcePersistencePath: join(folder, "state"),
  });
  await miniflare.ready;
  const database = await miniflare.getD1Database("DB");
  await migrate(database);
  const lines: Line[] = [];
  for (const name of options.spreads.split(",")) {
    const spread = SPREADS[name];
    if (!spread) throw new Error(`no such spread: ${name}`);
    const programs = {
      few: await fill(database, `few${name}`, SIZES.few, spread),
      many: await fill(database, `many${name}`, SIZES.many, spread),
    };
    if (name === "days") {
      await fillOthers(database, `few${name}`, OTHER_SIZES.few);
      await fillOthers(database, `many${name}`, OTHER_SIZES.many);
    }
    for (const listed of [...CASES, ...(name === "days" ? OTHER_LISTS : [])]) {
      const line = await compare(`http://127.0.0.1:${port}`, name, listed, programs);
      lines.push(line);
      if (!options.json) print(line, lines.length === 1);
    }
  }
  if (options.json) console.log(JSON.stringify(lines, null, 2));
} finally {
  await miniflare?.dispose();
  await rm(folder, { recursive: true, force: true });
}

interface Program {
  key: string;
  cursor: string;
}

type Bench = Awaited<ReturnType<Miniflare["getD1Database"]>>;

/** A program with `count` clicks, evenly over the spread; ids of their time and their number. */
async function fill(
  database: Bench,
  name: string,
  count: number,
  spread: { from: number; length: number },
): Promise<Program> {
  const key = `sk_bench_${name}`;
  const id = `prog_${name.padStart(26, "0")}`;
  const now = iso(Date.now());
  const hash = createHash("sha256").update(key).digest("hex");
  await database
    .prepare(
      `insert into programs (id, name, owner_email, api_key_hash, api_key_last4, api_key_created_at,
         api_key_last_used_at, created_at, updated_at) values (?1, 'Bench', 'bench@bench.example', ?2, 'last', ?3, ?3, ?3, ?3)`,
    )
    .bind(id, hash, now)
    .run();
  const base32 = Array.from(
    { length: 10 },
    (_, i) => `substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> ${5 * (9 - i)}) & 31), 1)`,
  ).join(" || ");
  for (let from = 0; from < count; from += 50_000) {
    await database
      .prepare(
        `insert into events (program_id, id, type, payload, created_at)
         with recursive n (n) as (select ?2 union all select n + 1 from n where n < min(?2 + 50000, ?3) - 1)
         select ?1, 'evt_' || ${base32} || printf('%016d', n), 'click',
           json_object('ref', 'p' || (n % 500), 'landing', '/pricing', 'referrer', 'https://blog.example/',
             'partner_id', printf('par_%026d', n % 500)),
           strftime('%Y-%m-%dT%H:%M:%fZ', ms / 1000.0, 'unixepoch')
         from (select n, ?4 + n * ?5 / ?3 as ms from n)`,
      )
      .bind(id, from, count, spread.from, spread.length)
      .run();
  }
  await database
    .prepare(
      `insert into event_hours (program_id, hour, type, count, minutes)
       select program_id, hour, 'click', sum(n), json_group_object(minute, n) from (
         select program_id, substr(created_at, 1, 13) as hour, substr(created_at, 15, 2) as minute, count(*) as n
         from events where program_id = ? group by 1, 2, 3) group by 1, 2`,
    )
    .bind(id)
    .run();
  const middle = `select id from events where program_id = ? order by id limit 1 offset ${count / 2}`;
  const row = await database.prepare(middle).bind(id).first<{ id: string }>();
  return { key, cursor: Buffer.from(row?.id ?? "").toString("base64url") };
}

/** Payments, one in ten without a reference, and partners. */
async function fillOthers(database: Bench, name: string, count: number): Promise<void> {
  const id = `prog_${name.padStart(26, "0")}`;
  const now = iso(START);
  const numbers = `with recursive n (n) as (select 0 union all select n + 1 from n where n < ${count - 1})`;
  await database.batch(
    [
      `insert into payments (id, program_id, provider, provider_transaction_id, outcome, currency, txn_amount_cents,
         gross_cents, created_at, updated_at)
       ${numbers} select printf('pmt_%s%023d', ?3, n), ?1, 'provider_a', 'cs_' || n,
         iif(n % 10, 'commission', 'no_ref'), 'USD', 5000, 5000, ?2, ?2 from n`,
      `insert into partners (id, program_id, email, slug, status, search_text, created_at, updated_at)
       ${numbers} select printf('par_%s%023d', ?3, n), ?1, 'p' || n || '@bench.example', 'p' || n,
         iif(n % 2, 'active', 'invited'), '', ?2, ?2 from n`,
    ].map((statement) => database.prepare(statement).bind(id, now, name.slice(0, 3))),
  );
}

/** The two programs by turns, so that other load on the machine falls on both. */
async function compare(
  url: string,
  spread: string,
  listed: Case,
  programs: Record<keyof typeof SIZES, Program>,
): Promise<Line> {
  const times: Record<keyof typeof SIZES, number[]> = { few: [], many: [] };
  const rows_read = { few: 0, many: 0 };
  const total = { few: 0, many: 0 };
  for (let round = -20; round < Number(options.rounds); round++) {
    for (const size of ["few", "many"] as const) {
      const { key, cursor } = programs[size];
      const path = `/api/v1${listed.path(SPREADS[spread]!, cursor)}`;
      const begun = performance.now();
      const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
      const body = (await response.json()) as { total?: number; recorded?: number };
      const taken = performance.now() - begun;
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`);
      rows_read[size] = Number(response.headers.get("x-rows-read"));
      total[size] = body.total ?? body.recorded ?? 0;
      if (round >= 0) times[size].push(taken);
    }
  }
  const ms = { few: median(times.few), many: median(times.many) };
  return { spread, case: listed.name, total, rows_read, ms, ratio: ms.many / ms.few };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function print(line: Line, first: boolean): void {
  if (first) {
    console.log(`1,000,000 clicks against 1,000; medians of ${options.rounds} calls by turns\n`);
    console.log("clicks in  list                               total   rows read       ms (1,000)  ratio");
  }
  console.log(
    [
      line.spread.padEnd(10),
      line.case.padEnd(31),
      String(line.total.many).padStart(8),
      `${line.rows_read.many} (${line.rows_read.few})`.padStart(14),
      `${line.ms.many.toFixed(2)} (${line.ms.few.toFixed(2)})`.padStart(15),
      line.ratio.toFixed(2).padStart(6),
    ].join(" "),
  );
}
