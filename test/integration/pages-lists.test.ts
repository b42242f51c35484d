/** The lists of the dashboard: the address decides both the rows on the page and the rows of the file. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { decimalAmount } from "../../src/domain/currency.ts";
import { COMMISSION_LIST } from "../../src/http/pages/dashboard/commissions/columns.tsx";
import { DELIVERY_LIST } from "../../src/http/pages/dashboard/webhooks/detail.tsx";
import { readCsv } from "../support/csv.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { makeUncountedVisitor, makeVisitor, signInOwner, textOf, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

/** A list, the API's of the same rows, the first column of the file and its field. */
const LISTS = [
  ["/dashboard/partners", "list.csv", "/partners", "partner_id", "id"],
  ["/dashboard/partners/applications", "list.csv", "/applications", "application_id", "id"],
  ["/dashboard/claims", "list.csv", "/claims", "claim_id", "id"],
  ["/dashboard/payments", "list.csv", "/payments", "payment_id", "id"],
  ["/dashboard/commissions", "list.csv", "/commissions", "commission_id", "id"],
  ["/dashboard/payouts", "list.csv", "/payouts", "payout_id", "id"],
  ["/dashboard/events", "list.csv", "/events", "created_at", "created_at"],
  ["/dashboard/webhooks/:id", "deliveries.csv", "/webhooks/:id/deliveries", "delivery_id", "id"],
] as const;

let stocked: Stocked;
let owner: Visitor;

beforeAll(async () => {
  stocked = await makeStocked({ name: "=1+1", note: "@SUM(A1)" });
  // The limit on files in a minute is tested below.
  owner = await signInOwner(stocked.program, makeUncountedVisitor());
});

async function file(visitor: Visitor, address: string): Promise<Record<string, string>[]> {
  const { status, body } = await visitor.get(address);
  expect([address, status]).toEqual([address, 200]);
  const [head = [], ...rows] = readCsv(body);
  expect(new Set(head).size).toBe(head.length);
  return rows.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i] ?? ""])));
}

async function rowsOf(program: TestProgram, path: string): Promise<Record<string, unknown>[]> {
  const { status, body } = await program.api<{ data: Record<string, unknown>[] }>("GET", `/api/v1${path}`);
  expect(status).toBe(200);
  return body.data;
}

