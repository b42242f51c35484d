/**
 * `node test/bench/pages.ts`: how long the pages take in a program with 10,000 partners, 1,000,000 clicks in the audit
 * log, and 100,000 payments with a commission each. The rates belong to the machine; what to look at is that no page
 * grows with the program.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { randomSecrets } from "../../src/dev/dev-vars.ts";
import { call, expectStatus } from "../../src/dev/demo/client.ts";
import { freePort, migrate, startLocalService, WRANGLER } from "../../src/dev/local-service.ts";
import { ROOT } from "../../src/dev/root.ts";
import { PLACES } from "../support/looked-at.ts";

const PARTNERS = 10_000;
const EVENTS = 1_000_000;
const PAYMENTS = 100_000;
const ROUNDS = 9;
const OWNER = "owner@bench.example";
const MINTED = "prog_01bench0000000000000000000";

const PAGES = [
  ...PLACES,
  ...["/dashboard?days=90", "/dashboard/partners?page=400", "/dashboard/partners?search=partner+9999"],
  ...["/dashboard/commissions?status=pending", "/dashboard/commissions?flagged=true"],
  ...["/dashboard/commissions?page=4000", "/dashboard/payments?outcome=no_ref", "/dashboard/payouts/new"],
  ...["/dashboard/events?page=40000", "/dashboard/events?type=partner.created"],
];

async function signIn(url: string): Promise<string> {
  const link = { method: "POST", bearer: secrets.ADMIN_TOKEN, body: { email: OWNER } };
  const made = expectStatus(await call<{ url: string }>(`${url}/admin/sign-in-links`, link), 201);
  const { pathname, search, searchParams } = new URL(made.url);
  const page = await fetch(`${url}${pathname}${search}`);
  const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
  const body = new URLSearchParams({ csrf, token: searchParams.get("token") ?? "" });
  const headers = { cookie: page.headers.getSetCookie().join("; ").split(";")[0] ?? "" };
  const reply = await fetch(`${url}/sign-in/confirm`, { method: "POST", headers, body, redirect: "manual" });
  return reply.headers.getSetCookie().find((line) => line.startsWith("__Host-session=")) ?? "";
}

/** Written straight into the database: years of data within a minute. */
async function fill(): Promise<void> {
  const file = join(state, "fill.sql");
  await writeFile(file, SQL);
  const args = ["d1", "execute", "DB", "--local", "--persist-to", state, "--file", file, "--yes"];
  await promisify(execFile)(process.execPath, [WRANGLER, ...args], { cwd: ROOT, maxBuffer: 1 << 26 });
}

const DAY = "86400";
/** Seconds; the same for every statement, for ids are made of it. */
const NOW = Math.floor(Date.now() / 1000);
const stamp = (column: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, 'unixepoch')`;
const base32 = (value: string, digits: number) =>
  Array.from(
    { length: digits },
    (_, i) => `substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((${value}) >> ${5 * (digits - 1 - i)} & 31), 1)`,
  ).join(" || ");
/** An id of the given second, with a number in place of chance. */
const id = (prefix: string, at: string, n: string) =>
  `'${prefix}_' || ${base32(`(${at}) * 1000`, 10)} || substr('0000000000000000' || ${n}, -16)`;
const count = (to: number) => `with recursive n (n) as (select 0 union all select n + 1 from n where n < ${to - 1})`;

const SQL = `
insert into programs (id, name, owner_email, domain, currency, default_commission_pct, payout_term, min_payout_cents,
  cookie_days, attribution, shard, api_key_hash, api_key_last4, api_key_created_at, created_at, updated_at)
