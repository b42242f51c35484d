import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newId } from "../../src/lib/id.ts";
import type { Sealed } from "../../src/lib/seal.ts";
import { makeProgram, testContext, type Reply, type TestProgram } from "../support/program.ts";
import { callWith } from "../support/watched-database.ts";

interface DeliveryBody {
  id: string;
  event_id: string;
  event: string;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  completed_at: string | null;
  payload: { event: string; timestamp: string; data: Record<string, unknown> } | null;
  attempts: { number: number; status_code: number | null; error: string | null }[];
}

interface EndpointBody {
  id: string;
  url: string;
  events: string[];
  description: string | null;
  active: boolean;
  disabled_at: string | null;
  created_at: string;
  secret?: string;
  deliveries?: DeliveryBody[];
}

interface ErrorBody {
  error: { code: string; details?: { path: string }[] };
}

const AT = "/api/v1/webhooks";
const ENDPOINT = { url: "https://receiver.example.com/hook?x=1", events: ["*"] };

async function makeEndpoint(program: TestProgram, fields: Record<string, unknown> = {}): Promise<EndpointBody> {
  const reply = await program.api<EndpointBody>("POST", AT, { ...ENDPOINT, ...fields });
  if (reply.status !== 201) throw new Error(JSON.stringify(reply.body));
  return reply.body;
}

let made = 0;
/** A partner made while the queue has no consumer, so that its deliveries stay as they were written. */
async function occur(program: TestProgram): Promise<void> {
  const n = made++;
  const { status } = await callWith({}, "/api/v1/partners", {
    method: "POST",
    headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
    body: JSON.stringify({ email: `p${n}@example.com`, slug: `p${n}` }),
  });
  expect(status).toBe(201);
}

async function endpointEvents(program: TestProgram) {
  const { body } = await program.api<{ data: { type: string; payload: Record<string, unknown> }[] }>(
    "GET",
    "/api/v1/events",
  );
  return body.data.filter(({ type }) => type.startsWith("webhook_endpoint.")).toReversed();
}

function pathOf(reply: Reply<unknown>): string | undefined {
  expect(reply.status).toBe(422);
  return (reply.body as ErrorBody).error.details?.[0]?.path.split(".")[0];
}

