/** A reprocessed payment keeps the facts of its events, each at its original time (PAY-15, REF-3). */
import { describe, expect, it } from "vitest";
import { lead, report, sale } from "../support/api.ts";
import { makeClaim } from "../support/claims.ts";
import { at, isoAt, reported, traced, type Traced } from "../support/code-sales.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { paymentIntentSucceeded } from "../support/provider-a-changes.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { all } from "../support/rows.ts";

async function reprocess(program: TestProgram, key: string): Promise<Traced> {
  const { payments } = await ledgerOf(program);
  const { id } = payments.find((row) => row.provider_transaction_id === key)!;
  const { status, body } = await program.api<Traced>("POST", `/api/v1/payments/${id}/reprocess`);
  expect(status).toBe(200);
  return body;
}

/** When each reference is stored for the customers, in order. */
const remembered = (program: TestProgram) =>
  all<{ said: string }>(
    `select distinct f.ref_key || ' ' || f.occurred_at as said, f.occurred_at from facts f
      join fact_subjects s on s.program_id = f.program_id and s.provider = f.provider and s.fact_id = f.fact_id
      where f.program_id = ? and f.kind = 'attribution' order by f.occurred_at`,
    program.id,
  ).then((rows) => rows.map(({ said }) => said));

describe("a reference is remembered as of when it was said, whenever the money came (PAY-6, REF-4)", () => {
  it.each([true, false])("jane is a partner by then: %s", async (isKnown) => {
    const program = await makeProgram({ attribution: "last" });
    await makePartner(program, { slug: "bob" });
    if (isKnown) await makePartner(program, { slug: "jane" });
    const cus = { customer: "cus_1", amount: 10_000, tax: 0 };
    const held = { id: "cs_1", payment_intent: "pi_1", payment_status: "unpaid" as const, ref: "jane" };
    await sendA(program, sessionCompleted({ ...cus, ...held, created: at(1) }));
    await sendA(program, sessionCompleted({ ...cus, id: "cs_2", ref: "bob", created: at(3) }));
    await sendA(program, paymentIntentSucceeded({ payment_intent: "pi_1", created: at(5) }));
    await sendA(program, sessionCompleted({ ...cus, id: "cs_3", ref: null, created: at(30) }));
    if (!isKnown) await makePartner(program, { slug: "jane" });
    const before = await remembered(program);
    expect((await reprocess(program, "cs_1")).outcome).toBe("commission");
    expect(await remembered(program)).toEqual([`jane ${isoAt(1)}`, `bob ${isoAt(3)}`]);
    if (isKnown) expect(await remembered(program)).toEqual(before);
    const said = ["commission jane payment", "commission bob payment", "commission bob customer"];
    expect(await reported(program)).toEqual(said);
  });

  it("another sale by the same partner soon after does not stand for it", async () => {
    const program = await makeProgram({ attribution: "first" });
    await makePartner(program, { slug: "bob" });
    const sell = (id: string, ref: string | null, minutes: number) =>
      sendA(program, sessionCompleted({ id, ref, customer: "cus_1", created: at(0) + minutes * 60 }));
    await sell("cs_1", "jane", 0);
    await sell("cs_2", "bob", 10);
    await makePartner(program, { slug: "jane" });
    await sell("cs_3", "jane", 20);
    await reprocess(program, "cs_1");
    await sell("cs_4", null, 30);
    expect((await reported(program)).at(-1)).toBe("commission jane customer");
  });
});

describe("a lead that is corrected binds the customer for every provider (FACT-4)", () => {
  it.each([0, 20])("also where a sale of the customer names the partner, %d minutes later", async (minutes) => {
    const program = await makeProgram();
    const customer = { id: "ctm_1" };
    const now = Date.now();
    const [said, sold, paid] = [60, 60 - minutes, 10].map((ago) => new Date(now - ago * 60_000).toISOString());
    const signup = lead({ external_id: "signup", ref: "later", customer, occurred_at: said! });
    expect((await report(program, "lead", signup)).body.outcome).toBe("unknown_ref");
    await makePartner(program, { slug: "later" });
    expect((await report(program, "sale", sale({ ref: "later", customer, occurred_at: sold! }))).status).toBe(200);
    expect((await reprocess(program, "lead#signup")).trace.partner_slug).toBe("later");
    await sendB(program, transactionCompleted({ id: "txn_1", customer: "ctm_1", occurred_at: paid! }));
    expect(await reported(program)).toContain("commission later customer");
  });
});

it("a reference that led to nobody hides nothing that is remembered (PAY-15)", async () => {
  const program = await makeProgram();
  const bob = await makePartner(program, { slug: "bob" });
  const ids = { id: "cs_1", payment_intent: "pi_1", customer: "cus_1" };
  await sendA(program, sessionCompleted({ ...ids, ref: "1042", amount: 10_000, tax: 0, created: at(0) }));
  await makePartner(program, { slug: "1042" });
  const claim = await makeClaim(program, bob.id, { order_id: "cs_1" });
  expect((await program.api("POST", `/api/v1/claims/${claim}/grant`, {})).status).toBe(200);
  expect(await reported(program)).toEqual(["commission bob customer"]);
  await sendA(program, chargeRefunded({ payment_intent: "pi_1", amount: 10_000, refunded: 1_000 }));
  expect(await reported(program)).toEqual(["commission bob customer"]);
  expect((await traced(program))[0]?.trace.candidates).toMatchObject([{ ref: "1042", partner_id: null }, {}]);
});
