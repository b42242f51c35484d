import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { iso } from "../../src/lib/time.ts";
import { servedDocument } from "../support/openapi.ts";
import { makeProgram } from "../support/program.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

/** Within a minute, so that every kind of count is queried. */
const AT = "2026-03-01T12:34:56Z";
const CURSOR = "ZXZ0XzAxamFiY2RlZmdoamttbnBxcnN0dnd4eXow";
const ENDPOINT = "whe_00000000000000000000000000";

/** Every list of pages as the document has it, also narrowed to the first of each closed list that it takes. */
const LISTS = Object.entries(servedDocument().paths).flatMap(([path, { get }]) => {
  const parameters = (get?.parameters ?? []).filter(({ in: where }) => where === "query");
  if (!path.startsWith("/api/v1/") || path.includes("{") || !parameters.some(({ name }) => name === "per_page"))
    return [];
  const closed = parameters.flatMap(({ name, schema }) =>
    schema.enum ? [`${path}?${name}=${String(schema.enum[0])}`] : [],
  );
  return [path, ...closed];
});

/** The plans of all statements of one GET, one line each. */
async function plansOf(path: string): Promise<string[]> {
  const program = await makeProgram({ api_key_last_used_at: iso(Date.now()) });
  const { binding, roundTrips } = watchDatabase(env.DB);
  const { status } = await callWith({ DB: binding }, path, { headers: { authorization: `Bearer ${program.api_key}` } });
  expect([path, status === 200 || status === 404]).toEqual([path, true]);
  const lines: string[] = [];
  for (const { sql, values } of roundTrips.flat()) {
    const { results } = await env.DB.prepare(`explain query plan ${sql}`)
      .bind(...values)
      .all<{ detail: string }>();
    lines.push(...results.map(({ detail }) => detail));
  }
  return lines;
}

describe("the plans of lists", () => {
  const paths = [
    ...LISTS,
    `/api/v1/events?cursor=${CURSOR}`,
    `/api/v1/events?from=${AT}&to=2026-03-04T01:00:00Z`,
    `/api/v1/events?type=partner.created&from=${AT}`,
    `/api/v1/events?type=click&to=${AT}`,
    `/api/v1/webhooks/${ENDPOINT}`,
    `/api/v1/webhooks/${ENDPOINT}/deliveries`,
    "/api/v1/webhooks",
    "/api/v1/claims?partner_id=par_00000000000000000000000000",
  ];

  it("are asked of each list", () => {
    expect(LISTS).toEqual(expect.arrayContaining(["/api/v1/applications", "/api/v1/claims?status=open"]));
    expect(LISTS.length).toBeGreaterThan(12);
  });

  it("find their rows by a key and take them in its order (HTTP-8)", async () => {
    for (const path of paths) {
      const lines = await plansOf(path);
      expect(lines.length).toBeGreaterThan(1);
      const slow = lines.filter((line) =>
        /^SCAN (?!CONSTANT|\w+ VIRTUAL|\(subquery)|TEMP B-TREE FOR ORDER BY/.test(line),
      );
      expect([path, slow]).toEqual([path, []]);
    }
  });

  it("read events of one type through the index that leaves clicks out", async () => {
    const lines = await plansOf(`/api/v1/events?type=partner.created&from=${AT}`);
    const ofEvents = lines.filter((line) => /events\b(?!_)/.test(line) && !/event_(counts|hours)/.test(line));
    expect(ofEvents).toHaveLength(2);
    for (const line of ofEvents) expect(line).toContain("INDEX events_type (program_id=? AND type=? AND id>?");
  });
});
