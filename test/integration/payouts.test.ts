/** States of payouts, their events, lists and exports (OUT-4, OUT-8, OUT-11). */
import { describe, expect, it } from "vitest";
import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { sealRecipient } from "../../src/core/payouts/recipient.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { payouts } from "../../src/db/schema.ts";
import { decimalAmount } from "../../src/domain/currency.ts";
import { PAYOUT_STATUSES, type PayoutStatus } from "../../src/domain/payout.ts";
import { readCsv } from "../support/csv.ts";
import { call, makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { commissionsOf, db, makeCommissions, payoutById, payoutsOf } from "../support/payouts.ts";

interface PayoutBody {
  id: string;
  status: string;
  reference: string | null;
  paid_at: string | null;
  error?: { code: string; details?: { path: string }[] };
}

async function makePayout(
  program: TestProgram,
  amounts = [1_000, 2_000],
  currency = "USD",
  fields: Record<string, unknown> = {},
) {
  const partner = await makePartner(program, { payout_method: "wallet", ...fields });
  await makeCommissions(
    program,
    partner.id,
    amounts.map((amount_cents) => ({ amount_cents, currency })),
  );
  const ctx = programContext(program);
  const { payouts: made } = await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
  return payoutById((made as { id: string }[])[0]!.id);
}

async function eventsOf(program: TestProgram) {
  const rows = await env.DB.prepare(
    `select e.type, e.payload, m.body from events e left join messages m on m.event_id = e.id
     where e.program_id = ? and (e.type like 'payout.%' or e.type = 'commission.updated') order by e.id`,
  )
    .bind(program.id)
    .all<{ type: string; payload: string; body: string | null }>();
  return rows.results.map(({ type, payload, body }) => ({
    type,
    payload: JSON.parse(payload) as Record<string, unknown>,
    sent: body ? (JSON.parse(body) as { event: string; data: Record<string, unknown> }) : null,
  }));
}

const act = (program: TestProgram, id: string, action: string, body?: unknown) =>
  program.api<PayoutBody>("POST", `/api/v1/payouts/${id}/${action}`, body);

/** `pending|failed → canceled`; `pending → paid` by hand (OUT-4). Paying through provider A has its own tests. */
const LEGAL: Record<string, readonly PayoutStatus[]> = { "mark-paid": ["pending"], cancel: ["pending", "failed"] };

describe("transitions of a payout (OUT-4)", () => {
  it.each(PAYOUT_STATUSES.flatMap((from) => Object.keys(LEGAL).map((action) => [from, action] as const)))(
    "%s, %s",
    async (from, action) => {
      const program = await makeProgram();
      await program.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/hook", events: ["*"] });
      const payout = await makePayout(program);
      await db
        .update(payouts)
        .set({ status: from, attempt: 1, ...(from === "failed" ? { failure_code: "account_invalid" } : {}) })
        .where(eq(payouts.id, payout.id));
      const before = await payoutById(payout.id);
      const heldBefore = await commissionsOf(program);
      const eventsBefore = await eventsOf(program);
      const reply = await act(
        program,
        payout.id,
        action,
        action === "mark-paid" ? { reference: "wire 77" } : undefined,
      );
      const reported = (await eventsOf(program)).slice(eventsBefore.length);
      if (!LEGAL[action]!.includes(from)) {
        expect([reply.status, reply.body.error?.code]).toEqual([409, "invalid_transition"]);
        expect(await payoutById(payout.id)).toEqual(before);
        expect(await commissionsOf(program)).toEqual(heldBefore);
        expect(reported).toEqual([]);
        return;
      }
      expect(reply.status).toBe(200);
      const held = await commissionsOf(program);
      const paid = reported.filter(({ type }) => type === "payout.paid");
      if (action === "cancel") {
        expect(reply.body).toMatchObject({ status: "canceled", paid_at: null });
        expect(held.map((row) => [row.status, row.payout_id])).toEqual([
          ["approved", null],
          ["approved", null],
        ]);
        expect(reported.map(({ type, payload, sent }) => [type, payload.status, sent])).toEqual([
          ["payout.updated", "canceled", null],
        ]);
      } else {
        expect(reply.body).toMatchObject({ status: "paid", reference: "wire 77" });
        expect(reply.body.paid_at).not.toBeNull();
        expect(held.map((row) => [row.status, row.payout_id, row.paid_at])).toEqual([
          ["paid", payout.id, reply.body.paid_at],
          ["paid", payout.id, reply.body.paid_at],
        ]);
        expect(paid).toHaveLength(1);
        expect(paid[0]!.sent).toMatchObject({ event: "payout.paid", data: reply.body });
        expect(paid[0]!.payload).toMatchObject({ payout_id: payout.id, amount_cents: 3_000, reference: "wire 77" });
        const updated = reported.filter(({ type }) => type === "commission.updated");
        expect(updated.map(({ payload, sent }) => [payload.commission_id, payload.status, sent]).toSorted()).toEqual(
          held.map((row) => [row.id, "paid", null]).toSorted(),
        );
        expect(updated).toHaveLength(reported.length - 1);
      }
    },
  );

  it("of cancel and mark-paid at once one wins, and the other is 409 and changes nothing (OUT-13)", async () => {
    const program = await makeProgram();
    for (let round = 0; round < 5; round++) {
      const payout = await makePayout(program);
      const replies = await Promise.all([
        act(program, payout.id, "cancel"),
        act(program, payout.id, "mark-paid"),
        act(program, payout.id, "cancel"),
      ]);
      expect(replies.map((reply) => reply.status).toSorted()).toEqual([200, 409, 409]);
      const won = replies.find((reply) => reply.status === 200)!;
      const after = await payoutById(payout.id);
      expect(after.status).toBe(won.body.status);
      const held = (await commissionsOf(program)).filter((row) => row.partner_id === payout.partner_id);
      const expected = after.status === "paid" ? ["paid", payout.id] : ["approved", null];
      expect(held.map((row) => [row.status, row.payout_id])).toEqual([expected, expected]);
    }
  });

  it("a canceled payout's commissions are in the next one, each once", async () => {
    const program = await makeProgram();
    const first = await makePayout(program);
    await act(program, first.id, "cancel");
    const ctx = programContext(program);
    const again = await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
    expect(again.payouts).toMatchObject([{ amount_cents: 3_000, commission_count: 2, partner_id: first.partner_id }]);
    const canceled = await program.api<{ commissions: unknown[]; commission_count: number }>(
      "GET",
      `/api/v1/payouts/${first.id}`,
    );
    expect([canceled.body.commissions, canceled.body.commission_count]).toEqual([[], 2]);
  });

  it("takes an empty body or none, refuses unknown fields and other programs' payouts", async () => {
    const program = await makeProgram();
    const payout = await makePayout(program);
    const stranger = await makeProgram();
    for (const action of ["cancel", "mark-paid", "pay"]) {
      expect((await act(stranger, payout.id, action)).status).toBe(404);
    }
    expect((await stranger.api("GET", `/api/v1/payouts/${payout.id}`)).status).toBe(404);
    const wrong = await act(program, payout.id, "mark-paid", { ref: "x" });
    expect([wrong.status, wrong.body.error?.details?.[0]?.path]).toEqual([422, "ref"]);
    const path = `/api/v1/payouts/${payout.id}/mark-paid`;
    const headers = { authorization: `Bearer ${program.api_key}` };
    const typed = await call<PayoutBody>(path, {
      method: "POST",
      headers: { ...headers, "content-type": "text/plain" },
      body: "x",
    });
    expect(typed.status).toBe(415);
    const empty = await call<PayoutBody>(path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
    });
    expect([empty.status, empty.body.status, empty.body.reference]).toEqual([200, "paid", null]);
  });
});

