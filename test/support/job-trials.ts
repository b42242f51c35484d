/** The trial of each periodic job: rows that are due, a program whose rows always fail, and one that has most of them. */
import { env } from "cloudflare:workers";
import type { Bindings } from "../../src/env.ts";
import type { JobName, RunContext } from "../../src/jobs.ts";
import { programIdOn } from "../../src/domain/shard.ts";
import { ID_PREFIXES, firstIdAt, type IdKind } from "../../src/lib/id.ts";
import { DAY, HOUR, iso } from "../../src/lib/time.ts";
import { STORAGE_TRIALS } from "./job-trials-storage.ts";
import { VENDOR_TRIALS } from "./job-trials-vendors.ts";
import type { Trial } from "./trial.ts";

/** The first of a month: monthly work is due on that day too. */
export const START = Date.parse("2027-03-01T00:00:30.000Z");

const AT = iso(START);
const LONG_AGO = START - 100 * DAY;

const sqlText = (value: string) => `'${value.replaceAll("'", "''")}'`;
/** An id of a program's own, such as its one partner. */
const own = (kind: IdKind) => `'${ID_PREFIXES[kind]}_' || substr(t.program_id, 6)`;
/** An id of a row, minted at an instant. */
const id = (kind: IdKind, at = START - HOUR) =>
  `${sqlText(firstIdAt(kind, at).slice(0, -16))} || printf('%06d', t.g) || printf('%010d', t.i)`;

const PARTNERS = `insert into partners (id, program_id, email, slug, search_text, status, created_at, updated_at)
  select ${own("partner")}, t.program_id, 'p@partners.example', 'p', '', 'active', '${AT}', '${AT}'
  from trial t where t.i = 1`;
const ENDPOINTS = `insert into webhook_endpoints (id, program_id, url, secret, events, active, created_at, updated_at)
  select ${own("endpoint")}, t.program_id, 'https://hooks.example', '', '["*"]', 1, '${AT}', '${AT}'
  from trial t where t.i = 1`;

function deliveries(status: string, at: number, due: string): string {
  return `insert into deliveries (id, program_id, endpoint_id, event_id, event, status, next_attempt_at, claimed_until,
      created_at)
    select ${id("delivery", at)}, t.program_id, ${own("endpoint")}, 'evt_none', 'x', '${status}', '${due}', '${due}',
      '${iso(at)}' from trial t`;
}

function commissions(fields: Record<string, string>): string {
  const columns: Record<string, string> = {
    id: id("commission"),
    program_id: "t.program_id",
    partner_id: own("partner"),
    ...{ kind: "'manual'", status: "'pending'", amount_cents: "100", txn_amount_cents: "100", currency: "'USD'" },
    ...{ rate: "'{}'", created_at: `'${iso(LONG_AGO)}'`, updated_at: `'${iso(LONG_AGO)}'` },
    ...fields,
  };
  return `insert into commissions (${Object.keys(columns).join(", ")})
    select ${Object.values(columns).join(", ")} from trial t`;
}

function payouts(fields: Record<string, string>): string {
  const columns: Record<string, string> = {
    id: id("payout"),
    program_id: "t.program_id",
    partner_id: own("partner"),
    ...{ amount_cents: "100", currency: "'USD'", status: "'pending'", period_end: `'${AT}'`, due_at: `'${AT}'` },
    ...{ commission_count: "0", recipient_sealed: "''", created_at: `'${AT}'`, updated_at: `'${AT}'` },
    ...fields,
  };
  return `insert into payouts (${Object.keys(columns).join(", ")})
    select ${Object.values(columns).join(", ")} from trial t`;
}

const CODES = `insert into partner_codes (id, program_id, partner_id, provider, code, code_key, created_at)
  select ${own("code")}, t.program_id, ${own("partner")}, 'provider_a', 'P', 'p', '${AT}' from trial t where t.i = 1`;
const CODED = `insert into payments (id, program_id, provider, provider_transaction_id, outcome, partner_id, code_id, currency,
    txn_amount_cents, gross_cents, created_at, updated_at)
  select ${id("payment")}, t.program_id, 'provider_a', 'in_' || t.i, 'commission', ${own("partner")}, ${own("code")}, 'USD',
    100, 100, '${iso(LONG_AGO)}', '${iso(LONG_AGO)}' from trial t`;

