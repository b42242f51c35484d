/** The operator reconciles a program, or all of them, and repairs balances (ACCESS-9). */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Reconciling } from "../../src/core/reconcile/now.ts";
import { callApi, makePartner, makeProgram } from "../support/program.ts";
import { rowsOf } from "../support/decisions.ts";
import {
  liveThroughEverything,
  makeReconciled,
  one,
  run,
  sell,
  status,
  type Reconciled,
} from "../support/reconciled.ts";

const ADMIN = "test-admin-token";

let at: Reconciled;

const open = async () => void (at = await makeReconciled());

afterEach(() => {
  vi.restoreAllMocks();
});

describe("POST /admin/reconcile (ACCESS-9)", () => {
  beforeEach(open);
  const reconcile = (body?: object, token = ADMIN) => callApi<Reconciling>(token, "POST", "/admin/reconcile", body);

  it("looks at all of a program, says what differs, and repairs balances only when it is asked to", async () => {
    await liveThroughEverything(at);
    const clean = (await reconcile({ program_id: at.program.id })).body;
    expect(clean).toMatchObject({ differences: [], repaired: [], next: null });
    expect(clean.checked.commissions).toBe((await rowsOf(at.program)).length);
    expect(clean.checked.transfers).toBe(1);
    await run(
      `update balances set amount_cents = amount_cents + 3, entries = entries + 2
        where program_id = ? and partner_id <> ''`,
      at.program.id,
    );
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { differences } = (await reconcile({ program_id: at.program.id })).body;
    const off = { program_id: at.program.id, check: "balance" };
    expect(differences).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...off, subject: at.partner_id }),
        expect.objectContaining({ ...off, subject: at.program.id }),
      ]),
    );
    expect(differences).toHaveLength(2);
    const balances =
      "select json_group_array(amount_cents || ' ' || commissions) as all_of from balances where program_id = ?";
    const wrong = await one(balances, at.program.id);
    expect((await reconcile({ program_id: at.program.id })).body.differences).toHaveLength(2);
    expect(await one(balances, at.program.id)).toEqual(wrong);
    const repaired = (await reconcile({ program_id: at.program.id, repair: "balances" })).body;
    expect(repaired).toMatchObject({ differences: [], repaired: [at.partner_id], next: null });
    const { body } = await at.program.api<{ data: object[] }>("GET", "/api/v1/events?type=reconciliation.repaired");
    expect(body.data).toMatchObject([
      { payload: { what: "balances", partner_ids: [at.partner_id] }, actor: { type: "operator" } },
    ]);
    expect((await status(at)).differences).toBe(0);
    const counted = `select (select sum(entries) from balances where program_id = ?1) as kept,
      (select count(*) from entries where program_id = ?1) as counted`;
    const { kept, counted: rows } = await one<{ kept: number; counted: number }>(counted, at.program.id);
    expect([kept, kept > 10]).toEqual([rows, true]);
  });

  it("goes on where the call before ended, over all programs", async () => {
    await makePartner(await makeProgram());
    const seen = new Set<string>();
    let commissions = 0;
    await sell(at.program, at.slug, `pi_${at.program.id.slice(-12)}`);
    for (let next: string | null = null, calls = 0; calls === 0 || next !== null; calls++) {
      const { status: code, body } = await reconcile(next === null ? undefined : { next });
      expect(code).toBe(200);
      expect(calls).toBeLessThan(100);
      commissions += body.checked.commissions;
      if (body.next !== null) seen.add(body.next);
      next = body.next;
    }
    expect(commissions).toBeGreaterThan(0);
    expect((await status(at)).reconciled_at).not.toBeNull();
  });

  it("refuses what is not its to do", async () => {
    expect((await reconcile({ program_id: at.program.id }, "wrong")).status).toBe(401);
    expect((await reconcile({ program_id: "prog_00000000000000000000000000" })).status).toBe(404);
    for (const body of [
      { repair: "balances" },
      { program_id: "x" },
      { program_id: at.program.id, repair: "commissions" },
      { program_id: at.program.id, next: "prog_00000000000000000000000000" },
    ]) {
      expect([body, (await reconcile(body)).status]).toEqual([body, 422]);
    }
  });
});
