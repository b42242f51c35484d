import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { commit } from "../../src/core/kernel/commit.ts";
import { MAX_IN_FLIGHT } from "../../src/core/kernel/deliveries.ts";
import { anyOccurrence } from "../support/outbound.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";

/** The stored rows of the program's endpoints, by endpoint. */
async function rowsOf(program: TestProgram) {
  const [deliveries, missed, messages] = await env.DB.batch<Record<string, string>>([
    env.DB.prepare(
      "select endpoint_id, event_id, event, status from deliveries where program_id = ? order by rowid",
    ).bind(program.id),
    env.DB.prepare(
      `select m.endpoint_id, m.event_id from missed_deliveries m join webhook_endpoints e on e.id = m.endpoint_id
      where e.program_id = ? order by m.event_id`,
    ).bind(program.id),
    env.DB.prepare("select event_id, event, body from messages where program_id = ? order by event_id").bind(
      program.id,
    ),
  ]);
  return { deliveries: deliveries!.results, missed: missed!.results, messages: messages!.results };
}

async function makeEndpoint(program: TestProgram, events: string[], active = true): Promise<string> {
  const made = await program.api<{ id: string }>("POST", "/api/v1/webhooks", { url: "https://r.example.com/", events });
  if (!active) await program.api("PATCH", `/api/v1/webhooks/${made.body.id}`, { active });
  return made.body.id;
}

describe("the rows that a commit leaves for its event", () => {
  it("are a delivery for each active subscriber and a note of what each inactive subscriber misses (HOOK-6, HOOK-12)", async () => {
    const program = await makeProgram();
    const all = await makeEndpoint(program, ["*"]);
    const paused = await makeEndpoint(program, ["partner.created"], false);
    const pausedAll = await makeEndpoint(program, ["*"], false);
    await makeEndpoint(program, ["payout.paid"]);
    await makeEndpoint(program, ["payout.paid"], false);
    const deleted = await makeEndpoint(program, ["*"]);
    await program.api("DELETE", `/api/v1/webhooks/${deleted}`);
    const stranger = await makeProgram();
    await makeEndpoint(stranger, ["*"]);
    await makeEndpoint(stranger, ["*"], false);

    await makePartner(program, {}, "invited");

    const { deliveries, missed, messages } = await rowsOf(program);
    expect(messages).toHaveLength(1);
    const event_id = messages[0]!["event_id"];
    expect(deliveries).toEqual([{ endpoint_id: all, event_id, event: "partner.created", status: "pending" }]);
    expect(missed.map((row) => row["endpoint_id"]).toSorted()).toEqual([paused, pausedAll].toSorted());
    expect(missed.every((row) => row["event_id"] === event_id)).toBe(true);
    expect(await rowsOf(stranger)).toEqual({ deliveries: [], missed: [], messages: [] });
  });

  it("keep the body of an event that only an inactive endpoint is subscribed to", async () => {
    const program = await makeProgram();
    const paused = await makeEndpoint(program, ["partner.created"], false);
    const partner = await makePartner(program);
    const { deliveries, missed, messages } = await rowsOf(program);
    expect(deliveries).toEqual([]);
    expect(messages.map(({ event }) => event)).toEqual(["partner.created"]);
    expect(missed).toEqual([{ endpoint_id: paused, event_id: messages[0]!["event_id"] }]);
    expect(JSON.parse(messages[0]!["body"]!)).toMatchObject({ event: "partner.created", data: { id: partner.id } });
  });

  it("are none at all where nobody is subscribed", async () => {
    const program = await makeProgram();
    await makeEndpoint(program, ["payout.paid"]);
    await makePartner(program);
    expect(await rowsOf(program)).toEqual({ deliveries: [], missed: [], messages: [] });
  });
});

describe("the wake-ups of a commit", () => {
  /** Commits `count` events at once. Returns how many of their deliveries are woken, by endpoint. */
  async function wakeUpsOf(program: TestProgram, count: number): Promise<Record<string, number>> {
    const woken: string[] = [];
    const ctx = { ...programContext(program), wake: (ids: string[]) => void woken.push(...ids) };
    await commit(ctx, { writes: [], occurrences: Array.from({ length: count }, () => anyOccurrence(ctx)) });
    expect(new Set(woken).size).toBe(woken.length);
    const { results } = await env.DB.prepare(
      "select endpoint_id, count(*) as n from deliveries where id in (select value from json_each(?)) group by endpoint_id",
    )
      .bind(JSON.stringify(woken))
      .all<{ endpoint_id: string; n: number }>();
    return Object.fromEntries(results.map(({ endpoint_id, n }) => [endpoint_id, n]));
  }

  it("are one for each delivery, until more waits in a lane than may be under way at once", async () => {
    const program = await makeProgram();
    const busy = await makeEndpoint(program, ["*"]);
    for (let i = 0; i < MAX_IN_FLIGHT; i++) expect(await wakeUpsOf(program, 1)).toEqual({ [busy]: 1 });
    const idle = await makeEndpoint(program, ["*"]);
    // Further deliveries would find the lane full: each attempt that ends starts the next.
    expect(await wakeUpsOf(program, 1)).toEqual({ [idle]: 1 });
    expect(await wakeUpsOf(program, 3)).toEqual({ [idle]: 3 });
    await env.DB.prepare("update deliveries set status = 'succeeded' where endpoint_id = ?").bind(busy).run();
    expect(await wakeUpsOf(program, 4)).toEqual({ [busy]: 4, [idle]: 4 });
    expect(await wakeUpsOf(program, 4)).toEqual({ [busy]: 4, [idle]: 2 });
  });

  it("are bounded for each lane of a commit of many events", async () => {
    const program = await makeProgram();
    const [one, two] = [await makeEndpoint(program, ["*"]), await makeEndpoint(program, ["*"])];
    expect(await wakeUpsOf(program, 60)).toEqual({ [one]: MAX_IN_FLIGHT, [two]: MAX_IN_FLIGHT });
    expect(Math.max(...Object.values(await wakeUpsOf(program, 60)))).toBeLessThanOrEqual(MAX_IN_FLIGHT);
    expect(await wakeUpsOf(program, MAX_IN_FLIGHT)).toEqual({});
  });

  it("begin again for a lane that has much waiting and nobody at it", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, ["*"]);
    await wakeUpsOf(program, 40);
    const ago = new Date(Date.now() - 6_000).toISOString();
    const set = (change: string, ...values: string[]) =>
      env.DB.prepare(`update deliveries set ${change} where endpoint_id = ?`)
        .bind(...values, endpoint)
        .run();
    expect(await wakeUpsOf(program, 2)).toEqual({});
    await set("next_attempt_at = ?", ago);
    expect(await wakeUpsOf(program, 2)).toEqual({ [endpoint]: 2 });
    // Another process is delivering; then its claim expires without a result.
    await set("status = iif(rowid % 20 = 0, 'delivering', status), claimed_until = ?", "2099-01-01T00:00:00.000Z");
    expect(await wakeUpsOf(program, 2)).toEqual({});
    await set("claimed_until = ?", ago);
    expect(await wakeUpsOf(program, 2)).toEqual({ [endpoint]: 2 });
  });

  it("are not held back by what is not due yet", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, ["*"]);
    await wakeUpsOf(program, 40);
    await env.DB.prepare("update deliveries set next_attempt_at = '2099-01-01T00:00:00.000Z' where endpoint_id = ?")
      .bind(endpoint)
      .run();
    expect(await wakeUpsOf(program, 2)).toEqual({ [endpoint]: 2 });
  });
});
