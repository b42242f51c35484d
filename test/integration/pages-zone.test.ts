/** Pages show and accept times in the program's time zone, across its clock changes (PAGE-23). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { readCsv } from "../support/csv.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

const KATHMANDU = "Asia/Kathmandu";
const NEW_YORK = "America/New_York";
/** The end of the note at the foot of pages with daily figures. */
const UTC_DAYS = "; daily figures use UTC days.";
/** The day has 23 hours there, from 05:00 to 04:00 of the next day in UTC. */
const SHORT_DAY = "2026-03-08";

interface People {
  dashboard: Visitor;
  portal: Visitor;
}

async function signIn(program: TestProgram, email: string): Promise<People> {
  return { dashboard: await signInOwner(program), portal: await signInPartner(email) };
}

/** The zone's name is as the platform writes it. */
async function moveTo({ api }: TestProgram, time_zone: string): Promise<string> {
  const { status, body } = await api<{ time_zone: string }>("PATCH", "/api/v1/programs/me", { time_zone });
  expect(status).toBe(200);
  return body.time_zone;
}

/** The times of a document: their texts and their instants. */
function timesOf(html: string) {
  return [...html.matchAll(/<time datetime="([^"]*)" title="([^"]*)">([^<]*)<\/time>/g)].map(
    ([, at = "", title = "", text = ""]) => ({ at, title, text }),
  );
}

const PAGES = pageRoutes("dashboard", "portal").filter(
  ({ method, path }) => method === "GET" && !/(?:\.csv|\.svg|\/file)$/.test(path),
);