describe.each(LISTS)("%s (PAGE-20)", (page, name, api, column, field) => {
  const at = () => pageAddress(page, stocked.ids);
  const of = (path: string) => rowsOf(stocked.program, pageAddress(path, stocked.ids));

  it("links to its file, which has the list's rows in its order, and is an event", async () => {
    const { body } = await owner.get(at());
    expect(body).toContain(`href="${at()}/${name}"`);
    // Clicks have a list of their own.
    const rows = (await of(`${api}?per_page=100`)).filter(({ type }) => type !== "click");
    expect(rows.length).toBeGreaterThan(0);
    expect((await file(owner, `${at()}/${name}`)).map((row) => row[column])).toEqual(rows.map((row) => row[field]));
    const [event] = await of("/events?type=list.exported");
    const list = page.endsWith(":id") ? "deliveries" : page.split("/").at(-1);
    expect(event).toMatchObject({ payload: { list, count: rows.length }, actor: { type: "member" } });
  });

  it("keeps a size and columns in the address of its form, its pages and its file", async () => {
    const { body } = await owner.get(`${at()}?per_page=1&cursor=none`);
    expect(body.match(/<tbody[^>]*>.*<\/tbody>/s)?.[0].match(/<tr/g)).toHaveLength(1);
    expect(body).toMatch(/<option value="1" selected/);
    expect(body).toContain(`href="${at()}/${name}?per_page=1"`);
    if (body.includes('rel="next"')) expect(body).toContain(`?per_page=1&amp;page=2"`);
    const keys = [...body.matchAll(/name="columns" value="(\w+)"/g)].map(([, key]) => key!);
    const one = await owner.get(`${at()}?columns=${keys[1]},nonsense`);
    expect(one.body.match(/<th /g)!.length).toBeLessThan(body.match(/<th /g)!.length);
    expect(one.body).toContain(`href="${at()}/${name}?columns=${keys[1]}"`);
    const [all] = await file(owner, `${at()}/${name}?columns=${keys.join(",")}`);
    const [some] = await file(owner, `${at()}/${name}?columns=${keys[1]}`);
    expect(all).toMatchObject(some!);
    expect(Object.keys(all!).length).toBeGreaterThan(Object.keys(some!).length);
  });

  it("is sorted from its other end by the head of its date, and so is its file", async () => {
    const dates = page === "/dashboard/partners" ? "?columns=partner,added" : "";
    const { body } = await owner.get(`${at()}${dates}`);
    const [, href = ""] = /aria-sort="descending"><a href="([^"]+)">/.exec(body) ?? [];
    if (page.endsWith("events")) {
      // The log is newest first alone.
      expect([href, (await owner.get(`${at()}/${name}?sort=when`)).status]).toEqual(["", 422]);
      return;
    }
    expect(href).toMatch(/\bsort=\w+$/);
    const turned = (await owner.get(href.replaceAll("&amp;", "&"))).body;
    expect(turned).toMatch(new RegExp(`aria-sort="ascending"><a href="${at()}${dates.replace("?", "\\?")}">`));
    const rows = (await of(`${api}?per_page=100`)).map((row) => row[field]);
    const [, sorted = ""] = new RegExp(`href="(${at()}/${name}\\?[^"]+)"`).exec(turned) ?? [];
    const found = (await file(owner, sorted.replaceAll("&amp;", "&"))).map((row) => row[column]);
    expect(found.slice(0, rows.length)).toEqual(rows.toReversed());
  });

  it("leads from the address that a form sends to the one with what differs from the default", async () => {
    const { body } = await owner.get(at());
    const usual = [...body.matchAll(/name="columns" value="(\w+)" checked/g)].map(([, key]) => `columns=${key}`);
    expect(usual.length).toBeGreaterThan(2);
    const sent = `search=&status=&per_page=20&${usual.join("&")}`;
    const all = await owner.get(`${at()}?${sent}`);
    expect([all.status, all.headers.get("location")]).toEqual([303, at()]);
    const some = await owner.get(`${at()}?from=&${usual.slice(1).join("&")}&per_page=50`);
    const columns = usual.slice(1).map((one) => one.slice("columns=".length));
    expect(some.headers.get("location")).toBe(`${at()}?columns=${columns.join(",")}&per_page=50`);
    expect((await owner.get(some.headers.get("location")!)).status).toBe(200);
  });

  it("is nobody's without a session, and nothing of another program's", async () => {
    expect((await makeVisitor().get(`${at()}/${name}`)).status).toBe(303);
    const stranger = await signInOwner(await makeProgram());
    const { status, body } = await stranger.get(`${at()}/${name}`);
    if (page.endsWith(":id")) expect(status).toBe(404);
    else for (const row of await of(api)) expect(body).not.toContain(row["id"]);
  });
});

