/** The journal (ledger design, "Journal and balances") contains every cent of a commission, for every writer of the row. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { COMMISSION_KINDS, COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import { accountOf, JOURNAL_ACCOUNTS } from "../../src/domain/journal.ts";
import { newId } from "../../src/lib/id.ts";
import { sendA } from "../support/ledger.ts";
import { cents } from "../../src/domain/money.ts";
import { chargeRefunded } from "../support/provider-a-changes.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { meterRowsRead } from "../support/metered-database.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { all, type Entry } from "../support/rows.ts";
import { callWith } from "../support/watched-database.ts";

interface Row {
  id: string;
  partner_id: string;
  currency: string;
  kind: (typeof COMMISSION_KINDS)[number];
  status: (typeof COMMISSION_STATUSES)[number];
  payout_id: string | null;
  amount_cents: number;
}

interface Balance {
  currency: string;
  pending_cents: number;
  payable_cents: number;
  in_payout_cents: number;
  paid_cents: number;
  forgiven_cents: number;
}

const NOW = "2026-11-20T12:00:00.000Z";
const RUNS = Number(env.PROPERTY_RUNS);
let program: TestProgram;
let payout: string;

async function run(sql: string, ...values: unknown[]): Promise<void> {
  await env.DB.prepare(sql)
    .bind(...values)
    .run();
}

async function makePayout(of: TestProgram, partner_id: string): Promise<string> {
  const id = newId("payout", Date.now());
  await run(
    `insert into payouts (id, program_id, partner_id, amount_cents, currency, status, period_end, due_at,
      commission_count, recipient_sealed, created_at, updated_at) values (?1, ?2, ?3, 1, 'USD', 'pending', ?4, ?4, 1, '', ?4, ?4)`,
    id,
    of.id,
    partner_id,
    NOW,
  );
  return id;
}

/** Inserts a row as any writer may write it. */
async function insert(of: TestProgram, row: Row): Promise<void> {
  await run(
    `insert into commissions (id, program_id, partner_id, kind, status, payout_id, amount_cents, txn_amount_cents,
      currency, rate, created_at, updated_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, '{}', ?9, ?9)`,
    ...[row.id, of.id, row.partner_id, row.kind, row.status, row.payout_id, row.amount_cents, row.currency],
    NOW,
  );
}

/** Amount and number of commissions by currency and account, computed from the rows alone. */
function fromRows(rows: readonly Row[]): Record<string, [number, number]> {
  const sums: Record<string, [number, number]> = {};
  for (const row of rows) {
    const account = accountOf({ ...row, amount_cents: cents(row.amount_cents) });
    if (account === "expense") continue;
    const key = `${row.currency} ${account}`;
    const [amount, count] = sums[key] ?? [0, 0];
    sums[key] = [amount + row.amount_cents, count + 1];
  }
  return sums;
}

async function kept(program_id: string, partner_id: string): Promise<Record<string, [number, number]>> {
  const rows = await all<{ currency: string; account: string; amount_cents: number; commissions: number }>(
    `select currency, account, amount_cents, commissions from balances where program_id = ? and partner_id = ?
      and (amount_cents <> 0 or commissions <> 0)`,
    program_id,
    partner_id,
  );
  return Object.fromEntries(rows.map((row) => [`${row.currency} ${row.account}`, [row.amount_cents, row.commissions]]));
}

/** The sums of a partner's entries. */
async function posted(program_id: string, partner_id: string): Promise<Record<string, number>> {
  const entries = await all<Entry>(
    "select * from entries where program_id = ? and partner_id = ? order by id",
    program_id,
    partner_id,
  );
  const sums: Record<string, number> = {};
  for (const { currency, from_account, to_account, amount_cents } of entries) {
    expect(amount_cents).toBeGreaterThan(0);
    for (const [account, amount] of [[from_account, -amount_cents] as const, [to_account, amount_cents] as const]) {
      sums[`${currency} ${account}`] = (sums[`${currency} ${account}`] ?? 0) + amount;
    }
  }
  return sums;
}

function nonZero(sums: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(sums).filter(([key, sum]) => sum !== 0 && !key.endsWith(" expense")));
}

async function expectBooks(of: TestProgram, partner_id: string, rows: readonly Row[]): Promise<void> {
  const wanted = fromRows(rows);
  expect(await kept(of.id, partner_id)).toEqual(wanted);
  const amounts = Object.fromEntries(Object.entries(wanted).map(([key, [amount]]) => [key, amount]));
  expect(nonZero(await posted(of.id, partner_id))).toEqual(nonZero(amounts));
}

beforeAll(async () => {
  program = await makeProgram();
  payout = await makePayout(program, (await makePartner(program)).id);
});

