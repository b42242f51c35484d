import fc from "fast-check";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { AUDIT_EVENT_TYPES } from "../../src/providers/registry.ts";
import { newId } from "../../src/lib/id.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

interface EventBody {
  id: string;
  program_id: string;
  type: string;
  payload: Record<string, unknown>;
  created_at: string;
}

interface EventPage {
  data: EventBody[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
}

interface Stored {
  id: string;
  type: string;
  ms: number;
}

const START = Date.parse("2026-03-01T00:00:00.000Z");

function list(program: TestProgram, query: Record<string, string> = {}) {
  return program.api<EventPage>("GET", `/api/v1/events?${new URLSearchParams(query).toString()}`);
}

/** Stores events as commits and click flushes do: the row and its hourly count, which updates the daily count. */
async function store(program: TestProgram, made: { type: string; ms: number }[]): Promise<Stored[]> {
  const rows = made.map(({ type, ms }) => ({ id: newId("event", ms), type, ms, created_at: iso(ms) }));
  const json = JSON.stringify(rows);
  await env.DB.batch([
    env.DB.prepare(
      `insert into events (program_id, id, type, payload, created_at) select ?, value ->> 'id', value ->> 'type',
         json_object('ref', 'x', 'landing', '/', 'referrer', '', 'partner_id', 'par_' || key), value ->> 'created_at'
       from json_each(?)`,
    ).bind(program.id, json),
    env.DB.prepare(
      `insert into event_hours (program_id, hour, type, count, minutes)
       select p, substr(at, 1, 13), type, sum(n), json_group_object(substr(at, 15, 2), n)
       from (select ? as p, value ->> 'type' as type, substr(value ->> 'created_at', 1, 16) as at, count(*) as n
         from json_each(?) group by 2, 3) group by 1, 2, 3`,
    ).bind(program.id, json),
  ]);
  return rows;
}

/** Events of five days: mostly clicks, many at the edges of days. */
function spread(): { type: string; ms: number }[] {
  return Array.from({ length: 400 }, (_, i) => {
    const day = START + (i % 5) * DAY;
    const at = [0, 1, DAY - 1, HOUR * (i % 24), (i * 7_919 * 1_000) % DAY][i % 4 === 0 ? (i / 4) % 4 : 4] ?? 0;
    return { type: i % 3 === 0 ? AUDIT_EVENT_TYPES[i % AUDIT_EVENT_TYPES.length]! : "click", ms: day + at };
  });
}

describe("the audit log", () => {
  it("lists newest first with page and per_page, and walks by cursor over the same rows", async () => {
    const program = await makeProgram();
    await store(program, spread());
    const newest = (
      await env.DB.prepare("select id from events where program_id = ? order by id desc")
        .bind(program.id)
        .all<{ id: string }>()
    ).results.map(({ id }) => id);
    const first = await list(program);
    expect(first.body).toMatchObject({ total: 400, page: 1, per_page: 20 });
    expect(first.body.data.map(({ id }) => id)).toEqual(newest.slice(0, 20));
    const third = await list(program, { page: "3", per_page: "100" });
    expect(third.body).toMatchObject({ total: 400, page: 3, per_page: 100 });
    expect(third.body.data.map(({ id }) => id)).toEqual(newest.slice(200, 300));
    const beyond = await list(program, { page: "999999999", per_page: "100" });
    expect([beyond.status, beyond.body.data, beyond.body.total]).toEqual([200, [], 400]);
    const walked: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const { body }: { body: EventPage } = await list(program, { per_page: "90", ...(cursor ? { cursor } : {}) });
      walked.push(...body.data.map(({ id }) => id));
      cursor = body.next_cursor;
    }
    expect(walked).toEqual(newest);
  });

  it("counts exactly what a brute-force count finds, for any range and type (HTTP-8)", async () => {
    const program = await makeProgram();
    const stored = await store(program, spread());
    // The counts do not include another program's events.
    await store(await makeProgram(), spread());
    const instant = fc.oneof(
      fc.integer({ min: START - DAY, max: START + 6 * DAY }),
      fc.constantFrom(...stored.map(({ ms }) => ms)),
      fc.integer({ min: -1, max: 6 }).map((day) => START + day * DAY),
      fc.integer({ min: 0, max: 5 * 24 * 60 }).map((minute) => START + minute * MINUTE),
      fc.integer({ min: 0, max: 5 * 24 }).map((hour) => START + hour * HOUR),
    );
    const bound = fc.option(
      fc.record({ ms: instant, bareDate: fc.boolean() }).map(({ ms, bareDate }) => {
        const text = bareDate ? iso(ms).slice(0, 10) : iso(ms);
        const day = Date.parse(text.slice(0, 10));
        return { text, from: bareDate ? day : ms, to: bareDate ? day + DAY : ms };
      }),
      { nil: undefined },
    );
    const type = fc.option(fc.constantFrom(...AUDIT_EVENT_TYPES), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(bound, bound, type, async (from, to, wanted) => {
        const matching = stored.filter(
          (event) =>
            (from === undefined || event.ms >= from.from) &&
            (to === undefined || event.ms < to.to) &&
            (wanted === undefined || event.type === wanted),
        );
        const { status, body } = await list(program, {
          per_page: "100",
          ...(from ? { from: from.text } : {}),
          ...(to ? { to: to.text } : {}),
          ...(wanted ? { type: wanted } : {}),
        });
        expect([status, body.total]).toEqual([200, matching.length]);
        const ids = matching
          .map(({ id }) => id)
          .toSorted()
          .toReversed();
        expect(body.data.map(({ id }) => id)).toEqual(ids.slice(0, 100));
      }),
      { numRuns: 150 },
    );
  });

  it("takes from as inclusive; to as exclusive for a time and inclusive for a bare date; any zone (HTTP-9)", async () => {
    const program = await makeProgram();
    const [noon, night] = [START + 12 * HOUR, START + DAY - 1];
    await store(
      program,
      [START, noon, night, START + DAY].map((ms) => ({ type: "click", ms })),
    );
    const totals: [Record<string, string>, number][] = [
      [{ from: "2026-03-01", to: "2026-03-01" }, 3],
      [{ from: "2026-03-01", to: "2026-03-02" }, 4],
      [{ from: "2026-03-01T00:00:00Z", to: "2026-03-02T00:00:00Z" }, 3],
      [{ from: "2026-03-01T12:00:00Z" }, 3],
      [{ from: "2026-03-01T12:00:00.001Z" }, 2],
      [{ from: "2026-03-01T12:00:00.0001Z" }, 2],
      [{ to: "2026-03-01T12:00:00Z" }, 1],
      [{ to: "2026-03-01T12:00:00.0001Z" }, 2],
      [{ from: "2026-03-01T12:00" }, 3],
      [{ from: "2026-03-01T14:00:00+02:00" }, 3],
      [{ from: "2026-03-01T10:00:00-02:00" }, 3],
      [{ from: "2026-03-02", to: "2026-03-01" }, 0],
      [{ from: "0000-01-01", to: "9999-12-31" }, 4],
      [{ from: "9999-12-31T23:59:59.999Z" }, 0],
    ];
    for (const [range, total] of totals) {
      const { status, body } = await list(program, range);
      expect([range, status, body.total, body.data.length]).toEqual([range, 200, total, total]);
    }
    // As from a client that does not encode the plus sign.
    const unencoded = await program.api<EventPage>("GET", "/api/v1/events?from=2026-03-01T14:00:00+02:00");
    expect([unencoded.status, unencoded.body.total]).toEqual([200, 3]);
  });

  it("refuses what is no type, page, cursor or time, naming the parameter", async () => {
    const program = await makeProgram();
    const refused: [string, string[]][] = [
      ["type", ["clicks", "", "CLICK", "partner", "click,partner.created"]],
      ["page", ["0", "-1", "1.5", "x", "", "1e3", "99999999999999999999"]],
      ["per_page", ["0", "101", "-5", "ten", "20.0"]],
      ["from", ["yesterday", "2026-02-30", "2026-02-30T10:00:00Z", "2026-13-01", "1772323200", "2026-03-01T25:00:00Z"]],
      ["to", ["", "2026-03", "2026-3-1", "2026-03-01T10:00:00+0200", "2026-03-01 10:00:00"]],
      ["cursor", ["x", "", "!!!!", "ZXZ0XzE", "A".repeat(300), "%00"]],
    ];
    for (const [parameter, values] of refused) {
      for (const value of values) {
        const reply = await list(program, { [parameter]: value });
        const { error } = reply.body as unknown as { error: { details: { path: string }[] } };
        expect([parameter, value, reply.status]).toEqual([parameter, value, 422]);
        expect(error.details[0]?.path).toBe(parameter);
      }
    }
    expect((await program.api("GET", "/api/v1/events?page=1&page=2")).status).toBe(422);
  });

  it("counts what the API itself writes", async () => {
    const program = await makeProgram();
    await makePartner(program, {}, "active");
    await makePartner(program, {}, "deactivated");
    const today = iso(Date.now()).slice(0, 10);
    const totals: [Record<string, string>, number][] = [
      [{}, 4],
      [{ type: "partner.created" }, 2],
      [{ type: "partner.updated" }, 2],
      [{ type: "partner.deleted" }, 0],
      [{ to: "2020-01-01" }, 0],
      [{ from: today }, 4],
      [{ from: iso(Date.now() - MINUTE), to: iso(Date.now() + MINUTE), type: "partner.created" }, 2],
    ];
    for (const [query, total] of totals) {
      const { body } = await list(program, query);
      expect([query, body.total, body.data.length]).toEqual([query, total, total]);
    }
  });
});
