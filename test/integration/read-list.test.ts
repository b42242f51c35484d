/**
 * The providers' lists of events: the events that are read, the point up to which they are complete, and the status if a
 * list is incomplete.
 */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { READ_TYPES as READ_TYPES_A } from "../../src/providers/provider-a/events.ts";
import { LIST_KEYS, openEventLists, READING, type EventLists, type ListFault } from "../support/event-lists.ts";
import { fireCron, serveAll } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { bought, commissionsOf, keyOfA, NOW, statusOf, withKeys, type ListStatus } from "../support/list-programs.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { customerEvent } from "../support/provider-a.ts";
import { adjustmentCreated, transactionCompleted } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, textOf } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

let lists: EventLists;
beforeEach(async () => {
  lists = openEventLists();
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
});
afterEach(() => vi.restoreAllMocks());

const read = (now: number, goOn?: () => boolean) => serveAll(readEventLists(testContext(now), lists.readsOf), goOn);

/** The Worker's own `fetch`: the lists are the whole outside world. */
function playVendors(): void {
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    lists.fetch(new Request(input, init).url, init ?? {}),
  );
}

/** The worker's minute cron at any instant, without the schedule that the test before left. */
async function cron(now: number): Promise<void> {
  await testContext().db.run(sql`delete from job_runs`);
  await fireCron("* * * * *", now);
}

