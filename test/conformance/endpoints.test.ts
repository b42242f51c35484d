/** Endpoints. */
import { describe, expect, it } from "vitest";
import {
  create,
  ENDPOINT,
  eventsOf,
  FLOW,
  refusedPaths,
  TIMESTAMP,
  type Failure,
  type Row,
} from "../support/conformance.ts";
import { VENDOR_NAMES, VENDORS, type ListedVendor } from "../../src/providers/registry.ts";
import { sendA, sendB, sendBody } from "../support/ledger.ts";
import { call, makePartner, makeProgram, TEST_SECRETS, type TestProgram } from "../support/program.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { saleAt } from "../support/sale.ts";
import { signed } from "../support/signed.ts";

interface Page {
  data: Row[];
  total: number;
  page: number;
  per_page: number;
}

const PAID = { amount: 10_000 };

async function amountsOf(program: TestProgram): Promise<unknown[]> {
  return (await eventsOf(program, "commission.created")).map(({ payload }) => payload["amount_cents"]);
}

describe("Conventions", () => {
  it("bodies are JSON with Content-Type: application/json (HTTP-22)", async () => {
    const program = await makeProgram();
    const replies = [
      await program.api("GET", "/api/v1/flows"),
      await program.api("POST", "/api/v1/flows", FLOW),
      await program.api("GET", "/api/v1/flows/flw_x"),
    ];
    for (const { headers } of replies) expect(headers.get("Content-Type")).toMatch(/^application\/json\b/);
    const form = await program.api<Failure>("POST", "/api/v1/flows", "name=x", {
      "content-type": "application/x-www-form-urlencoded",
    });
    expect([form.status, form.body.error.code]).toEqual([415, "unsupported_media_type"]);
  });

  it("paginated lists take page and per_page and return data, total, page and per_page (HTTP-7)", async () => {
    const program = await makeProgram();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await makePartner(program, {}, "invited")).id);
    for (const list of ["partners", "events"]) {
      const { body } = await program.api<Page>("GET", `/api/v1/${list}?page=2&per_page=2`);
      expect([body.data.length, body.total, body.page, body.per_page]).toEqual([2, 5, 2, 2]);
      const beyond = await program.api<Page>("GET", `/api/v1/${list}?page=4&per_page=2`);
      expect([beyond.body.data, beyond.body.total]).toEqual([[], 5]);
    }
    const page = await program.api<Page>("GET", "/api/v1/partners?page=2&per_page=2");
    expect(page.body.data.map(({ id }) => id)).toEqual(ids.slice(2, 4));
  });
});

