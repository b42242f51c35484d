/** Claims at endpoints that are switched off: their deliveries wait as `pending`, whichever process held the claim. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { iso, MINUTE } from "../../src/lib/time.ts";
import { jobNamed, runJob } from "../support/jobs.ts";
import { deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

const JOB = "end claims at inactive endpoints";

/** A delivery that is under way to each of an endpoint's, by a process that is gone. */
async function claimAll(program: TestProgram, endpoint_id: string, until: number): Promise<void> {
  await env.DB.prepare(
    "update deliveries set status = 'delivering', claimed_until = ? where program_id = ? and endpoint_id = ?",
  )
    .bind(iso(until), program.id, endpoint_id)
    .run();
}

const shown = async (program: TestProgram, endpoint_id: string) => {
  const path = `/api/v1/webhooks/${endpoint_id}/deliveries`;
  const { body } = await program.api<{ data: { status: string }[] }>("GET", path);
  return body.data.map(({ status }) => status);
};

describe("a delivery that was under way when its endpoint was switched off", () => {
  it("is pending once its claim has run out, and goes out when the endpoint is on again", async () => {
    const program = await makeProgram();
    const off = await makeEndpoint(program, "https://off.example/");
    const on = await makeEndpoint(program, "https://on.example/");
    await makePartner(program, {}, "invited");
    const now = Date.now();
    for (const { id } of [off, on]) await claimAll(program, id, now + MINUTE);
    await program.api("PATCH", `/api/v1/webhooks/${off.id}`, { active: false });
    await runJob(JOB, now + MINUTE - 1);
    expect([await shown(program, off.id), await shown(program, on.id)]).toEqual([["delivering"], ["delivering"]]);
    await runJob(JOB, now + MINUTE);
    // The queue wakes the sender if the endpoint is active.
    expect([await shown(program, off.id), await shown(program, on.id)]).toEqual([["pending"], ["delivering"]]);
    const [delivery] = await deliveriesOf(program, off.id);
    expect(delivery).toMatchObject({ status: "pending", claimed_until: null, attempt_count: 0 });
    await program.api("PATCH", `/api/v1/webhooks/${off.id}`, { active: true });
    const received: string[] = [];
    const fetch = async (input: string | URL | Request) => {
      const { url } = new Request(input);
      if (url.startsWith("https://off.example/")) received.push(url);
      return url.startsWith("https://off.example/")
        ? new Response("ok")
        : Response.json({ Status: 0, Answer: [{ name: "off.example", type: 1, TTL: 60, data: "93.184.216.34" }] });
    };
    await openOutbound({ fetch }, { now: now + 2 * MINUTE }).deliver(delivery!.id);
    expect(received).toHaveLength(1);
    expect(await shown(program, off.id)).toEqual(["succeeded"]);
  });

  it("stays as it is where the endpoint was deleted", async () => {
    const program = await makeProgram();
    const gone = await makeEndpoint(program, "https://gone.example/");
    await makePartner(program, {}, "invited");
    const now = Date.now();
    await claimAll(program, gone.id, now);
    await program.api("DELETE", `/api/v1/webhooks/${gone.id}`);
    const before = await deliveriesOf(program, gone.id);
    await runJob(JOB, now + MINUTE);
    expect(await deliveriesOf(program, gone.id)).toEqual(before);
  });

  it("is looked for every minute", () => {
    expect(jobNamed(JOB).every).toBe("minute");
  });
});
