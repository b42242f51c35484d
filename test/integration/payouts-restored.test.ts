/** Payouts that a restore of the database makes pending again, though their transfers were made (OUT-14, LAW-8). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { Payout } from "../../src/core/kernel/rows.ts";
import { payPayout, continueTransfer } from "../../src/core/payouts/pay.ts";
import { programContext } from "../support/program.ts";
import {
  clientOf,
  commissionsOf,
  makePayingProgram,
  makePayout,
  payoutById,
  type PaidProgram,
} from "../support/payouts.ts";

const HOUR = 3_600_000;

const payAt = ({ program, vendor }: PaidProgram, { id }: Payout, now: number) => {
  vendor.now = now;
  return payPayout(programContext(program, now), id, clientOf(vendor));
};

/** Everything of a payout as it was before it was paid. */
async function restore(payout: Payout): Promise<void> {
  const { held_until: _, ...row } = payout;
  const columns = Object.entries(row);
  await env.DB.batch([
    env.DB.prepare(`update payouts set ${columns.map(([name]) => `${name} = ?`).join(", ")} where id = ?`).bind(
      ...columns.map(([, value]) => (value !== null && typeof value === "object" ? JSON.stringify(value) : value)),
      payout.id,
    ),
    env.DB.prepare("update commissions set status = 'approved', paid_at = null where payout_id = ?").bind(payout.id),
  ]);
}

async function paidAndRestored() {
  const world = await makePayingProgram();
  const payout = await makePayout(world);
  const created = Date.parse(payout.created_at);
  expect((await payAt(world, payout, created + HOUR)).status).toBe("paid");
  await restore(payout);
  expect(await payoutById(payout.id)).toMatchObject({ status: "pending", attempt: 0 });
  return { ...world, payout, created };
}

it.each([2, 23, 25, 24 * 40])("sends nothing again when it is paid %s hours after it was made", async (hours) => {
  const { payout, created, ...world } = await paidAndRestored();
  const paid = await payAt(world, payout, created + hours * HOUR);
  expect([paid.status, paid.reference]).toEqual(["paid", world.vendor.transfers[0]!.id]);
  expect(world.vendor.transfers).toHaveLength(1);
  expect((await commissionsOf(world.program)).map(({ status }) => status)).toEqual(["paid", "paid"]);
});

it("sends nothing while the vendor does not say whether there is a transfer", async () => {
  const { payout, created, ...world } = await paidAndRestored();
  world.vendor.faults.push("gateway");
  expect((await payAt(world, payout, created + 48 * HOUR)).status).toBe("processing");
  expect(world.vendor.transfers).toHaveLength(1);
});

it("fails with a key that the vendor refuses, and looks up with the next one", async () => {
  const { payout, created, ...world } = await paidAndRestored();
  const keys = [...world.vendor.keys];
  world.vendor.keys.clear();
  const refused = await payAt(world, payout, created + 48 * HOUR);
  expect([refused.status, refused.failure_code]).toEqual(["failed", "api_key_refused"]);
  for (const key of keys) world.vendor.keys.add(key);
  const paid = await payAt(world, payout, created + 49 * HOUR);
  expect([paid.status, paid.reference]).toEqual(["paid", world.vendor.transfers[0]!.id]);
  expect(world.vendor.transfers).toHaveLength(1);
});

it("asks once where a payout is paid soon after it was made", async () => {
  const world = await makePayingProgram();
  const payout = await makePayout(world);
  const before = world.vendor.calls.length;
  expect((await payAt(world, payout, Date.parse(payout.created_at) + HOUR)).status).toBe("paid");
  expect(world.vendor.calls.length - before).toBe(1);
});

it.each(["paid", "taken up"])(
  "is nobody else's while it is %s, however long that has run already (OUT-14)",
  async (how) => {
    const world = await makePayingProgram();
    const payout = await makePayout(world);
    const { vendor, program } = world;
    const began = Date.parse(payout.created_at);
    vendor.now = began + HOUR;
    if (how === "taken up") {
      vendor.faults.push("drop_request");
      await payPayout(programContext(program, began), payout.id, clientOf(vendor));
    }
    const leases: number[] = [];
    const client = clientOf({
      ...vendor,
      fetch: async (input, init) => {
        leases.push(Date.parse((await payoutById(payout.id)).reconcile_at!) - vendor.now);
        return vendor.fetch(input, init);
      },
    });
    const ctx = programContext(program, began);
    const open = await payoutById(payout.id);
    const after = how === "paid" ? payPayout(ctx, payout.id, client) : continueTransfer(ctx, open, client);
    expect((await after)?.status).toBe("paid");
    expect([leases.length > 0, leases.filter((left) => left <= 0)]).toEqual([true, []]);
  },
);
