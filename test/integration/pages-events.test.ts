/** The audit log in the dashboard: clicks apart from everything else. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { listEvents } from "../../src/core/events/events.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { NOT_CLICKS } from "../../src/core/kernel/event-counts.ts";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { openDatabase } from "../../src/db/client.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { readCsv } from "../support/csv.ts";
import { makeEvents } from "../support/many-clicks.ts";
import { meterDatabase } from "../support/metered-database.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { all } from "../support/rows.ts";
import { makeVisitor, signInMember, signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const AT = "/dashboard/events";
const START = Date.parse("2026-03-01T10:00:00.000Z");
const TYPES = ["partner.created", "commission.created", "webhook.provider_a", "payout.paid"];

let program: TestProgram;
let owner: Visitor;

interface Row {
  id: string;
  type: string;
  created_at: string;
}

/** All events of the program that are (no) clicks, newest first. */
async function eventsOf(isClick: boolean): Promise<Row[]> {
  const is = isClick ? "=" : "<>";
  return all<Row>(
    `select id, type, created_at from events where program_id = ? and type ${is} 'click' order by id desc`,
    program.id,
  );
}

/** The summary line of a list page, and the ids on the page. */
async function pageOf(address: string, visitor = owner): Promise<{ shown: string; ids: string[] }> {
  const { status, body } = await visitor.get(address);
  expect([address, status]).toEqual([address, 200]);
  const ids = [...body.matchAll(/details of (evt_\w+)/g)].map(([, id]) => id!);
  return { shown: /[\d,]+–[\d,]+ of [\d,]+/.exec(textOf(body))?.[0] ?? "", ids };
}

beforeAll(async () => {
  program = await makeProgram();
  // A click each second, and another event every ten: more than are skipped one by one.
  const made = Array.from({ length: 13_000 }, (_, i) => ({
    type: i % 10 === 0 ? TYPES[(i / 10) % TYPES.length]! : "click",
    ms: START + i * 1_000,
  }));
  await makeEvents(program, made);
  await makePartner(program, { slug: "jane" });
  owner = await signInOwner(program);
});

describe("the audit log without clicks (PAGE-27)", () => {
  it("has every other event once, in order, on however many pages, with the exact total", async () => {
    const rows = await eventsOf(false);
    const total = rows.length.toLocaleString("en");
    expect(rows.length).toBeGreaterThan(1_300);
    for (const page of [1, 2, 7, 12, Math.ceil(rows.length / 100)]) {
      const { shown, ids } = await pageOf(`${AT}?per_page=100&page=${page}`);
      const own = rows.slice((page - 1) * 100, page * 100);
      expect([page, ids]).toEqual([page, own.map(({ id }) => id)]);
      const first = (page - 1) * 100 + 1;
      expect(shown).toBe(`${first.toLocaleString("en")}–${(first + own.length - 1).toLocaleString("en")} of ${total}`);
    }
    const { body } = await owner.get(AT);
    expect(body).not.toContain('<option value="click"');
    expect(body).toContain(`href="${AT}/clicks"`);
  });

  it("takes the filters of the API with exact totals, at the edges of a minute too", async () => {
    const rows = await eventsOf(false);
    const [from, to] = [START + HOUR + 7 * MINUTE + 25_000, START + 2 * HOUR + 41_500];
    const within = rows.filter(({ created_at }) => created_at >= iso(from) && created_at < iso(to));
    const range = `from=${iso(from)}&to=${iso(to)}`;
    const { shown, ids } = await pageOf(`${AT}?${range}&per_page=100`);
    expect(shown).toBe(`1–100 of ${within.length}`);
    expect(ids).toEqual(within.slice(0, 100).map(({ id }) => id));
    const type = "payout.paid";
    const ofType = within.filter((row) => row.type === type);
    expect((await pageOf(`${AT}?${range}&type=${type}&per_page=100`)).ids).toEqual(ofType.map(({ id }) => id));
  });

  it("has a file of exactly these", async () => {
    const { body } = await owner.get(`${AT}/list.csv`);
    const [head, ...lines] = readCsv(body);
    const at = head!.indexOf("event_id");
    const before = (await eventsOf(false)).filter(({ type }) => type !== "list.exported");
    expect(lines.map((line) => line[at])).toEqual(before.map(({ id }) => id));
  });

  it("reads no more where more clicks lie between", async () => {
    let rows = 0;
    const db = openDatabase(meterDatabase(env.DB, (meta) => (rows += meta.rows_read)));
    const { results } = await env.DB.prepare("select 1").all();
    expect(results).toHaveLength(1);
    const found = (await selectPrograms(testContext().db)).find(({ id }) => id === program.id)!;
    const ctx = forProgram({ ...testContext(), db }, found);
    const read = async () => {
      rows = 0;
      await listEvents(ctx, { page: 1, per_page: 25, type: NOT_CLICKS });
      return rows;
    };
    const few = await read();
    await makeEvents(
      program,
      Array.from({ length: 3_000 }, (_, i) => ({ type: "click", ms: Date.now() + i })),
    );
    const many = await read();
    expect(few).toBeLessThan(200);
    expect(many).toBeLessThanOrEqual(few + 10);
  });
});

describe("the clicks (PAGE-27)", () => {
  it("have a page and a file of their own, newest first, with the exact total", async () => {
    const rows = await eventsOf(true);
    const { body } = await owner.get(`${AT}/clicks?per_page=50&columns=when,ref,landing,referrer,sub`);
    expect(textOf(body)).toContain(`1–50 of ${rows.length.toLocaleString("en")}`);
    expect(body).toContain("/ü");
    const range = `from=${iso(START)}&to=${iso(START + HOUR)}`;
    const [head, ...lines] = readCsv((await owner.get(`${AT}/clicks/list.csv?${range}`)).body);
    const within = rows.filter(({ created_at }) => created_at < iso(START + HOUR));
    expect(lines.map((line) => line[head!.indexOf("event_id")])).toEqual(within.map(({ id }) => id));
    const [event] = await all<{ payload: string }>(
      "select payload from events where program_id = ? and type = 'list.exported' order by id desc limit 1",
      program.id,
    );
    expect(JSON.parse(event!.payload)).toMatchObject({ list: "clicks", count: within.length });
  });

  it("are read by every role, and are nobody else's", async () => {
    for (const role of ["viewer", "finance"]) {
      const email = `${role}-${program.id.slice(-8)}@shop.example`;
      await program.api("POST", "/api/v1/members", { email, role });
      expect((await (await signInMember(program, email)).get(`${AT}/clicks`)).status).toBe(200);
    }
    expect((await makeVisitor().get(`${AT}/clicks`)).status).toBe(303);
    const stranger = await signInOwner(await makeProgram());
    expect(textOf((await stranger.get(`${AT}/clicks`)).body)).toContain("No clicks yet");
    expect(readCsv((await stranger.get(`${AT}/clicks/list.csv`)).body)).toHaveLength(1);
  });
});