describe("the list of payouts (OUT-11)", () => {
  it("filters by status, partner and time, newest first, with an exact total", async () => {
    const program = await makeProgram();
    const [one, two, three] = [await makePayout(program), await makePayout(program), await makePayout(program)];
    await act(program, two.id, "cancel");
    const at = (payout: { id: string }, created_at: string) =>
      db.update(payouts).set({ created_at }).where(eq(payouts.id, payout.id));
    await at(one, "2026-10-01T00:00:00.000Z");
    await at(two, "2026-10-02T00:00:00.000Z");
    const list = async (search: string) => {
      const { body } = await program.api<{ data: { id: string }[]; total: number }>("GET", `/api/v1/payouts${search}`);
      return [body.data.map(({ id }) => id).toSorted(), body.total];
    };
    expect(await list("")).toEqual([[one.id, two.id, three.id].toSorted(), 3]);
    expect(await list("?status=pending")).toEqual([[one.id, three.id].toSorted(), 2]);
    expect(await list(`?partner_id=${two.partner_id}`)).toEqual([[two.id], 1]);
    expect(await list("?from=2026-10-01&to=2026-10-01")).toEqual([[one.id], 1]);
    expect(await list("?from=2026-10-01T00:00:00.000Z&to=2026-10-02T00:00:00.000Z")).toEqual([[one.id], 1]);
    const pages = await program.api<{ data: { id: string }[]; next_cursor: string }>(
      "GET",
      "/api/v1/payouts?per_page=2",
    );
    const rest = await program.api<{ data: { id: string }[] }>(
      "GET",
      `/api/v1/payouts?per_page=2&cursor=${pages.body.next_cursor}`,
    );
    expect([...pages.body.data, ...rest.body.data].map(({ id }) => id)).toEqual(
      [one.id, two.id, three.id].toSorted().toReversed(),
    );
    expect((await program.api("GET", "/api/v1/payouts?status=done")).status).toBe(422);
  });
});

