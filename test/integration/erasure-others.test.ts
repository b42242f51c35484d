/** An erasure takes nothing of another customer (JOB-1). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { lead, report, sale } from "../support/api.ts";
import { erase, programOfJane } from "../support/erasure.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { placesOf } from "../support/places.ts";
import { programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { differencesOf } from "../support/reconcile.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

const amounts = async (program: TestProgram) =>
  (await ledgerOf(program)).commissions.map(({ status, amount_cents }) => `${status} ${amount_cents}`).toSorted();

const refund = (program: TestProgram) =>
  sendA(program, chargeRefunded({ charge: "ch_9", payment_intent: "pi_9", amount: 10_000, refunded: 1_000 }));

describe("a lead's binding of an address that another customer has too", () => {
  const OLD = "kim@old.example";
  const NEW = "kim@new.example";

  /** The owner's own id, which has had two addresses. */
  async function movedCustomer(): Promise<TestProgram> {
    const program = await programOfJane();
    const first = lead({ ref: "jane", customer: { id: "user-7", email: OLD }, occurred_at: ago(5 * HOUR) });
    expect((await report(program, "lead", first)).body.outcome).toBe("remembered");
    const second = sale({ customer: { id: "user-7", email: NEW }, occurred_at: ago(3 * HOUR), amount_cents: 100 });
    expect((await report(program, "sale", second)).body.outcome).toBe("commission");
    return program;
  }

  /** A vendor's customer, known by the first of them alone. */
  const paid = () => {
    const created = Math.floor((Date.now() - 4 * HOUR) / 1_000);
    return sessionCompleted({ email: OLD, customer: "cus_9", payment_intent: "pi_9", amount: 10_000, tax: 0, created });
  };

  it("stays when the lead's customer is erased by another address: what the other has earned stays through a refund", async () => {
    const program = await movedCustomer();
    expect((await sendA(program, paid())).body.outcome).toBe("commission");
    await erase(program, NEW);
    expect(await placesOf(program, NEW)).toEqual([]);
    expect(await differencesOf(programContext(program))).toEqual([]);
    await refund(program);
    expect(await amounts(program)).toEqual(["pending 1800", "pending 20"]);
  });

  it("goes when that customer is erased too", async () => {
    const program = await movedCustomer();
    await sendA(program, paid());
    for (const email of [NEW, OLD]) await erase(program, email);
    expect(await placesOf(program, OLD, NEW)).toEqual([]);
    await refund(program);
    expect(await amounts(program)).toEqual(["pending 1800", "pending 20"]);
  });

  it.each(["erasure", "payment"] as const)(
    "goes by what the ledger is in the end, where the payment comes at any moment: the other waits, %s",
    async (slow) => {
      for (let place = 0; ; place++) {
        const program = await movedCustomer();
        let trips = 0;
        const { binding } = watchDatabase(env.DB, {
          before: async () => {
            if (trips++ !== place) return;
            await (slow === "erasure" ? sendA(program, paid()) : erase(program, NEW));
          },
        });
        const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
        const init = { method: "POST", headers, body: JSON.stringify({ email: NEW }) };
        const { status } =
          slow === "erasure"
            ? await callWith({ DB: binding }, "/api/v1/customers/erase", init)
            : await sendA(program, paid(), { DB: binding });
        expect([place, status, await differencesOf(programContext(program))]).toEqual([place, 200, []]);
        if (trips <= place) break;
      }
    },
  );
});
