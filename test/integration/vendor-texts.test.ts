/** Texts and times of a vendor's event that cannot be stored as they are: refused with their path, or left out. */
import { describe, expect, it } from "vitest";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { ledgerOf, sendA, sendB, sendBody } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { saleAt } from "../support/sale.ts";

const BROKEN = ["kate\0", "kate\ud800"];

async function programOfKate() {
  const program = await makeProgram();
  await makePartner(program, { slug: "kate" });
  return program;
}

describe("a vendor's event (IN-4)", () => {
  it.each(BROKEN)(
    "with an id that is no text of whole characters (%j) is refused, and leaves nothing",
    async (text) => {
      const program = await programOfKate();
      const reply = await sendA(program, sessionCompleted({ id: text, ref: "kate" }));
      expect(reply).toMatchObject({ status: 422, body: { error: { details: [{ path: "data.object.id" }] } } });
      expect((await ledgerOf(program)).payments).toEqual([]);
    },
  );

  it.each(BROKEN)("with such a reference (%j) is taken as if without it", async (text) => {
    const program = await programOfKate();
    const named = sessionCompleted({ ref: text, metadata: { service_ref: "kate" }, customer: "cus_1" });
    expect((await sendA(program, named)).body.outcome).toBe("commission");
    for (const provider of VENDOR_NAMES) {
      const sale = saleAt(provider, { ref: text, program: program.id });
      expect([provider, (await sendBody(program, provider, sale)).body.outcome]).toEqual([provider, "no_ref"]);
    }
    const bag = sessionCompleted({ ref: null, metadata: { service_ref: text } });
    expect((await sendA(program, bag)).body.outcome).toBe("no_ref");
  });

  it.each(BROKEN)("with such an address (%j) is taken without it", async (text) => {
    const program = await programOfKate();
    const reply = await sendA(program, sessionCompleted({ ref: "kate", email: `${text}@example.com` }));
    expect(reply.body.outcome).toBe("commission");
    expect((await ledgerOf(program)).commissions).toMatchObject([{ customer_email: null }]);
  });

  it("with an address that is longer than any is taken without it, for nobody could have it erased", async () => {
    const program = await programOfKate();
    const at = (length: number) => `${"a".repeat(length - 12)}@example.com`;
    for (const email of [at(321), at(320)]) await sendA(program, sessionCompleted({ ref: "kate", email }));
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ customer_email }) => customer_email).toSorted()).toEqual([at(320), null]);
  });

  it.each(["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"])(
    "of a time that is in no year of four digits (%s) is refused",
    async (occurred_at) => {
      const program = await programOfKate();
      const event = transactionCompleted({ ref: "kate", program: program.id, occurred_at });
      const reply = await sendB(program, event);
      expect(reply).toMatchObject({ status: 422, body: { error: { details: [{ path: "occurred_at" }] } } });
    },
  );
});