describe("webhook endpoints", () => {
  it("show their secret in the create reply and never again, and keep it sealed (HOOK-8, HOOK-17)", async () => {
    const program = await makeProgram();
    const created = await makeEndpoint(program, { description: "Orders" });
    expect(created).toMatchObject({ ...ENDPOINT, description: "Orders", active: true, disabled_at: null });
    expect(created.id).toMatch(/^whe_/);
    expect(created.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const others = [
      await program.api("GET", AT),
      await program.api("GET", `${AT}/${created.id}`),
      await program.api("PATCH", `${AT}/${created.id}`, { description: "Other" }),
      await program.api("GET", "/api/v1/events"),
    ];
    for (const { body } of others) expect(JSON.stringify(body)).not.toMatch(/"secret|whsec_/);
    const row = await env.DB.prepare("select * from webhook_endpoints where id = ?").bind(created.id).first();
    expect(JSON.stringify(row)).not.toContain(created.secret);
    const place = { table: "webhook_endpoints", column: "secret", row: created.id } as const;
    expect(await testContext().sealer.openOrNull(String(row?.["secret"]) as Sealed, place)).toBe(created.secret);
    const second = await makeEndpoint(program);
    expect(second.secret).not.toBe(created.secret);
    expect(second.description).toBeNull();
  });

  it("replays the create reply with the same secret for the same Idempotency-Key", async () => {
    const program = await makeProgram();
    const headers = { "Idempotency-Key": "endpoint" };
    const first = await program.api<EndpointBody>("POST", AT, ENDPOINT, headers);
    const again = await program.api<EndpointBody>("POST", AT, ENDPOINT, headers);
    expect([first.status, again.status, again.headers.get("Idempotent-Replayed")]).toEqual([201, 201, "true"]);
    expect(again.body).toEqual(first.body);
    const kept = await env.DB.prepare("select body from idempotency_keys where program_id = ?")
      .bind(program.id)
      .first();
    expect(JSON.stringify(kept)).not.toContain("whsec_");
    expect((await program.api<{ data: unknown[] }>("GET", AT)).body.data).toHaveLength(1);
  });

  it("subscribe to known types or to all, each once", async () => {
    const program = await makeProgram();
    for (const events of [[], ["click"], ["partner.deleted"], ["partner.created", "x"], "*", [1], null]) {
      expect(pathOf(await program.api("POST", AT, { ...ENDPOINT, events }))).toBe("events");
    }
    expect(pathOf(await program.api("POST", AT, { url: ENDPOINT.url }))).toBe("events");
    expect(pathOf(await program.api("POST", AT, { ...ENDPOINT, secret: "mine" }))).toBe("secret");
    expect(pathOf(await program.api("POST", AT, { ...ENDPOINT, description: 1 }))).toBe("description");
    const twice = ["partner.created", "commission.created", "partner.created"];
    const { id, events } = await makeEndpoint(program, { events: twice });
    expect(events).toEqual(["partner.created", "commission.created"]);
    const patched = await program.api<EndpointBody>("PATCH", `${AT}/${id}`, { events: ["payout.paid", "*"] });
    expect(patched.body.events).toEqual(["*"]);
    expect(pathOf(await program.api("PATCH", `${AT}/${id}`, { active: "yes" }))).toBe("active");
    expect(pathOf(await program.api("PATCH", `${AT}/${id}`, { disabled_at: null }))).toBe("disabled_at");
  });

  it("forget their failures when they are enabled again (HOOK-13)", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program);
    await env.DB.prepare(
      `update webhook_endpoints set active = 0, disabled_at = '2026-01-01T00:00:00.000Z',
         failing_since = '2025-12-01T00:00:00.000Z', failure_count = 30 where id = ?`,
    )
      .bind(id)
      .run();
    const row = () => env.DB.prepare("select * from webhook_endpoints where id = ?").bind(id).first();
    await program.api("PATCH", `${AT}/${id}`, { description: "still off" });
    expect(await row()).toMatchObject({ active: 0, failure_count: 30 });
    const enabled = await program.api<EndpointBody>("PATCH", `${AT}/${id}`, { active: true });
    expect(enabled.body).toMatchObject({ active: true, disabled_at: null });
    expect(await row()).toMatchObject({ active: 1, failure_count: 0, failing_since: null, disabled_at: null });
    const off = await program.api<EndpointBody>("PATCH", `${AT}/${id}`, { active: false });
    expect(off.body.active).toBe(false);
    await occur(program);
    expect((await program.api<EndpointBody>("GET", `${AT}/${id}`)).body.deliveries).toEqual([]);
  });

  it("leave an audit event for each change and none for an empty PATCH (HTTP-15)", async () => {
    const program = await makeProgram();
    const { id, secret, ...created } = await makeEndpoint(program);
    expect(secret).toBeDefined();
    const same = await program.api<EndpointBody>("PATCH", `${AT}/${id}`, {});
    expect([same.status, same.body]).toMatchObject([200, created]);
    await program.api("PATCH", `${AT}/${id}`, { description: "x" });
    await program.api("DELETE", `${AT}/${id}`);
    const seen = await endpointEvents(program);
    expect(seen.map(({ type }) => type.split(".")[1])).toEqual(["created", "updated", "deleted"]);
    expect(seen.every(({ payload }) => payload["endpoint_id"] === id && payload["url"] === ENDPOINT.url)).toBe(true);
  });

  it("end what was still to be sent when they are removed, and are gone for every call", async () => {
    const program = await makeProgram();
    const kept = await makeEndpoint(program);
    const { id } = await makeEndpoint(program);
    await occur(program);
    await occur(program);
    await occur(program);
    const of = (endpoint: string) =>
      env.DB.prepare("select * from deliveries where endpoint_id = ? order by id").bind(endpoint).all();
    const [first, second] = (await of(id)).results;
    await env.DB.prepare("update deliveries set status = 'succeeded', completed_at = 'then' where id = ?")
      .bind(first?.["id"])
      .run();
    await env.DB.prepare("update deliveries set status = 'delivering', claimed_until = 'later' where id = ?")
      .bind(second?.["id"])
      .run();
    const deleted = await program.api("DELETE", `${AT}/${id}`);
    expect([deleted.status, deleted.body]).toEqual([200, { id, deleted: true }]);
    const ended = (await of(id)).results;
    expect(ended.map(({ status }) => status)).toEqual(["succeeded", "failed", "failed"]);
    expect(ended.slice(1).every((row) => row["next_attempt_at"] === null && row["claimed_until"] === null)).toBe(true);
    expect(ended[0]?.["completed_at"]).toBe("then");
    expect((await of(kept.id)).results.map(({ status }) => status)).toEqual(["pending", "pending", "pending"]);
    await occur(program);
    expect((await of(id)).results).toHaveLength(3);
    expect((await of(kept.id)).results).toHaveLength(4);
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/deliveries"],
      ["PATCH", ""],
      ["DELETE", ""],
    ] as const) {
      const gone = await program.api(method, `${AT}/${id}${path}`, method === "PATCH" ? {} : undefined);
      expect([method, path, gone.status]).toEqual([method, path, 404]);
    }
    expect((await program.api<{ data: EndpointBody[] }>("GET", AT)).body.data.map((row) => row.id)).toEqual([kept.id]);
  });

  it("are at most 20, also where many are created at once; a removed one makes room (HOOK-1)", async () => {
    const program = await makeProgram();
    for (let i = 0; i < 18; i++) await makeEndpoint(program);
    const late = await Promise.all(Array.from({ length: 8 }, () => program.api<EndpointBody>("POST", AT, ENDPOINT)));
    expect(late.filter(({ status }) => status === 201)).toHaveLength(2);
    for (const reply of late.filter(({ status }) => status !== 201)) expect(pathOf(reply)).toBe("webhooks");
    const { body } = await program.api<{ data: EndpointBody[] }>("GET", AT);
    expect(body.data).toHaveLength(20);
    expect(body.data.map(({ id }) => id)).toEqual(
      body.data
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
    await program.api("DELETE", `${AT}/${body.data[3]?.id}`);
    expect((await program.api("POST", AT, ENDPOINT)).status).toBe(201);
  });
});

