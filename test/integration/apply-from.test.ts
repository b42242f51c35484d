/** Rates and flows that apply from an earlier time (FLOW-11). */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { reconcileRound } from "../support/reconcile.ts";
import { settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { markApplied } from "../../src/core/ledger/apply-from.ts";
import { openDatabase } from "../../src/db/client.ts";
import { MINUTE, ago, amounts, change, flow, pay, rowsOf, seconds } from "../support/applied.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 5);

afterEach(() => vi.restoreAllMocks());

/** Runs the jobs until all their work is done. */
async function runJobs(): Promise<void> {
  for (
    let minute = 1;
    (await serveAll(markApplied(testContext(Date.now() + minute * MINUTE)))) > 0 || minute < 4;
    minute += 2
  ) {
    await serveAll(settleUnsettled(testContext(Date.now() + (minute + 2) * MINUTE)));
  }
}

describe("a change that is applied from an earlier time decides every payment since then (FLOW-11)", () => {
  it.each([
    ["a new flow", "POST", () => "/flows", { ...flow, apply_from: ago(30) }, [2_000, 700, 700]],
    ["the program's rate", "PATCH", () => "/programs/me", { default_commission_pct: 5 }, [2_000, 500, 500]],
    ["a partner's rate", "PATCH", (id: string) => `/partners/${id}`, { commission_pct: 7.5 }, [2_000, 750, 750]],
  ] as const)("%s, whether they came before or after it", async (_, method, path, body, expected) => {
    for (const isBefore of [true, false]) {
      const program = await makeProgram();
      const { id, slug } = await makePartner(program);
      await pay(program, slug, 40);
      if (isBefore) await pay(program, slug, 20);
      await change(program, method, path(id), { ...body, apply_from: ago(30) });
      if (!isBefore) await pay(program, slug, 20);
      await pay(program, slug, 10);
      expect([isBefore, await amounts(program)]).toEqual([isBefore, expected]);
    }
  });

  it("a flow that there is, as it is, changed, switched off, and given back its time", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    for (const minutes of [40, 20]) await pay(program, slug, minutes);
    const { id } = await change(program, "POST", "/flows", flow);
    expect(await amounts(program)).toEqual([2_000, 2_000]);
    for (const [body, expected] of [
      [{ apply_from: ago(30) }, [2_000, 700]],
      [{ action_value: 300, apply_from: ago(50) }, [300, 300]],
      [{ action_value: 400 }, [300, 300]],
      [{ active: false, apply_from: ago(30) }, [300, 2_000]],
      [{ active: true, apply_from: ago(60) }, [400, 400]],
    ] as const) {
      await change(program, "PATCH", `/flows/${id}`, body);
      expect([body, await amounts(program)]).toEqual([body, expected]);
    }
  });

  it("a partner's state and the program's attribution stay those of the payment's time", async () => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program);
    await change(program, "DELETE", `/partners/${id}`);
    await env.DB.prepare("update past_rules set valid_until = ? where partner_id = ?").bind(ago(30), id).run();
    await change(program, "PATCH", `/partners/${id}`, { status: "active", commission_pct: 5, apply_from: ago(60) });
    await pay(program, slug, 20);
    expect(await rowsOf(program)).toEqual([]);
    await pay(program, slug, 40);
    expect(await amounts(program)).toEqual([500]);
  });

  it("what is paid gets a difference, what is rejected stays so, what is approved is edited", async () => {
    for (const pct of [5, 50]) {
      const program = await makeProgram();
      const { id, slug } = await makePartner(program);
      for (const minutes of [40, 30, 20]) await pay(program, slug, minutes);
      const rows = (await ledgerOf(program)).commissions.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
      const decide = (at: number, status: string) =>
        change(program, "PATCH", `/commissions/${rows[at]!.id}`, { status });
      await decide(0, "approved");
      const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
      await change(program, "POST", `/payouts/${body.payouts[0]!.id}/mark-paid`, {});
      await decide(1, "rejected");
      await decide(2, "approved");
      await change(program, "PATCH", `/partners/${id}`, { commission_pct: pct, apply_from: ago(60) });
      expect(await rowsOf(program)).toEqual([
        ["sale", "paid", 2_000],
        ["sale", "rejected", pct * 100],
        ["sale", "approved", pct * 100],
        ["clawback", "approved", pct * 100 - 2_000],
      ]);
    }
  });

  it("each commission that changes has its event, and the change says from when", async () => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program);
    await pay(program, slug, 20);
    const apply_from = ago(30);
    await change(program, "PATCH", `/partners/${id}`, { commission_pct: 5, apply_from });
    await change(program, "PATCH", "/programs/me", { default_commission_pct: 20, apply_from });
    const { id: flow_id } = await change(program, "POST", "/flows", { ...flow, apply_from });
    await change(program, "PATCH", `/flows/${flow_id}`, { apply_from });
    const { body } = await program.api<{ data: { type: string; payload: Record<string, unknown> }[] }>(
      "GET",
      "/api/v1/events?per_page=100",
    );
    const shown = body.data.map(
      ({ type, payload }) => `${type} ${String(payload["apply_from"] ?? payload["amount_cents"])}`,
    );
    expect(shown.filter((one) => !one.endsWith("undefined")).toSorted()).toEqual([
      "commission.created 2000",
      "commission.updated 500",
      "commission.updated 700",
      `flow.created ${apply_from}`,
      `flow.updated ${apply_from}`,
      `partner.updated ${apply_from}`,
      `program.updated ${apply_from}`,
    ]);
  });

  it("what came late is settled with it, and what names an erased customer keeps its rule", async () => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program);
    const ids = { subscription: `sub_${slug}`, amount: 10_000, created: seconds(ago(20)) };
    const email = `gone-${slug}@shop.example`;
    await sendA(program, sessionCompleted({ ...ids, invoice: `in_${slug}`, ref: slug, email: null }));
    await sendA(
      program,
      sessionCompleted({ amount: 10_000, created: ids.created, ref: slug, email, id: `cs_gone_${slug}` }),
    );
    expect((await program.api("POST", "/api/v1/customers/erase", { email })).status).toBe(200);
    const { id: flow_id } = await change(program, "POST", "/flows", {
      ...flow,
      conditions: [{ field: "customer_email", op: "contains", value: "@vip.example" }],
      apply_from: ago(30),
    });
    await change(program, "PATCH", `/partners/${id}`, { commission_pct: 5, apply_from: ago(30) });
    const erased = async () =>
      (await ledgerOf(program)).commissions.find((one) => one.provider_transaction_id === `cs_gone_${slug}`)!
        .amount_cents;
    expect((await amounts(program)).toSorted()).toEqual([2_000, 500]);
    expect(await erased()).toBe(2_000);
    await sendA(program, invoicePaid({ ...ids, id: `in_${slug}`, email: "a@vip.example" }));
    expect((await amounts(program)).toSorted()).toEqual([2_000, 700]);
    await change(program, "PATCH", `/flows/${flow_id}`, { action_value: 800, apply_from: ago(30) });
    expect((await amounts(program)).toSorted()).toEqual([2_000, 800]);
  });
});