describe("Flows (HTTP-1)", () => {
  it("POST, GET list, GET one, PATCH and DELETE answer as their table says", async () => {
    const program = await makeProgram();
    const flow = await create(program, "/api/v1/flows", { ...FLOW, priority: 1 });
    const later = await create(program, "/api/v1/flows", { ...FLOW, priority: 9 });
    const list = await program.api<{ data: Row[] }>("GET", "/api/v1/flows");
    expect(list.body).toEqual({ data: [later, flow] });
    const at = `/api/v1/flows/${flow.id}`;
    expect((await program.api("GET", at)).body).toEqual(flow);
    for (const patch of [
      { name: "Renamed" },
      { event: "transaction_completed" },
      { action_type: "flat", action_value: 700 },
      { priority: 20, active: false },
      { conditions: [{ field: "partner_slug", op: "neq", value: "x" }] },
    ]) {
      const { status, body } = await program.api<Row>("PATCH", at, patch);
      expect([status, body]).toMatchObject([200, { id: flow.id, ...patch }]);
    }
    const removed = await program.api("DELETE", at);
    expect([removed.status, removed.body]).toEqual([200, { id: flow.id, deleted: true }]);
    expect((await program.api("GET", at)).status).toBe(404);
  });

  it("conditions, when sent, replaces the whole array (FLOW-9)", async () => {
    const program = await makeProgram();
    const first = { field: "provider", op: "eq", value: "provider_a" };
    const second = { field: "txn_amount_cents", op: "lt", value: 100 };
    const { id } = await create(program, "/api/v1/flows", { ...FLOW, conditions: [first] });
    const patched = await program.api<Row>("PATCH", `/api/v1/flows/${id}`, { conditions: [second] });
    expect(patched.body["conditions"]).toEqual([second]);
    const kept = await program.api<Row>("PATCH", `/api/v1/flows/${id}`, { name: "Same" });
    expect(kept.body["conditions"]).toEqual([second]);
  });

  it("evaluates active flows by priority; the first whose conditions all match is selected (FLOW-2)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { slug: "jane" });
    const flat = (action_value: number, priority: number, more: Record<string, unknown> = {}) =>
      create(program, "/api/v1/flows", { name: "x", action_type: "flat", action_value, priority, ...more });
    await flat(1, 100, { active: false });
    const big = { field: "txn_amount_cents", op: "gt", value: 20_000 };
    await flat(2, 50, { conditions: [big, { field: "partner_slug", op: "eq", value: "joe" }] });
    await flat(3, 40, { conditions: [big, { field: "partner_slug", op: "eq", value: "JANE" }] });
    await flat(4, 30, { conditions: [{ field: "customer_email", op: "contains", value: "@vip." }] });
    await flat(5, 20, { conditions: [{ field: "provider", op: "eq", value: "provider_b" }] });
    await flat(6, 10, { conditions: [{ field: "txn_amount_cents", op: "lt", value: 10_000 }] });
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 30_000 }));
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 15_000, email: "a@vip.example" }));
    await sendB(program, transactionCompleted({ ref: partner.slug, program: program.id }));
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 9_999, email: "a@example.com" }));
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000, email: "a@example.com" }));
    expect(await amountsOf(program)).toEqual([3, 4, 5, 6, 2_000]);
  });
});

describe("Partners (HTTP-1)", () => {
  it("POST, GET list, GET one, PATCH and DELETE answer as their table says", async () => {
    const program = await makeProgram();
    const made = await create(program, "/api/v1/partners", {
      email: "jane@example.com",
      slug: "jane",
      first_name: "Jane",
      last_name: "Doe",
      commission_pct: 5,
    });
    const { body: list } = await program.api<Page>("GET", "/api/v1/partners");
    const { id, email, first_name, last_name, slug, status, commission_pct, created_at } = made;
    expect(list.data[0]).toMatchObject({ id, email, first_name, last_name, slug, status, commission_pct, created_at });
    const at = `/api/v1/partners/${id}`;
    expect((await program.api("GET", at)).body).toMatchObject({ ...made, stats: { total_commissions: 0 } });
    for (const patch of [
      { email: "new@example.com" },
      { first_name: "J", last_name: null },
      { slug: "janet" },
      { status: "active" },
      { commission_pct: null },
      { payout_method: "bank_transfer", payout_email: "pay@example.com" },
      { metadata: { a: 1 } },
    ]) {
      const patched = await program.api<Row>("PATCH", at, patch);
      expect([patched.status, patched.body]).toMatchObject([200, { id, ...patch }]);
    }
    const deleted = await program.api<Row>("DELETE", at);
    expect([deleted.status, deleted.body]).toMatchObject([200, { id, status: "deactivated" }]);
  });

  it("lists by status, and by search in email, name or slug (PART-5, PART-12)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(
      program,
      { email: "jane@one.example", slug: "aff-7", first_name: "Jane" },
      "invited",
    );
    const joe = await makePartner(program, { email: "joe@two.example", slug: "joe", last_name: "Doe_%" }, "active");
    await program.api("DELETE", `/api/v1/partners/${joe.id}`);
    const found = async (query: Record<string, string>) => {
      const { body } = await program.api<Page>("GET", `/api/v1/partners?${new URLSearchParams(query).toString()}`);
      expect(body.total).toBe(body.data.length);
      return body.data.map(({ id }) => id);
    };
    expect(await found({ status: "invited" })).toEqual([jane.id]);
    expect(await found({ status: "active" })).toEqual([]);
    expect(await found({ status: "deactivated" })).toEqual([joe.id]);
    for (const search of ["jane@ONE", "aff-7", "JANE", "FF-"]) expect(await found({ search })).toEqual([jane.id]);
    for (const search of ["_%", "two.ex", "doe"]) expect(await found({ search })).toEqual([joe.id]);
    expect(await found({ search: "j", status: "invited" })).toEqual([jane.id]);
    expect(await found({ search: "%" })).toEqual([joe.id]);
    expect(await found({ search: "nobody" })).toEqual([]);
    expect(refusedPaths(await program.api("GET", "/api/v1/partners?status=gone"))).toEqual(["status"]);
  });
});