describe("a list's file (PAGE-20)", () => {
  it("has every page of the filter that is shown, either way round, and the same rows as the page", async () => {
    const program = await makeProgram();
    const [jane, other] = [await makePartner(program, { slug: "jane" }), await makePartner(program)];
    const day = (i: number) => new Date(Date.UTC(2026, 5, 1) + i * 60_000).toISOString();
    const rows = Array.from({ length: 1_203 }, (_, i) => ({ status: "pending" as const, created_at: day(i) }));
    for (let i = 0; i < rows.length; i += 50) await makeCommissions(program, jane.id, rows.slice(i, i + 50));
    await makeCommissions(program, other.id, [{ status: "pending" }]);
    const visitor = await signInOwner(program);
    const query = "status=pending&partner_id=JANE";
    const found = await file(visitor, `/dashboard/commissions/list.csv?${query}`);
    expect(found.map((row) => row["created_at"])).toEqual(rows.map((row) => row.created_at).toReversed());
    const oldest = await file(visitor, `/dashboard/commissions/list.csv?${query}&sort=created_at`);
    expect(oldest.map((row) => row["commission_id"])).toEqual(found.map((row) => row["commission_id"]).toReversed());
    expect(new Set(found.map((row) => row["partner_slug"]))).toEqual(new Set(["jane"]));
    const { body } = await visitor.get(`/dashboard/commissions?${query}&sort=created_at&per_page=100&page=13`);
    const shown = [...body.matchAll(/href="\/dashboard\/commissions\/(com_\w+)"/g)].map(([, id]) => id);
    expect(shown).toEqual(oldest.slice(1_200).map((row) => row["commission_id"]));
    expect(body).toContain("1,201–1,203 of 1,203");
    expect(body).toMatch(/← Older[^]*CSV|CSV[^]*← Older/);
  });

  it("has amounts in their currency's decimals, times in UTC, and no formula", async () => {
    const { program, partner } = stocked;
    const columns = "partner,status,note,payment,amount,created_at";
    const rows = await file(owner, `/dashboard/commissions/list.csv?columns=${columns}`);
    const known = await rowsOf(program, "/commissions?per_page=100");
    for (const [i, row] of rows.entries()) {
      const { amount_cents, currency, created_at, note } = known[i] as Record<string, string> & { amount_cents: never };
      expect(row).toMatchObject({
        created_at,
        partner_id: partner.id,
        amount: decimalAmount(amount_cents, currency!),
        currency,
        amount_cents: String(amount_cents),
        note: note === null ? "" : `'${note}`,
      });
    }
    expect(rows.some((row) => row["note"] === "'@SUM(A1)")).toBe(true);
    const { body } = await owner.get("/dashboard/partners/list.csv");
    expect(body).toContain("'=1+1");
    const yen = await makePartner(program);
    await makeCommissions(program, yen.id, [{ currency: "JPY", amount_cents: -1_500 }]);
    expect(await file(owner, `/dashboard/commissions/list.csv?partner_id=${yen.id}`)).toMatchObject([
      { amount: "-1500", currency: "JPY", amount_cents: "-1500" },
    ]);
  });

  it("is refused with what to do where it would be too long, and no event says that it was read", async () => {
    const program = await makeProgram();
    await makePartner(program);
    const visitor = await signInOwner(program);
    await env.DB.prepare("update list_counts set count = 100001 where program_id = ? and list = 'partners'")
      .bind(program.id)
      .run();
    const { status, body } = await visitor.get("/dashboard/partners/list.csv");
    expect(status).toBe(422);
    expect(body).toContain("narrow the list");
    expect(await rowsOf(program, "/events?type=list.exported")).toEqual([]);
  });

  const LONG = { data: [], total: 100_001, page: 1, per_page: 500, next_cursor: null };
  const deliveries = () => vi.spyOn(DELIVERY_LIST, "read").mockResolvedValue(LONG);
  const commissions = () => vi.spyOn(COMMISSION_LIST, "read").mockResolvedValue(LONG);

  it.each([
    ["/dashboard/webhooks/:id/deliveries.csv", deliveries, ": narrow the list, by status for example."],
    ["/dashboard/webhooks/:id/deliveries.csv?status=failed", deliveries, "."],
    ["/dashboard/commissions/list.csv?status=pending", commissions, ": narrow the list, by dates for example."],
  ])("is not narrowed by what its list does not have: %s", async (path, play, advice) => {
    const played = play();
    const { status, body } = await owner.get(pageAddress(path, stocked.ids));
    played.mockRestore();
    expect(status).toBe(422);
    expect(textOf(body)).toContain(`a file has at most 100,000${advice}`);
  });
});

describe("a partner in the filter of a list (PAGE-20)", () => {
  it("is found by the slug, an earlier one, the e-mail address or the id; a name of nobody finds nothing", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { slug: "old-name", email: "Jo@Partners.example" });
    await makePartner(program, { slug: "somebody" });
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { slug: "new-name" });
    await makeCommissions(program, partner.id, [{}]);
    const visitor = await signInOwner(program);
    for (const name of ["new-name", "OLD-name", " jo@partners.example ", partner.id]) {
      const { body } = await visitor.get(`/dashboard/commissions?partner_id=${encodeURIComponent(name)}`);
      expect(body).toContain("1–1 of 1");
      expect(body).toContain('name="partner_id" type="text"');
      expect(body).toContain('value="new-name"');
    }
    for (const name of ["somebody", "nobody", "x".repeat(300)]) {
      const { status, body } = await visitor.get(`/dashboard/payouts?partner_id=${name}`);
      expect([status, body.includes("No payout matches")]).toEqual([200, true]);
    }
    const stranger = await signInOwner(await makeProgram());
    expect((await stranger.get("/dashboard/commissions?partner_id=new-name")).body).toContain("No commission matches");
  });
});