type Rule = { whose: "program" | "partner" | "flow"; value: number; from: number | null };

describe("order (LAW-1)", () => {
  it("the same payments and changes end in the same ledger, wherever the deliveries come between the changes", async () => {
    const times = [5, 15, 25, 35];
    const rule: fc.Arbitrary<Rule> = fc.record({
      whose: fc.constantFrom("program", "partner", "flow"),
      value: fc.integer({ min: 1, max: 60 }),
      from: fc.option(fc.constantFrom(10, 20, 30, 60)),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(4), { minLength: 8, maxLength: 8 }),
        async (rules, places) => {
          const program = await makeProgram();
          const { id, slug } = await makePartner(program);
          const made = await change(program, "POST", "/flows", {
            ...flow,
            active: false,
            action_type: "percentage",
            action_value: 0,
          });
          const deliver = async (at: number) => {
            for (const [i, minutes] of times.entries()) {
              if (places[i] === at || places[i + 4] === at) await pay(program, slug, minutes);
            }
          };
          for (const [i, { whose, value, from }] of rules.entries()) {
            await deliver(i);
            const apply = from === null ? {} : { apply_from: ago(from) };
            const path = { program: "/programs/me", partner: `/partners/${id}`, flow: `/flows/${made.id}` }[whose];
            const body = {
              program: { default_commission_pct: value },
              partner: { commission_pct: value },
              flow: { action_value: value, active: true },
            };
            await change(program, "PATCH", path, { ...body[whose], ...apply });
          }
          for (let at = rules.length; at <= 4; at++) await deliver(at);
          const valueAt = (whose: Rule["whose"], minutes: number) =>
            rules.findLast((one) => one.whose === whose && one.from !== null && one.from > minutes)?.value;
          const expected = times
            .filter((_, i) => places[i] !== undefined)
            .toReversed()
            .map(
              (minutes) =>
                100 * (valueAt("flow", minutes) ?? valueAt("partner", minutes) ?? valueAt("program", minutes) ?? 20),
            );
          expect(await amounts(program)).toEqual(expected);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

describe("many payments", () => {
  /** 60 payments of two partners, and one older payment. */
  async function makeStory(program: TestProgram): Promise<{ id: string }> {
    const [jane, joe] = [await makePartner(program), await makePartner(program)];
    await pay(program, jane.slug, 100);
    for (let i = 0; i < 58; i++) await pay(program, (i % 2 ? jane : joe).slug, 20 + i / 10, `cs_${jane.slug}_${i}`);
    await sendB(program, transactionCompleted({ ref: jane.slug, amount: 10_000, occurred_at: ago(15) }));
    await sendB(program, transactionCompleted({ amount: 10_000, occurred_at: ago(14) }));
    return jane;
  }

  const left = async (program: TestProgram) =>
    (await env.DB.prepare("select count(*) as n from rule_applications where program_id = ?")
      .bind(program.id)
      .first<{ n: number }>())!.n;

  it("beyond those of the request are settled by the jobs, which go on wherever they were killed", async () => {
    const program = await makeProgram();
    await makeStory(program);
    await change(program, "PATCH", "/programs/me", { default_commission_pct: 5, apply_from: ago(30) });
    expect(await left(program)).toBe(1);
    expect((await amounts(program)).filter((amount) => amount === 500)).toHaveLength(49);
    // The reconciler does not report pending changes as differences.
    await reconcileRound(programContext(program));
    for (const killed of [1, 2]) {
      let calls = 0;
      const { binding } = watchDatabase(env.DB, {
        before: () => {
          if (++calls > killed) throw new Error("the process died");
        },
      });
      vi.spyOn(console, "error").mockImplementation(() => {});
      const ctx = { ...testContext(), db: openDatabase(binding) };
      await expect(serveAll(markApplied(ctx))).rejects.toThrow("the storage did not answer");
      vi.restoreAllMocks();
    }
    await runJobs();
    expect(await left(program)).toBe(0);
    expect((await amounts(program)).toSorted()).toEqual([2_000, ...Array.from({ length: 59 }, () => 500)].toSorted());
    const events = (await ledgerOf(program)).eventCounts;
    await runJobs();
    expect((await ledgerOf(program)).eventCounts).toEqual(events);
    expect(events).toMatchObject({ "commission.updated": 59 });
    expect(Object.keys(events).filter((type) => type.startsWith("reconciliation"))).toEqual([]);
  });

  it("a partner's rate moves no other partner's, and two changes end as the later one", async () => {
    const program = await makeProgram();
    const jane = await makeStory(program);
    await change(program, "PATCH", `/partners/${jane.id}`, { commission_pct: 5, apply_from: ago(30) });
    await change(program, "PATCH", `/partners/${jane.id}`, { commission_pct: 7, apply_from: ago(200) });
    await runJobs();
    const bySize = Map.groupBy(await amounts(program), (amount) => amount);
    expect([...bySize].map(([amount, all]) => [amount, all.length]).toSorted()).toEqual([
      [2_000, 29],
      [700, 31],
    ]);
  });

  it("a request that dies after the change leaves the rest to the jobs", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    for (const minutes of [20, 10]) await pay(program, slug, minutes);
    const { binding } = watchDatabase(env.DB, {
      before: (statements) => {
        if (statements.some((sql) => sql.includes('update "payments"'))) throw new Error("the process died");
      },
    });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { status } = await callWith({ DB: binding }, "/api/v1/programs/me", {
      method: "PATCH",
      headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
      body: JSON.stringify({ default_commission_pct: 5, apply_from: ago(30) }),
    });
    expect(status).toBe(503);
    vi.restoreAllMocks();
    await runJobs();
    expect(await amounts(program)).toEqual([500, 500]);
  });
});
