import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { iso } from "../../src/lib/time.ts";
import type { Bindings } from "../../src/env.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { sendA, sendB, sendBody } from "../support/ledger.ts";
import { newKey } from "../support/keys.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { customerEvent, sessionCompleted, type EventA } from "../support/provider-a.ts";
import { adjustmentUpdated, eventB, transactionCompleted, type EventB } from "../support/provider-b.ts";
import { saleAt } from "../support/sale.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const FLOW = { name: "Flat", action_type: "flat", action_value: 500 };
const ENDPOINT = { url: "https://receiver.example.com/hook", events: ["*"] };

/** A program whose key was used within the hour: noting the use costs a write of its own, after the reply. */
async function busyProgram(): Promise<TestProgram> {
  return makeProgram({ api_key_last_used_at: iso(Date.now()) });
}

/** The round trips of one call, and its status. */
async function counted(
  program: Pick<TestProgram, "api_key">,
  method: string,
  path: string,
  body?: unknown,
  headers: HeadersInit = {},
) {
  const { binding, roundTrips } = watchDatabase(env.DB);
  const { status } = await callWith({ DB: binding }, path, {
    method,
    headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status, trips: roundTrips.length };
}

describe("D1 round trips", () => {
  it("are one for every list and get, with its authentication inside", async () => {
    const program = await busyProgram();
    const partner = await makePartner(program);
    const flow = (await program.api<{ id: string }>("POST", "/api/v1/flows", FLOW)).body.id;
    const endpoint = (await program.api<{ id: string }>("POST", "/api/v1/webhooks", ENDPOINT)).body.id;
    const ids: Record<string, string> = { partners: partner.id, flows: flow, webhooks: endpoint };
    const gets = app.routes.filter(({ method, path }) => method === "GET" && path.startsWith("/api/v1/"));
    expect(gets.length).toBeGreaterThanOrEqual(10);
    const further = await newKey(program);
    await env.DB.prepare("update api_keys set last_used_at = ? where id = ?").bind(iso(Date.now()), further.id).run();
    for (const { path } of gets) {
      const id = ids[path.split("/")[3] ?? ""] ?? "none_00000000000000000000000000";
      // An export is an event as well, and so are payout details read in full.
      const wanted = /\/(?:export\.csv|payout-details|tax-data)$/.test(path) ? 2 : 1;
      for (const key of [program, further]) {
        const { status, trips } = await counted(key, "GET", path.replace(":id", id));
        expect([path, status === 200 || status === 404, trips]).toEqual([path, true, wanted]);
      }
    }
    for (const path of [
      "/api/v1/events?from=2026-01-01T10:00:00Z&to=2026-11-02&type=partner.created&page=2",
      "/api/v1/partners?search=p&status=active",
      "/api/v1/integrations/status",
    ]) {
      expect([path, await counted(program, "GET", path)]).toEqual([path, { status: 200, trips: 1 }]);
    }
  });

  it("are at most three for a write, also with an Idempotency-Key", async () => {
    const program = await busyProgram();
    const partner = await makePartner(program);
    const flow = (await program.api<{ id: string }>("POST", "/api/v1/flows", FLOW)).body.id;
    const endpoint = (await program.api<{ id: string }>("POST", "/api/v1/webhooks", ENDPOINT)).body.id;
    const writes: [string, string, unknown][] = [
      ["POST", "/api/v1/partners", { email: "n@example.com", slug: "n" }],
      ["PATCH", `/api/v1/partners/${partner.id}`, { first_name: "N" }],
      ["DELETE", `/api/v1/partners/${partner.id}`, undefined],
      ["POST", "/api/v1/flows", FLOW],
      ["PATCH", `/api/v1/flows/${flow}`, { priority: 2 }],
      ["DELETE", `/api/v1/flows/${flow}`, undefined],
      ["POST", "/api/v1/webhooks", ENDPOINT],
      ["PATCH", `/api/v1/webhooks/${endpoint}`, { active: false }],
      ["DELETE", `/api/v1/webhooks/${endpoint}`, undefined],
      ["PATCH", "/api/v1/programs/me", { name: "Renamed", provider_a_webhook_secret: "whsec_x" }],
    ];
    for (const [method, path, body] of writes) {
      const { status, trips } = await counted(program, method, path, body);
      expect([method, path, status < 300, trips]).toEqual([method, path, true, 2]);
    }
    for (const [path, body] of [
      ["/api/v1/partners", { email: "m@example.com", slug: "m" }],
      ["/api/v1/flows", FLOW],
      ["/api/v1/webhooks", ENDPOINT],
    ] as const) {
      const keyed = await counted(program, "POST", path, body, { "Idempotency-Key": `key of ${path}` });
      expect([path, keyed.status, keyed.trips <= 3]).toEqual([path, 201, true]);
      const replayed = await counted(program, "POST", path, body, { "Idempotency-Key": `key of ${path}` });
      expect([path, replayed.status, replayed.trips]).toEqual([path, 201, 1]);
    }
  });

  it("are three for a provider's event, whether or not it names its program, and whatever it comes to", async () => {
    const program = await busyProgram();
    await makePartner(program, { slug: "jane" });
    const trips = async (send: (bindings: Partial<Bindings>) => Promise<{ status: number }>) => {
      const { binding, roundTrips } = watchDatabase(env.DB);
      expect((await send({ DB: binding })).status).toBe(200);
      return roundTrips.length;
    };
    const ofA = (event: EventA) => trips((bindings) => sendA(program, event, bindings));
    const ofB = (event: EventB) => trips((bindings) => sendB(program, event, bindings));
    for (const name of VENDOR_NAMES) {
      const sale = saleAt(name, { ref: "jane", program: program.id });
      expect([name, await trips((bindings) => sendBody(program, name, sale, bindings))]).toEqual([name, 3]);
    }
    const [customer, subscription] = ["ctm_trips", "sub_trips"];
    const claimed = transactionCompleted({ ref: "jane", program: program.id, customer, subscription });
    expect({
      a: await ofA(sessionCompleted({ ref: "jane" })),
      "a ignored": await ofA(customerEvent({})),
      claimed: await ofB(claimed),
      unclaimed: await ofB(transactionCompleted({ ref: "jane" })),
      renewal: await ofB(transactionCompleted({ customer, subscription })),
      refund: await ofB(adjustmentUpdated({ transaction: claimed.data.id, amount: 100 })),
      "refund that waits": await ofB(adjustmentUpdated({ transaction: "txn_trips_unknown" })),
      ignored: await ofB(eventB("report.created", { id: "rep_1" })),
    }).toEqual({
      ...{ a: 3, "a ignored": 3, claimed: 3, unclaimed: 3, renewal: 3, refund: 3, "refund that waits": 3, ignored: 3 },
    });
  });

  it("are one for a refusal: the key is looked up even where nothing else is read", async () => {
    const program = await busyProgram();
    for (const [method, path, body, status] of [
      ["POST", "/api/v1/flows", {}, 422],
      ["GET", "/api/v1/nowhere", undefined, 404],
      ["PUT", "/api/v1/flows", {}, 405],
      ["GET", "/api/v1/events?page=0", undefined, 422],
    ] as const) {
      expect([path, await counted(program, method, path, body)]).toEqual([path, { status, trips: 1 }]);
    }
  });
});