describe("the list of events of a provider", () => {
  it("is read from the worker's own minute, with the key alone, and earns like webhooks (IN-15)", async () => {
    const [program, keyless] = [await withKeys(), await makeProgram()];
    await makePartner(program, { slug: "jane" });
    lists.a.push(bought(NOW - DAY));
    lists.b.push(transactionCompleted({ ref: "jane", program: program.id, occurred_at: iso(NOW - DAY) }));
    playVendors();
    await cron(NOW);
    expect(await commissionsOf(program)).toBe(2);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({
        ...{ api_key_set: true, recovered: 1, is_reading: false, read_failure: null },
        ...{ complete_from: iso(NOW - 30 * DAY), complete_until: iso(NOW - MINUTE) },
        // Receiving webhooks is a separate status.
        ...{ configured: false, last_event_at: null },
      });
      expect(await statusOf(keyless, provider)).toMatchObject({
        api_key_set: false,
        complete_until: null,
        recovered: 0,
      });
    }
    // Each list once and, for provider A, two groups of types; programs without a key are skipped.
    const calls = Math.ceil(READ_TYPES_A.length / 20) + 1;
    expect(lists.calls).toHaveLength(calls);
    await cron(NOW + MINUTE);
    expect(lists.calls).toHaveLength(calls);
    await cron(NOW + HOUR + MINUTE);
    expect(lists.calls).toHaveLength(2 * calls);
    expect(await statusOf(program)).toMatchObject({ recovered: 1, complete_until: iso(NOW + HOUR) });
  });

  it("is read from an hour before the last complete point, and from when the program was made at first (IN-15)", async () => {
    const made = NOW - 3 * DAY;
    await keyOfA({ created_at: iso(made) });
    const asked = () => lists.calls.map(({ searchParams }) => Number(searchParams.get("created[gte]")) * 1000);
    await read(NOW);
    expect(new Set(asked())).toEqual(new Set([made]));
    lists.calls = [];
    await read(NOW + 2 * DAY);
    expect(new Set(asked())).toEqual(new Set([NOW - MINUTE - HOUR]));
  });

  it("takes in only what is missing, and counts only that (IN-15)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    const [came, lost] = [bought(NOW - HOUR), bought(NOW - HOUR)];
    await sendA(program, came);
    lists.a.push(came, lost);
    await read(NOW);
    expect(await statusOf(program)).toMatchObject({ recovered: 1 });
    expect(await commissionsOf(program)).toBe(2);
    const { results } = await env.DB.prepare("select event_id from provider_events where program_id = ?")
      .bind(program.id)
      .all();
    expect(results).toHaveLength(2);
  });

  it("is read on behind an event whose reference is longer than any, which is taken in too (IN-15, REF-5)", async () => {
    const program = await withKeys({ provider_a_api_key: null });
    await makePartner(program, { slug: "jane" });
    for (const ref of ["\\".repeat(200_000), "jane"]) {
      lists.b.push(transactionCompleted({ ref, customer: "ctm_1", occurred_at: iso(NOW - HOUR) }));
    }
    await read(NOW);
    expect(await statusOf(program, "provider_b")).toMatchObject({ recovered: 2, read_failure: null });
    expect(await commissionsOf(program)).toBeGreaterThan(0);
  });

  it("goes on from the page where a process died, and claims nothing before the end (IN-15)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    for (let i = 0; i < 230; i++)
      lists.a.push(customerEvent({ created: Math.floor(NOW / 1000) - i * 60, ref: "jane" }));
    lists.a.push(bought(NOW - 20 * DAY));
    let left = 120;
    await read(NOW, () => left-- > 0);
    expect(await statusOf(program)).toMatchObject({ complete_until: null, is_reading: true });
    const calls = lists.calls.length;
    await read(NOW + 5 * MINUTE);
    expect(lists.calls[calls]!.searchParams.get("starting_after")).not.toBeNull();
    expect(await statusOf(program)).toMatchObject({
      complete_until: iso(NOW - MINUTE),
      recovered: 231,
      is_reading: false,
    });
  });

  it("comes to its end also where each run gets to one step of it, as others are slow or the process dies (IN-15, JOB-2)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    for (let i = 1; i <= 5; i++) lists.a.push(bought(NOW - i * HOUR));
    for (let run = 0; run < 15; run++) {
      let left = 1;
      await read(NOW + run * MINUTE, () => left-- > 0);
    }
    const { complete_until, ...status } = await statusOf(program);
    expect(status).toMatchObject({ recovered: 5, is_reading: false, read_failure: null });
    expect(complete_until! >= iso(NOW)).toBe(true);
    expect(await commissionsOf(program)).toBe(5);
  });

  it("begins again where the vendor no longer knows the place (IN-17)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    for (let i = 0; i < 150; i++)
      lists.a.push(customerEvent({ created: Math.floor(NOW / 1000) - i * 60, ref: "jane" }));
    let left = 105;
    await read(NOW, () => left-- > 0);
    lists.a.splice(99, 1);
    await read(NOW + MINUTE);
    expect(await statusOf(program)).toMatchObject({ complete_until: null, read_failure: { reason: "refused" } });
    await read(NOW + 3 * MINUTE);
    expect(await statusOf(program)).toMatchObject({
      ...{ read_failure: null, complete_until: iso(NOW + 2 * MINUTE), recovered: 150 },
    });
  });

  it("is complete only since the gap that a long failure leaves (IN-15)", async () => {
    const program = await keyOfA();
    await read(NOW);
    lists.keys.clear();
    await read(NOW + HOUR);
    lists.keys.add(LIST_KEYS.provider_a);
    const late = NOW + 45 * DAY;
    await read(late);
    expect(await statusOf(program)).toMatchObject({
      complete_from: iso(late - 30 * DAY),
      complete_until: iso(late - MINUTE),
    });
    // The page shows no more than the status does.
    const owner = await signInOwner(program);
    const { body } = await owner.get("/dashboard/integration");
    const [, sentence = ""] = /<p>\s*(Complete until .*?)<\/p>/s.exec(body) ?? [];
    const times = [...sentence.matchAll(/datetime="([^"]+)"/g)].map(([, at]) => at);
    expect(times).toEqual([iso(late - MINUTE), iso(late - 30 * DAY)]);
    expect(textOf(sentence)).toMatch(
      /^Complete until .*: every event that the provider has listed from .* until then is stored\.$/,
    );
  });

  it("gives each event of an account to the program that it claims, where both have one secret (IN-15, IN-1)", async () => {
    const [reading, claimed, stranger] = [
      await withKeys({ provider_a_api_key: null }),
      await makeProgram(),
      await makeProgram({ provider_b_webhook_secret: "pdl_ntfset_of_somebody_else" }),
    ];
    for (const program of [reading, claimed, stranger]) await makePartner(program, { slug: "jane" });
    const transaction = uniqueId("txn_");
    const at = { occurred_at: iso(NOW - HOUR) };
    lists.b.push(
      transactionCompleted({ id: transaction, ref: "jane", program: claimed.id, amount: 10_000, ...at }),
      adjustmentCreated({ transaction, amount: 10_000, status: "approved", ...at }),
      transactionCompleted({ ref: "jane", program: stranger.id, ...at }),
    );
    await read(NOW);
    const sums = async (program: TestProgram) =>
      (await program.api<{ data: { amount_cents: number }[] }>("GET", "/api/v1/commissions")).body.data.map(
        ({ amount_cents }) => amount_cents,
      );
    expect(await sums(claimed)).toEqual([0]);
    expect(await sums(reading)).toHaveLength(1);
    expect(await sums(stranger)).toEqual([]);
    const { recovered } = await statusOf(reading, "provider_b");
    expect(recovered).toBe(3);
    await read(NOW + HOUR);
    expect(await statusOf(reading, "provider_b")).toMatchObject({ recovered });
  });
});

