import { describe, expect, it } from "vitest";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { receiveAndDie } from "../support/dying.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, programOfJane } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

const MINUTE = 60_000;

/** Gives how often it served. */
async function finishAll(now: number): Promise<number> {
  const ctx = testContext(now);
  return (await serveAll(finishVendorEvents(ctx))) + (await serveAll(settleUnsettled(ctx)));
}

describe("work that a crash left between two steps", () => {
  it("is finished by the sweep exactly as it would have been", async () => {
    const [crashed, calm] = [await makeProgram(), await makeProgram()];
    for (const program of [crashed, calm]) await makePartner(program, { slug: "jane" });
    await receiveAndDie(crashed, sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000 }));
    await sendA(calm, sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000 }));
    expect((await ledgerOf(crashed)).commissions).toEqual([]);

    const now = Date.now();
    expect(await finishAll(now + MINUTE + 1)).toBe(1);
    const [after, reference] = [await ledgerOf(crashed), await ledgerOf(calm)];
    expect(after.eventCounts).toEqual(reference.eventCounts);
    expect(after.commissions.map(({ amount_cents, status }) => [amount_cents, status])).toEqual([[2_000, "pending"]]);
    expect(after.payments.map(({ outcome }) => outcome)).toEqual(["commission"]);
    // Running them again, concurrently, does not change anything.
    await Promise.all([1, 2, 3].map(() => finishAll(now + 2 * MINUTE)));
    expect((await ledgerOf(crashed)).eventCounts).toEqual(reference.eventCounts);
    expect(await finishAll(now + 3 * MINUTE)).toBe(0);
  });

  it("is left to its own request for a minute", async () => {
    const program = await programOfJane();
    await receiveAndDie(program, sessionCompleted({ ref: "jane" }));
    await finishAll(Date.now() + MINUTE - 5_000);
    expect((await ledgerOf(program)).commissions).toEqual([]);
    await finishAll(Date.now() + MINUTE);
    expect((await ledgerOf(program)).commissions).toHaveLength(1);
  });
});
