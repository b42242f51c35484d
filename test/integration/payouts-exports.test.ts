/** Files by which payouts are paid: each payout is in one open file at most, and paid once (OUT-22). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { sql } from "drizzle-orm";
import { payouts } from "../../src/db/schema.ts";
import { readCsv } from "../support/csv.ts";
import { newKey } from "../support/keys.ts";
import { commissionsOf, db, fillExport, makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { callApiWith, watchDatabase } from "../support/watched-database.ts";

const EXPORTS = "/api/v1/payouts/exports";

interface ExportRecord {
  id: string;
  count: number;
  amount_cents: number;
  status: string;
  left_out: { payout_id: string; reason: string }[];
}

/** A program with one pending payout for each partner, by the name in its wallet's address. */
async function withPayouts(...payees: { name: string; amount_cents?: number; currency?: string; method?: string }[]) {
  const program = await makeProgram();
  for (const { name, amount_cents = 1_000, currency = "USD", method = "wallet" } of payees) {
    const partner = await makePartner(program, {
      payout_method: method,
      ...(name === "" ? {} : { payout_email: `${name}@wallet.example` }),
    });
    await makeCommissions(program, partner.id, [
      { amount_cents: amount_cents - 1, currency },
      { amount_cents: 1, currency },
    ]);
  }
  await program.api("POST", "/api/v1/payouts/generate");
  return program;
}

const make = (program: TestProgram, body: object = { format: "wallet", currency: "USD" }) =>
  program.api<ExportRecord>("POST", EXPORTS, body);

const pay = (program: TestProgram, id: string, body: object = {}) =>
  program.api<ExportRecord>("POST", `${EXPORTS}/${id}/paid`, body);

const cancel = (program: TestProgram, id: string) => program.api<ExportRecord>("POST", `${EXPORTS}/${id}/cancel`);

const fileOf = (program: TestProgram, id: string) => program.api<string>("GET", `${EXPORTS}/${id}/file`);

const rowsOf = (program: TestProgram) =>
  db
    .select()
    .from(payouts)
    .where(sql`program_id = ${program.id}`)
    .orderBy(payouts.id);

/** How many payouts there are in each status. */
async function statuses(program: TestProgram): Promise<Record<string, number>> {
  const groups = Map.groupBy(await rowsOf(program), ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, rows]) => [status, rows.length]));
}

async function eventsOf(program: TestProgram, type: string) {
  const { body } = await program.api<{ data: { payload: Record<string, unknown>; changes: unknown }[] }>(
    "GET",
    `/api/v1/events?type=${type}`,
  );
  return body.data;
}

