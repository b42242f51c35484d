/** Limits on click storage that strangers can use: bytes per click, clicks per network and program (TRACK-25 to TRACK-27). */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf } from "../../src/clicks/batch.ts";
import { mailClosedDays } from "../../src/core/clicks/budget.ts";
import { flushClicks, registerClickObject } from "../../src/core/clicks/clicks.ts";
import { summarizeClicks, type Dropped } from "../../src/core/clicks/summary.ts";
import { warnOfSize } from "../../src/core/operations/size-warning.ts";
import { openDatabase } from "../../src/db/client.ts";
import { CLICK_BUDGET, parseClick, type Arrival } from "../../src/domain/click.ts";
import type { Bindings } from "../../src/env.ts";
import { warnOperator } from "../../src/http/mails/database-fills.ts";
import { openMailer } from "../../src/core/mails/plan.ts";
import { composerOf, mailOf } from "../../src/http/mails/mailer.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { DAY, utcDay } from "../../src/lib/time.ts";
import { recorded, visit } from "../support/clicks.ts";
import { serveAll } from "../support/jobs.ts";
import { openMailbox } from "../support/mailbox.ts";
import { sizedDatabase } from "../support/metered-database.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { all } from "../support/rows.ts";
import { callWith } from "../support/watched-database.ts";

const NOON = Math.floor(Date.now() / DAY) * DAY + DAY / 2;
const MOST = 64;

let program: TestProgram;
let ids = 0;

beforeEach(async () => {
  vi.spyOn(console, "error").mockReturnValue();
  program = await makeProgram();
  await makePartner(program, { slug: "jane" });
});

/** Clicks with ids that flushes do not count, unless `last` is given. */
function clicks(count: number, now: number, { ref = "jane", of = program.id, last = "zz" } = {}): Arrival[] {
  return Array.from({ length: count }, () => {
    const click = { program_id: of, ref, landing: "/", referrer: "", id: null };
    const arrival = JSON.parse(arrivalOf(click, now).entry) as Arrival & { id: string };
    return { ...arrival, id: `${arrival.id.slice(0, -2)}${last}` };
  });
}

/** Flushes the arrivals from a new object; `again` repeats the flush, as after a lost reply. */
async function flush(arrivals: Arrival[], bindings: Partial<Bindings> = {}, again = false): Promise<void> {
  const object = `weur:${++ids}`;
  const of = { object, epoch: `budget-${ids}-${program.id}`, from: 0, now: Date.now() };
  await registerClickObject(env, of);
  for (let i = 0; i < (again ? 2 : 1); i++) {
    const to = arrivals.length;
    expect(await flushClicks({ ...env, ...bindings }, { ...of, to, arrivals })).toBe(to);
  }
}

async function summary(from: number, of = program): Promise<{ recorded: number; dropped: Partial<Dropped> }> {
  const total = await summarizeClicks(programContext(of), { from, to: from + 1 });
  const dropped = Object.entries(total.dropped ?? {}).filter(([, clicksOfReason]) => clicksOfReason > 0);
  return { recorded: total.recorded, dropped: Object.fromEntries(dropped) };
}

async function count(day: number, clicksOfDay: number): Promise<void> {
  await env.DB.prepare("insert into event_counts (program_id, type, day, count) values (?, 'click', ?, ?)")
    .bind(program.id, utcDay(day), clicksOfDay)
    .run();
}

describe("a recorded click", () => {
  const WIDE = ["€", "😀", '"', "\\", "x"];

  function hostile(ref: string, n: number, now: number): Arrival {
    const long = WIDE[n % WIDE.length]!.repeat(2_000);
    const texts = { landing: `/${n}${long}`, referrer: `https://${n}${long}`, sub: `${n}`.padEnd(MOST, "s") };
    const parsed = parseClick({ program_id: program.id, ref, ...texts });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.details));
    return JSON.parse(arrivalOf(parsed.click, now, "FR").entry) as Arrival;
  }

  it.each([
    ["in large flushes", 500],
    ["in small flushes", 25],
  ])("takes at most 1,200 bytes of the database, whatever was sent, %s (TRACK-25)", async (_, each) => {
    const ref = "p".repeat(MOST);
    await makePartner(program, { slug: ref });
    const size = async () => (await env.DB.prepare("select 1").run()).meta.size_after;
    const COUNT = 2_500;
    const before = await size();
    for (let from = 0; from < COUNT; from += each) {
      await flush(Array.from({ length: each }, (__, i) => hostile(ref, from + i, NOON + from)));
    }
    expect(await summary(NOON)).toEqual({ recorded: COUNT, dropped: {} });
    expect(((await size()) - before) / COUNT).toBeLessThanOrEqual(1_200);
  });
});