const CLICKS = `insert into events (program_id, id, type, payload, created_at)
  select t.program_id, ${id("event", LONG_AGO)}, 'click',
    json_object('ref', 'x', 'landing', '/', 'referrer', '', 'partner_id', ${own("partner")}), '${iso(LONG_AGO)}' from trial t`;

const noted = (table: string, where: string) => `select distinct program_id from ${table} where ${where}`;
const withRetention = (context: RunContext): RunContext => ({
  ...context,
  env: { ...context.env, CLICK_RETENTION_DAYS: "30" },
});

/** Each answers at once, that of the program that always fails with an error. */
const objects = (served: (g: number) => void): Bindings["CLICKS"] =>
  ({
    getByName: (name: string) => ({
      async look() {
        const g = numberOf(name);
        if (g === FAILING) throw new Error(`object ${name} always fails`);
        served(g);
        return null;
      },
    }),
  }) as unknown as Bindings["CLICKS"];

const MANY = "more than one step takes; a step of more rows costs no more than one of these";

export const TRIALS: Record<JobName, Trial> = {
  ...STORAGE_TRIALS,
  ...VENDOR_TRIALS,
  "wake due deliveries": {
    most: 100_000,
    seed: [ENDPOINTS, deliveries("pending", START - HOUR, AT)],
    left: "",
    fails: { never: "a wake-up is a message to the queue, which takes or refuses anybody's" },
    runs: { 1: 1, 32: 1 },
    change: (context, served) => ({
      ...context,
      outbound: {
        ...context.outbound,
        wake: async (wakeUps) => {
          for (const { delivery_id } of wakeUps) served(Number(delivery_id.slice(-16, -10)));
        },
      },
    }),
  },
  "end claims at inactive endpoints": {
    most: 100_000,
    seed: [
      ENDPOINTS,
      "update webhook_endpoints set active = 0",
      deliveries("delivering", START - HOUR, iso(START - DAY)),
    ],
    left: noted("deliveries", "status = 'delivering'"),
    fails: { at: "before update on deliveries", row: "new" },
    runs: { 1: 2, 32: 2 },
  },
  "wake click objects": {
    calls: true,
    most: 2_000,
    why: "objects; one is called once, however many clicks wait in it",
    seed: [
      `insert into click_objects (name, created_at)
        select 'weur:' || t.i || '-' || substr(t.program_id, 6), '${AT}' from trial t`,
    ],
    left: "",
    fails: { at: "", row: "new" },
    isOver: true,
    runs: { 1: 4, 32: 4 },
    change: (context, served) => ({ ...context, env: { ...context.env, CLICKS: objects(served) } }),
  },
  "finish vendor events": {
    most: 100,
    why: "each is a transaction of its own",
    seed: [
      `insert into provider_events (program_id, provider, event_id, event_type, occurred_at, received_at, recorded_by, ignored)
        select t.program_id, 'provider_a', 'evt_' || t.i, 'x', '${AT}', '${iso(LONG_AGO)}', '', 'not_needed' from trial t`,
    ],
    left: noted("provider_events", "audit_event_id is null"),
    fails: { at: "before update on provider_events", row: "new" },
    runs: { 1: 12, 32: 12 },
  },
  "mark payments of applied rules": {
    most: 10_000,
    why: MANY,
    seed: [
      // Payments of a flow, which a change of the program's rate skips: marked payments wait for another job.
      `insert into payments (id, program_id, provider, provider_transaction_id, outcome, decision, currency,
          txn_amount_cents, gross_cents, created_at, updated_at)
        select ${id("payment")}, t.program_id, 'provider_a', 'in_' || t.i, 'commission', '{"rate": {"source": "flow"}}',
          'USD', 0, 0, '${iso(LONG_AGO)}', '${iso(LONG_AGO)}' from trial t`,
      `insert into rule_applications (program_id, seq, partner_id, source, marked_id, last_id, applies_from)
        select t.program_id, t.g, '', 'program', 'pmt_~', '', '' from trial t where t.i = 1`,
    ],
    left: noted("rule_applications", "true"),
    fails: { at: "before update on rule_applications", row: "new" },
    runs: { 1: 12, 32: 12 },
  },
  "settle payments": {
    most: 100,
    why: "each is a transaction of its own",
    seed: [
      `insert into payments (id, program_id, provider, provider_transaction_id, currency, txn_amount_cents, gross_cents,
          facts_revision, created_at, updated_at)
        select ${id("payment")}, t.program_id, 'provider_a', 'in_' || t.i, 'USD', 0, 0, 1, '${iso(LONG_AGO)}',
          '${iso(LONG_AGO)}' from trial t`,
      `insert into facts (program_id, provider, fact_id, kind, occurred_at, data)
        select t.program_id, 'provider_a', 'evt_' || t.i || '#0', 'payment', '${iso(LONG_AGO)}', json_object(
          'kind', 'payment', 'key', 'in_' || t.i, 'source', 'invoice', 'aliases', json_array('in_' || t.i), 'paid',
          json('true'), 'currency', 'USD', 'base_cents', 100, 'gross_cents', 100, 'ref', null, 'refs', json_array(), 'customer_email', null,
          'customer_id', null, 'subscription_id', null, 'occurred_at', '${iso(LONG_AGO)}') from trial t`,
      `insert into fact_subjects (program_id, provider, scope, subject, fact_id)
        select t.program_id, 'provider_a', 'payment', 'in_' || t.i, 'evt_' || t.i || '#0' from trial t`,
    ],
    left: noted("payments", "settled_revision < facts_revision"),
    fails: { at: "before update on payments", row: "new" },
    runs: { 1: 14, 32: 14 },
  },
  "reconcile open transfers": {
    calls: true,
    most: 100,
    why: "each is two transactions and a call to the vendor",
    seed: [
      PARTNERS,
      payouts({
        status: "'processing'",
        method: "'provider_a'",
        attempt: "1",
        attempt_started_at: `'${iso(START - 3 * HOUR)}'`,
        reconcile_at: `'${iso(START - HOUR)}'`,
        attempt_params: `json_object('key_mark', $key_mark, 'request', 'amount=100&currency=usd&destination=acct_trial'
          || '&transfer_group=' || ${id("payout")} || '&metadata%5Bpayout_id%5D=' || ${id("payout")})`,
      }),
    ],
    hasKeys: true,
    left: noted("payouts", "status = 'processing'"),
    fails: { at: "before update on payouts", row: "new" },
    runs: { 1: 30, 32: 30 },
  },
  "store weekly summaries": {
    most: 1,
    why: "there is one row of each program",
    seed: ["update programs set time_zone = 'Asia/Tokyo'", `update mail_rounds set next_at = '${iso(START - HOUR)}'`],
    left: noted("mail_rounds", `kind = 'weekly_summary' and next_at < '${AT}'`),
    fails: { at: "before update on mail_rounds", row: "new" },
    runs: { 1: 4, 32: 4 },
  },
  "store e-mails of commissions": {
    most: 10_000,
    why: MANY,
    seed: [
      PARTNERS,
      "update programs set time_zone = 'Asia/Tokyo'",
      `update mail_rounds set next_at = '${iso(START - HOUR)}', since = '${iso(START - 3 * DAY)}'`,
      `insert into events (program_id, id, type, payload, created_at)
        select t.program_id, ${id("event", START - DAY)}, 'commission.created', json_object('partner_id', ${own("partner")}),
          '${iso(START - DAY)}' from trial t`,
    ],
    left: noted("mail_rounds", `kind = 'commissions_earned' and next_at < '${AT}'`),
    fails: { at: "before update on mail_rounds", row: "new" },
    runs: { 1: 5, 32: 5 },
  },
  "send e-mails": {
    most: 100,
    why: "each is a call of who sends it",
    seed: [
      `insert into mails (id, program_id, kind, recipient, status, attempt_count, next_attempt_at, created_at)
        select ${id("mail")}, t.program_id, 'ledger_differs', 'owner@shop.example', 'pending', 0, '${AT}', '${AT}'
        from trial t`,
    ],
    hasTexts: true,
    left: noted("mails", "status = 'pending'"),
    fails: { at: "before update on mails", row: "new" },
    runs: { 1: 20, 32: 20 },
  },
  "fold what partners are searched by": {
    most: 10_000,
    why: MANY,
    seed: [
      `insert into partners (id, program_id, email, slug, search_text, status, created_at, updated_at)
        select ${id("partner")}, t.program_id, t.g || '.' || t.i || '@partners.example', 'p' || t.i, 'as before', 'active',
          '${AT}', '${AT}' from trial t`,
    ],
    left: noted("partners", "search_text = 'as before'"),
    fails: { at: "before update on partners", row: "new" },
    runs: { 1: 3, 32: 3 },
  },
  "roll up clicks": {
    most: 100_000,
    seed: [
      PARTNERS,
      CLICKS,
      "update events set uncounted = 1 where program_id in (select program_id from trial)",
      `insert into click_rollups (program_id, until, next_at)
        select t.program_id, '${firstIdAt("event", LONG_AGO)}', '${iso(START - HOUR)}' from trial t where t.i = 1`,
    ],
    left: noted("click_rollups", "next_at is not null"),
    fails: { at: "before insert on click_counts", row: "new" },
    runs: { 1: 4, 32: 6 },
  },
  "forget what is not proved": {
    most: 100_000,
    seed: [
      `insert into application_drafts (token_hash, program_id, email, name, answers, mailbox, created_at, expires_at)
        select t.g || ' ' || t.i, t.program_id, 'jane@applicants.example', 'Jane', '[]', '', '${AT}', '${AT}' from trial t`,
    ],
    left: noted("application_drafts", "1"),
    fails: { at: "before delete on application_drafts", row: "old" },
    runs: { 1: 3, 32: 3 },
  },
  "archive clicks": {
    calls: true,
    most: 100_000,
    seed: [
      PARTNERS,
      CLICKS,
      `insert into click_archive_days (program_id, day)
        select t.program_id, '${iso(LONG_AGO).slice(0, 10)}' from trial t where t.i = 1`,
    ],
    left: noted("click_archive_days", "1"),
    fails: { at: "before insert on click_archives", row: "new" },
    runs: { 1: 6, 32: 6 },
    change: withRetention,
  },
  "disable failing endpoints": {
    most: 100,
    why: "endpoints of one program, each in a transaction of its own",
    seed: [
      `insert into webhook_endpoints (id, program_id, url, secret, events, failing_since, failure_count, created_at, updated_at)
        select iif(t.i = 1, ${own("endpoint")}, ${id("endpoint")}), t.program_id, 'https://hooks.example', '', '["*"]', '${iso(LONG_AGO)}', 1000, '${AT}',
          '${AT}' from trial t`,
    ],
    left: noted("webhook_endpoints", "active = 1"),
    fails: { at: "before update on webhook_endpoints", row: "new" },
    runs: { 1: 10, 32: 10 },
  },
  "forget what is past its time": {
    most: 100_000,
    seed: [
      ENDPOINTS,
      deliveries("failed", LONG_AGO, AT),
      `insert into provider_events (program_id, provider, event_id, event_type, occurred_at, received_at, recorded_by, body, audit_event_id)
        select t.program_id, 'provider_a', 'evt_' || t.i, 'x', '${AT}', '${iso(LONG_AGO)}', '', '{}', '' from trial t
        where t.i = 1`,
      `insert into mails (id, program_id, kind, recipient, status, attempt_count, created_at)
        select ${id("mail")}, t.program_id, 'application_received', 'jane@applicants.example', 'sent', 1, '${iso(LONG_AGO)}' from trial t
        where t.i = 1`,
    ],
    left: `${noted("deliveries", "1")} union ${noted("provider_events", "body is not null")}
      union ${noted("mails", "1")}`,
    fails: { at: "before delete on deliveries", row: "old" },
    runs: { 1: 3, 32: 3 },
  },
  "note clicks beyond their retention": {
    most: 100_000,
    seed: [
      `insert into event_counts (program_id, type, day, count)
        select t.program_id, 'click', date('1700-01-01', t.i || ' days'), 1 from trial t`,
    ],
    left: `select distinct program_id from event_counts c where not exists (
      select 1 from click_archive_days d where d.program_id = c.program_id and d.day = c.day)`,
    fails: { at: "before insert on click_archive_days", row: "new" },
    runs: { 1: 2, 32: 2 },
    change: withRetention,
  },
  "recount events": {
    most: 100_000,
    seed: [PARTNERS, CLICKS],
    left: `select program_id from (select program_id, count(*) as n from events group by 1) e where n <> coalesce(
      (select sum(count) from event_hours h where h.program_id = e.program_id), 0)`,
    fails: { at: "before insert on event_hours", row: "new" },
    runs: { 1: 4, 32: 4 },
  },
  "recount lists": {
    most: 60_000,
    why: "more than one statement counts",
    seed: [PARTNERS, commissions({}), "update list_counts set count = count + 1"],
    left: `select distinct c.program_id as program_id from list_counts c
      join (select program_id, count(*) as n from trial group by 1) t on t.program_id = c.program_id
      where c.count <> iif(c.list in ('partners', 'partner_groups'), 1, t.n)`,
    fails: { at: "before update on list_counts", row: "new" },
    runs: { 1: 3, 32: 3 },
  },
  "recount earnings": {
    most: 60_000,
    why: "those of one partner are one statement",
    seed: [PARTNERS, commissions({}), "update earning_days set commissions = commissions + 1"],
    left: `select distinct e.program_id as program_id from earning_days e
      join (select program_id, count(*) as n from trial group by 1) t on t.program_id = e.program_id
      where e.commissions <> t.n`,
    fails: { at: "before update on earning_days", row: "new" },
    runs: { 1: 3, 32: 3 },
  },
  "recount codes": {
    most: 20_000,
    why: "those of fifty codes are one statement",
    seed: [PARTNERS, CODES, CODED, "update code_days set sales = sales + 1"],
    left: `select distinct d.program_id as program_id from code_days d
      join (select program_id, count(*) as n from trial group by 1) t on t.program_id = d.program_id
      where d.sales <> t.n`,
    fails: { at: "before update on code_days", row: "new" },
    runs: { 1: 3, 32: 3 },
  },
  "approve due commissions": {
    most: 10_000,
    why: MANY,
    seed: [PARTNERS, "update programs set auto_approve_days = 30", commissions({})],
    left: noted("commissions", "status = 'pending'"),
    fails: { at: "before update on commissions", row: "new" },
    runs: { 1: 8, 32: 8 },
  },
  "reconcile the ledger": {
    most: 300,
    why: MANY,
    seed: [PARTNERS, commissions({})],
    left: `select id as program_id from programs p where not exists (
      select 1 from reconciliations r where r.program_id = p.id and r.finished_at is not null)`,
    fails: { at: "before insert on reconciliations", row: "new" },
    runs: { 1: 40, 32: 40 },
  },
  "generate the past month's payouts": {
    most: 5_000,
    why: MANY,
    seed: [
      `insert into partners (id, program_id, email, slug, search_text, status, created_at, updated_at)
        select ${id("partner")}, t.program_id, t.i || '@partners.example', 'p' || t.i, '', 'active', '${AT}', '${AT}'
        from trial t where t.i <= 500`,
      `update programs set created_at = '${iso(LONG_AGO)}'`,
      commissions({
        partner_id: id("partner").replace("t.i", "((t.i - 1) % 500 + 1)"),
        ...{ status: "'approved'", approved_at: `'${iso(LONG_AGO)}'` },
      }),
    ],
    left: "select id as program_id from programs p where not exists (select 1 from payout_runs r where r.program_id = p.id)",
    fails: { at: "before insert on payouts", row: "new" },
    runs: { 1: 12, 32: 12 },
  },
};