describe("a list that cannot be read", () => {
  const FAULTS: [ListFault, string][] = [
    ["lost", "unavailable"],
    ["slow", "unavailable"],
    ["broken", "unavailable"],
    ["cut", "unreadable"],
    ["garbage", "unreadable"],
    ["other", "unreadable"],
    ["forbidden", "permission_missing"],
    ["gone", "refused"],
    ["limited", "rate_limited"],
  ];

  it.each(FAULTS)("says so, keeps what is complete, and goes on: %s is %s (IN-17)", async (fault, reason) => {
    const program = await withKeys();
    await makePartner(program, { slug: "jane" });
    await read(NOW);
    lists.faultOf = () => fault;
    lists.a.push(bought(NOW + MINUTE));
    lists.b.push(transactionCompleted({ ref: "jane", program: program.id, occurred_at: iso(NOW + MINUTE) }));
    const failed = NOW + 2 * HOUR;
    await read(failed);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({
        complete_until: iso(NOW - MINUTE),
        read_failure: { reason, at: iso(failed), since: iso(failed) },
      });
    }
    const calls = lists.calls.length;
    await read(failed + MINUTE / 2);
    expect(lists.calls).toHaveLength(calls);
    // The delay grows with each failure, and is at least the time that the vendor gave.
    await read(failed + 2 * MINUTE);
    expect(lists.calls.length > calls).toBe(fault !== "limited");
    lists.faultOf = () => null;
    await read(failed + 10 * MINUTE);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({ read_failure: null, recovered: 1 });
    }
    expect(await commissionsOf(program)).toBe(2);
  });

  it("names the key and nobody's address in no line of the log (DEP-5)", async () => {
    const lines: string[] = [];
    for (const method of ["info", "error", "log", "warn"] as const) {
      vi.spyOn(console, method).mockImplementation((line) => void lines.push(String(line)));
    }
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    lists.a.push(bought(NOW - HOUR, { email: "buyer-of-the-list@example.com" }));
    await env.DB.prepare(
      `create trigger list_fails before insert on provider_events when new.program_id = '${program.id}'
        begin select raise(abort, 'always fails'); end`,
    ).run();
    playVendors();
    await cron(NOW);
    await env.DB.prepare("drop trigger list_fails").run();
    expect(lines.join("\n")).toContain("always fails");
    expect(lines.join("\n")).not.toContain(LIST_KEYS.provider_a);
    expect(lines.join("\n")).not.toContain("buyer-of-the-list");
    expect(await statusOf(program)).toMatchObject({ complete_until: null, read_failure: { reason: "not_stored" } });
    await cron(NOW + 2 * MINUTE);
    expect(await statusOf(program)).toMatchObject({ recovered: 1, read_failure: null });
    expect(await commissionsOf(program)).toBe(1);
  });
});

