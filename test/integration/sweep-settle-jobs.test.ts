import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { receiveAndDie } from "../support/dying.ts";
import { fireCron, serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { callApi, makePartner, makeProgram, testContext } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

const MINUTE = 60_000;

afterEach(() => vi.restoreAllMocks());

/** Gives how often it served. */
async function finishAll(now: number, goOn?: () => boolean): Promise<number> {
  const ctx = testContext(now);
  return (await serveAll(finishVendorEvents(ctx), goOn)) + (await serveAll(settleUnsettled(ctx), goOn));
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
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await receiveAndDie(program, sessionCompleted({ ref: "jane" }));
    await finishAll(Date.now() + MINUTE - 5_000);
    expect((await ledgerOf(program)).commissions).toEqual([]);
    await finishAll(Date.now() + MINUTE);
    expect((await ledgerOf(program)).commissions).toHaveLength(1);
  });

  it("that cannot be finished stops nothing else, and is logged", async () => {
    const [broken, sound] = [await makeProgram(), await makeProgram()];
    for (const program of [broken, sound]) {
      await makePartner(program, { slug: "jane" });
      await receiveAndDie(program, sessionCompleted({ ref: "jane" }));
    }
    await env.DB.prepare("update facts set data = '{' where program_id = ?").bind(broken.id).run();
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    await fireCron("* * * * *", Date.now() + 2 * MINUTE);
    expect(logged.mock.calls.join()).toContain(broken.id);
    expect((await ledgerOf(sound)).commissions).toHaveLength(1);
    await env.DB.prepare("delete from facts where program_id = ?").bind(broken.id).run();
  });

  it("is begun no more when the time is over, and the next run goes on", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    for (let i = 0; i < 3; i++) await receiveAndDie(program, sessionCompleted({ ref: "jane" }));
    const open = async () =>
      (await env.DB.prepare("select count(*) as n from provider_events where program_id = ? and audit_event_id is null")
        .bind(program.id)
        .first<{ n: number }>())!.n;
    expect(await open()).toBe(3);
    const now = Date.now() + 2 * MINUTE;
    await finishAll(now, () => false);
    expect(await open()).toBe(3);
    await finishAll(now);
    expect(await open()).toBe(0);
    expect(
      (await callApi<{ total: number }>(program.api_key, "GET", "/api/v1/events?type=webhook.provider_a")).body.total,
    ).toBe(3);
  });
});
