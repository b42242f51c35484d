/** Bulk changes, manual commissions and the list (COM-3, COM-5, COM-10). */
import { describe, expect, it } from "vitest";
import {
  commissionById,
  commissionPath,
  eventsOf,
  listening,
  sentFor,
  type CommissionBody,
} from "../support/commissions.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { commissionsOf, makeCommissions, type CommissionRow } from "../support/payouts.ts";

describe("bulk", () => {
  interface BulkBody {
    data: { id: string; ok: boolean; status?: string; error?: { code: string; message: string } }[];
    error?: { details?: { path: string }[] };
  }
  const bulk = (program: TestProgram, body: unknown, headers?: HeadersInit) =>
    program.api<BulkBody>("POST", commissionPath("bulk"), body, headers);

  it("gives a result per id, each for itself, in the order asked (COM-5)", async () => {
    const { program, jane } = await listening();
    const other = await makeProgram();
    const theirs = await makeCommissions(other, (await makePartner(other)).id, [{ status: "pending" }]);
    const [pending, paid, rejected, flagged] = await makeCommissions(program, jane.id, [
      { status: "pending" },
      { status: "paid" },
      { status: "rejected" },
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    const ids = [paid!, pending!, theirs[0]!, flagged!, rejected!].map((row) => row.id);
    const { status, body } = await bulk(program, { ids, status: "approved" });
    expect(status).toBe(200);
    expect(body.data.map((result) => [result.id, result.ok, result.status ?? result.error?.code])).toEqual([
      [ids[0], false, "invalid_transition"],
      [ids[1], true, "approved"],
      [ids[2], false, "not_found"],
      [ids[3], false, "flagged"],
      [ids[4], false, "invalid_transition"],
    ]);
    expect((await commissionById(theirs[0]!.id)).status).toBe("pending");
    expect(
      (await eventsOf(program, "commission.updated")).map(({ payload }) => payload.commission_id).toSorted(),
    ).toEqual([ids[1]]);
    const approved = await commissionById(ids[1]!);
    expect(approved.approved_at).toBe(approved.updated_at);
  });

  it("moves 100, refuses 101 and none and one named twice; a repeated key changes nothing again", async () => {
    const { program, jane } = await listening();
    const rows = await makeCommissions(
      program,
      jane.id,
      Array.from({ length: 100 }, () => ({ status: "pending" as const })),
    );
    const ids = rows.map((row) => row.id);
    for (const wrong of [[...ids, "com_00000000000000000000000000"], [], [ids[0], ids[0]]]) {
      const reply = await bulk(program, { ids: wrong, status: "approved" });
      expect([reply.status, reply.body.error?.details?.[0]?.path]).toEqual([422, "ids"]);
    }
    const body = { ids, status: "rejected", reason: "spam" };
    const first = await bulk(program, body, { "Idempotency-Key": "bulk" });
    expect(first.body.data.every((result) => result.ok)).toBe(true);
    const again = await bulk(program, body, { "Idempotency-Key": "bulk" });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    const after = await commissionsOf(program);
    expect(new Set(after.map((row) => [row.status, row.rejected_reason].join()))).toEqual(new Set(["rejected,spam"]));
    const total = await program.api<{ total: number }>("GET", "/api/v1/events?type=commission.updated");
    expect(total.body.total).toBe(100);
  });

  it("`paid` by hand is refused for each", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [{}]);
    const { body } = await bulk(program, { ids: [row!.id], status: "paid" });
    expect(body.data).toMatchObject([{ ok: false, error: { code: "invalid_transition" } }]);
  });
});

