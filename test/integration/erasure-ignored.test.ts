import { describe, expect, it } from "vitest";
import { bodies } from "../support/bodies.ts";
import { sendA } from "../support/ledger.ts";
import { makeProgram } from "../support/program.ts";
import { eventA } from "../support/provider-a.ts";

const ADDRESS = "Jo.Buyer+1@example.com";

describe("bodies of ignored events", () => {
  it("are not stored (IN-7)", async () => {
    const program = await makeProgram();
    const ignored = eventA("payout.paid", { id: "po_1", object: "payout", description: ADDRESS });
    expect(await sendA(program, ignored)).toMatchObject({ status: 200, body: { outcome: "ignored" } });
    expect(await bodies(program)).toEqual({ [ignored.id]: false });
  });
});
