import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { CLICK_DROP_REASONS } from "../../src/domain/click.ts";
import type { ClickSummary } from "../../src/core/clicks/summary.ts";
import type { AppEnv } from "../../src/env.ts";
import { clicks } from "../../src/http/api/clicks.ts";
import { authenticate } from "../../src/http/authenticate.ts";
import { requestContext } from "../../src/http/context.ts";
import { renderError } from "../../src/http/errors.ts";
import { utcDay } from "../../src/lib/time.ts";
import { click, recorded } from "../support/clicks.ts";
import { makePartner, makeProgram, type TestProgram, programOfPartner } from "../support/program.ts";

const app = new Hono<AppEnv>().use(requestContext(), authenticate()).get(clicks[0]!.path, clicks[0]!.respond);
app.onError(renderError);

async function summary(program: TestProgram, query = ""): Promise<{ status: number; body: ClickSummary }> {
  const context = createExecutionContext();
  const response = await app.fetch(
    new Request(`https://service.example/api/v1/clicks/summary${query}`, {
      headers: { authorization: `Bearer ${program.api_key}` },
    }),
    env,
    context,
  );
  await waitOnExecutionContext(context);
  return { status: response.status, body: await response.json() };
}

async function count(
  program_id: string,
  day: string,
  partner_id: string,
  recorded: number,
  bots: number,
): Promise<void> {
  await env.DB.batch([
    env.DB.prepare("insert into event_counts (program_id, type, day, count) values (?, 'click', ?, ?)").bind(
      program_id,
      day,
      recorded,
    ),
    env.DB.prepare("insert into click_counts values (?, ?, ?, ?)").bind(program_id, partner_id, day, recorded),
    env.DB.prepare("insert into click_drops (program_id, day, reason, count) values (?, ?, 'bot', ?)").bind(
      program_id,
      day,
      bots,
    ),
  ]);
}

const NONE = Object.fromEntries(CLICK_DROP_REASONS.map((reason) => [reason, 0]));

describe("GET /api/v1/clicks/summary", () => {
  it("shows what happened to the clicks of today (TRACK-17)", async () => {
    const [program, jane] = await programOfPartner({}, { slug: "jane" });
    await makePartner(program, { slug: "gone" }, "deactivated");
    const arrival = { program_id: program.id, landing: "/", referrer: "" };
    for (const ref of ["jane", "jane", "gone", "nobody"]) await click({ ...arrival, ref });
    await click({ ...arrival, ref: "jane" }, { "user-agent": "Googlebot/2.1" });
    for (let i = 0; i < 2; i++) await click({ ...arrival, ref: "jane", id: "twice" });
    await recorded();
    const { status, body } = await summary(program);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(30);
    const dropped = { ...NONE, bot: 1, duplicate: 1, unknown_ref: 1, partner_deactivated: 1 };
    expect(body.data.at(-1)).toEqual({ day: utcDay(Date.now()), recorded: 3, dropped });
    expect([body.recorded, body.dropped]).toEqual([3, dropped]);
    const own = await summary(program, `?partner_id=${jane.id}`);
    expect(own.body.recorded).toBe(3);
    expect([own.body.dropped, own.body.data.at(-1)]).toEqual([undefined, { day: utcDay(Date.now()), recorded: 3 }]);
  });

  it("lists every day of the range, with its ends as everywhere (HTTP-9, TRACK-17)", async () => {
    const [program, jane] = await programOfPartner();
    await count(program.id, "2026-02-27", jane.id, 1, 2);
    await count(program.id, "2026-03-01", jane.id, 4, 8);
    await count(program.id, "2026-03-02", jane.id, 16, 32);
    const { body } = await summary(program, "?from=2026-02-27&to=2026-03-01");
    expect(body.data).toEqual([
      { day: "2026-02-27", recorded: 1, dropped: { ...NONE, bot: 2 } },
      { day: "2026-02-28", recorded: 0, dropped: NONE },
      { day: "2026-03-01", recorded: 4, dropped: { ...NONE, bot: 8 } },
    ]);
    expect([body.recorded, body.dropped?.bot]).toEqual([5, 10]);
    const days = async (query: string) => (await summary(program, query)).body.data.map(({ day }) => day);
    expect(await days("?from=2026-02-28T23:59:59Z&to=2026-03-01T00:00:00Z")).toEqual(["2026-02-28"]);
    expect(await days("?from=2026-03-02&to=2026-03-01")).toEqual([]);
    expect(await days("?from=2026-03-01T00:00:00Z&to=2026-03-01T00:00:00Z")).toEqual([]);
    expect(await days("?from=2026-03-01T13:00:00Z&to=2026-03-01T12:00:00Z")).toEqual([]);
    expect(await days("?from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z")).toEqual([]);
    const until = await days("?to=2026-03-01T12:00:00Z");
    expect([until.length, until[0], until.at(-1)]).toEqual([30, "2026-01-31", "2026-03-01"]);
  });

  it("shows no other program's clicks, nor those of its partners", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const theirs = await makePartner(other);
    await count(other.id, utcDay(Date.now()), theirs.id, 7, 7);
    expect((await summary(program)).body).toMatchObject({ recorded: 0, dropped: NONE });
    expect((await summary(program, `?partner_id=${theirs.id}`)).body.recorded).toBe(0);
  });

  it.each(["?from=yesterday", "?to=2026-02-30", "?from=2024-01-01&to=2026-01-01", "?from=2026-13-01"])(
    "422: %s",
    async (query) => {
      expect((await summary(await makeProgram(), query)).status).toBe(422);
    },
  );
});
