/**
 * The cost of a provider's event does not depend on the number of payments of its program: D1 bills the rows read, and a
 * program grows for years. An event's rows are read by keys; a missing index would silently read the whole program.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ReportKind } from "../../src/providers/provider.ts";
import { PROVIDER_NAMES, type ListedProvider } from "../../src/providers/registry.ts";
import { lead, refund, sale, type report } from "../support/api.ts";
import { sendA, sendBody } from "../support/ledger.ts";
import { meterDatabase, meterRowsRead, type RowMeter } from "../support/metered-database.ts";
import { plannedByValue } from "../support/planned-by-value.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import { callWith } from "../support/watched-database.ts";

/** Sends one event to a program, whose database is D1 unless given. */
type Send = (program: TestProgram, binding?: D1Database) => Promise<Reply<unknown>>;

const ofServer =
  (kind: ReportKind, body: Parameters<typeof report>[2]): Send =>
  (program, DB = env.DB) =>
    callWith({ DB }, `/api/v1/track/${kind}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${program.api_key}` },
      body: JSON.stringify(body),
    });

let said = 0;
/** Each report of a code has another time. */
const seconds = () => 1_780_000_000 + said++;

/** The same for the owner's server. */
function storyOfServer(ref: string): [what: string, send: Send, rows_written: number][] {
  const [id, external_id] = [uniqueId("user_"), uniqueId("order_")];
  const email = `${id}@shop.example`;
  return [
    ["lead", ofServer("lead", lead({ ref, customer: { id, email } })), 44],
    ["sale", ofServer("sale", sale({ external_id, customer: { id, email } })), 50],
    ["refund", ofServer("refund", refund({ sale_external_id: external_id, amount_cents: 1_000 })), 31],
    ["lead of who pays elsewhere", ofServer("lead", lead({ ref, customer: { email } })), 40],
  ];
}

function storyOf(provider: ListedProvider, ref: string): [what: string, send: Send, rows_written: number][] {
  if (provider === "api") return storyOfServer(ref);
  const { bodyOf, story: events } = TEST_VENDORS[provider];
  return events(ref, seconds).map(([what, event, rows_written]) => [
    what,
    (program, DB = env.DB) => sendBody(program, provider, bodyOf(event), { DB }),
    rows_written,
  ]);
}

/** A customer's story at each provider; each event is measured by its name. */
function story(ref: string): Record<string, { send: Send; rows_written: number }> {
  return Object.fromEntries(
    PROVIDER_NAMES.flatMap((provider) =>
      storyOf(provider, ref).map(([what, send, rows_written]) => [`${provider}: ${what}`, { send, rows_written }]),
    ),
  );
}

/** Rows read for each event of a new customer's story, and for each of them when it comes again. */
async function measure(program: TestProgram, ref: string): Promise<Map<string, ReturnType<RowMeter["taken"]>>> {
  const { binding, taken } = meterRowsRead(env.DB);
  const measured = new Map<string, ReturnType<RowMeter["taken"]>>();
  const events = Object.entries(story(ref));
  const repeated = events.map(([name, sent]): (typeof events)[number] => [`${name}, again`, sent]);
  for (const [name, { send }] of [...events, ...repeated]) {
    expect([name, (await send(program, binding)).status]).toEqual([name, 200]);
    measured.set(name, taken());
  }
  return measured;
}

const STORIES = 12;

describe("rows read for a provider's event", () => {
  it("do not grow with the payments, customers and events of the program", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    await measure(program, slug);
    const before = await measure(program, slug);
    for (let i = 0; i < STORIES; i++) for (const { send } of Object.values(story(slug))) await send(program);
    const after = await measure(program, slug);
    for (const [name, { rows, most }] of after) {
      // Allows for a lost race or one more page of an index; a row for each story would be at least `STORIES`.
      expect.soft(rows, [name, ...most].join("\n")).toBeLessThan(before.get(name)!.rows + STORIES);
    }
  });

  it("are read by statements that are compiled once, not at every run", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    const { binding, statements } = meterRowsRead(env.DB);
    for (const { send } of Object.values(story(slug))) await send(program, binding);
    expect(statements.size).toBeGreaterThan(30);
    expect(await plannedByValue(env.DB, statements)).toEqual([]);
  });

  it("do not grow with the payments of a customer that carry their own reference", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    const { binding, taken } = meterRowsRead(env.DB);
    const customer = uniqueId("cus_");
    const pay = async () => {
      await sendA(program, sessionCompleted({ ref: slug, customer }), { DB: binding });
      return taken().rows;
    };
    const first = [await pay(), await pay(), await pay()];
    for (let i = 0; i < 30; i++) await pay();
    // Each is read once, in the customer's index, because it might have needed the new reference.
    expect(await pay()).toBeLessThan(Math.max(...first) + 4 * 30);
  });

  it("do not grow with the payments of a customer that flows compare (FLOW-14)", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    const conditions = [{ field: "payment_number", op: "lte", value: 3 }];
    await program.api("POST", "/api/v1/flows", {
      name: "first",
      action_type: "percentage",
      action_value: 50,
      conditions,
    });
    const { binding, taken } = meterRowsRead(env.DB);
    const customer = { id: uniqueId("user_"), email: "often@shop.example" };
    await program.api("POST", "/api/v1/track/lead", lead({ ref: slug, customer }));
    const pay = async () => {
      const { ref: _, ...unnamed } = sale({ external_id: uniqueId("order_"), customer });
      await ofServer("sale", unnamed)(program, binding);
      return taken().rows;
    };
    for (let i = 0; i < 5; i++) await pay();
    const few = await pay();
    for (let i = 0; i < 30; i++) await pay();
    expect(await pay()).toBeLessThan(few + 10);
  });
});

/**
 * Counts and indexes are among them: D1 bills a thousand times as much for a written row as for a read one. Two of a
 * payment of a customer at provider A are its sum and the index of that: by it possible doubles are found.
 */
describe("rows written for a provider's event", () => {
  it("are no more than they were", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    let rows = 0;
    const binding = meterDatabase(env.DB, ({ rows_written }) => void (rows += rows_written));
    for (const { send } of Object.values(story(slug))) await send(program);
    const tooMany: [name: string, rows: number][] = [];
    for (const [name, { send, rows_written }] of Object.entries(story(slug))) {
      rows = 0;
      await send(program, binding);
      expect(rows).toBeGreaterThan(0);
      if (rows > rows_written) tooMany.push([name, rows]);
    }
    expect(tooMany).toEqual([]);
  });
});
