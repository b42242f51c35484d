/** Events of accounts that are connected to the owner's: their sales do not count for the program. */
import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { disputeClosed, invoicePaid, sessionCompleted, type EventA } from "../support/provider-a.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const IGNORED = { received: true, outcome: "ignored", reason: "connected_account" };
const connected = (event: EventA) => ({ ...event, account: "acct_connected1" }) as EventA;
const lastOf = async (program: TestProgram) =>
  (
    await program.api<{ provider_a: { last_connected_event_at?: string; last_event_at: string | null } }>(
      "GET",
      "/api/v1/integrations/status",
    )
  ).body.provider_a;

describe("events of connected accounts (IN-21)", () => {
  it("are ignored whatever they say, and the status and the page say that they come (PROG-10)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const owner = await signInOwner(program);
    const page = async () => textOf((await owner.get("/dashboard/integration")).body);
    expect(await lastOf(program)).not.toHaveProperty("last_connected_event_at");
    expect(await page()).not.toContain("Events of connected accounts arrive");
    const odd = { ...sessionCompleted({ ref: "jane" }), data: { object: "of another shape" } };
    for (const event of [
      sessionCompleted({ ref: "jane" }),
      sessionCompleted({ ref: "jane", livemode: false }),
      invoicePaid({ ref: "jane" }),
      disputeClosed(),
      odd as never,
    ]) {
      expect((await sendA(program, connected(event))).body).toEqual(IGNORED);
    }
    expect(await ledgerOf(program)).toMatchObject({ payments: [], commissions: [] });
    expect(await lastOf(program)).toMatchObject({ last_connected_event_at: expect.any(String), last_event_at: null });
    expect(await page()).toContain("Events of connected accounts arrive");
  });

  it("are ignored as thin events, which nothing is read of", () => {
    const thin = {
      ...{ id: "evt_thin", object: "v2.core.event", type: "v1.invoice.paid", created: "2026-11-28T10:00:00.000Z" },
      ...{ livemode: true, context: "acct_connected1", snapshot_event: "evt_1" },
    };
    expect(providerA.thinOf?.(thin)).toBe(null);
    expect(providerA.parse(thin)).toMatchObject({ ok: true, event: { facts: [], ignored: "connected_account" } });
    expect(providerA.thinOf?.({ ...thin, context: null })).toMatchObject({ snapshot_id: "evt_1" });
  });

  it("are not those of the own account, which names none", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const own = { ...sessionCompleted({ ref: "jane" }), account: null } as never;
    expect((await sendA(program, own)).body.outcome).toBe("commission");
  });
});
