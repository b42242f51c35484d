/** The service as a whole. */
import { describe, expect, it } from "vitest";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { create, eventsOf, FLOW } from "../support/conformance.ts";
import { sendA, sendBody } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { saleAt } from "../support/sale.ts";

describe("what the service does", () => {
  it("3. turns completed payments of every provider into commissions for the referring partner", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program, { slug: "jane" });
    await makePartner(program, { slug: "joe" });
    for (const [i, name] of VENDOR_NAMES.entries()) {
      const sale = saleAt(name, { ref: "jane", program: program.id, amount: 5_000 * (i + 1) });
      expect((await sendBody(program, name, sale)).body.outcome).toBe("commission");
    }
    const made = await eventsOf(program, "commission.created");
    expect(made.map(({ payload }) => [payload["partner_id"], payload["amount_cents"], payload["provider"]])).toEqual(
      VENDOR_NAMES.map((name, i) => [jane.id, 1_000 * (i + 1), name]),
    );
  });

  it("4. decides amounts by flows; else the partner's rate and then the program's default rate apply (FLOW-3)", async () => {
    const program = await makeProgram({ default_commission_pct: 20 });
    await makePartner(program, { slug: "own", commission_pct: 30 });
    await makePartner(program, { slug: "none" });
    await create(program, "/api/v1/flows", {
      ...FLOW,
      conditions: [{ field: "txn_amount_cents", op: "gt", value: 50_000 }],
    });
    for (const [ref, amount] of [
      ["own", 60_000],
      ["own", 10_000],
      ["none", 10_000],
    ] as const) {
      await sendA(program, sessionCompleted({ ref, amount }));
    }
    const made = await eventsOf(program, "commission.created");
    expect(made.map(({ payload }) => payload["amount_cents"])).toEqual([6_000, 3_000, 2_000]);
  });
});