describe("POST /api/v1/integrations/:provider/reconcile (IN-16)", () => {
  const reconcile = (program: TestProgram, body: unknown = {}, provider = "provider_a") =>
    program.api<ListStatus & { error?: { code: string } }>("POST", `/api/v1/integrations/${provider}/reconcile`, body);

  beforeEach(() => {
    playVendors();
  });

  it("reads at once, further back where it is asked to", async () => {
    const program = await keyOfA({ created_at: iso(NOW - 5 * DAY) });
    await makePartner(program, { slug: "jane" });
    lists.a.push(bought(NOW - DAY), bought(NOW - 10 * DAY));
    expect((await reconcile(program)).body).toMatchObject({ recovered: 1, complete_from: iso(NOW - 5 * DAY) });
    const later = await reconcile(program, { since: iso(NOW) });
    expect(later.body).toMatchObject({ recovered: 1, complete_from: iso(NOW - 5 * DAY) });
    const { status, body } = await reconcile(program, { since: iso(NOW - 11 * DAY) });
    expect(status).toBe(200);
    expect(body).toMatchObject({ recovered: 2, is_reading: false, complete_from: iso(NOW - 11 * DAY) });
    // The limit is the time for which the vendor keeps its events.
    const furthest = (await reconcile(program, { since: iso(NOW - 365 * DAY) })).body.complete_from!;
    expect(Date.parse(furthest)).toBeGreaterThanOrEqual(NOW - 30 * DAY);
  });

  it("reads back to where it is asked to while the minute reads on (IN-16)", async () => {
    const program = await keyOfA({ created_at: iso(NOW - 5 * DAY) });
    await makePartner(program, { slug: "jane" });
    lists.a.push(bought(NOW - DAY), bought(NOW - 10 * DAY));
    await read(NOW);
    let others = 0;
    // Another run ingests an event in between.
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (!statements.some((text) => text.startsWith("update provider_connections set reading")) || others++ > 0)
          return;
        await env.DB.prepare(
          "update provider_connections set reading = json_set(reading, '$.recovered', 7) where program_id = ?",
        )
          .bind(program.id)
          .run();
      },
    });
    const { status, body } = await callWith<ListStatus>({ DB: binding }, "/api/v1/integrations/provider_a/reconcile", {
      method: "POST",
      headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
      body: JSON.stringify({ since: iso(NOW - 11 * DAY) }),
    });
    expect([status, others > 0]).toEqual([200, true]);
    expect(body).toMatchObject({ recovered: 8, is_reading: false, complete_from: iso(NOW - 11 * DAY) });
    expect(await commissionsOf(program)).toBe(2);
  });

  it("does a part of much, and the minute does the rest", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    for (let i = 0; i < 240; i++)
      lists.a.push(customerEvent({ created: Math.floor(NOW / 1000) - i * 60, ref: "jane" }));
    const { body } = await reconcile(program);
    expect(body).toMatchObject({ is_reading: true, complete_until: null });
    expect(body.recovered).toBeLessThan(240);
    for (let run = 0; run < 5; run++) await cron(Date.now() + run * MINUTE);
    expect(await statusOf(program)).toMatchObject({ is_reading: false, recovered: 240 });
  });

  it("answers in time where the vendor is slow, and the minute does the rest", async () => {
    const program = await keyOfA();
    for (let i = 0; i < 20; i++) lists.a.push(customerEvent({ created: NOW / 1000 - i * 60, ref: "jane" }));
    const { fetch } = lists;
    lists.fetch = (url, init) => {
      const small = new URL(url);
      small.searchParams.set("limit", "2");
      vi.advanceTimersByTime(8_000);
      return fetch(small.href, init);
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { body } = await reconcile(program);
    vi.useRealTimers();
    expect(body).toMatchObject({ is_reading: true, read_failure: null });
    expect(lists.calls.length).toBeLessThan(5);
    lists.fetch = fetch;
    await cron(Date.now());
    expect(await statusOf(program)).toMatchObject({ is_reading: false, recovered: 20 });
  });

  it("keeps to the time that the vendor gave", async () => {
    const program = await keyOfA();
    lists.faultOf = () => "limited";
    expect((await reconcile(program)).body).toMatchObject({ read_failure: { reason: "rate_limited" } });
    expect((await reconcile(program)).body).toMatchObject({ read_failure: { reason: "rate_limited" } });
    expect(lists.calls).toHaveLength(1);
  });

  it("refuses what it cannot do", async () => {
    const program = await keyOfA();
    const codeOf = async (body: unknown, provider?: string) => {
      const reply = await reconcile(program, body, provider);
      return [reply.status, reply.body.error?.code];
    };
    expect(await codeOf({}, "provider_b")).toEqual([409, "provider_not_configured"]);
    expect(await codeOf({}, "nobody")).toEqual([404, "not_found"]);
    expect(await codeOf({ since: iso(NOW + DAY) })).toEqual([422, "validation_failed"]);
    expect(await codeOf({ since: "yesterday" })).toEqual([422, "validation_failed"]);
    expect(lists.calls).toEqual([]);
  });
});