values ('${MINTED}', 'Bench', '${OWNER}', 'bench.example', 'USD', 20, 'NET-15', 0, 60, 'last', 0, 'x', 'xxxx',
  '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
insert into partners (id, program_id, email, first_name, last_name, slug, status, search_text, created_at, updated_at)
  ${count(PARTNERS)} select ${id("par", `${NOW} - 400 * ${DAY}`, "n")}, '${MINTED}', 'p' || n || '@bench.example', 'Partner', n,
    'p' || n, 'active', 'p' || n || '@bench.example' || char(10) || 'p' || n || char(10) || 'partner ' || n,
    ${stamp(`${NOW} - 400 * ${DAY}`)}, ${stamp(`${NOW} - 400 * ${DAY}`)} from n;
insert into events (program_id, id, type, payload, created_at)
  ${count(EVENTS)} select '${MINTED}', ${id("evt", `${NOW} - 365 * ${DAY} + n * 365 * ${DAY} / ${EVENTS}`, "n")}, 'click',
    '{"ref":"p' || (n % ${PARTNERS}) || '","landing":"/","referrer":""}',
    ${stamp(`${NOW} - 365 * ${DAY} + n * 365 * ${DAY} / ${EVENTS}`)} from n;
insert into event_counts (program_id, type, day, count)
  select program_id, type, substr(created_at, 1, 10), count(*) from events group by 1, 2, 3;
insert into click_counts (program_id, partner_id, day, count)
  ${count(365 * 400)} select '${MINTED}', ${id("par", `${NOW} - 400 * ${DAY}`, `(n % ${PARTNERS})`)},
    date(${NOW} - (n / 400) * ${DAY}, 'unixepoch'), 7 from n;
insert into payments (id, program_id, provider, provider_transaction_id, outcome, partner_id, currency, txn_amount_cents,
  gross_cents, created_at, updated_at)
  ${count(PAYMENTS)} select ${id("pmt", `${NOW} - 365 * ${DAY} + n * 365 * ${DAY} / ${PAYMENTS}`, "n")}, '${MINTED}', 'provider_a', 'cs_' || n,
    'commission', ${id("par", `${NOW} - 400 * ${DAY}`, `(n % ${PARTNERS})`)}, 'USD', 5000 + n % 9000, 5000 + n % 9000,
    ${stamp(`${NOW} - 365 * ${DAY} + n * 365 * ${DAY} / ${PAYMENTS}`)}, ${stamp(String(NOW))} from n;
insert into commissions (id, program_id, partner_id, payment_id, kind, status, amount_cents, txn_amount_cents, currency,
  provider, provider_transaction_id, rate, created_at, updated_at)
  select 'com_' || substr(id, 5), program_id, partner_id, id, 'sale',
    case when id > (select id from payments order by id desc limit 1 offset ${PAYMENTS / 10}) then 'pending'
      when id > (select id from payments order by id desc limit 1 offset ${PAYMENTS / 5}) then 'approved' else 'paid' end,
    txn_amount_cents / 5, txn_amount_cents, currency, provider, provider_transaction_id,
    '{"source":"program","action_type":"percentage","action_value":20}', created_at, updated_at from payments;
`;

const state = await mkdtemp(join(tmpdir(), "affiliate-bench-pages-"));
const secrets = randomSecrets();
try {
  await migrate(state);
  await fill();
  const port = await freePort();
  const service = await startLocalService({ port, persistTo: state, secrets, onLog: () => {} });
  try {
    const cookie = await signIn(service.url);
    console.log(`${"page".padEnd(44)}  median    slowest`);
    for (const path of PAGES) {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const start = performance.now();
        const reply = await fetch(service.url + path, { headers: { cookie }, redirect: "manual" });
        await reply.text();
        if (reply.status !== 200) throw new Error(`${path}: ${reply.status}`);
        times.push(performance.now() - start);
      }
      times.sort((a, b) => a - b);
      const ms = (value: number | undefined) => `${(value ?? 0).toFixed(1)} ms`.padStart(9);
      console.log(`${path.padEnd(44)} ${ms(times[ROUNDS >> 1])} ${ms(times.at(-1))}`);
    }
  } finally {
    await service.stop();
  }
} finally {
  await rm(state, { recursive: true, force: true });
}