describe("every page with times", () => {
  let stocked: Stocked;
  let people: People;

  beforeAll(async () => {
    stocked = await makeStocked();
    people = await signIn(stocked.program, stocked.partner.email);
  });

  const open = async (path: string) => {
    const visitor = path.startsWith("/portal") ? people.portal : people.dashboard;
    const { status, body } = await visitor.get(pageAddress(path, stocked.ids));
    expect([path, status]).toEqual([path, 200]);
    return body;
  };

  it.each([KATHMANDU, NEW_YORK])("shows them in %s, with the instant beside, and names the zone once", async (zone) => {
    const name = await moveTo(stocked.program, zone);
    const day = new Intl.DateTimeFormat("en-GB", { timeZone: zone, dateStyle: "medium" });
    const time = new Intl.DateTimeFormat("en-GB", { timeZone: zone, dateStyle: "medium", timeStyle: "short" });
    const withTimes: string[] = [];
    for (const { path } of PAGES) {
      const body = await open(path);
      const times = timesOf(body);
      expect([path, body.match(/<time\b/g)?.length ?? 0]).toEqual([path, times.length]);
      for (const { at, title, text } of times) {
        expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect([path, title]).toEqual([path, at]);
        expect([day.format(new Date(at)), time.format(new Date(at))]).toContain(text);
      }
      const shown = textOf(body.replaceAll(/<(pre|textarea)[\s\S]*?<\/\1>/g, ""));
      expect([path, /\d\d:\d\d UTC|\d\d-\d\dT\d\d:/.exec(shown)?.[0]]).toEqual([path, undefined]);
      expect([path, shown.split(`Times are in the time zone ${name}`).length]).toEqual([path, 2]);
      expect([path, body.includes('href="/dashboard/settings#f-time_zone"')]).toEqual([path, path.startsWith("/dash")]);
      if (times.some(({ text }) => text.includes(":"))) withTimes.push(path);
    }
    expect(withTimes).toEqual(
      expect.arrayContaining([
        ...["/dashboard/commissions", "/dashboard/commissions/:id", "/dashboard/events", "/dashboard/payments/:id"],
        ...["/dashboard/settings/keys", "/dashboard/settings/mails", "/dashboard/webhooks/:id"],
        ...["/portal/commissions", "/portal/details/sessions"],
      ]),
    );
    expect(withTimes.length).toBeGreaterThan(15);
  });

  it("has the setting that its link leads to", async () => {
    expect(await open("/dashboard/settings")).toContain('id="f-time_zone"');
  });

  it("says of daily figures that their days are UTC, once and at its foot, unless the zone is", async () => {
    const namesUtc = async () => {
      const said = await Promise.all(
        PAGES.map(async ({ path }) => {
          const [body, foot = ""] = (await open(path)).split('class="zone-note');
          expect([path, /\(UTC\)|days are UTC/i.exec(textOf(body!))?.[0]]).toEqual([path, undefined]);
          return [path, foot.split(UTC_DAYS).length - 1] as const;
        }),
      );
      return Object.fromEntries(said.filter(([, count]) => count > 0));
    };
    await moveTo(stocked.program, "UTC");
    expect(await namesUtc()).toEqual({});
    await moveTo(stocked.program, KATHMANDU);
    expect(await namesUtc()).toEqual({
      "/dashboard": 1,
      "/dashboard/partners/:id": 1,
      "/dashboard/partners/:id/codes": 1,
      "/dashboard/payments/codes": 1,
      "/portal": 1,
      "/portal/statistics": 1,
    });
  });

  it("which takes dates takes them as days of the zone", async () => {
    // A zone in which it is another date at that moment than in UTC.
    const { body } = await stocked.program.api<{ created_at: string }>("GET", "/api/v1/programs/me");
    const hour = new Date(body.created_at).getUTCHours();
    const zone = hour >= 11 ? "Pacific/Kiritimati" : "Etc/GMT+12";
    await moveTo(stocked.program, zone);
    const there = new Intl.DateTimeFormat("en-CA", { timeZone: zone }).format(new Date(body.created_at));
    const utc = body.created_at.slice(0, 10);
    expect(there).not.toBe(utc);
    const lists: string[] = [];
    for (const { path } of PAGES) {
      const first = await open(path);
      if (!first.includes('name="from"') || first.includes(UTC_DAYS)) continue;
      lists.push(path);
      for (const [date, isThere] of [
        [there, true],
        [utc, false],
      ] as const) {
        const shown = await open(`${path}?from=${date}&to=${date}`);
        expect([path, date, shown.includes("<tbody")]).toEqual([path, date, isThere]);
        expect(shown).toContain(`value="${date}"`);
      }
    }
    expect(lists).toEqual(
      expect.arrayContaining([
        ...["/dashboard/commissions", "/dashboard/events", "/dashboard/partners/applications", "/dashboard/payments"],
        ...["/dashboard/payouts", "/portal/commissions"],
      ]),
    );
    // The later of the two dates has begun in the program's zone, but not in UTC.
    const at = pageAddress("/dashboard/webhooks/:id/recover", stocked.ids);
    await env.DB.prepare("update deliveries set status = 'failed', completed_at = created_at where endpoint_id = ?")
      .bind(stocked.ids["webhooks"])
      .run();
    await people.dashboard.get(at);
    const { headers } = await people.dashboard.post(at, { since: there > utc ? there : utc });
    expect(headers.get("location")).toContain(there > utc ? "done=recovered" : "done=nothing");
  });
});

describe("a clock change", () => {
  it.each([
    [KATHMANDU, "2026-03-07T18:14:59.999Z", "7 Mar 2026, 23:59"],
    [KATHMANDU, "2026-03-07T18:15:00.000Z", "8 Mar 2026, 00:00"],
    [NEW_YORK, "2026-03-08T04:59:00.000Z", "7 Mar 2026, 23:59"],
    [NEW_YORK, "2026-03-08T06:59:00.000Z", "8 Mar 2026, 01:59"],
    [NEW_YORK, "2026-03-08T07:00:00.000Z", "8 Mar 2026, 03:00"],
    [NEW_YORK, "2026-03-09T03:59:00.000Z", "8 Mar 2026, 23:59"],
    [NEW_YORK, "2025-11-02T05:30:00.000Z", "2 Nov 2025, 01:30"],
    [NEW_YORK, "2025-11-02T06:30:00.000Z", "2 Nov 2025, 01:30"],
  ])("in %s: %s is %s, to owner and partner", async (time_zone, created_at, text) => {
    const program = await makeProgram({ time_zone, auto_approve_days: 1 });
    const partner = await makePartner(program, { email: `${uniqueId("zone")}@partners.example` });
    await makeCommissions(program, partner.id, [
      { created_at, status: "pending", hold_until: new Date(Date.parse(created_at) + 86_400_000).toISOString() },
    ]);
    const { dashboard, portal } = await signIn(program, partner.email);
    for (const reply of [await dashboard.get("/dashboard/commissions"), await portal.get("/portal/commissions")]) {
      expect(timesOf(reply.body)).toContainEqual({ at: created_at, title: created_at, text });
    }
    // A day of 24 hours later it is approved (COM-6).
    const held = new Date(Date.parse(created_at) + 86_400_000);
    const day = new Intl.DateTimeFormat("en-GB", { timeZone: time_zone, dateStyle: "medium" }).format(held);
    expect(textOf(portal.html)).toContain(`payable from ${day}`);
    expect(textOf((await portal.get("/portal")).body)).toContain(`until ${day}`);
  });
});