describe("the button of the integration page", () => {
  const press = async (program: TestProgram, fields: Record<string, string> = {}) => {
    const owner = await signInOwner(program);
    const done = await owner.post("/dashboard/integration/provider_a/reconcile", fields);
    if (done.status !== 303) return { status: done.status, text: textOf(done.body) };
    return { status: 303, text: textOf((await owner.get(done.headers.get("location")!)).body) };
  };

  it("reads the list at once, back to a day that is given, and says how far it is (IN-16)", async () => {
    const program = await keyOfA({ created_at: iso(Date.now() - 90 * DAY) });
    await makePartner(program, { slug: "jane" });
    lists.a.push(bought(Date.now() - 2 * DAY));
    playVendors();
    const read = await press(program, { since: iso(Date.now() - 5 * DAY).slice(0, 10) });
    expect(read.text).toContain("The whole list is read.");
    expect(read.text).toContain("1 event arrived without a webhook");
    expect(await commissionsOf(program)).toBe(1);
    const wrong = await press(program, { since: "soon" });
    expect(wrong.status).toBe(422);
    expect((await press(program, { since: iso(Date.now() + 3 * DAY).slice(0, 10) })).status).toBe(422);
  });

  it("says that the rest follows where one call is not enough (IN-16)", async () => {
    const program = await keyOfA({ created_at: iso(Date.now() - 90 * DAY) });
    const seconds = Math.floor(Date.now() / 1000);
    for (let i = 0; i < 400; i++) lists.a.push(customerEvent({ created: seconds - i * 60, ref: "jane" }));
    playVendors();
    const { text } = await press(program);
    expect(text).toContain("Part of the list is read. The rest follows within minutes.");
    expect(text).toContain("The list is being read now.");
    expect(await statusOf(program)).toMatchObject({ is_reading: true, complete_until: null });
  });

  it("claims nothing where the list cannot be read, or there is no key (IN-16, IN-17)", async () => {
    const program = await keyOfA();
    lists.faultOf = () => "forbidden";
    playVendors();
    const { text } = await press(program);
    expect(text).toContain("the API key lacks a permission at the provider");
    expect(text).not.toContain("The whole list is read");
    const keyless = await makeProgram();
    expect(await press(keyless)).toMatchObject({ status: 409 });
  });
});