const anyRow = fc.record({
  currency: fc.constantFrom("USD", "JPY"),
  kind: fc.constantFrom(...COMMISSION_KINDS),
  status: fc.constantFrom(...COMMISSION_STATUSES),
  held: fc.boolean(),
  amount_cents: fc.integer({ min: -5_000, max: 5_000 }),
});

describe("the journal", () => {
  it("holds each commission in the account that its row says, in SQL as in accountOf", async () => {
    for (const kind of COMMISSION_KINDS) {
      for (const status of COMMISSION_STATUSES) {
        for (const payout_id of [null, payout]) {
          for (const amount_cents of [700, 0, -700]) {
            const partner_id = (await makePartner(program)).id;
            const row: Row = {
              id: newId("commission", Date.now()),
              partner_id,
              currency: "USD",
              kind,
              status,
              payout_id,
              amount_cents,
            };
            await insert(program, row);
            await expectBooks(program, partner_id, [row]);
            expect(JOURNAL_ACCOUNTS).toContain(accountOf({ ...row, amount_cents: cents(row.amount_cents) }));
          }
        }
      }
    }
  });

  it("equals the rows after any inserts, updates and deletes, whoever writes them (LAW-7)", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("insert" as const), row: anyRow }),
      fc.record({ do: fc.constant("update" as const), at: fc.nat(9), row: anyRow, moved: fc.boolean() }),
      fc.record({ do: fc.constant("delete" as const), at: fc.nat(9) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const own = await makeProgram();
        const partners = [(await makePartner(own)).id, (await makePartner(own)).id];
        const held = await makePayout(own, partners[0]!);
        const rows: Row[] = [];
        for (const one of steps) {
          const at = "at" in one ? rows[one.at % Math.max(rows.length, 1)] : undefined;
          if (one.do === "insert") {
            const { held: isHeld, ...fields } = one.row;
            const row = {
              ...fields,
              id: newId("commission", Date.now()),
              partner_id: partners[0]!,
              payout_id: isHeld ? held : null,
            };
            await insert(own, row);
            rows.push(row);
          } else if (at && one.do === "update") {
            const { held: isHeld, ...fields } = one.row;
            Object.assign(at, fields, { payout_id: isHeld ? held : null, partner_id: partners[one.moved ? 1 : 0] });
            await run(
              `update commissions set kind = ?2, status = ?3, payout_id = ?4, amount_cents = ?5, currency = ?6,
                partner_id = ?7, updated_at = ?8 where id = ?1`,
              ...[at.id, at.kind, at.status, at.payout_id, at.amount_cents, at.currency, at.partner_id, NOW],
            );
          } else if (at) {
            await run("delete from commissions where id = ?", at.id);
            rows.splice(rows.indexOf(at), 1);
          }
        }
        for (const id of partners)
          await expectBooks(
            own,
            id,
            rows.filter(({ partner_id }) => partner_id === id),
          );
        expect(await kept(own.id, "")).toEqual(fromRows(rows));
      }),
      { numRuns: RUNS },
    );
  });

  it("is append-only: no entry can be changed or deleted (LAW-7)", async () => {
    const partner_id = (await makePartner(program)).id;
    await insert(program, {
      id: newId("commission", Date.now()),
      partner_id,
      currency: "USD",
      kind: "sale",
      status: "pending",
      payout_id: null,
      amount_cents: 5,
    });
    for (const sql of ["update entries set amount_cents = 6", "delete from entries"]) {
      await expect(run(`${sql} where partner_id = ?`, partner_id)).rejects.toThrow("append-only");
    }
    expect(await posted(program.id, partner_id)).toEqual({ "USD expense": -5, "USD pending": 5 });
  });

  it("rolls back with the transaction that it belongs to", async () => {
    const partner_id = (await makePartner(program)).id;
    const add = env.DB.prepare(
      `insert into commissions (id, program_id, partner_id, kind, status, amount_cents, txn_amount_cents, currency, rate,
        created_at, updated_at) values (?1, ?2, ?3, 'sale', 'pending', 5, 5, 'USD', '{}', ?4, ?4)`,
    ).bind(newId("commission", Date.now()), program.id, partner_id, NOW);
    await expect(
      env.DB.batch([add, env.DB.prepare("insert into commit_guards (lost_race) values (1)")]),
    ).rejects.toThrow();
    expect(await posted(program.id, partner_id)).toEqual({});
    expect(await kept(program.id, partner_id)).toEqual({});
  });
});

