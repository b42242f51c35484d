/** If an invoice has more lines than its event, the service requests the others with an API key. */
import { sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { HOUR, MINUTE } from "../../src/lib/time.ts";
import { LIST_KEYS, openEventLists, type EventLists } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type ProgramFields } from "../support/program.ts";
import { invoicePaid } from "../support/provider-a.ts";
import { refusedByA } from "../support/vendor-a-requests.ts";

const NOW = Date.now();
const KEY = { provider_a_api_key: LIST_KEYS.provider_a };

let lists: EventLists;
let asked: URL[];
/** The vendor's response status to requests for lines. */
let status: number;
beforeEach(async () => {
  lists = openEventLists();
  [asked, status] = [[], 200];
  const { fetch } = lists;
  lists.fetch = async (url, init) => {
    const { pathname, searchParams } = new URL(url);
    if (!pathname.endsWith("/lines")) return fetch(url, init);
    asked.push(new URL(url));
    // The reference is on the second page.
    const isSecond = searchParams.get("starting_after") === "il_1";
    const line = {
      id: isSecond ? "il_2" : "il_1",
      object: "line_item",
      metadata: isSecond ? { service_ref: "jane" } : {},
    };
    return Response.json({ object: "list", data: [line], has_more: !isSecond }, { status });
  };
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
});

const read = (now = NOW) => serveAll(readEventLists(testContext(now), lists.readsOf));
const paid = ({ id = "in_1", livemode = true } = {}) =>
  invoicePaid({
    ...{ id, livemode },
    customer: "cus_1",
    subscription: null,
    object: { lines: { object: "list", data: [], has_more: true } },
  });
async function shop(fields: ProgramFields = {}) {
  const program = await makeProgram(fields);
  await makePartner(program, { slug: "jane" });
  return program;
}

describe("lines that an event leaves out (IN-22)", () => {
  it("are read to their end, once, and count as if the event had them (REF-1)", async () => {
    const program = await shop(KEY);
    expect((await sendA(program, paid())).body.outcome).toBe("no_ref");
    await read();
    expect(await ledgerOf(program)).toMatchObject({
      payments: [{ outcome: "commission", decision: { ref_source: "payment" } }],
      commissions: [{ amount_cents: 2_000, flagged: false }],
    });
    expect(asked.map(({ pathname }) => pathname)).toEqual(Array(2).fill("/v1/invoices/in_1/lines"));
    expect(asked.map((url) => refusedByA({ method: "GET", url, headers: new Headers(), body: "" } as never))).toEqual([
      null,
      null,
    ]);
    await sendA(program, { ...paid(), id: "evt_again" });
    await read(NOW + HOUR + MINUTE);
    expect(asked).toHaveLength(2);
    expect((await ledgerOf(program)).commissions).toHaveLength(1);
  });

  it("are asked for again after a failure, and with another key after a refusal", async () => {
    const program = await shop(KEY);
    await sendA(program, paid());
    status = 500;
    await read();
    status = 404;
    await read(NOW + HOUR);
    expect((await ledgerOf(program)).commissions).toEqual([]);
    status = 200;
    await program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key: "rk_live_another" });
    lists.keys.add("rk_live_another");
    await read(NOW + 2 * HOUR);
    await read(NOW + 4 * HOUR);
    expect((await ledgerOf(program)).commissions).toMatchObject([{ amount_cents: 2_000 }]);
  });

  it("stay unread with any key if they are of a test event that does not count", async () => {
    const program = await shop(KEY);
    await sendA(program, paid({ livemode: false }));
    await read();
    await program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key: "rk_live_another" });
    lists.keys.add("rk_live_another");
    await read(NOW + 2 * HOUR);
    const answers = await testContext().db.all(sql`select event_id from provider_events
      where program_id = ${program.id} and event_type = 'lines'`);
    expect([asked, answers]).toEqual([[], []]);
  });

  it("stay unread without an API key", async () => {
    const program = await shop();
    await sendA(program, paid());
    await read();
    expect(asked).toEqual([]);
    expect((await ledgerOf(program)).payments).toMatchObject([{ outcome: "no_ref" }]);
  });
});
