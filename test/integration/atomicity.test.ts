import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const FLOW = { name: "Flat", action_type: "flat", action_value: 500 };
const ENDPOINT = { url: "https://receiver.example.com/hook", events: ["*"] };
const TABLES = [
  "partners",
  "partner_slugs",
  "flows",
  "webhook_endpoints",
  "events",
  "event_counts",
  "event_hours",
  "list_counts",
  "messages",
  "deliveries",
];

/** Every row of the program, with all columns. */
async function contents(program: TestProgram): Promise<string> {
  const own = TABLES.map((table) => env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id));
  const settings = env.DB.prepare("select * from programs where id = ?").bind(program.id);
  const results = await env.DB.batch([...own, settings]);
  return JSON.stringify(results.map(({ results: rows }) => rows));
}

describe("a commit that fails in the middle", () => {
  it("leaves neither the row nor its event, its count nor a delivery, wherever it fails (LAW-9)", async () => {
    const program = await makeProgram({ api_key_last_used_at: new Date().toISOString() });
    const partner = await makePartner(program);
    const flow = (await program.api<{ id: string }>("POST", "/api/v1/flows", FLOW)).body.id;
    await program.api("POST", "/api/v1/webhooks", ENDPOINT);
    const endpoint = (await program.api<{ id: string }>("POST", "/api/v1/webhooks", ENDPOINT)).body.id;
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const writes: [string, string, unknown][] = [
      ["POST", "/api/v1/partners", { email: "n@example.com", slug: "n" }],
      ["PATCH", `/api/v1/partners/${partner.id}`, { slug: "renamed", status: "deactivated" }],
      ["DELETE", `/api/v1/partners/${partner.id}`, undefined],
      ["POST", "/api/v1/flows", FLOW],
      ["PATCH", `/api/v1/flows/${flow}`, { priority: 2 }],
      ["DELETE", `/api/v1/flows/${flow}`, undefined],
      ["POST", "/api/v1/webhooks", ENDPOINT],
      ["PATCH", `/api/v1/webhooks/${endpoint}`, { active: false }],
      ["DELETE", `/api/v1/webhooks/${endpoint}`, undefined],
      ["PATCH", "/api/v1/programs/me", { name: "Renamed" }],
    ];
    const before = await contents(program);
    for (const [method, path, body] of writes) {
      let length = 1;
      for (let at = 0; at < length; at++) {
        const { binding } = watchDatabase(env.DB, {
          inject(statements) {
            if (!statements.some((text) => text.includes("insert into events"))) return null;
            length = statements.length + 1;
            return { at, sql: "insert into no_such_table values (1)" };
          },
        });
        const reply = await callWith<{ error: { code: string; message: string } }>({ DB: binding }, path, {
          method,
          headers: {
            authorization: `Bearer ${program.api_key}`,
            "content-type": "application/json",
            ...(method === "POST" ? { "Idempotency-Key": `try ${at} of ${path}` } : {}),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        expect([method, path, at, reply.status, reply.body.error.code]).toEqual([
          method,
          path,
          at,
          500,
          "internal_error",
        ]);
        expect(JSON.stringify(reply.body)).not.toContain("no_such_table");
        expect(await contents(program)).toBe(before);
      }
      expect(length).toBeGreaterThan(2);
    }
    const { results } = await env.DB.prepare("select * from idempotency_keys where program_id = ?")
      .bind(program.id)
      .all();
    expect(results).toEqual([]);
    // The log contains the reason that the caller does not see.
    expect(logged.mock.calls.flat().join()).toContain("no_such_table");
    logged.mockRestore();
  });

  it("would have written all of them", async () => {
    const program = await makeProgram({ api_key_last_used_at: new Date().toISOString() });
    await program.api("POST", "/api/v1/webhooks", ENDPOINT);
    const { status } = await callWith({}, "/api/v1/partners", {
      method: "POST",
      headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
      body: JSON.stringify({ email: "n@example.com", slug: "n" }),
    });
    expect(status).toBe(201);
    const rows = JSON.parse(await contents(program)) as unknown[][];
    const counts = Object.fromEntries(TABLES.map((table, i) => [table, rows[i]?.length]));
    expect(counts).toMatchObject({
      partners: 1,
      partner_slugs: 1,
      events: 2,
      event_counts: 2,
      event_hours: 2,
      list_counts: 2,
      messages: 1,
      deliveries: 1,
    });
  });
});