describe("a network (TRACK-25)", () => {
  it("has 60 recorded clicks a minute on a program, by /click and /r/ together; the rest are counted and answered alike", async () => {
    const other = await makeProgram();
    for (const { id } of [program, other]) {
      await env.DB.prepare("update programs set domain = 'shop.example' where id = ?").bind(id).run();
    }
    await makePartner(other, { slug: "jane" });
    const RATE_LIMIT_CLICK_DETAIL = playLimiter(limitOf("RATE_LIMIT_CLICK_DETAIL"));
    const RATE_LIMIT_CLICK_DETAIL_SITE = playLimiter(limitOf("RATE_LIMIT_CLICK_DETAIL_SITE"));
    const limited = { RATE_LIMIT_CLICK_DETAIL, RATE_LIMIT_CLICK_DETAIL_SITE };
    const from = (address: string) => ({ "cf-connecting-ip": address, "content-type": "text/plain" });
    const click = async (of: string, address: string) => {
      const body = JSON.stringify({ program_id: of, ref: "jane", landing: "/", referrer: "" });
      const reply = await visit("/click", { method: "POST", body, headers: from(address), env: limited });
      return `${reply.status} ${JSON.stringify(reply.body)}`;
    };
    const follow = async () =>
      (await visit(`/r/${program.id}/jane`, { headers: from("192.0.2.1"), env: limited })).status;
    const now = Date.now();
    expect(await follow()).toBe(302);
    const replies = [];
    for (let i = 0; i < 61; i++) replies.push(await click(program.id, "192.0.2.1"));
    expect([...new Set(replies)]).toEqual(['202 {"known":true}']);
    expect(await follow()).toBe(302);
    await click(program.id, "192.0.2.2");
    await click(other.id, "192.0.2.1");
    // An IPv6 site has eight times the limit of a network.
    RATE_LIMIT_CLICK_DETAIL_SITE.used.set(`2001:db8:7::/48 ${program.id}`, 480);
    await click(program.id, "2001:db8:7:9::1");
    await recorded();
    expect(await summary(now)).toEqual({ recorded: 61, dropped: { flood: 4 } });
    expect(await summary(now, other)).toEqual({ recorded: 1, dropped: {} });
    expect([limitOf("RATE_LIMIT_CLICK_DETAIL"), limitOf("RATE_LIMIT_CLICK_DETAIL_SITE")]).toEqual([60, 480]);
  });
});