describe("Audit events", () => {
  it("GET takes page, per_page, type, from and to (EVT-6)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program, {}, "active");
    const list = (query: string) => program.api<Page>("GET", `/api/v1/events?${query}`);
    const all = await list("");
    expect(all.body).toMatchObject({ total: 2, page: 1, per_page: 20 });
    const [newest, oldest] = all.body.data;
    expect([newest?.["type"], oldest?.["type"]]).toEqual(["partner.updated", "partner.created"]);
    const updated = await list("type=partner.updated&per_page=1");
    expect([updated.body.total, updated.body.data[0]?.["payload"]]).toMatchObject([1, { partner_id: id }]);
    const today = new Date().toISOString().slice(0, 10);
    expect((await list(`from=${today}`)).body.total).toBe(2);
    expect((await list(`to=${today}`)).body.total).toBe(2);
    expect((await list("to=2020-01-01")).body.total).toBe(0);
    expect((await list(`from=${String(newest?.["created_at"])}`)).body.total).toBeGreaterThanOrEqual(1);
    expect((await list(`to=${String(oldest?.["created_at"])}`)).body.total).toBe(0);
    expect(refusedPaths(await list("type=partner.none"))).toEqual(["type"]);
    expect(refusedPaths(await list("from=now"))).toEqual(["from"]);
  });
});

describe("Outbound webhook endpoints (HTTP-1, HOOK-13)", () => {
  it("POST, GET list, GET one, PATCH and DELETE answer as their table says", async () => {
    const program = await makeProgram();
    const made = await create(program, "/api/v1/webhooks", { ...ENDPOINT, events: ["partner.created"] });
    expect(made["secret"]).toBeDefined();
    const { secret: _secret, ...endpoint } = made;
    expect((await program.api("GET", "/api/v1/webhooks")).body).toEqual({ data: [endpoint] });
    const at = `/api/v1/webhooks/${made.id}`;
    expect((await program.api("GET", at)).body).toEqual({ ...endpoint, deliveries: [] });
    const patched = await program.api<Row>("PATCH", at, { events: ["*"], active: false });
    expect([patched.status, patched.body]).toMatchObject([200, { id: made.id, events: ["*"], active: false }]);
    const more = { url: "https://other.example.com/", description: "Moved" };
    expect((await program.api("PATCH", at, more)).body).toMatchObject(more);
    const removed = await program.api("DELETE", at);
    expect([removed.status, removed.body]).toEqual([200, { id: made.id, deleted: true }]);
  });

  it("GET one has the endpoint with its delivery history (HOOK-14)", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/api/v1/webhooks", ENDPOINT);
    await makePartner(program);
    const { body } = await program.api<{ deliveries: Row[] }>("GET", `/api/v1/webhooks/${id}`);
    expect(body.deliveries).toHaveLength(2);
    expect(body.deliveries[1]).toEqual({
      id: expect.stringMatching(/^dlv_/) as string,
      event_id: expect.stringMatching(/^evt_/) as string,
      event: "partner.created",
      status: "pending",
      attempt_count: 0,
      next_attempt_at: expect.stringMatching(TIMESTAMP) as string,
      created_at: expect.stringMatching(TIMESTAMP) as string,
      completed_at: null,
      payload: expect.objectContaining({ event: "partner.created" }) as object,
      attempts: [],
    });
    const page = await program.api<Page>("GET", `/api/v1/webhooks/${id}/deliveries?per_page=1`);
    expect(page.body).toMatchObject({ data: [body.deliveries[0]], total: 2, page: 1, per_page: 1 });
  });
});

