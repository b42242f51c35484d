/** A payment that cannot be settled, by a defect, holds up no event that is about others (IN-2, IN-7). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { customerEvent, sessionCompleted, type EventA } from "../support/provider-a.ts";

const NOW = Math.floor(Date.now() / 1_000);

let program: TestProgram;
let logged: ReturnType<typeof vi.spyOn>;

beforeEach(async () => {
  program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  await sendA(program, sessionCompleted({ id: "cs_bad", ref: null, customer: "cus_1", created: NOW }));
  await env.DB.prepare(
    `create trigger held before insert on commissions when new.program_id = '${program.id}'
      and new.provider_transaction_id glob 'cs_bad*' begin select raise(abort, 'held'); end`,
  ).run();
  logged = vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(async () => {
  logged.mockRestore();
  await env.DB.prepare("drop trigger if exists held").run();
});

/** The event's present outcome, and the earned amount. */
async function seen({ id }: EventA) {
  const closed = await env.DB.prepare("select outcome from provider_events where program_id = ? and event_id = ?")
    .bind(program.id, id)
    .first<string | null>("outcome");
  const { commissions } = await ledgerOf(program);
  return { closed, earned: commissions.map((row) => row.provider_transaction_id).toSorted() };
}

/** Once the defect is fixed, the minute's jobs do the remaining work. */
async function mend(): Promise<void> {
  await env.DB.prepare("drop trigger held").run();
  const ctx = testContext(Date.now() + 2 * MINUTE);
  await serveAll(finishVendorEvents(ctx));
  await serveAll(settleUnsettled(ctx));
}

describe("a payment that cannot be settled", () => {
  it.each<[string, EventA, string, string[]]>([
    [
      "another payment of its customer",
      sessionCompleted({ id: "cs_good", ref: "jane", customer: "cus_1", created: NOW - 60 }),
      "commission",
      ["cs_good"],
    ],
    [
      "the customer alone",
      customerEvent({ id: "cus_1", ref: "jane", created: NOW - 60 }, "customer.updated"),
      "remembered",
      [],
    ],
  ])("holds up no event about %s", async (_, event, outcome, earned) => {
    expect(await sendA(program, event)).toMatchObject({ status: 200, body: { received: true, outcome } });
    expect(await seen(event)).toEqual({ closed: outcome, earned });
    expect(JSON.stringify(logged.mock.calls)).toContain("a payment is left unsettled");
    expect(await sendA(program, event)).toMatchObject({ status: 200, body: { outcome } });
    await mend();
    expect(await seen(event)).toEqual({ closed: outcome, earned: ["cs_bad", ...earned] });
  });

  it("leaves an event open that is about itself, until it can be said what it came to", async () => {
    const event = sessionCompleted({ id: "cs_bad_2", ref: "jane", created: NOW });
    expect((await sendA(program, event)).status).toBe(503);
    expect(await seen(event)).toEqual({ closed: null, earned: [] });
    await mend();
    expect(await seen(event)).toEqual({ closed: "commission", earned: ["cs_bad_2"] });
  });
});