describe("GET /partners/:id/balance and /partners/:id/entries (PART-8)", () => {
  const balanceOf = async (of: TestProgram, id: string) =>
    (await of.api<{ data: Balance[] }>("GET", `/api/v1/partners/${id}/balance`)).body.data;
  const entriesOf = async (of: TestProgram, id: string, query = "per_page=100") =>
    (
      await of.api<{ data: Entry[]; total: number; next_cursor: string | null }>(
        "GET",
        `/api/v1/partners/${id}/entries?${query}`,
      )
    ).body;
  const blank = {
    currency: "USD",
    pending_cents: 0,
    payable_cents: 0,
    in_payout_cents: 0,
    paid_cents: 0,
    forgiven_cents: 0,
  };

  it("follow a sale from earned to paid, its refund and the forgiven clawback (COM-4)", async () => {
    const own = await makeProgram();
    const partner = await makePartner(own);
    const payment_intent = `pi_${partner.slug}`;
    await sendA(own, sessionCompleted({ ref: partner.slug, amount: 10_000, payment_intent }));
    expect(await balanceOf(own, partner.id)).toEqual([{ ...blank, pending_cents: 2_000 }]);
    const [sale] = (await own.api<{ data: { id: string }[] }>("GET", "/api/v1/commissions")).body.data;
    await own.api("PATCH", `/api/v1/commissions/${sale!.id}`, { status: "approved" });
    expect(await balanceOf(own, partner.id)).toEqual([{ ...blank, payable_cents: 2_000 }]);
    const { body } = await own.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
    expect(await balanceOf(own, partner.id)).toEqual([{ ...blank, in_payout_cents: 2_000 }]);
    await own.api("POST", `/api/v1/payouts/${body.payouts[0]!.id}/mark-paid`, {});
    expect(await balanceOf(own, partner.id)).toEqual([{ ...blank, paid_cents: 2_000 }]);
    await sendA(own, chargeRefunded({ payment_intent, amount: 10_000, refunded: 10_000 }));
    expect(await balanceOf(own, partner.id)).toEqual([{ ...blank, payable_cents: -2_000, paid_cents: 2_000 }]);
    const clawback = (
      await own.api<{ data: { id: string; kind: string }[] }>("GET", "/api/v1/commissions")
    ).body.data.find(({ kind }) => kind === "clawback");
    await own.api("PATCH", `/api/v1/commissions/${clawback!.id}`, { status: "rejected", reason: "goodwill" });
    expect(await balanceOf(own, partner.id)).toEqual([{ ...blank, paid_cents: 2_000, forgiven_cents: 2_000 }]);
    const { data, total } = await entriesOf(own, partner.id);
    expect(total).toBe(6);
    expect(data.map(({ from_account, to_account, amount_cents }) => [from_account, to_account, amount_cents])).toEqual([
      ["forgiven", "payable", 2_000],
      ["payable", "expense", 2_000],
      ["in_payout", "paid", 2_000],
      ["payable", "in_payout", 2_000],
      ["pending", "payable", 2_000],
      ["expense", "pending", 2_000],
    ]);
    const first = await entriesOf(own, partner.id, "per_page=4");
    const second = await entriesOf(own, partner.id, `per_page=4&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(data.map(({ id }) => id));
  });

  it("are listed with their total at the same cost for ten and for thousands", async () => {
    const of = await makeProgram();
    const [few, many] = [await makePartner(of), await makePartner(of)];
    await makeCommissions(
      of,
      few.id,
      Array.from({ length: 10 }, () => ({})),
    );
    for (let i = 0; i < 4; i++) {
      await makeCommissions(
        of,
        many.id,
        Array.from({ length: 500 }, () => ({})),
      );
    }
    const meter = meterRowsRead(env.DB);
    const headers = { authorization: `Bearer ${of.api_key}` };
    const read = async (id: string) => {
      const path = `/api/v1/partners/${id}/entries?per_page=5`;
      const { body } = await callWith<{ total: number }>({ DB: meter.binding }, path, { headers });
      return { total: body.total, rows: meter.taken().rows };
    };
    await read(few.id);
    const [least, most] = [await read(few.id), await read(many.id)];
    expect([least.total, most.total]).toEqual([10, 2_000]);
    expect(most.rows).toBeLessThanOrEqual(least.rows);
  });

  it("are not found for a partner of another program, and empty for one without commissions", async () => {
    const other = await makeProgram();
    const partner = await makePartner(other);
    for (const what of ["balance", "entries"]) {
      expect((await program.api("GET", `/api/v1/partners/${partner.id}/${what}`)).status).toBe(404);
    }
    expect(await balanceOf(other, partner.id)).toEqual([]);
    expect(await entriesOf(other, partner.id)).toMatchObject({ data: [], total: 0 });
  });
});
