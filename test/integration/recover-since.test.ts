import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { playOutsideWorld } from "../support/dns.ts";
import { deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import { makePartner, makeProgram } from "../support/program.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

beforeEach(() => void vi.spyOn(console, "info").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

/** One delivery, made at `at`, whose attempts all fail after this time. */
async function setUp(takes = 0) {
  const program = await makeProgram();
  const endpoint = await makeEndpoint(program, "https://hooks.example/in");
  const clock = { now: 0 };
  const fail = () => {
    clock.now += takes;
    return new Response(null, { status: 500 });
  };
  const receivers = { "hooks.example": fail };
  const outbound = openOutbound(playOutsideWorld({ receivers }), clock);
  await makePartner(program, {}, "invited");
  const [made] = await deliveriesOf(program);
  const at = Date.parse(made!.created_at);
  return {
    program,
    at,
    attempt: async (after: number) => {
      clock.now = at + after;
      await outbound.deliver(made!.id);
      return (await deliveriesOf(program))[0]!;
    },
    recover: async (since: number) => {
      const path = `/api/v1/webhooks/${endpoint.id}/recover`;
      const body = { since: new Date(since).toISOString() };
      return (await program.api<{ recovered: number }>("POST", path, body)).body.recovered;
    },
  };
}

const BEFORE_THE_LAST = [0, 5 * MINUTE, 35 * MINUTE, 2 * HOUR + 35 * MINUTE];
const LAST = 14 * HOUR + 35 * MINUTE;

describe("`since` of POST /:id/recover (HOOK-10)", () => {
  it("is when a delivery failed, whenever it was made", async () => {
    const { program, at, attempt, recover } = await setUp();
    for (const after of BEFORE_THE_LAST) await attempt(after);
    expect(await attempt(LAST)).toMatchObject({ status: "failed", attempt_count: 5 });
    expect(await recover(at + LAST + 1)).toBe(0);
    expect(await recover(at + LAST)).toBe(1);
    expect(await deliveriesOf(program)).toMatchObject([{ status: "failed" }, { status: "pending" }]);
  });

  it("is when the last attempt failed of one that waits for the next", async () => {
    const { program, at, attempt, recover } = await setUp();
    for (const after of BEFORE_THE_LAST) await attempt(after);
    expect(await recover(at + BEFORE_THE_LAST.at(-1)! + 1)).toBe(0);
    expect(await recover(at + BEFORE_THE_LAST.at(-1)!)).toBe(1);
    const [waiting, ...others] = await deliveriesOf(program);
    expect([waiting!.attempt_count, Date.parse(waiting!.next_attempt_at!) < at + HOUR, others]).toEqual([4, true, []]);
  });

  it("is not when that attempt began", async () => {
    const { at, attempt, recover } = await setUp(5_000);
    expect(await attempt(0)).toMatchObject({ status: "pending", attempt_count: 1 });
    expect(await recover(at + 5_001)).toBe(0);
    expect(await recover(at + 5_000)).toBe(1);
  });

  it("looks back five days behind it at what was made before, and no further", async () => {
    const { program, at, recover } = await setUp();
    const failed = (after: number) =>
      env.DB.prepare("update deliveries set status = 'failed', completed_at = ? where program_id = ?")
        .bind(new Date(at + after).toISOString(), program.id)
        .run();
    await failed(5 * DAY + 1);
    expect(await recover(at + 5 * DAY + 1)).toBe(0);
    expect(await recover(at + 5 * DAY)).toBe(1);
  });
});