describe("the delivery history", () => {
  it("has the whole record with what was sent and each attempt in order (HOOK-14)", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program);
    await occur(program);
    const fresh = await program.api<EndpointBody>("GET", `${AT}/${id}`);
    const [delivery] = fresh.body.deliveries ?? [];
    expect(delivery).toMatchObject({
      event: "partner.created",
      status: "pending",
      attempt_count: 0,
      completed_at: null,
      attempts: [],
      payload: { event: "partner.created", data: { status: "invited" } },
    });
    expect(delivery?.id).toMatch(/^dlv_/);
    expect(delivery?.event_id).toMatch(/^evt_/);
    const attempt = (number: number, status_code: number | null, error: string | null) =>
      env.DB.prepare("insert into delivery_attempts values (?, ?, '2026-01-01T00:00:00.000Z', 12, ?, ?, ?)").bind(
        delivery?.id,
        number,
        status_code,
        error,
        'say "no" \u0001 ü',
      );
    await env.DB.batch([attempt(2, 500, "http"), attempt(1, null, "timeout"), attempt(3, 200, null)]);
    const tried = await program.api<EndpointBody>("GET", `${AT}/${id}`);
    expect(tried.body.deliveries?.[0]?.attempts).toEqual(
      [
        { number: 1, status_code: null, error: "timeout" },
        { number: 2, status_code: 500, error: "http" },
        { number: 3, status_code: 200, error: null },
      ].map((tries) => ({
        ...tries,
        started_at: "2026-01-01T00:00:00.000Z",
        duration_ms: 12,
        response_excerpt: 'say "no" \u0001 ü',
      })),
    );
  });

  it("is on the endpoint with its 100 newest, on the endpoint, and page by page with a filter (HOOK-14)", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program);
    const statuses = ["succeeded", "failed", "blocked"];
    const rows = Array.from({ length: 130 }, (_, i) => ({
      id: newId("delivery", 1_700_000_000_000 + i),
      status: statuses[i % 3],
    }));
    await env.DB.prepare(
      `insert into deliveries (id, program_id, endpoint_id, event_id, event, status, attempt_count, created_at)
       select value ->> 'id', ?, ?, 'evt_forgotten', 'payout.paid', value ->> 'status', 1, ? from json_each(?)`,
    )
      .bind(program.id, id, "2026-01-01T00:00:00.000Z", JSON.stringify(rows))
      .run();
    const newest = rows.map((row) => row.id).toReversed();
    const shown = (await program.api<EndpointBody>("GET", `${AT}/${id}`)).body.deliveries ?? [];
    expect(shown.map((row) => row.id)).toEqual(newest.slice(0, 100));
    // A body that retention has forgotten is null; the history stays.
    expect(shown[0]?.payload).toBeNull();
    const page = await program.api<{ data: DeliveryBody[]; total: number; next_cursor: string | null }>(
      "GET",
      `${AT}/${id}/deliveries?per_page=100&page=2`,
    );
    expect([page.body.total, page.body.next_cursor]).toEqual([130, null]);
    expect(page.body.data.map((row) => row.id)).toEqual(newest.slice(100));
    const walked: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = `status=failed&per_page=20${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const next = await program.api<{ data: DeliveryBody[]; total: number; next_cursor: string | null }>(
        "GET",
        `${AT}/${id}/deliveries?${query}`,
      );
      expect(next.body.total).toBe(43);
      walked.push(...next.body.data.map((row) => row.id));
      cursor = next.body.next_cursor;
    }
    const failed = rows.filter(({ status }) => status === "failed").map((row) => row.id);
    expect(walked).toEqual(failed.toReversed());
    expect((await program.api("GET", `${AT}/${id}/deliveries?status=lost`)).status).toBe(422);
  });
});