describe("a file of payouts (OUT-22)", () => {
  it("takes the pending payouts of its method and currency, and no payout again", async () => {
    const program = await withPayouts(
      { name: "a", amount_cents: 10_050 },
      { name: "-b" },
      { name: "c", currency: "EUR" },
      { name: "", method: "bank_transfer" },
    );
    const { status, body } = await make(program);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ format: "wallet", currency: "USD", count: 2, amount_cents: 11_050, status: "open", left_out: [] },
      id: expect.stringMatching(/^exp_/) as unknown,
    });
    expect(await statuses(program)).toEqual({ processing: 2, pending: 2 });
    expect((await make(program)).body).toMatchObject({ error: { code: "invalid_transition" } });
    expect((await make(program)).status).toBe(409);
    expect((await make(program, { format: "wallet", currency: "EUR" })).body).toMatchObject({ count: 1 });
    expect((await eventsOf(program, "payout.updated")).map(({ changes }) => changes)).toEqual(
      Array.from({ length: 3 }, () => ({ status: ["pending", "processing"] })),
    );
    const list = await program.api<{ data: ExportRecord[]; total: number }>("GET", `${EXPORTS}?status=open`);
    expect(list.body).toMatchObject({ total: 2, data: [{ currency: "EUR" }, { id: body.id, currency: "USD" }] });
    const { left_out: _, ...record } = body;
    expect((await program.api("GET", `${EXPORTS}/${body.id}`)).body).toEqual(record);
  });

  it("has the same bytes each time, while details change and when it is paid; each reading is an event", async () => {
    const program = await withPayouts({ name: "a", amount_cents: 10_050 }, { name: "-b" });
    const { body: made } = await make(program);
    const { body: first, headers } = await fileOf(program, made.id);
    expect(headers.get("content-disposition")).toBe(`attachment; filename="payouts-USD-${made.id}.csv"`);
    expect(headers.get("content-type")).toContain("header=absent");
    const ids = (await rowsOf(program)).map(({ id }) => id);
    const lines = readCsv(first);
    expect(lines.map(([, ...rest]) => rest)).toEqual([
      [expect.any(String), "USD", ids[0], "", "PAYPAL"],
      [expect.any(String), "USD", ids[1], "", "PAYPAL"],
    ]);
    expect(lines.map(([to, amount]) => `${to} ${amount}`).toSorted()).toEqual([
      "-b@wallet.example 10.00",
      "a@wallet.example 100.50",
    ]);
    const partners = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/partners");
    for (const { id } of partners.body.data) {
      await program.api("PATCH", `/api/v1/partners/${id}`, { payout_email: "thief@wallet.example" });
    }
    expect((await fileOf(program, made.id)).body).toBe(first);
    await pay(program, made.id, { except: [ids[1]] });
    expect((await fileOf(program, made.id)).body).toBe(first);
    const read = await eventsOf(program, "payout.exported");
    expect(read.map(({ payload }) => payload)).toEqual(
      Array.from({ length: 4 }, () => ({
        export_id: made.id,
        format: "wallet",
        status: null,
        currency: "USD",
        count: 2,
      })),
    );
  });

  it("is marked as paid with its payouts and their commissions; exceptions are pending again", async () => {
    const program = await withPayouts({ name: "a" }, { name: "b" }, { name: "c" });
    const { body: made } = await make(program);
    const [, second] = await rowsOf(program);
    const { status, body } = await pay(program, made.id, { reference: "Batch 1", except: [second?.id] });
    expect([status, body]).toMatchObject([200, { status: "paid", reference: "Batch 1", count: 3 }]);
    for (const { id, status: state, reference, paid_at } of await rowsOf(program)) {
      const isPaid = id !== second?.id;
      expect([state, reference, paid_at !== null]).toEqual(
        isPaid ? ["paid", "Batch 1", true] : ["pending", null, false],
      );
      const own = await commissionsOf(program);
      const states = own.filter(({ payout_id }) => payout_id === id).map((row) => row.status);
      expect(states).toEqual(isPaid ? ["paid", "paid"] : ["approved", "approved"]);
    }
    const paid = await eventsOf(program, "payout.paid");
    expect(paid.map(({ changes }) => changes)).toEqual(
      Array.from({ length: 2 }, () => ({ status: ["processing", "paid"], reference: [null, "Batch 1"] })),
    );
    expect((await pay(program, made.id)).status).toBe(409);
    expect((await cancel(program, made.id)).status).toBe(409);
    // The payout that was not paid is in the next file.
    expect((await make(program)).body).toMatchObject({ count: 1, left_out: [] });
  });

  it("is canceled: its payouts are pending again, and it is not downloaded any more", async () => {
    const program = await withPayouts({ name: "a" }, { name: "b" });
    const { body: made } = await make(program);
    const { status, body } = await cancel(program, made.id);
    expect([status, body]).toMatchObject([200, { status: "canceled" }]);
    expect(await statuses(program)).toEqual({ pending: 2 });
    expect((await fileOf(program, made.id)).status).toBe(409);
    expect((await cancel(program, made.id)).status).toBe(409);
    expect((await pay(program, made.id)).status).toBe(409);
    expect((await make(program)).body).toMatchObject({ count: 2 });
  });

  it("keeps its payouts from being paid or canceled one by one", async () => {
    const program = await withPayouts({ name: "a" });
    await make(program);
    const [row] = await rowsOf(program);
    for (const [verb, body] of [
      ["mark-paid", {}],
      ["cancel", {}],
      ["pay", {}],
      ["conclude", { made: true, reference: "tr_1" }],
    ] as const) {
      expect((await program.api("POST", `/api/v1/payouts/${row?.id}/${verb}`, body)).status).toBe(409);
    }
    expect(await statuses(program)).toEqual({ processing: 1 });
  });

  it("names pending payouts without details, which stay pending", async () => {
    const program = await withPayouts({ name: "a" }, { name: "b" });
    const [, without] = await rowsOf(program);
    await db.run(sql`update payouts set recipient = null where id = ${without?.id}`);
    expect((await make(program)).body).toMatchObject({
      count: 1,
      left_out: [{ payout_id: without?.id, reason: "details_missing" }],
    });
    expect((await make(program)).body).toMatchObject({
      error: { code: "invalid_transition", details: [{ path: without?.id, message: "details_missing" }] },
    });
    expect(await statuses(program)).toEqual({ processing: 1, pending: 1 });
  });

  it("refuses what is not possible, and names it", async () => {
    const program = await withPayouts({ name: "a" }, { name: "b" });
    for (const [body, path] of [
      [{ currency: "USD" }, "format"],
      [{ format: "cheque", currency: "USD" }, "format"],
      [{ format: "wallet" }, "currency"],
      [{ format: "wallet", currency: "usd" }, "currency"],
    ] as const) {
      const refused = await make(program, body);
      expect([refused.status, refused.body]).toMatchObject([422, { error: { details: [{ path }] } }]);
    }
    const { body: made } = await make(program);
    const ids = (await rowsOf(program)).map(({ id }) => id);
    for (const [except, path] of [
      [["pay_01kj41r9q0x5v7n2m8w3d6t4bz"], "except.0"],
      [ids, "except"],
      ["all", "except"],
    ] as const) {
      const refused = await pay(program, made.id, { except });
      expect([refused.status, refused.body]).toMatchObject([422, { error: { details: [{ path }] } }]);
    }
    expect(await statuses(program)).toEqual({ processing: 2 });
    const stranger = await makeProgram();
    for (const call of [pay, cancel, fileOf]) expect((await call(stranger, made.id)).status).toBe(404);
    const reader = await newKey(program, ["read", "write"]);
    expect((await reader.api("POST", EXPORTS, { format: "wallet", currency: "USD" })).status).toBe(403);
    expect((await reader.api("GET", `${EXPORTS}/${made.id}/file`)).status).toBe(403);
  });

  it.each(["paid", "cancel"])("of many calls at once, one makes it and one ends it as %s", async (second) => {
    const program = await withPayouts(...Array.from({ length: 4 }, (_, i) => ({ name: `p${i}` })));
    const made = await Promise.all(Array.from({ length: 4 }, () => make(program)));
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
    const id = made.find(({ status }) => status === 201)?.body.id ?? "";
    const ended = await Promise.all([
      pay(program, id),
      program.api("POST", `${EXPORTS}/${id}/${second}`),
      pay(program, id),
    ]);
    expect(ended.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    const left = await statuses(program);
    expect([{ paid: 4 }, { pending: 4 }]).toContainEqual(left);
    expect(await eventsOf(program, "payout.paid")).toHaveLength(left["paid"] ?? 0);
  });

  it.each([
    ["paid", "cancel"],
    ["cancel", "paid"],
  ])("is not changed by a %s that read it before a %s", async (late, first) => {
    const program = await withPayouts({ name: "a" }, { name: "b" });
    const { body: made } = await make(program);
    let isFirst = true;
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (!isFirst || !statements.some((text) => text.startsWith('update "payout_exports"'))) return;
        isFirst = false;
        expect((await program.api("POST", `${EXPORTS}/${made.id}/${first}`)).status).toBe(200);
      },
    });
    const reply = await callApiWith({ DB: binding }, program, "POST", `${EXPORTS}/${made.id}/${late}`, {});
    expect([isFirst, reply.status]).toEqual([false, 409]);
    expect(await statuses(program)).toEqual(first === "paid" ? { paid: 2 } : { pending: 2 });
    expect(await eventsOf(program, "payout.paid")).toHaveLength(first === "paid" ? 2 : 0);
  });

  it("is marked as paid in steps, each complete; the same call does the rest", async () => {
    const program = await withPayouts({ name: "a" }, { name: "b" }, { name: "c" });
    const { body: made } = await make(program);
    const [first] = await rowsOf(program);
    // An interruption after a step: some payouts are paid, and the file is open.
    await db.run(sql`update export_items set status = 'paid' where payout_id = ${first?.id}`);
    await db.run(sql`update payouts set status = 'paid' where id = ${first?.id}`);
    expect((await cancel(program, made.id)).status).toBe(409);
    expect((await pay(program, made.id, { except: [first?.id] })).status).toBe(409);
    expect((await pay(program, made.id)).body).toMatchObject({ status: "paid" });
    expect(await statuses(program)).toEqual({ paid: 3 });
    expect(await eventsOf(program, "payout.paid")).toHaveLength(2);
  });

  it("may be larger than one step", async () => {
    const program = await withPayouts({ name: "a" });
    const { body: made } = await make(program);
    await fillExport(program.id, made.id, 1_200);
    expect((await pay(program, made.id, { reference: "Batch 1" })).body).toMatchObject({ status: "paid" });
    expect(await statuses(program)).toEqual({ paid: 1_201 });
    expect(new Set((await rowsOf(program)).map(({ reference }) => reference))).toEqual(new Set(["Batch 1"]));
  });
});