describe("a day of 23 hours as a filter", () => {
  /** That day in New York: its first and last half hour, and the adjacent half hours. */
  const INSTANTS = {
    "the day before, 23:30": "2026-03-08T04:30:00.000Z",
    "00:30": "2026-03-08T05:30:00.000Z",
    "23:30": "2026-03-09T03:30:00.000Z",
    "the day after, 00:30": "2026-03-09T04:30:00.000Z",
  };
  const IN = [INSTANTS["00:30"], INSTANTS["23:30"]];
  let program: TestProgram;
  let people: People;

  beforeAll(async () => {
    program = await makeProgram({ time_zone: NEW_YORK, currency: "USD" });
    const partner = await makePartner(program, { email: `${uniqueId("filter")}@partners.example` });
    for (const at of Object.values(INSTANTS)) {
      const created = Date.parse(at) / 1_000;
      await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000, created }));
    }
    people = await signIn(program, partner.email);
  });

  const days = (from: string, to: string) => new URLSearchParams({ from, to }).toString();
  const shown = (html: string) =>
    timesOf(html)
      .map(({ at }) => at)
      .toSorted();

  it.each([
    ["dashboard", "/dashboard/payments"],
    ["dashboard", "/dashboard/commissions"],
    ["portal", "/portal/commissions"],
  ] as const)("%s: %s has what is on it, and the address keeps the date", async (area, path) => {
    const one = await people[area].get(`${path}?${days(SHORT_DAY, SHORT_DAY)}`);
    expect(shown(one.body)).toEqual(IN);
    expect(one.body).toMatch(/value="2026-03-08"/);
    const before = await people[area].get(`${path}?${days("2026-03-01", "2026-03-07")}`);
    expect(shown(before.body)).toEqual([INSTANTS["the day before, 23:30"]]);
    // An instant stays one, and its end is not of it.
    const exact = await people[area].get(`${path}?${days(INSTANTS["00:30"], INSTANTS["23:30"])}`);
    expect(shown(exact.body)).toEqual([INSTANTS["00:30"]]);
    // Invalid dates are ignored.
    expect(shown((await people[area].get(`${path}?${days("2026-02-30", "0")}`)).body)).toHaveLength(4);
    for (const odd of ["0001-01-01", "1969-12-31", "1970-01-01", "9999-12-31"]) {
      expect((await people[area].get(`${path}?${days(odd, odd)}`)).status).toBe(200);
    }
  });

  it.each(["payments", "commissions"])("the file of %s has the same rows, with their instants in UTC", async (list) => {
    const query = `${days(SHORT_DAY, SHORT_DAY)}&sort=created_at`;
    const { body } = await people.dashboard.get(`/dashboard/${list}/list.csv?${query}`);
    const [head = [], ...rows] = readCsv(body);
    expect(rows.map((row) => row[head.indexOf("created_at")])).toEqual(IN);
  });

  it("what changes all that match, and what a payout takes, are the same ones", async () => {
    const query = `${days(SHORT_DAY, SHORT_DAY)}&status=pending`;
    const { body } = await people.dashboard.get(`/dashboard/commissions/matching?move=approve&${query}`);
    expect(textOf(body)).toContain("From 8 Mar 2026");
    const hidden = [...body.matchAll(/<input type="hidden" name="(seen_at|plain|flagged)" value="([^"]+)"/g)];
    const seen = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]));
    await people.dashboard.post(`/dashboard/commissions/matching?move=approve&${query}`, seen);
    const approved = await program.api<{ data: { created_at: string }[] }>(
      "GET",
      "/api/v1/commissions?status=approved",
    );
    expect(approved.body.data.map(({ created_at }) => created_at).toSorted()).toEqual(IN);
    // A payout up to it, or up to the day before.
    const { body: paid } = await people.dashboard.get(`/dashboard/payouts/new?to=${SHORT_DAY}`);
    expect(paid).toContain('name="period_end" value="2026-03-09T04:00:00.000Z"');
    expect(textOf(paid)).toContain("Prepare 1 payout");
    expect(textOf((await people.dashboard.get("/dashboard/payouts/new?to=2026-03-07")).body)).toContain(
      "Nothing to pay out",
    );
  });

  it("the API's dates stay days of UTC (HTTP-9)", async () => {
    const { body } = await program.api<{ data: { created_at: string }[] }>(
      "GET",
      `/api/v1/payments?${days(SHORT_DAY, SHORT_DAY)}`,
    );
    expect(body.data.map(({ created_at }) => created_at).toSorted()).toEqual(Object.values(INSTANTS).slice(0, 2));
  });

  it("figures of UTC days lead to what is behind them, and a filter that is sent again keeps their instants", async () => {
    const { body } = await people.dashboard.get("/dashboard?from=2026-03-08&to=2026-03-08");
    const links = [...body.matchAll(/href="(\/dashboard\/(?:commissions|payments\/leads)\?[^"]*from=[^"]*)"/g)];
    expect(links).toHaveLength(2);
    for (const [, href = ""] of links) {
      const to = href.replaceAll("&amp;", "&");
      const range = new URL(to, "https://service.example").searchParams;
      expect([range.get("from"), range.get("to")]).toEqual(["2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"]);
      const list = await people.dashboard.get(to);
      for (const name of ["from", "to"])
        expect(list.body).toMatch(new RegExp(`<input type="text"[^>]* name="${name}" value="${range.get(name)}"`));
    }
  });

  it("a rule applies from its first instant", async () => {
    const flow = {
      ...{ name: "From then", action_type: "percentage", action_value: "5", priority: "0", active: "on" },
      ...{ "conditions.0.field": "provider", "conditions.0.op": "eq", "conditions.0.value": "provider_a" },
    };
    await people.dashboard.get("/dashboard/flows/new");
    const { body } = await people.dashboard.post("/dashboard/flows/new", { ...flow, apply_from: SHORT_DAY });
    expect(textOf(body)).toContain("from 8 Mar 2026?");
    expect(textOf(body)).toContain("Of the 3 payments since 8 Mar 2026, 3 earn a different amount.");
    expect(body).toContain('name="apply_from" value="2026-03-08"');
  });

  it("a key ends at its first instant", async () => {
    await people.dashboard.get("/dashboard/settings/keys");
    const typed = { name: "Until then", scopes: "read", expires_at: "2097-07-04" };
    expect((await people.dashboard.post("/dashboard/settings/keys", typed)).status).toBe(200);
    const { body } = await program.api<{ data: { name: string; expires_at: string | null }[] }>(
      "GET",
      "/api/v1/api-keys",
    );
    expect(body.data.find(({ name }) => name === typed.name)?.expires_at).toBe("2097-07-04T04:00:00.000Z");
  });
});

