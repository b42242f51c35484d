import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { forgetOld, forgetUnproved, KEPT_FOR } from "../../src/core/operations/retention.ts";
import { confirmLink, countRequest, createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import source from "../../src/core/operations/retention.ts?raw";
import { newId } from "../../src/lib/id.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { makeEndpoint } from "../support/outbound.ts";
import { TABLES } from "../support/tables.ts";
import { makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;

/** One event of `at` with its message, and the deliveries of it that were made at the given times. */
async function insertDelivery(
  program: TestProgram,
  endpoint_id: string,
  at: number,
  status: string,
  deliveredAt = [at],
) {
  const event_id = newId("event", at);
  const stamp = new Date(at).toISOString();
  await env.DB.prepare(
    "insert into messages (event_id, program_id, event, body, created_at) values (?, ?, 'x', '{}', ?)",
  )
    .bind(event_id, program.id, stamp)
    .run();
  for (const made of deliveredAt) {
    const id = newId("delivery", made);
    await env.DB.batch([
      env.DB.prepare(
        `insert into deliveries (id, program_id, endpoint_id, event_id, event, status, next_attempt_at, created_at)
        values (?, ?, ?, ?, 'x', ?, ?, ?)`,
      ).bind(id, program.id, endpoint_id, event_id, status, stamp, stamp),
      env.DB.prepare(
        "insert into delivery_attempts (delivery_id, number, started_at, duration_ms) values (?, 1, ?, 5)",
      ).bind(id, stamp),
    ]);
  }
  await env.DB.prepare("insert into missed_deliveries (endpoint_id, event_id) values (?, ?)")
    .bind(endpoint_id, event_id)
    .run();
  return event_id;
}

async function count(table: string, where: string, ...values: unknown[]): Promise<number> {
  const row = await env.DB.prepare(`select count(*) as n from ${table} where ${where}`)
    .bind(...values)
    .first<{ n: number }>();
  return row!.n;
}

describe("retention (JOB-5)", () => {
  it("is of the tables whose rows are said to be forgotten, and of no other", () => {
    const forgets = (table: string) =>
      new RegExp(String.raw`(?:whole\(\s*"|delete from |update )${table}\b`).test(source);
    expect(Object.keys(TABLES).filter(forgets).toSorted()).toEqual(
      Object.entries(TABLES)
        .flatMap(([table, { forgotten }]) => (forgotten ? [table] : []))
        .toSorted(),
    );
  });

  it("forgets deliveries with bodies, attempts and what was missed after 90 days, and not before", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program, "https://hooks.example/");
    const now = Date.now();
    const old = await insertDelivery(program, id, now - KEPT_FOR - DAY, "succeeded");
    const waiting = await insertDelivery(program, id, now - KEPT_FOR - DAY, "pending");
    const young = await insertDelivery(program, id, now - KEPT_FOR + DAY, "failed");
    for (let run = 0; run < 2; run++) await serveAll(forgetOld(testContext(now)));
    for (const event_id of [old, waiting]) {
      expect(await count("deliveries", "event_id = ?", event_id)).toBe(0);
      expect(await count("messages", "event_id = ?", event_id)).toBe(0);
      expect(await count("missed_deliveries", "event_id = ?", event_id)).toBe(0);
    }
    expect(await count("deliveries", "event_id = ?", young)).toBe(1);
    expect(await count("messages", "event_id = ?", young)).toBe(1);
    expect(await count("missed_deliveries", "event_id = ?", young)).toBe(1);
    expect(await count("delivery_attempts", "delivery_id not in (select id from deliveries)")).toBe(0);
  });

  it("keeps a body as long as any delivery of it, and what is under way", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program, "https://hooks.example/");
    const now = Date.now();
    const long = now - KEPT_FOR - DAY;
    const resent = await insertDelivery(program, id, long, "succeeded", [long, now - DAY]);
    const running = await insertDelivery(program, id, long, "delivering");
    await serveAll(forgetOld(testContext(now)));
    expect(await count("deliveries", "event_id = ?", resent)).toBe(1);
    expect(await count("messages", "event_id = ?", resent)).toBe(1);
    expect(await count("deliveries", "event_id = ?", running)).toBe(1);
  });

  it("forgets what the payment providers sent after 90 days, but neither the event nor its payment", async () => {
    const program = await makeProgram();
    await sendA(program, sessionCompleted({ ref: "jane" }));
    const now = Date.now();
    await serveAll(forgetOld(testContext(now + KEPT_FOR - DAY)));
    expect(await count("provider_events", "program_id = ? and body is not null", program.id)).toBe(1);
    await serveAll(forgetOld(testContext(now + KEPT_FOR + DAY)));
    expect(await count("provider_events", "program_id = ? and body is null", program.id)).toBe(1);
    expect(await count("payments", "program_id = ?", program.id)).toBe(1);
    expect(await count("facts", "program_id = ?", program.id)).toBeGreaterThan(0);
  });

  it("forgets e-mails after 90 days, those that wait where nobody sends any more too", async () => {
    const program = await makeProgram();
    const now = Date.now();
    for (const status of ["sent", "failed", "pending", "sending"]) {
      for (const at of [now - KEPT_FOR - DAY, now - KEPT_FOR + DAY]) {
        const stamp = new Date(at).toISOString();
        await env.DB.prepare(
          `insert into mails (id, program_id, kind, recipient, status, attempt_count, next_attempt_at, created_at)
          values (?, ?, 'ledger_differs', 'owner@shop.example', ?, 0, ?, ?)`,
        )
          .bind(newId("mail", at), program.id, status, stamp, stamp)
          .run();
      }
    }
    await serveAll(forgetOld(testContext(now)));
    expect(await count("mails", "program_id = ?", program.id)).toBe(4);
    await env.DB.prepare("delete from mails where program_id = ?").bind(program.id).run();
  });

  it("keeps a link that was tried in vain while its address is not notified again (EVT-4)", async () => {
    const program = await makeProgram();
    const email = program.program.owner_email.toLowerCase();
    const ctx = testContext();
    const first = await createLinkByHand(ctx, email);
    for (const { token } of [first, first]) await confirmLink(ctx, token, null);
    const second = await createLinkByHand(testContext(ctx.now + 10 * 60_000), email);
    const later = testContext(ctx.now + 31 * 60_000);
    await serveAll(forgetOld(later));
    await confirmLink(later, second.token, null);
    expect(await count("events", "program_id = ? and type = 'sign_in.failed'", program.id)).toBe(1);
    await serveAll(forgetOld(testContext(ctx.now + 2 * HOUR)));
    expect(await count("sign_in_links", "email = ?", email)).toBe(0);
  });

  it("forgets a request for a link half an hour later where its address has no account", async () => {
    const program = await makeProgram();
    const ctx = testContext();
    const [known, unknown] = [program.program.owner_email.toLowerCase(), `nobody@${program.id}.example`.toLowerCase()];
    for (const email of [known, unknown]) await countRequest(ctx, email);
    const left = async (minutes: number) => {
      await serveAll(forgetUnproved(testContext(ctx.now + minutes * 60_000)));
      return Promise.all([known, unknown].map((email) => count("sign_in_links", "email = ?", email)));
    };
    // It counts for the limit of its address for half an hour.
    expect(await left(29)).toEqual([1, 1]);
    expect(await left(31)).toEqual([1, 0]);
  });

  it("forgets replies, links and sessions that nobody can use any more", async () => {
    const program = await makeProgram();
    const now = Date.now();
    const at = (ms: number) => new Date(ms).toISOString();
    await env.DB.batch([
      ...["old", "new"].map((key) =>
        env.DB.prepare(
          "insert into idempotency_keys (program_id, key, request_hash, claimed_by, created_at) values (?, ?, 'h', 'r', ?)",
        ).bind(program.id, key, at(key === "old" ? now - DAY - 1 : now - DAY + 60_000)),
      ),
      ...["old", "new"].map((token) =>
        env.DB.prepare(
          "insert into sign_in_links (token_hash, audience, email, created_at, expires_at) values (?, 'owner', ?, ?, ?)",
        ).bind(
          `${token}${program.id}`,
          `${program.id}@example.com`,
          at(now),
          at(token === "old" ? now - DAY : now + DAY),
        ),
      ),
      ...["old", "new"].map((token) =>
        env.DB.prepare(
          "insert into sessions (token_hash, audience, email, program_id, created_at, expires_at) values (?, 'owner', 'e', ?, ?, ?)",
        ).bind(`${token}${program.id}`, program.id, at(now), at(token === "old" ? now - DAY : now + DAY)),
      ),
    ]);
    await serveAll(forgetOld(testContext(now)));
    expect(await count("idempotency_keys", "program_id = ?", program.id)).toBe(1);
    expect(await count("idempotency_keys", "program_id = ? and key = 'new'", program.id)).toBe(1);
    expect(await count("sign_in_links", "email = ?", `${program.id}@example.com`)).toBe(1);
    expect(await count("sessions", "program_id = ? and token_hash like 'new%'", program.id)).toBe(1);
    expect(await count("sessions", "program_id = ?", program.id)).toBe(1);
  });
});