describe("a program's budget of a day (TRACK-26)", () => {
  it("is 100,000 recorded clicks: later ones are counted, each once, and the next day begins at none", async () => {
    await count(NOON, CLICK_BUDGET.least - 1);
    await flush(clicks(1, NOON));
    expect(await summary(NOON)).toEqual({ recorded: CLICK_BUDGET.least, dropped: {} });
    await env.DB.prepare("update event_counts set count = ? where program_id = ?")
      .bind(CLICK_BUDGET.least, program.id)
      .run();
    await flush([...clicks(3, NOON), ...clicks(2, NOON, { ref: "nobody" }), ...clicks(4, NOON + DAY)], {}, true);
    await flush(clicks(2, NOON));
    expect(await summary(NOON)).toEqual({
      recorded: CLICK_BUDGET.least + 1,
      dropped: { over_budget: 5, unknown_ref: 2 },
    });
    expect(await summary(NOON + DAY)).toEqual({ recorded: 4, dropped: {} });
  });

  it.each([
    ["a flush of many clicks", 100, "zz"],
    ["one click in a thousand", 1, "00"],
  ])("counts clicks that no roll-up has counted, at %s", async (_, size, last) => {
    await count(NOON, CLICK_BUDGET.least - 10);
    await flush(clicks(10, NOON));
    await flush(clicks(size, NOON, { last }));
    expect(await summary(NOON)).toEqual({ recorded: CLICK_BUDGET.least, dropped: { over_budget: size } });
  });

  it("is ten times the usual day, the median of 28", async () => {
    await count(NOON, 10 * 15_000);
    // A 14th such day would raise the median. 13 days do not, so a short flood has no effect.
    for (let days = 1; days <= 13; days++) await count(NOON - days * DAY, 900_000);
    await count(NOON - 28 * DAY, 15_001);
    await count(NOON - 29 * DAY, 900_000);
    await flush(clicks(1, NOON));
    expect(await summary(NOON)).toEqual({ recorded: 150_001, dropped: {} });
    await env.DB.prepare("update event_counts set count = count - 1 where program_id = ? and day = ?")
      .bind(program.id, utcDay(NOON - 28 * DAY))
      .run();
    await flush(clicks(1, NOON));
    expect(await summary(NOON)).toEqual({ recorded: 150_001, dropped: { over_budget: 1 } });
  });

  it("that is used up is one e-mail to the owner, however many clicks come and whoever looks (MAIL-11)", async () => {
    const { bindings, mails } = openMailbox();
    const settings = { ...env, ...bindings };
    const at = (now: number) => {
      const ctx = { ...testContext(), now };
      return { ...ctx, mailer: openMailer(composerOf(settings, ctx.sealer)!, () => {}) };
    };
    const send = async (now: number) => {
      await Promise.all([1, 2].map(() => serveAll(mailClosedDays(at(now)))));
      await sendDueMails(at(now), program.id, mailOf(settings), () => now);
    };
    const now = Date.now();
    await count(now, CLICK_BUDGET.least);
    await flush(clicks(3, now));
    await send(now);
    await flush(clicks(3, now));
    await send(now + DAY / 4);
    await send(now + 3 * DAY);
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([
      [program.program.owner_email, expect.stringMatching(/^Clicks of .* are only counted$/)],
    ]);
    expect(mails[0]!.text).toContain("3 clicks exceed the day's budget so far");
    expect(mailClosedDays({ ...at(now), mailer: null }), "where nothing is sent").toBeNull();
  });
});

describe("a database that fills up", () => {
  const GB = 1_000_000_000;

  it("takes no click from 90 % on: each is counted (TRACK-27)", async () => {
    const sized = sizedDatabase(env.DB, 9 * GB);
    await flush(clicks(1, NOON), { DB: sized });
    expect(await summary(NOON)).toEqual({ recorded: 1, dropped: {} });
    await flush([...clicks(2, NOON), ...clicks(1, NOON, { ref: "nobody" })], { DB: sized });
    expect(await summary(NOON)).toEqual({ recorded: 1, dropped: { database_full: 3 } });
    await flush(clicks(1, NOON), { DB: sizedDatabase(env.DB, 9 * GB - 1) });
    expect((await summary(NOON)).recorded).toBe(2);
  });

  it("is named by /healthz from 70 % on (HTTP-18)", async () => {
    const health = async (bytes: number) => {
      const { status, body } = await callWith({ DB: sizedDatabase(env.DB, bytes) }, "/healthz");
      return [status, body];
    };
    expect(await health(7 * GB - 1)).toEqual([200, { status: "ok" }]);
    const filling = [{ database: "DB", percent: 70 }];
    expect(await health(7 * GB)).toEqual([200, { status: "ok", databases: { filling } }]);
  });

  it("is an e-mail to the operator at 70 % and at each 5 % more, once, and again where none was taken (JOB-7)", async () => {
    const { bindings, mails } = openMailbox();
    const settings = { ...env, ...bindings, OPERATOR_EMAIL: "operator2example.com" };
    const look = async (gigabytes: number, warn = warnOperator(settings)) =>
      serveAll(warnOfSize({ ...testContext(), db: openDatabase(sizedDatabase(env.DB, gigabytes * GB)) }, warn));
    await look(6.99);
    expect(await look(7, null)).toBe(0);
    await expect(look(7, async () => false)).rejects.toThrow("no sender took the e-mail");
    for (const gigabytes of [7, 7.4, 7, 7.5, 7.2, 9.9]) await look(gigabytes);
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual(
      [70, 75, 95].map((percent) => ["operator2example.com", `The database DB is ${percent} % full`]),
    );
    expect(warnOperator({ ...env, ...bindings })).toBeNull();
    await all("delete from size_warnings");
  });
});