describe("what of an address is not understood (PAGE-20)", () => {
  const said = (name: string) => `Unknown filter “${name}”`;

  it.each(LISTS)("is left out of %s, which says so, and of no file", async (page, name) => {
    const at = pageAddress(page, stocked.ids);
    const { body } = await owner.get(at);
    const chosen = /<select id="[^"]*" name="(status|type|outcome)"/.exec(body)?.[1];
    expect(chosen).toBeDefined();
    const shown = await owner.get(`${at}?${chosen}=nonsense&per_page=0`);
    expect(shown.status).toBe(200);
    expect(textOf(shown.body)).toContain(`Unknown filters “per_page” and “${chosen}” are ignored.`);
    const refused = await owner.get(`${at}/${name}?${chosen}=nonsense&per_page=0`);
    expect([refused.status, refused.headers.get("content-disposition")]).toEqual([422, null]);
    expect(textOf(refused.body)).toContain(said(chosen!));
    expect(textOf(body)).not.toContain("Unknown filter");
  });

  it.each(LISTS)("is also a name, a sort or a column that %s does not have", async (page, name) => {
    const at = pageAddress(page, stocked.ids);
    for (const [query, what] of [
      ["state=paid", "state"],
      ["sort=odd", "sort"],
      ["sort=-status-", "sort"],
      ["columns=nonsense", "columns"],
    ] as const) {
      const shown = await owner.get(`${at}?${query}`);
      expect([query, shown.status, textOf(shown.body).includes(said(what))]).toEqual([query, 200, true]);
      const refused = await owner.get(`${at}/${name}?${query}`);
      expect([query, refused.status, textOf(refused.body).includes(said(what))]).toEqual([query, 422, true]);
    }
    // Parameters that pages add themselves do not filter the list.
    const answered = await owner.get(`${at}?done=nothing&bulk=approved&count=1&page=1`);
    expect(textOf(answered.body)).not.toContain("Unknown filter");
  });

  it("is no field of a filter that was left empty: it narrows nothing", async () => {
    const { headers } = await owner.get("/dashboard/commissions?partner_id=&payout_id=&status=&provider=&from=&to=");
    const { body } = await owner.get(headers.get("location")!);
    const all = await rowsOf(stocked.program, "/commissions");
    expect(all.length).toBeGreaterThan(0);
    for (const { id } of all) expect(body).toContain(String(id));
    expect(textOf(body)).not.toContain("Unknown filter");
  });

  it("is said wherever an address narrows what is shown", async () => {
    for (const [path, name] of [
      ["/dashboard/payments/leads?credited=perhaps", "credited"],
      ["/dashboard/events/clicks?from=2026-02-30", "from"],
      [`/dashboard/customers?search=${"x".repeat(201)}`, "search"],
      [`/dashboard/search?search=${"x".repeat(201)}`, "search"],
      ["/dashboard/payouts/new?to=tomorrow", "to"],
      ["/dashboard/commissions/matching?status=pending&from=yesterday", "from"],
      ["/dashboard?from=yesterday", "from"],
    ] as const) {
      const { status, body } = await owner.get(path);
      expect([path, status, textOf(body).includes(said(name))]).toEqual([path, 200, true]);
    }
  });

  it("makes no file of payouts, and changes no commission", async () => {
    const bank = await owner.get("/dashboard/payouts/export.csv?format=bnak");
    expect([bank.status, textOf(bank.body).includes(said("format"))]).toEqual([422, true]);
    const odd = await owner.get("/dashboard/payouts/export.csv?state=paid");
    expect([odd.status, textOf(odd.body).includes(said("state"))]).toEqual([422, true]);
    const program = await makeProgram();
    const { id } = await makePartner(program);
    await makeCommissions(program, id, [{ status: "pending" }]);
    const visitor = await signInOwner(program);
    await visitor.get("/dashboard/commissions");
    const numbers = { seen_at: new Date().toISOString(), plain: "1", flagged: "0" };
    const sent = await visitor.post("/dashboard/commissions/matching?move=approve&from=yesterday", numbers);
    expect([sent.status, textOf(sent.body).includes(said("from"))]).toEqual([422, true]);
    await visitor.get("/dashboard/commissions");
    const unknown = await visitor.post("/dashboard/commissions/matching?move=approve&partner=jane", numbers);
    expect([unknown.status, textOf(unknown.body).includes(said("partner"))]).toEqual([422, true]);
    expect(await rowsOf(program, "/commissions?status=pending")).toHaveLength(1);
  });
});