/** The first program of the first database always fails, the second one has the most. */
export const FAILING = 0;
export const programId = (g: number, shard = 0) =>
  programIdOn(shard, `${ID_PREFIXES.program}_${String(g).padStart(26, "0")}`);
/** The number of a program, from its id or from the id of one of its rows. */
export const numberOf = (id_: string) => Number(id_.slice(-25));

/** Empties a database, with its triggers disabled. */
export async function wipe(database: D1Database): Promise<void> {
  const { results } = await database
    .prepare(
      `select type, name, sql from sqlite_master where type in ('table', 'trigger')
        and name not like 'sqlite_%' and name not like '_cf_%' and name <> 'd1_migrations'`,
    )
    .all<{ type: string; name: string; sql: string }>();
  const triggers = results.filter(({ type, name }) => type === "trigger" && name !== "trial_fails");
  const all = [
    "pragma defer_foreign_keys = on",
    ...results.filter(({ type }) => type === "trigger").map(({ name }) => `drop trigger ${name}`),
    ...results
      .filter(({ type, name }) => type === "table" && name !== "trial")
      .map(({ name }) => `delete from ${name}`),
    "drop table if exists trial",
    ...triggers.map(({ sql }) => sql),
  ];
  await database.batch(all.map((sql) => database.prepare(sql)));
}

export const databases = Object.entries(env as unknown as Record<string, D1Database>)
  .filter(([name]) => /^DB(_\d+)?$/.test(name))
  .toSorted(([a], [b]) => Number(a.slice(3)) - Number(b.slice(3)))
  .map(([, database]) => database);
