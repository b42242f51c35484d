/** A listed event of no documented shape holds up no other, and is not passed over. */
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import type { ListedVendor } from "../../src/providers/registry.ts";
import { LIST_KEYS, openEventLists, type EventLists, type ListFault } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type ProgramFields, type TestProgram } from "../support/program.ts";
import { eventA, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

/** Provider A counts whole seconds. */
const NOW = Math.floor(Date.now() / 1000) * 1000;

interface Status {
  complete_until: string | null;
}

let lists: EventLists;
beforeEach(async () => {
  lists = openEventLists();
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
});
afterEach(() => vi.restoreAllMocks());

const read = (now: number) => serveAll(readEventLists(testContext(now), lists.readsOf));

/** The Worker's own `fetch`: the lists are the whole outside world. */
function playVendors(): void {
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    lists.fetch(new Request(input, init).url, init ?? {}),
  );
}

async function reconcile(program: TestProgram): Promise<void> {
  playVendors();
  expect((await program.api("POST", "/api/v1/integrations/provider_a/reconcile", {})).status).toBe(200);
}

async function statusOf(program: TestProgram, provider: ListedVendor = "provider_a"): Promise<Status> {
  return (await program.api<Record<string, Status>>("GET", "/api/v1/integrations/status")).body[provider]!;
}

const keyOfA = (fields: ProgramFields = {}) =>
  makeProgram({ created_at: iso(NOW - 90 * DAY), provider_a_api_key: LIST_KEYS.provider_a, ...fields });

/** A purchase at provider A, at an instant (ms). */
function bought(at: number, fields: Parameters<typeof sessionCompleted>[0] = {}) {
  return sessionCompleted({ ref: "jane", created: Math.floor(at / 1000), ...fields });
}

async function commissionsOf(program: TestProgram): Promise<number> {
  return (await program.api<{ total: number }>("GET", "/api/v1/commissions")).body.total;
}