describe("manual commissions (COM-3)", () => {
  it("wait as pending, in the program's currency by default, positive or negative", async () => {
    const { program, jane } = await listening({ currency: "EUR" });
    const made = await program.api<CommissionRow & { program_id: string }>("POST", commissionPath(), {
      partner_id: jane.id,
      amount_cents: -1_250,
      note: "Correction for October",
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      program_id: program.id,
      partner_id: jane.id,
      kind: "manual",
      status: "pending",
      amount_cents: -1_250,
      txn_amount_cents: 0,
      currency: "EUR",
      provider: null,
      payment_id: null,
      note: "Correction for October",
      rate: { source: "manual", action_type: "flat", action_value: -1_250 },
    });
    const [event] = await eventsOf(program, "commission.created");
    expect(event!.payload).toMatchObject({ commission_id: made.body.id, amount_cents: -1_250, provider: null });
    expect(await sentFor(event!)).toMatchObject({
      data: { id: made.body.id, amount: -1_250, revenue: 0, currency: "EUR" },
    });
    const yen = { partner_id: jane.id, amount_cents: 500, currency: "JPY", note: "Bonus" };
    const keyed = await program.api<CommissionBody>("POST", commissionPath(), yen, { "Idempotency-Key": "bonus" });
    const replayed = await program.api<CommissionBody>("POST", commissionPath(), yen, { "Idempotency-Key": "bonus" });
    expect(replayed.body).toEqual(keyed.body);
    expect(await commissionsOf(program)).toHaveLength(2);
  });

  it("are refused for partners who are not active, without a note, or with an amount that is none", async () => {
    const { program, jane } = await listening();
    const invited = await makePartner(program, {}, "invited");
    const gone = await makePartner(program, {}, "deactivated");
    const stranger = await makePartner(await makeProgram());
    const good = { partner_id: jane.id, amount_cents: 100, note: "Bonus" };
    for (const [change, at] of [
      [{ partner_id: invited.id }, "partner_id"],
      [{ partner_id: gone.id }, "partner_id"],
      [{ partner_id: stranger.id }, "partner_id"],
      [{ partner_id: "par_nobody" }, "partner_id"],
      [{ amount_cents: 0 }, "amount_cents"],
      [{ amount_cents: 1.5 }, "amount_cents"],
      [{ amount_cents: "100" }, "amount_cents"],
      [{ amount_cents: 1e15 }, "amount_cents"],
      [{ currency: "usd" }, "currency"],
      [{ currency: "XXX" }, "currency"],
      [{ note: "" }, "note"],
      [{ note: undefined }, "note"],
      [{ status: "paid" }, "status"],
    ] as const) {
      const reply = await program.api<CommissionBody>("POST", commissionPath(), { ...good, ...change });
      expect([change, reply.status, reply.body.error?.details?.[0]?.path]).toEqual([change, 422, at]);
    }
    expect(await commissionsOf(program)).toEqual([]);
    expect(await eventsOf(program, "commission.created")).toEqual([]);
  });
});

describe("the list of commissions", () => {
  it("filters by each field and by all together, newest first, with an exact total (COM-10)", async () => {
    const { program, jane } = await listening();
    const bob = await makePartner(program);
    const day = (n: number) => `2026-10-0${n}T12:00:00.000Z`;
    await makeCommissions(program, jane.id, [
      { created_at: day(1), status: "pending" },
      { created_at: day(2), status: "pending", flagged: true, review_reason: "manual" },
      { created_at: day(3), provider: "provider_b" },
    ]);
    await makeCommissions(program, bob.id, [{ created_at: day(4), status: "rejected", provider: "provider_b" }]);
    const list = async (search: string) => {
      const { status, body } = await program.api<{ data: { created_at: string }[]; total: number }>(
        "GET",
        commissionPath() + search,
      );
      return [status, body.data?.map((row) => row.created_at), body.total];
    };
    expect(await list("")).toEqual([200, [day(4), day(3), day(2), day(1)], 4]);
    expect(await list("?status=pending")).toEqual([200, [day(2), day(1)], 2]);
    expect(await list(`?partner_id=${bob.id}`)).toEqual([200, [day(4)], 1]);
    expect(await list("?provider=provider_b")).toEqual([200, [day(4), day(3)], 2]);
    expect(await list("?flagged=true")).toEqual([200, [day(2)], 1]);
    expect(await list("?flagged=false&status=pending")).toEqual([200, [day(1)], 1]);
    // The range includes both days (HTTP-9).
    expect(await list(`?from=${day(2)}&to=${day(4)}`)).toEqual([200, [day(3), day(2)], 2]);
    expect(await list("?from=2026-10-02&to=2026-10-03")).toEqual([200, [day(3), day(2)], 2]);
    expect(await list(`?partner_id=${jane.id}&status=approved&provider=provider_b&flagged=false`)).toEqual([
      200,
      [day(3)],
      1,
    ]);
    expect(await list("?per_page=1&page=3")).toEqual([200, [day(2)], 4]);
    for (const wrong of ["?flagged=yes", "?status=done", "?provider=stripe", "?per_page=101", "?from=soon"]) {
      expect((await program.api("GET", commissionPath() + wrong)).status).toBe(422);
    }
    const other = await makeProgram();
    expect((await other.api<{ total: number }>("GET", commissionPath())).body.total).toBe(0);
  });
});
