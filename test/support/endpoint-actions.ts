/** An endpoint that receives, for tests of the actions on it. */
import { playOutsideWorld, type Receiver } from "./dns.ts";
import { deliveriesOf, makeEndpoint, openOutbound, type Outbound } from "./outbound.ts";
import { makePartner, makeProgram, type TestProgram } from "./program.ts";

/** A program with an endpoint whose receiver is played; the clock is the test's. */
export async function makeReceivingEndpoint(receiver: Receiver = () => new Response()) {
  const program = await makeProgram();
  const endpoint = await makeEndpoint(program, "https://hooks.example/in");
  const world = playOutsideWorld({ receivers: { "hooks.example": receiver } });
  const clock = { now: Date.now() };
  const outbound = openOutbound(world, clock);
  const post = <T>(path: string, body?: unknown, headers: HeadersInit = {}) =>
    program.api<T>("POST", `/api/v1/webhooks/${endpoint.id}${path}`, body, headers);
  /** Makes a partner and attempts its deliveries. */
  const happen = async () => {
    await makePartner(program, {}, "invited");
    clock.now = Date.now();
    await outbound.deliver((await deliveriesOf(program)).at(-1)!.id);
  };
  return { program, endpoint, world, clock, outbound, post, happen };
}

/** Attempts the pending deliveries, five at a time. */
export async function deliverPending(program: TestProgram, outbound: Outbound, clock: { now: number }) {
  clock.now = Math.max(clock.now, Date.now());
  const due = (await deliveriesOf(program)).filter(({ status }) => status === "pending").map(({ id }) => id);
  for (let i = 0; i < due.length; i += 5) await outbound.deliver(...due.slice(i, i + 5));
}
