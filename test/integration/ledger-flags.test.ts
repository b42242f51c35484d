/** Flags and final states: the result is the same in any order, and each flag shown to the owner can be resolved. */
import { expect, it } from "vitest";
import { commissionById, eventsOf, patchCommission, type CommissionBody } from "../support/commissions.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import {
  clientOf,
  makeCommissions,
  makePayingProgram,
  makePayout,
  payoutsOf,
  type CommissionRow,
} from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import {
  chargeRefunded,
  disputeClosed,
  disputeEvent,
  refundEvent,
  subscriptionDeleted,
} from "../support/provider-a-changes.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { all } from "../support/rows.ts";

interface Listed {
  data: CommissionBody[];
  total: number;
}

const ids = { payment_intent: "pi_1", charge: "ch_1" };

/** Events that flag an approved, unpaid sale of 10,000. */
const FLAGGING = [
  ["the end of its subscription", () => subscriptionDeleted({ id: "sub_1" }), "subscription_canceled"],
  ["a refund of most", () => chargeRefunded({ ...ids, amount: 10_000, refunded: 6_000 }), "mostly_refunded"],
  ["a dispute", () => disputeEvent("charge.dispute.created", { id: "dp_1", ...ids, amount: 10_000 }), "disputed"],
] as const;

async function flaggedOf(program: TestProgram): Promise<Listed> {
  return (await program.api<Listed>("GET", "/api/v1/commissions?flagged=true")).body;
}

async function inPayout() {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  await sendA(program, invoicePaid({ ref: slug, subscription: "sub_1", ...ids }));
  const [sale] = (await ledgerOf(program)).commissions;
  await patchCommission(program, sale!.id, { status: "approved" });
  await program.api("POST", "/api/v1/payouts/generate", {});
  const [payout] = await payoutsOf(program);
  const markPaid = async () => {
    expect((await program.api("POST", `/api/v1/payouts/${payout!.id}/mark-paid`)).status).toBe(200);
  };
  return { program, markPaid };
}

const shown = async (program: TestProgram) =>
  (await ledgerOf(program)).commissions
    .map(({ kind, status, amount_cents, flagged, review_reason, review_reasons, dismissed_reasons }) =>
      JSON.stringify({ kind, status, amount_cents, flagged, review_reason, review_reasons, dismissed_reasons }),
    )
    .toSorted();

it.each(FLAGGING)(
  "%s before or after it is paid ends the same: it is not flagged (PAY-11, LAW-1)",
  async (...flagging) => {
    const [, event, reason] = flagging;
    const [before, after] = [await inPayout(), await inPayout()];
    await sendA(before.program, event());
    expect((await flaggedOf(before.program)).data).toMatchObject([{ status: "approved", review_reason: reason }]);
    await before.markPaid();
    await after.markPaid();
    await sendA(after.program, event());

    expect(await shown(before.program)).toEqual(await shown(after.program));
    for (const { program } of [before, after]) {
      expect(await flaggedOf(program)).toMatchObject({ data: [], total: 0 });
      const [paid] = (await ledgerOf(program)).commissions.filter(({ kind }) => kind === "sale");
      expect(paid).toMatchObject({ status: "paid", amount_cents: 2_000, flagged: false, review_reason: null });
      const reported = (await eventsOf(program, "commission.updated")).at(-1);
      expect(reported!.payload).toMatchObject({ flagged: false });
    }
  },
);

it("what was flagged, approved and paid anyway is flagged no more, paid by a transfer either (PAY-11)", async () => {
  const world = await makePayingProgram();
  const { program, partner_id, vendor } = world;
  const manual: Partial<CommissionRow> = { flagged: true, review_reason: "manual", review_reasons: "manual" };
  await makeCommissions(program, partner_id, [
    { ...manual, kind: "manual" },
    {
      ...manual,
      review_reason: "self_referral",
      review_reasons: "self_referral,manual",
      dismissed_reasons: "disputed",
    },
  ]);
  const payout = await makePayout(world);
  expect((await flaggedOf(program)).total).toBe(2);
  expect(await payPayout(programContext(program), payout.id, clientOf(vendor))).toMatchObject({ status: "paid" });
  expect(await flaggedOf(program)).toMatchObject({ data: [], total: 0 });
  expect(await shown(program)).toHaveLength(4);
  for (const row of await shown(program)) {
    expect(row).toContain('"status":"paid"');
    expect(row).toContain('"flagged":false,"review_reason":null,"review_reasons":""');
  }
  expect(
    await all(
      "select state, count from list_counts where program_id = ? and list = 'flagged' and count <> 0",
      program.id,
    ),
  ).toEqual([]);
});