describe("a payout", () => {
  it("has its commissions, which the list of commissions gives by payout too (OUT-11, COM-10)", async () => {
    const program = await makeProgram();
    const [one, two] = [await makePayout(program, [1_000, 2_000]), await makePayout(program, [4_000])];
    for (const [payout, amounts] of [
      [one, [1_000, 2_000]],
      [two, [4_000]],
    ] as const) {
      const single = await program.api<{ commissions: CommissionBody[] }>("GET", `/api/v1/payouts/${payout.id}`);
      const list = await program.api<{ data: CommissionBody[]; total: number }>(
        "GET",
        `/api/v1/commissions?payout_id=${payout.id}`,
      );
      const amountsOf = (rows: CommissionBody[]) =>
        rows.map(({ amount_cents }) => amount_cents).toSorted((a, b) => a - b);
      expect(amountsOf(single.body.commissions)).toEqual(amounts);
      expect([amountsOf(list.body.data), list.body.total]).toEqual([amounts, amounts.length]);
    }
  });
});

interface CommissionBody {
  amount_cents: number;
}

describe("export.csv", () => {
  const fetchCsv = async (program: TestProgram, search = "") => {
    const reply = await program.api<string>("GET", `/api/v1/payouts/export.csv${search}`);
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toContain("text/csv");
    expect(reply.headers.get("content-disposition")).toContain("attachment");
    const [header, ...records] = readCsv(reply.body);
    return records.map((record) => Object.fromEntries(header!.map((name, i) => [name, record[i]!])));
  };

  it("sums to the payouts in every currency, with decimals of the currency's own (OUT-16)", async () => {
    const program = await makeProgram();
    for (const [amount, currency] of [
      [123_456, "USD"],
      [5, "USD"],
      [123_456, "JPY"],
      [123_456, "KWD"],
    ] as const) {
      await makePayout(program, [amount], currency);
    }
    const rows = await fetchCsv(program);
    expect(rows.map((row) => [row.amount, row.amount_cents, row.currency])).toEqual([
      ["1234.56", "123456", "USD"],
      ["0.05", "5", "USD"],
      ["123456", "123456", "JPY"],
      ["123.456", "123456", "KWD"],
    ]);
    for (const payout of await payoutsOf(program)) {
      const row = rows.find((candidate) => candidate.payout_id === payout.id)!;
      expect(row).toMatchObject({
        partner_id: payout.partner_id,
        amount: decimalAmount(payout.amount_cents, payout.currency),
        status: "pending",
        due_at: payout.due_at,
        period_start: "",
      });
    }
    expect(rows).toHaveLength(4);
  });

  it("cannot make a spreadsheet compute, whatever a partner is called (OUT-16)", async () => {
    const program = await makeProgram();
    const payout = await makePayout(program, [1_000], "USD", { payout_email: "+1@wallet.example" });
    const name = '=HYPERLINK("http://evil.example","x") a,b\r\nc';
    const recipient = { name, payout_email: "+1@wallet.example", provider_a_account_id: null };
    const recipient_sealed = await sealRecipient(programContext(program), payout.id, recipient);
    await db.update(payouts).set({ recipient_sealed }).where(eq(payouts.id, payout.id));
    await act(program, payout.id, "mark-paid", { reference: "@SUM(A1:A9)" });
    const [row] = await fetchCsv(program);
    expect(row).toMatchObject({
      partner_name: `'=HYPERLINK("http://evil.example","x") a,b\r\nc`,
      payout_email: "'+1@wallet.example",
      reference: "'@SUM(A1:A9)",
    });
  });

  it("takes the statuses and the format asked for", async () => {
    const program = await makeProgram();
    const [open, paid] = [await makePayout(program), await makePayout(program)];
    await act(program, paid.id, "mark-paid");
    const ids = async (search: string) => (await fetchCsv(program, search)).map((row) => row["payout_id"]).toSorted();
    expect(await ids("?status=pending")).toEqual([open.id]);
    expect(await ids("?status=paid")).toEqual([paid.id]);
    expect(await ids("")).toEqual([open.id, paid.id].toSorted());
    expect((await program.api("GET", "/api/v1/payouts/export.csv?format=xlsx")).status).toBe(422);
    expect((await program.api("GET", "/api/v1/payouts/export.csv?status=done")).status).toBe(422);
  });

  it("goes on past its pieces of 1,000 rows, each payout once, and is only a header when there is none", async () => {
    const program = await makeProgram();
    const other = await makeProgram();
    const partner = await makePartner(program);
    await db.run(sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)
      insert into payouts (id, program_id, partner_id, amount_cents, currency, status, period_end, due_at, commission_count,
        attempt, recipient_sealed, created_at, updated_at)
      select 'pay_' || printf('%026d', i) || ${program.id}, ${program.id}, ${partner.id}, i, 'USD', 'pending',
        '2026-11-01', '2026-11-16', 1, 0, '', '2026-11-01', '2026-11-01' from n`);
    const rows = await fetchCsv(program);
    expect(rows).toHaveLength(2_500);
    expect(new Set(rows.map((row) => row.payout_id)).size).toBe(2_500);
    expect(rows.reduce((sum, row) => sum + Number(row.amount_cents), 0)).toBe((2_500 * 2_501) / 2);
    expect(await fetchCsv(other)).toEqual([]);
    const anonymous = await call("/api/v1/payouts/export.csv");
    expect(anonymous.status).toBe(401);
  });
});
