/** A granted claim holds even if the process ends before its payment is settled (CLAIM-5). */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { makeClaim } from "../support/claims.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, invoicePaid, sessionAsyncSucceeded, sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

afterEach(() => vi.restoreAllMocks());

const finish = () => serveAll(settleUnsettled(testContext(Date.now() + 2 * MINUTE)));

const commissionsOf = async (program: TestProgram) =>
  (await ledgerOf(program)).commissions.map(({ partner_id, amount_cents }) => ({ partner_id, amount_cents }));

/** Grants a claim and ends the process as soon as the grant is committed. */
async function grantAndDie(program: TestProgram, id: string): Promise<void> {
  let isGranted = false;
  const { binding } = watchDatabase(env.DB, {
    before: (statements) => {
      if (isGranted) throw new Error("the process died");
      isGranted = statements.some((text) => text.includes('update "claims"'));
    },
  });
  vi.spyOn(console, "error").mockImplementation(() => {});
  const headers = { authorization: `Bearer ${program.api_key}` };
  const { status } = await callWith({ DB: binding }, `/api/v1/claims/${id}/grant`, { method: "POST", headers });
  expect([status, isGranted]).toEqual([503, true]);
  vi.restoreAllMocks();
  expect((await program.api("GET", `/api/v1/claims/${id}`)).body).toMatchObject({ status: "granted" });
}

async function scene() {
  const program = await makeProgram();
  const jane = await makePartner(program, { slug: "jane" });
  const turn = (status: string) => program.api("PATCH", `/api/v1/partners/${jane.id}`, { status });
  return { program, jane, turn };
}

describe("a claim that was granted when the process ended", () => {
  it.each([
    ["names its partner itself", "jane"],
    ["names nobody", null],
  ])("is settled by the minute's job, of a payment that %s, made while the partner was deactivated", async (_, ref) => {
    const { program, jane, turn } = await scene();
    await turn("deactivated");
    const session = sessionCompleted({ ref, customer: uniqueId("cus_") });
    await sendA(program, session);
    await turn("active");
    await grantAndDie(program, await makeClaim(program, jane.id, { order_id: session.data.object.id }));
    expect(await commissionsOf(program)).toEqual([]);
    await finish();
    expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 2_000 }]);
    // The other payments stay undecided.
    await turn("deactivated");
    await sendA(program, sessionCompleted({ ref: "jane" }));
    await turn("active");
    await finish();
    expect(await commissionsOf(program)).toHaveLength(1);
  });

  it("leads to the partner what the customer pays later, too", async () => {
    const { program, jane } = await scene();
    const [customer, subscription] = [uniqueId("cus_"), uniqueId("sub_")];
    const first = invoicePaid({ ref: null, customer, subscription });
    await sendA(program, first);
    await grantAndDie(program, await makeClaim(program, jane.id, { order_id: first.data.object.id }));
    await finish();
    await sendA(
      program,
      invoicePaid({ ref: null, customer, subscription, created: Math.floor(Date.now() / 1000) + 60 }),
    );
    expect(await commissionsOf(program)).toHaveLength(2);
  });
});

/** A claim of an unpaid payment, made while its partner was deactivated and granted while the partner was active. */
async function grantedUnpaid() {
  const { program, jane, turn } = await scene();
  await turn("deactivated");
  const unpaid = { id: uniqueId("cs_"), customer: uniqueId("cus_"), ref: null };
  await sendA(program, sessionCompleted({ ...unpaid, payment_status: "unpaid" }));
  await turn("active");
  const claim = await makeClaim(program, jane.id, { order_id: unpaid.id });
  expect((await program.api("POST", `/api/v1/claims/${claim}/grant`)).status).toBe(200);
  return { program, jane, turn, unpaid };
}

describe("a claim of a payment that was not paid yet, made while the partner was deactivated", () => {
  it("is paid for once the payment is", async () => {
    const { program, jane, unpaid } = await grantedUnpaid();
    expect(await commissionsOf(program)).toEqual([]);
    await sendA(program, sessionAsyncSucceeded(unpaid));
    expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 2_000 }]);
  });

  it("waits for the partner, deactivated again by then, to turn active", async () => {
    const { program, jane, turn, unpaid } = await grantedUnpaid();
    await turn("deactivated");
    await sendA(program, sessionAsyncSucceeded(unpaid));
    expect(await commissionsOf(program)).toEqual([]);
    await turn("active");
    expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 2_000 }]);
  });
});

it.each(["first", "last"] as const)(
  "a granted claim is not lost where its payment turns out to have been made hours before: attribution %s",
  async (attribution) => {
    const { program, jane } = await scene();
    await program.api("PATCH", "/api/v1/programs/me", { attribution });
    const [id, customer] = [uniqueId("in_"), uniqueId("cus_")];
    const now = Math.floor(Date.now() / 1_000);
    await sendA(program, invoicePaid({ id, ref: null, subscription: null, customer, created: now }));
    const claim = await makeClaim(program, jane.id, { order_id: id });
    expect((await program.api("POST", `/api/v1/claims/${claim}/grant`)).status).toBe(200);
    const before = sessionCompleted({ ref: null, customer, invoice: id, created: now - 7_200 });
    await sendA(program, before);
    expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 2_000 }]);
    // The claim does not attribute another payment of that time.
    await sendA(program, sessionCompleted({ ref: null, customer, created: now - 7_200 }));
    expect(await commissionsOf(program)).toHaveLength(1);
  },
);

it("a granted claim that waits for an invited partner does so whatever is heard of the payment while they are deactivated", async () => {
  const { program, jane, turn } = await scene();
  await turn("deactivated");
  const payment_intent = uniqueId("pi_");
  const session = sessionCompleted({ ref: null, customer: uniqueId("cus_"), payment_intent });
  await sendA(program, session);
  await turn("invited");
  const claim = await makeClaim(program, jane.id, { order_id: session.data.object.id });
  expect((await program.api("POST", `/api/v1/claims/${claim}/grant`)).status).toBe(200);
  await turn("deactivated");
  await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 5_000 }));
  expect(await commissionsOf(program)).toEqual([]);
  await turn("active");
  expect(await commissionsOf(program)).toEqual([{ partner_id: jane.id, amount_cents: 1_000 }]);
});