describe("Program settings and integrations", () => {
  it("PATCH /api/v1/programs/me takes name, default_commission_pct, payout_term and min_payout_cents (PROG-7)", async () => {
    const program = await makeProgram();
    for (const patch of [
      { name: "Renamed" },
      { default_commission_pct: 12.5 },
      { payout_term: "NET-30" },
      { min_payout_cents: 5_000 },
    ]) {
      const { status, body } = await program.api("PATCH", "/api/v1/programs/me", patch);
      expect([status, body]).toMatchObject([200, { id: program.id, ...patch }]);
      expect((await program.api("GET", "/api/v1/programs/me")).body).toMatchObject(patch);
    }
    for (const [field, value] of Object.entries({
      name: "",
      default_commission_pct: 101,
      payout_term: "30 days",
      min_payout_cents: 0.5,
      plan: "pro",
    })) {
      expect(refusedPaths(await program.api("PATCH", "/api/v1/programs/me", { [field]: value }))).toEqual([field]);
    }
  });

  it("GET /api/v1/integrations/status has a key for each provider and for the delivery vendor (PROG-6)", async () => {
    const status = async (program: TestProgram) => (await program.api("GET", "/api/v1/integrations/status")).body;
    for (const provider of VENDOR_NAMES) {
      const program = await makeProgram({ [`${provider}_webhook_secret`]: null });
      const before = VENDOR_NAMES.map((name) => [name, { configured: false, webhook_secret_set: name !== provider }]);
      expect(await status(program)).toMatchObject({ ...Object.fromEntries(before), email: { configured: false } });
    }
    const program = await makeProgram();
    for (const provider of VENDOR_NAMES) {
      await sendBody(program, provider, saleAt(provider, { ref: "nobody", program: program.id }));
      expect(await status(program)).toMatchObject({ [provider]: { configured: true, webhook_secret_set: true } });
    }
  });
});

describe("Inbound webhooks (called by payment providers, no API key)", () => {
  it.each(VENDORS.map(({ name, claims_programs }) => [name as ListedVendor, claims_programs] as const))(
    "%s: the program is identified by the event where its events claim one (%s), else by the query (IN-1, IN-8)",
    async (provider, claims_programs) => {
      const [program, other] = [await makeProgram(), await makeProgram()];
      await makePartner(program, { slug: "jane" });
      await makePartner(other, { slug: "jane" });
      const body = saleAt(provider, { ref: "jane", program: program.id, ...PAID });
      const post = async (query: string) =>
        call<Failure>(`/webhooks/${provider}${query}`, {
          method: "POST",
          body,
          headers: await signed(provider, body, TEST_SECRETS[provider]),
        });
      expect((await post(claims_programs ? "" : "?program_id=prog_x")).status).toBe(claims_programs ? 200 : 404);
      expect((await post(`?program_id=${program.id}`)).status).toBe(200);
      expect([await amountsOf(program), await amountsOf(other)]).toEqual([[2_000], []]);
    },
  );

  it("provider A: a session names the partner in client_reference_id or metadata.service_ref (PAY-17, REF-1)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await sendA(program, sessionCompleted({ ref: "jane", ...PAID }));
    await sendA(program, sessionCompleted({ ref: null, metadata: { service_ref: "jane" }, ...PAID }));
    expect(await amountsOf(program)).toEqual([2_000, 2_000]);
  });

  it("provider A: invoice.paid names it in the subscription's or a line item's metadata (PAY-17, REF-1)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await sendA(program, invoicePaid({ ref: "jane", ref_in: "subscription", ...PAID }));
    await sendA(program, invoicePaid({ ref: "jane", ref_in: "line", ...PAID }));
    expect(await amountsOf(program)).toEqual([2_000, 2_000]);
  });

  it("provider B: transaction.completed names it in custom_data.service_ref (PAY-17, REF-1)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await sendB(program, transactionCompleted({ ref: "jane", program: program.id, ...PAID }));
    await sendB(program, transactionCompleted({ ref: null, program: program.id, ...PAID }));
    expect(await amountsOf(program)).toEqual([2_000]);
  });
});
