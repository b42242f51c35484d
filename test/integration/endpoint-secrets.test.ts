/** The rotation of an endpoint's secret: its reply, the signatures, and the time of the reply (HOOK-8). */
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { rotateSecret } from "../../src/core/webhooks/actions.ts";
import { playOutsideWorld, PUBLIC_IPV4, type Receiver } from "../support/dns.ts";
import { deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import { makePartner, makeProgram, programContext } from "../support/program.ts";
import { eventually } from "../support/time.ts";
import { deliverPending, makeReceivingEndpoint } from "../support/endpoint-actions.ts";
import { DAY, HOUR, iso, SECOND } from "../../src/lib/time.ts";

beforeEach(() => void vi.spyOn(console, "info").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

describe("POST /:id/rotate-secret (HOOK-8)", () => {
  it("shows a new secret once; for 24 hours both sign, and X-Service-Signature is keyed with the new one", async () => {
    const { program, endpoint, world, clock, outbound, post, happen } = await makeReceivingEndpoint();
    const asked = Date.now();
    const { status, body } = await post<Record<string, string>>("/rotate-secret");
    expect(status).toBe(200);
    expect(body["secret"]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(body["secret"]).not.toBe(endpoint.secret);
    const shown = await program.api("GET", `/api/v1/webhooks/${endpoint.id}`);
    expect(JSON.stringify(shown.body)).not.toContain("whsec_");

    await happen();
    const verify = (secret: string, i: number) => {
      // The library checks the timestamp against the real clock; this test is only about the signature.
      const { text, headers } = world.requests[i]!;
      const at = Number(headers.get("webhook-timestamp")) * SECOND;
      vi.useFakeTimers({ now: at, toFake: ["Date"] });
      try {
        new Webhook(secret).verify(text, Object.fromEntries(headers));
        return true;
      } catch {
        return false;
      } finally {
        vi.useRealTimers();
      }
    };
    expect([verify(endpoint.secret, 0), verify(body["secret"]!, 0)]).toEqual([true, true]);
    expect(world.requests[0]!.headers.get("webhook-signature")!.split(" ")).toHaveLength(2);
    const key = await crypto.subtle.importKey(
      "raw",
      new TextEncoder().encode(body["secret"]),
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign"],
    );
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, world.requests[0]!.body));
    expect(world.requests[0]!.headers.get("X-Service-Signature")).toBe(Buffer.from(mac).toString("hex"));

    const until = Date.parse(body["previous_secret_valid_until"]!);
    expect([until - DAY >= asked, until - DAY <= Date.now()]).toEqual([true, true]);
    await makePartner(program, {}, "invited");
    await makePartner(program, {}, "invited");
    const [before, after] = (await deliveriesOf(program)).slice(-2);
    await env.DB.prepare("update deliveries set next_attempt_at = ? where id = ?").bind(iso(until), after!.id).run();
    clock.now = until - 1;
    await outbound.deliver(before!.id);
    clock.now = until;
    await outbound.deliver(after!.id);
    expect([verify(endpoint.secret, 1), verify(body["secret"]!, 1)]).toEqual([true, true]);
    expect([verify(endpoint.secret, 2), verify(body["secret"]!, 2)]).toEqual([false, true]);
  });

  it("signs with the new one alone where no key of the deployment opens the old one", async () => {
    const { world, post, happen, endpoint } = await makeReceivingEndpoint();
    expect((await post("/rotate-secret")).status).toBe(200);
    await env.DB.prepare("update webhook_endpoints set secret_previous = 'v2.00000000.AAAA.AAAA' where id = ?")
      .bind(endpoint.id)
      .run();
    await happen();
    expect(world.requests[0]!.headers.get("webhook-signature")!.split(" ")).toHaveLength(1);
  });

  it("replies only when no attempt signed with the old secret alone is under way any more", async () => {
    const answers: ((response: Response) => void)[] = [];
    const { program, endpoint, world, clock, outbound } = await makeReceivingEndpoint(
      () => new Promise((go) => answers.push(go)),
    );
    await makePartner(program, {}, "invited");
    clock.now = Date.now();
    const { ended } = await outbound.begin((await deliveriesOf(program))[0]!.id);
    await eventually(() => expect(world.requests).toHaveLength(1));
    let pauses = 0;
    const rotated = await rotateSecret(programContext(program), endpoint.id, async () => {
      if (++pauses === 3) {
        answers[0]!(new Response());
        await ended;
      }
    });
    expect(pauses).toBe(3);
    expect(() =>
      new Webhook(rotated.secret).verify(world.requests[0]!.text, Object.fromEntries(world.requests[0]!.headers)),
    ).toThrow();
    // Without a running attempt the rotation does not wait.
    await rotateSecret(programContext(program), endpoint.id, async () => expect.unreachable());
  });

  it("under load, no delivery reaches a receiver that knows either secret with a signature it cannot verify", async () => {
    const known: string[] = [];
    const verdicts: boolean[] = [];
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/in");
    const receiver: Receiver = async ({ text, headers }) => {
      for (const secret of known) {
        try {
          new Webhook(secret).verify(text, Object.fromEntries(headers));
          verdicts.push(true);
        } catch {
          verdicts.push(false);
        }
      }
      return new Response();
    };
    // The secret can be rotated after an attempt is claimed with its secrets and before it arrives.
    const slowly = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { A: [PUBLIC_IPV4] };
    };
    const world = playOutsideWorld({ zone: { "hooks.example": slowly }, receivers: { "hooks.example": receiver } });
    const clock = { now: Date.now() };
    const outbound = openOutbound(world, clock);
    known.push(endpoint.secret);
    for (let i = 0; i < 40; i++) await makePartner(program, {}, "invited");
    clock.now = Date.now();
    const rows = await deliveriesOf(program);
    const delivering = deliverPending(program, outbound, clock);
    const { body } = await program.api<{ secret: string }>("POST", `/api/v1/webhooks/${endpoint.id}/rotate-secret`);
    // From the reply on, receivers may know the new secret, the old one, or both.
    known.push(body.secret);
    await delivering;
    await deliverPending(program, outbound, clock);
    expect((await deliveriesOf(program)).every(({ status }) => status === "succeeded")).toBe(true);
    expect(verdicts.length).toBeGreaterThanOrEqual(rows.length);
    expect(verdicts).not.toContain(false);
  });

  it("rotates once for concurrent calls each, and keeps the secret that was shown before as the previous one", async () => {
    const { program, endpoint, world, post, happen } = await makeReceivingEndpoint();
    const replies = await Promise.all([
      post<{ secret: string }>("/rotate-secret"),
      post<{ secret: string }>("/rotate-secret"),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    await happen();
    const { text, headers } = world.requests[0]!;
    for (const { body } of replies) new Webhook(body.secret).verify(text, Object.fromEntries(headers));
    expect(() => new Webhook(endpoint.secret).verify(text, Object.fromEntries(headers))).toThrow();
    const events = await program.api<{ data: { payload: object }[] }>(
      "GET",
      "/api/v1/events?type=webhook_endpoint.updated",
    );
    expect(events.body.data).toHaveLength(2);
    expect(events.body.data[0]!.payload).toMatchObject({ endpoint_id: endpoint.id, reason: "secret_rotated" });
    expect(JSON.stringify(events.body)).not.toContain("whsec_");
  });

  it("gives it again no earlier than the first time: when no attempt with the old secret alone is under way", async () => {
    const answers: ((response: Response) => void)[] = [];
    const { program, world, clock, outbound, post } = await makeReceivingEndpoint(
      () => new Promise((go) => answers.push(go)),
    );
    await makePartner(program, {}, "invited");
    // The claim lasts longer than the test.
    clock.now = Date.now() + HOUR;
    const { ended } = await outbound.begin((await deliveriesOf(program))[0]!.id);
    await eventually(() => expect(world.requests).toHaveLength(1));
    const ask = () => post<{ secret: string }>("/rotate-secret", undefined, { "Idempotency-Key": "k" });
    const first = ask();
    const kept = env.DB.prepare("select status_code from idempotency_keys where program_id = ?").bind(program.id);
    await eventually(async () => expect(await kept.first("status_code")).toBe(200));
    let isAnswered = false;
    const again = ask().finally(() => (isAnswered = true));
    await scheduler.wait(1_000);
    expect(isAnswered).toBe(false);
    answers[0]!(new Response());
    await ended;
    expect((await again).body).toEqual((await first).body);
    expect((await again).headers.get("Idempotent-Replayed")).toBe("true");
  });
});