describe("what an endpoint missed (HOOK-10)", () => {
  it("is sent from a page that asks since when, and what waits at once from the list", async () => {
    const { program, ids } = await makeStocked();
    const visitor = await signInOwner(program);
    const at = `/dashboard/webhooks/${ids["webhooks"]}`;
    expect((await visitor.get(at)).body).toContain("Send now");
    const now = await visitor.post(`${at}/deliveries/${ids["deliveries"]}/redeliver`, {});
    expect([now.status, now.headers.get("location")]).toEqual([303, `${at}?done=redelivered`]);
    await env.DB.prepare("update deliveries set status = 'failed', completed_at = created_at where endpoint_id = ?")
      .bind(ids["webhooks"]!)
      .run();
    const asks = await visitor.get(`${at}/recover`);
    expect(asks.body).toContain("Since");
    const bad = await visitor.post(`${at}/recover`, { since: "last week" });
    expect([bad.status, bad.body.includes("ISO 8601")]).toEqual([422, true]);
    const sent = await visitor.post(`${at}/recover`, { since: "2026-01-01" });
    expect(sent.status).toBe(303);
    expect(sent.headers.get("location")).toMatch(/\?done=recovered&count=[1-9]\d*$/);
    const again = await visitor.post(`${at}/recover`, { since: "2026-01-01" });
    expect(again.headers.get("location")).toBe(`${at}?done=nothing`);
    await program.api("PATCH", `/api/v1/webhooks/${ids["webhooks"]}`, { active: false });
    expect((await visitor.post(`${at}/recover`, { since: "2026-01-01" })).body).toContain("not active");
  });
});

describe("each file of a program, of the API and of the dashboard", () => {
  /** Statements: the partner's own, which others cannot read, and the owner's, whose tax data are an event (OUT-32). */
  const OWN = ["/portal/payouts/:id/statement.csv", "/dashboard/payouts/:id/statement.csv"];
  const routes = [...new Set(app.routes.flatMap(({ path }) => (path.endsWith(".csv") ? [path] : [])))];
  const files = routes.filter((path) => !OWN.includes(path));

  it("is among them", () => {
    expect(files.length).toBe(routes.length - OWN.length);
    expect(files).toEqual(expect.arrayContaining(["/api/v1/codes/export.csv", "/dashboard/payments/codes/export.csv"]));
  });

  it.each(files)("is an event that says how many rows it has: %s (CODE-9, OUT-8, PAGE-20)", async (route) => {
    const { program, ids } = stocked;
    const at = route.startsWith("/dashboard/") ? pageAddress(route, ids) : route;
    const exported = async () => {
      const [lists, payouts] = [
        rowsOf(program, "/events?type=list.exported"),
        rowsOf(program, "/events?type=payout.exported"),
      ];
      return [...(await lists), ...(await payouts)];
    };
    const before = new Set((await exported()).map(({ id }) => id));
    const { status, body } = at.startsWith("/api/") ? await program.api<string>("GET", at) : await owner.get(at);
    expect(status).toBe(200);
    const made = (await exported()).filter(({ id }) => !before.has(id));
    expect(made.map(({ payload }) => (payload as { count: number }).count)).toEqual([readCsv(body).length - 1]);
  });
});

describe("the files of a program (HTTP-11)", () => {
  it("are 30 a minute, whichever they are; then a page says so, and nothing else is refused", async () => {
    const RATE_LIMIT_SIGN_IN = playLimiter(limitOf("RATE_LIMIT_SIGN_IN"));
    const limited = () => makeVisitor((path, init) => callWith<string>({ RATE_LIMIT_SIGN_IN }, path, init));
    const [visitor, neighbor] = [limited(), limited()];
    await signInOwner(stocked.program, visitor);
    await signInOwner(await makeProgram(), neighbor);
    const files = pageRoutes("dashboard").flatMap(({ path }) =>
      path.endsWith(".csv") ? [pageAddress(path, stocked.ids)] : [],
    );
    expect(files.length).toBeGreaterThan(8);
    for (let i = 0; i < 30; i++) expect((await visitor.get(files[i % files.length]!)).status).toBe(200);
    const exported = await rowsOf(stocked.program, "/events?type=list.exported&per_page=100");
    for (const path of files) {
      const { status, headers, body } = await visitor.get(path);
      expect([path, status, headers.get("retry-after")]).toEqual([path, 429, "60"]);
      expect(headers.get("content-type")).toContain("text/html");
      expect(headers.get("content-disposition")).toBeNull();
      expect(textOf(body)).toContain("Your team has downloaded too many files");
    }
    expect(await rowsOf(stocked.program, "/events?type=list.exported&per_page=100")).toEqual(exported);
    expect((await visitor.get("/dashboard/payments")).status).toBe(200);
    expect((await neighbor.get("/dashboard/payments/list.csv")).status).toBe(200);
    RATE_LIMIT_SIGN_IN.used.clear();
    expect((await visitor.get(files[0]!)).status).toBe(200);
  });
});