it.each(["UTC", KATHMANDU, NEW_YORK])(
  "in %s a sale of the year 1, a time that was never set, is shown (HTTP-27)",
  async (zone) => {
    const program = await makeProgram();
    const email = `${uniqueId("jane")}@partners.example`;
    await makePartner(program, { slug: "jane", email });
    await moveTo(program, zone);
    const customer = uniqueId("ctm_");
    for (const occurred_at of ["0001-01-01T00:00:00Z", "0099-06-01T12:00:00Z"]) {
      const sale = transactionCompleted({ ref: "jane", program: program.id, customer, occurred_at });
      expect((await sendB(program, sale)).body.outcome).toBe("commission");
    }
    const { dashboard, portal } = await signIn(program, email);
    const { payments, commissions } = await ledgerOf(program);
    const lists = ["/dashboard", ...["payments", "customers", "commissions"].map((list) => `/dashboard/${list}`)];
    const own = [`/dashboard/payments/${payments[0]!.id}`, `/dashboard/commissions/${commissions[0]!.id}`];
    for (const path of [...lists, ...own]) expect([path, (await dashboard.get(path)).status]).toEqual([path, 200]);
    for (const path of ["/portal", "/portal/commissions"]) {
      expect([path, (await portal.get(path)).status]).toEqual([path, 200]);
    }
  },
);
