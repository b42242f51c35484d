import fc from "fast-check";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { listCounts } from "../../src/db/schema.ts";
import { APPLICATION_STATUSES } from "../../src/domain/application.ts";
import { CLAIM_STATUSES } from "../../src/domain/claim.ts";
import { COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import { PARTNER_STATUSES } from "../../src/domain/partner.ts";
import { OUTCOMES } from "../../src/domain/payment.ts";
import { PAYOUT_STATUSES } from "../../src/domain/payout.ts";
import { EXPORT_STATUSES } from "../../src/domain/payout-export.ts";
import { makeProgram } from "../support/program.ts";
import { makeStocked } from "../support/stocked.ts";

const RUNS = Math.max(10, Math.ceil(Number(env.PROPERTY_RUNS) / 4));

/** The state column of each list, and its possible values. */
const LISTS = {
  partners: { column: "status", states: PARTNER_STATUSES },
  payments: { column: "outcome", states: [...OUTCOMES, null] },
  commissions: { column: "status", states: COMMISSION_STATUSES },
  payouts: { column: "status", states: PAYOUT_STATUSES },
  payout_exports: { column: "status", states: EXPORT_STATUSES },
  claims: { column: "status", states: CLAIM_STATUSES },
  applications: { column: "status", states: APPLICATION_STATUSES },
} as const satisfies Record<
  Exclude<typeof listCounts.$inferSelect.list, "flagged" | "leads" | "partner_groups">,
  object
>;
type List = keyof typeof LISTS;
const NAMES = Object.keys(LISTS) as List[];

async function countsOf(program_id: string): Promise<[Record<string, number>, Record<string, number>]> {
  const counted = NAMES.map((list) => {
    const state = list === "payments" ? "ifnull(outcome, '')" : "status";
    return `select '${list} ' || ${state} as name, count(*) as n from ${list} where program_id = ? group by 1`;
  });
  const flagged = `select 'flagged ' || status as name, count(*) as n from commissions
    where program_id = ? and flagged = 1 group by 1`;
  const leads = `select 'leads ' || ifnull(outcome, '') as name, count(*) as n from payments
    where program_id = ? and event = 'lead_created' group by 1`;
  const groups = `select 'partner_groups ' || group_id as name, count(*) as n from partners
    where program_id = ? group by 1`;
  const kept = "select list || ' ' || state as name, count as n from list_counts where program_id = ? and count <> 0";
  const results = await env.DB.batch<{ name: string; n: number }>(
    [kept, flagged, leads, groups, ...counted].map((statement) => env.DB.prepare(statement).bind(program_id)),
  );
  const [first, ...rest] = results.map(({ results: rows }) => rows.map(({ name, n }) => [name, n] as const));
  return [Object.fromEntries(first ?? []), Object.fromEntries(rest.flat())];
}

const REQUIRED: Record<List, (id: string) => Record<string, string | number | null>> = {
  partners: (id) => ({ email: id, slug: id, search_text: "" }),
  payments: (id) => ({
    provider: "provider_a",
    provider_transaction_id: id,
    currency: "USD",
    txn_amount_cents: 1,
    gross_cents: 1,
  }),
  commissions: () => ({ kind: "manual", amount_cents: 1, txn_amount_cents: 1, currency: "USD", rate: "{}" }),
  payouts: () => ({ amount_cents: 1, currency: "USD", period_end: "2026", due_at: "2026", commission_count: 1 }),
  payout_exports: () => ({ format: "wallet", currency: "USD", count: 1, amount_cents: 1 }),
  claims: (id) => ({ order_id: id, decided_at: "2026" }),
  applications: (id) => ({ token_hash: id }),
};

/** A column that does not affect the counts. */
const TOUCHED: Record<List, string> = {
  ...{ partners: "updated_at", payments: "updated_at", commissions: "updated_at", payouts: "updated_at" },
  ...{ payout_exports: "updated_at", claims: "decided_at", applications: "updated_at" },
};

const list = fc.constantFrom(...NAMES);
const state = fc.nat();
const some = fc.integer({ min: 1, max: 4 });
const EVENTS = ["transaction_completed", "lead_created"] as const;

/** One statement each; its row may be missing, or may exist already. */
const operation = fc.oneof(
  fc.record({ kind: fc.constantFrom("insert", "upsert", "ignore"), list, state, id: fc.nat({ max: 9 }) }),
  fc.record({ kind: fc.constantFrom("move", "delete", "touch"), list, state, id: some }),
  fc.record({ kind: fc.constant("flag"), list: fc.constant("commissions" as const), state, id: some }),
  fc.record({ kind: fc.constant("group"), list: fc.constant("partners" as const), state, id: some }),
  fc.record({ kind: fc.constant("lead"), list: fc.constant("payments" as const), state, id: some }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

function statementOf(operation_: Operation, program_id: string, partner_id: string): D1PreparedStatement {
  const { kind, list: table, id } = operation_;
  const { column, states } = LISTS[table];
  const value = states[operation_.state % states.length] ?? null;
  if (kind === "move") {
    const sql = `update ${table} set ${column} = ?, ${TOUCHED[table]} = '2026-01-02T00:00:00.000Z' where program_id = ? and unicode(substr(id, -1)) % ? = 0`;
    return env.DB.prepare(sql).bind(value, program_id, id);
  }
  if (kind === "flag") {
    const sql = `update commissions set flagged = ?, status = ? where program_id = ? and unicode(substr(id, -1)) % ? = 0`;
    return env.DB.prepare(sql).bind(operation_.state % 2, value, program_id, id);
  }
  if (kind === "group") {
    const sql = `update partners set group_id = (select id from groups where program_id = ?1 order by id limit 1 offset ?2)
      where program_id = ?1 and unicode(substr(id, -1)) % ?3 = 0`;
    return env.DB.prepare(sql).bind(program_id, operation_.state % 2, id);
  }
  if (kind === "lead") {
    const sql = `update payments set event = ?, outcome = ? where program_id = ? and unicode(substr(id, -1)) % ? = 0`;
    return env.DB.prepare(sql).bind(EVENTS[operation_.state % 2]!, value, program_id, id);
  }
  if (kind === "touch")
    return env.DB.prepare(
      `update ${table} set ${TOUCHED[table]} = '2026-01-03T00:00:00.000Z' where program_id = ?`,
    ).bind(program_id);
  if (kind === "delete") {
    const own = table === "partners" ? " and id <> (select min(id) from partners where program_id = ?2)" : "";
    const sql = `delete from ${table} where unicode(substr(id, -1)) % ?1 = 0 and program_id = ?2${own}`;
    return env.DB.prepare(sql).bind(id, program_id);
  }
  // The key has the length of the service's own ids, because the job that posts old commissions derives ids from it.
  const key = `${table.slice(0, 3)}_${program_id.slice(-25)}${id}`;
  const row: Record<string, string | number | null> = {
    id: key,
    program_id,
    ...REQUIRED[table](key),
    ...(table === "commissions" || table === "payouts" || table === "claims" ? { partner_id } : {}),
    ...(table === "commissions" ? { flagged: operation_.state % 2 } : {}),
    ...(table === "payments" ? { event: EVENTS[operation_.state % 2]! } : {}),
    [column]: value,
    created_at: "2026-01-01T00:00:00.000Z",
    [TOUCHED[table]]: "2026-01-01T00:00:00.000Z",
  };
  const names = Object.keys(row);
  const conflict = {
    insert: "",
    ignore: "on conflict do nothing",
    upsert: `on conflict (id) do update set ${column} = excluded.${column}`,
  }[kind];
  const sql = `insert into ${table} (${names.join()}) values (${names.map(() => "?").join()}) ${conflict}`;
  return env.DB.prepare(sql).bind(...Object.values(row));
}

describe("the kept counts of lists", () => {
  it("equal count(*) after any writes, batches that fail half-way among them", async () => {
    const batch = fc.record({ operations: fc.array(operation, { minLength: 1, maxLength: 5 }), fails: fc.boolean() });
    let failed = 0;
    let written = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 8 }), async (batches) => {
        const program = await makeProgram();
        const partner_id = `!${program.id}`;
        await program.api("POST", "/api/v1/groups", { name: "Club", slug: "club" });
        const first = `insert into partners (id, program_id, email, slug, search_text, created_at, updated_at)
          values (?, ?, 'first', 'first', '', '', '')`;
        await env.DB.prepare(first).bind(partner_id, program.id).run();
        for (const { operations, fails } of batches) {
          const statements = operations.map((one) => statementOf(one, program.id, partner_id));
          if (fails) statements.push(env.DB.prepare("insert into commit_guards (lost_race) values (1)"));
          const before = await countsOf(program.id);
          try {
            const results = await env.DB.batch(statements);
            written += results.reduce((sum, { meta }) => sum + meta.changes, 0);
          } catch {
            failed++;
            expect(await countsOf(program.id)).toEqual(before);
          }
          const [kept, counted] = await countsOf(program.id);
          expect(kept).toEqual(counted);
        }
      }),
      { numRuns: RUNS },
    );
    expect(failed).toBeGreaterThan(RUNS / 4);
    expect(written).toBeGreaterThan(RUNS);
  });

  it("equal count(*) after the main journey, and give the lists their totals, by state too (PART-12)", async () => {
    const { program } = await makeStocked();
    const [kept, counted] = await countsOf(program.id);
    expect(kept).toEqual(counted);
    expect(Object.keys(kept).length).toBeGreaterThan(4);
    for (const name of NAMES) {
      const sumOf = (prefix: string) =>
        Object.entries(counted).reduce((sum, [key, n]) => sum + (key.startsWith(prefix) ? n : 0), 0);
      const path = `/api/v1/${name === "payout_exports" ? "payouts/exports" : name}`;
      const all = await program.api<{ total: number }>("GET", path);
      expect([name, all.body.total]).toEqual([name, sumOf(`${name} `)]);
      const { column, states } = LISTS[name];
      for (const value of states) {
        if (value === null) continue;
        const { body } = await program.api<{ total: number }>("GET", `${path}?${column}=${value}`);
        expect([name, value, body.total]).toEqual([name, value, counted[`${name} ${value}`] ?? 0]);
      }
    }
  });
});