it.each([false, true])(
  "a difference that is given and rejected is not flagged by a dispute, won before it: %s (PAY-10, LAW-1)",
  async (isWonFirst) => {
    const { program, markPaid } = await inPayout();
    await sendA(program, chargeRefunded({ ...ids, amount: 10_000, refunded: 4_000 }));
    await markPaid();
    const dispute = { id: "dp_1", ...ids, amount: 10_000 };
    const [taken] = (await ledgerOf(program)).commissions.filter(({ kind }) => kind === "clawback");
    await makeCommissions(program, taken!.partner_id, [{ kind: "manual", amount_cents: 5_000 }]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    await sendA(program, disputeEvent("charge.dispute.created", dispute));
    await sendA(program, refundEvent("refund.failed", { ...ids, amount: 4_000, status: "failed" }));
    const [given] = (await flaggedOf(program)).data;
    expect(given).toMatchObject({ kind: "clawback", amount_cents: 800, review_reason: "disputed" });
    const reject = async () => {
      expect((await patchCommission(program, given!.id, { status: "rejected" })).status).toBe(200);
    };
    const reopen = async () => {
      expect(await flaggedOf(program)).toMatchObject({ data: [], total: 0 });
      await patchCommission(program, given!.id, { status: "pending" });
      expect((await flaggedOf(program)).data).toMatchObject([{ id: given!.id, review_reason: "disputed" }]);
    };
    const won = () => sendA(program, disputeClosed({ ...dispute, status: "won" }));
    for (const next of isWonFirst ? [won, reject] : [reject, reopen, reject, won]) await next();
    expect(await flaggedOf(program)).toMatchObject({ data: [], total: 0 });
    expect(await commissionById(given!.id)).toMatchObject({ status: "rejected", flagged: false, review_reasons: "" });
  },
);

it("what turns out to be another partner's is not flagged in the payout that holds it, in either order (LAW-1)", async () => {
  const flagsAfter = async (isFlaggedFirst: boolean) => {
    const { program } = await inPayout();
    const another = await makePartner(program);
    const [held] = (await ledgerOf(program)).commissions;
    const dispute = () => sendA(program, disputeEvent("charge.dispute.created", { id: "dp_1", ...ids }));
    const move = () => sendA(program, sessionCompleted({ ref: another.slug, subscription: "sub_1", ...ids }));
    for (const next of isFlaggedFirst ? [dispute, move] : [move, dispute]) await next();
    const { commissions } = await ledgerOf(program);
    return commissions
      .map((row) => [row.kind, row.partner_id === held!.partner_id ? "first" : "another", row.review_reason].join(" "))
      .toSorted();
  };
  const flags = await flagsAfter(false);
  expect(await flagsAfter(true)).toEqual(flags);
  expect(flags).toEqual(["clawback first ", "sale another disputed", "sale first "]);
});

it("a former partner's sale that a canceled payout releases follows its own rule and no flag of the payment, in either order (PAY-11, LAW-1)", async () => {
  const shownAfter = async (isCanceledFirst: boolean) => {
    const { program } = await inPayout();
    const another = await makePartner(program, { commission_pct: 30, email: "another@example.com" });
    const [{ partner_id } = { partner_id: "" }] = (await ledgerOf(program)).commissions;
    const [first] = await payoutsOf(program);
    const move = sessionCompleted({ ref: another.slug, subscription: "sub_1", email: "another@example.com", ...ids });
    await sendA(program, move);
    // The clawback is paid. After its payout is canceled, the partner is due the sale again.
    await makeCommissions(program, partner_id, [{ kind: "manual", amount_cents: 5_000 }]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const second = (await payoutsOf(program)).find(({ id }) => id !== first!.id);
    expect(second).toMatchObject({ amount_cents: 3_000 });
    expect((await program.api("POST", `/api/v1/payouts/${second!.id}/mark-paid`)).status).toBe(200);
    const flag = async () => {
      for (const [, event] of FLAGGING) await sendA(program, event());
    };
    const cancel = async () => {
      expect((await program.api("POST", `/api/v1/payouts/${first!.id}/cancel`)).status).toBe(200);
    };
    for (const next of isCanceledFirst ? [cancel, flag] : [flag, cancel]) await next();
    const { commissions } = await ledgerOf(program);
    const sales = commissions
      .filter(({ kind }) => kind === "sale")
      .map((row) => [
        row.partner_id === partner_id ? "former" : "present",
        row.amount_cents,
        row.review_reasons,
        row.rate,
      ])
      .toSorted();
    await program.api("POST", "/api/v1/payouts/generate", {});
    const pending = (await payoutsOf(program)).filter(({ status }) => status === "pending");
    return { sales, pending: pending.map((payout) => [payout.partner_id === partner_id, payout.amount_cents]) };
  };
  const shownLast = await shownAfter(false);
  expect(await shownAfter(true)).toEqual(shownLast);
  const percentage = (source: string, action_value: number) => ({ source, action_type: "percentage", action_value });
  expect(shownLast).toEqual({
    sales: [
      ["former", 2_000, "", percentage("program", 20)],
      ["present", 1_200, "disputed,self_referral,mostly_refunded,subscription_canceled", percentage("partner", 30)],
    ],
    pending: [[true, 2_000]],
  });
});