describe("the list of events of a provider that has one of no documented shape", () => {
  const BROKEN_AT = NOW - DAY;
  const broken = (amount_refunded: unknown = "x") =>
    eventA(
      "charge.refunded",
      { id: "ch_1", object: "charge", payment_intent: "pi_1", amount_refunded },
      { created: BROKEN_AT / 1000 },
    );

  /** Its first page is not the last, and the second is not there. */
  function breakOff(fault: ListFault): void {
    const { fetch } = lists;
    lists.faultOf = (call) => (call === 2 ? fault : null);
    lists.fetch = async (...call) => {
      const answer = await fetch(...call);
      return lists.calls.length === 1 ? Response.json({ ...(await answer.json<object>()), has_more: true }) : answer;
    };
  }

  it("is read on behind it, and says that it is not taken in (IN-15, IN-11)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    const event = broken();
    lists.a.push(bought(BROKEN_AT - HOUR), event, bought(NOW - HOUR));
    await read(NOW);
    expect(await commissionsOf(program)).toBe(2);
    const unparsable = [
      {
        ...{ event_id: event.id, event_type: "charge.refunded", occurred_at: iso(BROKEN_AT) },
        ...{ problem: expect.stringMatching(/^data\.object\.amount_refunded: /), at: iso(NOW), since: iso(NOW) },
      },
    ];
    const said = { complete_until: iso(BROKEN_AT - 1), refused: 1, last_refusal: { reason: "unparsable" } };
    expect(await statusOf(program)).toMatchObject({ ...said, recovered: 2, unparsable });
    const owner = await signInOwner(program);
    expect(textOf((await owner.get("/dashboard/integration")).body)).toMatch(
      /1 event of \S+ is in an unsupported format and not stored.*charge\.refunded.*amount_refunded/s,
    );
    // There was no delivery.
    expect(textOf((await owner.get("/dashboard/integration")).body)).toMatch(
      /An event of \S+ was refused .*comes from the provider/,
    );
    expect(textOf((await owner.get("/dashboard/integration")).body)).not.toMatch(/A delivery to|Anyone can send/);
    expect(textOf((await owner.get("/dashboard")).body)).toMatch(/Events of \S+ refused/);
    // Later payments are ingested as usual, and one event is one refusal.
    lists.a.push(bought(NOW + MINUTE));
    await read(NOW + HOUR + MINUTE);
    expect(await commissionsOf(program)).toBe(3);
    expect(await statusOf(program)).toMatchObject({ ...said, recovered: 3, unparsable });
  });

  it("is read again for it after a day, and at once where that is asked for, until it can be parsed (IN-15, IN-16)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    const event = broken();
    lists.a.push(bought(BROKEN_AT - HOUR, { payment_intent: "pi_1", amount: 10_000 }), event);
    await read(NOW);
    await read(NOW + DAY + MINUTE);
    expect(await statusOf(program)).toMatchObject({
      ...{ complete_until: iso(BROKEN_AT - 1), refused: 1 },
      unparsable: [{ at: iso(NOW + DAY + MINUTE), since: iso(NOW) }],
    });
    // The event in a shape that this version of the service reads.
    lists.a.splice(1, 1, { ...broken(4_000), id: event.id });
    await reconcile(program);
    const { complete_until, ...status } = await statusOf(program);
    expect(status).toMatchObject({ recovered: 2, unparsable: [] });
    expect(Date.parse(complete_until!)).toBeGreaterThan(NOW - 2 * MINUTE);
    const { body } = await program.api<{ data: { adjusted_cents: number }[] }>("GET", "/api/v1/payments");
    expect(body.data.map(({ adjusted_cents }) => adjusted_cents)).toEqual([4_000]);
  });

  it.each([
    ["is asked for in the middle", "broken", (program: TestProgram) => reconcile(program)],
    ["begins again because its place is gone", "gone", () => read(NOW + 2 * MINUTE)],
  ] as const)("is refused once, also by a reading that %s (IN-11, IN-15)", async (_, fault, readAgain) => {
    const program = await keyOfA();
    const event = broken();
    lists.a.push(event);
    breakOff(fault);
    await read(NOW);
    const refused = { refused: 1, last_refusal: { at: iso(NOW), reason: "unparsable" } };
    expect(await statusOf(program)).toMatchObject({ ...refused, is_reading: true });
    await sendA(program, bought(NOW));
    await readAgain(program);
    const unparsable = [{ event_id: event.id, since: iso(NOW) }];
    expect(await statusOf(program)).toMatchObject({ ...refused, is_reading: false, unparsable });
  });

  it("that was taken in while the reading was in the middle is not said to be missing (IN-15)", async () => {
    const program = await keyOfA();
    const event = broken();
    lists.a.push(event);
    breakOff("gone");
    await read(NOW);
    await sendA(program, { ...broken(4_000), id: event.id });
    await read(NOW + 2 * MINUTE);
    expect(await statusOf(program)).toMatchObject({ complete_until: iso(NOW + MINUTE), refused: 1, unparsable: [] });
  });

  it("is complete again when a webhook has brought it in another version (IN-15)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    const event = broken();
    lists.a.push(event);
    await read(NOW);
    await sendA(program, { ...broken(4_000), id: event.id });
    await read(NOW + DAY + MINUTE);
    expect(await statusOf(program)).toMatchObject({ complete_until: iso(NOW + DAY), unparsable: [] });
  });

  it("is complete only after it when the provider has it no more (IN-15)", async () => {
    const program = await keyOfA();
    lists.a.push(broken());
    for (let day = 0; day < 29; day++) await read(NOW + day * (DAY + MINUTE));
    expect(await statusOf(program)).toMatchObject({ complete_until: iso(BROKEN_AT - 1), unparsable: [{}] });
    lists.a.length = 0;
    const late = NOW + 30 * DAY;
    await read(late);
    expect(await statusOf(program)).toMatchObject({
      ...{ complete_from: iso(BROKEN_AT + 1), complete_until: iso(late - MINUTE), unparsable: [] },
    });
  });

  it("and more like it are found before what was kept of them is forgotten: it is complete before the first (IN-15)", async () => {
    const program = await keyOfA();
    const [old, later] = [NOW - 30 * DAY + 2 * HOUR, NOW - DAY];
    const at = (created: number) =>
      eventA("charge.refunded", { id: "ch_1", object: "charge" }, { created: created / 1000 });
    lists.a.push(...Array.from({ length: 20 }, () => at(old)), at(later));
    await read(NOW);
    // The vendor has the oldest no more; only the newest hours are read.
    lists.a.splice(0, 20);
    await read(NOW + 3 * HOUR);
    expect(await statusOf(program)).toMatchObject({ complete_from: iso(old + 1), complete_until: iso(old + 1) });
    await read(NOW + DAY + MINUTE);
    expect(await statusOf(program)).toMatchObject({ complete_until: iso(later - 1), unparsable: [{}] });
  });

  it("is said to be one of at least as many as are kept, where there may be more (IN-15)", async () => {
    const program = await keyOfA();
    const page = async () => textOf((await (await signInOwner(program)).get("/dashboard/integration")).body);
    const at = (created: number) =>
      eventA("charge.refunded", { id: "ch_1", object: "charge" }, { created: created / 1000 });
    lists.a.push(...Array.from({ length: 19 }, (_, i) => at(BROKEN_AT + i * MINUTE)));
    await read(NOW);
    expect(await page()).toContain("19 events of");
    expect(await page()).toContain("Everything else is stored.");
    lists.a.push(...Array.from({ length: 6 }, (_, i) => at(NOW + i * MINUTE)));
    await read(NOW + 2 * HOUR);
    expect(await page()).toContain("At least 20 events of");
    expect(await page()).not.toContain("Everything else");
  });

  it("also one that says neither its type nor its time, and of provider B (IN-15)", async () => {
    const program = await keyOfA({ provider_b_api_key: LIST_KEYS.provider_b });
    const timeless = broken();
    Object.assign(timeless, { livemode: "yes" });
    lists.a.push(timeless);
    const ofB = transactionCompleted({ ref: "jane", program: program.id, occurred_at: iso(BROKEN_AT) });
    lists.b.push({ ...ofB, data: { ...ofB.data, details: null } });
    await read(NOW);
    const began = iso(NOW - 30 * DAY);
    expect(await statusOf(program)).toMatchObject({
      ...{ complete_from: began, complete_until: began },
      unparsable: [{ event_id: timeless.id, event_type: null, occurred_at: began }],
    });
    expect(await statusOf(program, "provider_b")).toMatchObject({
      complete_until: iso(BROKEN_AT - 1),
      unparsable: [{ event_id: ofB.event_id, event_type: "transaction.completed" }],
    });
  });
});
