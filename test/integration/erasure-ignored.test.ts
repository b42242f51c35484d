import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { forgetOld } from "../../src/core/operations/retention.ts";
import { bodies } from "../support/bodies.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { makeProgram, testContext } from "../support/program.ts";
import { eventA, sessionCompleted } from "../support/provider-a.ts";

const ADDRESS = "Jo.Buyer+1@example.com";

describe("bodies of ignored events", () => {
  it("are not stored (IN-7)", async () => {
    const program = await makeProgram();
    const ignored = eventA("payout.paid", { id: "po_1", object: "payout", description: ADDRESS });
    expect(await sendA(program, ignored)).toMatchObject({ status: 200, body: { outcome: "ignored" } });
    expect(await bodies(program)).toEqual({ [ignored.id]: false });
  });

  it("that versions before stored go with the next retention", async () => {
    const program = await makeProgram();
    const ignored = eventA("payout.paid", { id: "po_2", object: "payout" });
    const used = sessionCompleted({ email: ADDRESS });
    for (const event of [ignored, used]) await sendA(program, event);
    await env.DB.prepare("update provider_events set body = ? where program_id = ? and event_id = ?")
      .bind(JSON.stringify({ ADDRESS }), program.id, ignored.id)
      .run();
    await serveAll(forgetOld(testContext()));
    expect(await bodies(program)).toEqual({ [ignored.id]: false, [used.id]: true });
  });
});
