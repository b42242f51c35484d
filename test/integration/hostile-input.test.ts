/** Hostile addresses, headers and texts that `test/fuzz` does not make. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { ROUTES } from "../../src/http/routes.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";

function deep(depth: number, open: string, close: string): string {
  return open.repeat(depth) + close.repeat(depth);
}

let n = 0;
let program: TestProgram;

beforeAll(async () => {
  program = await makeProgram();
});

function expectAnswer(reply: Reply<unknown>, sent: unknown): void {
  if (reply.status >= 500) throw new Error(`${reply.status} for ${JSON.stringify(sent)}`);
  expect(reply.headers.get("X-Request-Id")).toMatch(/^req_/);
  if (reply.status < 400) return;
  const { error } = reply.body as { error: { code: string; message: string; request_id: string } };
  expect(error.request_id).toBe(reply.headers.get("X-Request-Id"));
  expect(error.message).not.toMatch(/SQLITE|D1_|undefined|\[object/);
}

describe("hostile input (HTTP-27)", () => {
  it("in queries, paths and headers is answered, never a 500", async () => {
    for (const query of ["%", "?search=%", "?search=%ff%fe", "?page=%00", "?from=%E0%A4%A", "?&&==&", "?search"]) {
      expectAnswer(await program.api("GET", `/api/v1/partners${query}`), query);
    }
    for (const id of ["%00", "%", "%ff", "..%2f", "'%20or%201=1", "par_", "x".repeat(2_000), "%F0%9F%98%80", "a%2Fb"]) {
      for (const resource of ["partners", "flows", "webhooks", "payments"]) {
        for (const method of ["GET", "PATCH", "DELETE"]) {
          const reply = await program.api(method, `/api/v1/${resource}/${id}`, method === "PATCH" ? {} : undefined);
          expectAnswer(reply, { method, resource, id });
          expect([404, 405]).toContain(reply.status);
        }
      }
    }
    for (const [name, value] of [
      ["authorization", "Bearer"],
      ["authorization", "Bearer a b"],
      ["authorization", `Bearer ${"x".repeat(8_000)}`],
      ["authorization", "Basic c2s6"],
      ["content-type", "application/json; charset=\u00ff"],
      ["content-type", ";"],
      ["content-length", "5"],
      ["idempotency-key", "\u00e9".repeat(200)],
      ["idempotency-key", "' or 1=1"],
    ] as const) {
      const reply = await program.api("POST", "/api/v1/flows", "{}", { [name]: value });
      expectAnswer(reply, { name, value });
    }
  });

  it("has a character that can be seen in each text that people read, of every body (PROG-1)", () => {
    const taken = ROUTES.flatMap(({ at, body }) => {
      if (body === undefined || at === "PUT /api/v1/partners/:id/payout-details") return [];
      const schema = body.schema instanceof z.ZodPipe ? body.schema.in : body.schema;
      const fields = schema instanceof z.ZodObject ? Object.entries<z.ZodType>(schema.shape) : [];
      const blank = fields.filter(([, field]) => [" ", "\u200b\u00a0"].some((text) => field.safeParse(text).success));
      return blank.map(([name]) => name);
    });
    // They may be empty, or they name a row; a sale's reference keeps no sale out.
    const others = ["first_name", "last_name", "description", "ref", "account_id", "flow_id", "group_id"];
    expect([...new Set(taken)].toSorted()).toEqual([...others, "partner_id", "payment_id"].toSorted());
  });

  it("is given back as it was taken", async () => {
    const good = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }).filter((text) => !text.includes("\0"));
    await fc.assert(
      fc.asyncProperty(good, fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }), async (name, metadata) => {
        const body = JSON.stringify({ email: `h${n}@example.com`, slug: `h${n++}`, first_name: name, metadata });
        const created = await program.api<{ id: string }>("POST", "/api/v1/partners", body);
        expect([body, created.status]).toEqual([body, 201]);
        const got = await program.api<Record<string, unknown>>("GET", `/api/v1/partners/${created.body.id}`);
        const sent = JSON.parse(body) as Record<string, unknown>;
        expect(JSON.stringify([got.body["first_name"], got.body["metadata"]])).toBe(
          JSON.stringify([sent["first_name"], sent["metadata"]]),
        );
      }),
      {
        numRuns: 20,
        examples: [
          ["'\"\\", JSON.parse('{"__proto__":{"a":1},"\\u0000":"\\ud800"}') as never],
          ["deep", JSON.parse(`{"a":${deep(4_000, "[", "]")}}`) as never],
        ],
      },
    );
  });

  it("is changed as well, and in the log, where it is nested deeper than SQLite reads", async () => {
    const { id } = await makePartner(program);
    const metadata: unknown = JSON.parse(`{"a":${deep(4_000, "[", "]")}}`);
    const changed = await program.api<{ metadata: unknown }>("PATCH", `/api/v1/partners/${id}`, { metadata });
    expect([changed.status, JSON.stringify(changed.body.metadata)]).toEqual([200, JSON.stringify(metadata)]);
    const [event] = (await program.api<{ data: { changes: unknown }[] }>("GET", "/api/v1/events?type=partner.updated"))
      .body.data;
    expect(JSON.stringify(event?.changes)).toBe(JSON.stringify({ metadata: [null, metadata] }));
  });
});
