/** Sums stay the same if a customer is erased while one of their payments is stored but not settled (JOB-1). */
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { receiveAndDie } from "../support/dying.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { testContext, type TestProgram, programOfJane } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

const email = "buyer@shop.example";

/** The payment's earnings by partner and flow, after all events are settled. */
async function earned(program: TestProgram) {
  const ctx = testContext(Date.now() + 2 * MINUTE);
  await serveAll(finishVendorEvents(ctx));
  await serveAll(settleUnsettled(ctx));
  const { payments, commissions } = await ledgerOf(program);
  return {
    payments: payments.map((row) => [row.outcome, row.customer_email, row.erased_at !== null]),
    commissions: commissions.map((row) => [row.amount_cents, row.rate.source, row.customer_email]),
  };
}

it.each([
  ["settled", sendA],
  ["stored alone", receiveAndDie],
] as const)("a payment that is %s earns by the partner and the flow that its address led to", async (_, receive) => {
  const program = await programOfJane();
  const conditions = [{ field: "customer_email", op: "contains", value: "@shop.example" }];
  await program.api("POST", "/api/v1/flows", { name: "shop", action_type: "percentage", action_value: 30, conditions });
  const lead = { external_id: "signup", ref: "jane", customer: { email } };
  expect((await program.api("POST", "/api/v1/track/lead", lead)).status).toBe(200);
  await receive(program, sessionCompleted({ email, customer: "cus_1" }));
  expect((await program.api("POST", "/api/v1/customers/erase", { email })).status).toBe(200);
  const { payments, commissions } = await earned(program);
  expect(commissions).toEqual([[3_000, "flow", null]]);
  expect(payments).toContainEqual(["commission", null, true]);
});

it.each([
  ["a defect", "held"],
  ["an index that refuses it each time", "UNIQUE constraint failed: commissions.held"],
])(
  "a payment that %s keeps from being settled holds up no erasure, and earns without its address later",
  async (_, why) => {
    const program = await programOfJane();
    await receiveAndDie(program, sessionCompleted({ ref: "jane", email, customer: "cus_1" }));
    await env.DB.prepare(
      `create trigger held before insert on commissions when new.program_id = '${program.id}' begin select raise(abort, '${why}'); end`,
    ).run();
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const erased = await program.api("POST", "/api/v1/customers/erase", { email });
    const said = JSON.stringify(logged.mock.calls);
    logged.mockRestore();
    await env.DB.prepare("drop trigger held").run();
    expect(erased).toMatchObject({ status: 200, body: { erased: { payments: 1 } } });
    expect(said).toContain("a payment is erased that could not be settled");
    expect(await earned(program)).toEqual({
      payments: [["commission", null, true]],
      commissions: [[2_000, "program", null]],
    });
  },
);
