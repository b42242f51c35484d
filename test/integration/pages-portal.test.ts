/** The partner's pages: links to copy, and their results. */
import { beforeEach, describe, expect, it } from "vitest";
import { qrCode } from "../../src/http/pages/parts/qr.tsx";
import { click, recorded } from "../support/clicks.ts";
import { sendA } from "../support/ledger.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInPartner, textOf, type Visitor } from "../support/visitor.ts";

let program: TestProgram;
let jane: { id: string; email: string };
let visitor: Visitor;

beforeEach(async () => {
  program = await makeProgram({ domain: "shop.example" });
  jane = await makePartner(program, { slug: "jane", email: `${uniqueId("jane")}@partners.example` });
  visitor = await signInPartner(jane.email);
});

/** The texts that the page's buttons copy. */
function copied(html: string): string[] {
  return [...html.matchAll(/data-copy="([^"]*)"/g)].map(([, text = ""]) => text.replaceAll("&amp;", "&"));
}

describe("the link builder (PORTAL-1)", () => {
  it("has the link, ready to copy", async () => {
    const { body } = await visitor.get("/portal/assets");
    expect(copied(body).slice(0, 2)).toEqual([
      "https://shop.example/?ref=jane",
      expect.stringMatching(new RegExp(`/r/${program.id}/jane$`)),
    ]);
    expect(copied((await visitor.get("/portal")).body)).toEqual(["https://shop.example/?ref=jane"]);
    expect(body).toContain("<code>https://shop.example/<wbr/>?ref=<wbr/>jane</code>");
  });

  it("makes a link to any page of the site, with a sub-id and a campaign", async () => {
    const query = new URLSearchParams({
      ...{ page: "shop.example/pricing?plan=pro", sub: "news-1" },
      ...{ utm_source: "mail", utm_medium: "", utm_campaign: "spring sale" },
    });
    const { status, body } = await visitor.get(`/portal/assets?${query.toString()}`);
    expect(status).toBe(200);
    const [link = "", short = ""] = copied(body);
    expect(link).toBe(
      "https://shop.example/pricing?plan=pro&ref=jane&sub=news-1&utm_source=mail&utm_campaign=spring+sale",
    );
    const { searchParams } = new URL(short);
    expect([searchParams.get("sub"), searchParams.get("to")]).toEqual([
      "news-1",
      "/pricing?plan=pro&utm_source=mail&utm_campaign=spring+sale",
    ]);
  });

  it("says beside the field what is wrong, and keeps what was typed", async () => {
    const { status, body } = await visitor.get(
      "/portal/assets?page=https%3A%2F%2Fevil.example%2Fx&sub=a%20b&utm_source=mail",
    );
    expect(status).toBe(422);
    for (const text of ["This must be a page of shop.example.", "Use 1 to 64 letters, digits, - or _."]) {
      expect(body).toContain(text);
    }
    for (const typed of ["https://evil.example/x", "a b", "mail"]) expect(body).toContain(`value="${typed}"`);
    expect(copied(body)[0]).toBe("https://shop.example/?ref=jane&utm_source=mail");
  });

  it("has no short link to another host of the site, where it could not lead", async () => {
    const { body } = await visitor.get("/portal/assets?page=https%3A%2F%2Fblog.shop.example%2Fa");
    expect(copied(body)[0]).toBe("https://blog.shop.example/a?ref=jane");
    expect(body).not.toContain("/r/");
  });
});

describe("the QR code (PORTAL-7)", () => {
  it("is that of the link that the page makes, as a picture and as a file", async () => {
    for (const query of ["", "?page=shop.example/pricing&sub=flyer"]) {
      const { body } = await visitor.get(`/portal/assets${query}`);
      const [link = ""] = copied(body);
      const { path, size } = qrCode(link)!;
      expect(body).toContain(`<path fill="#000" d="${path}"`);
      const [, file = ""] = /href="data:image\/svg\+xml,([^"]+)" download="qr-code.svg"/.exec(body) ?? [];
      const svg = decodeURIComponent(file);
      expect(svg).toMatch(new RegExp(`^<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" `));
      expect(svg).toContain(`<path d="${path}"/>`);
    }
  });

  it("is not there for a link that none holds, which is still to copy", async () => {
    const { status, body } = await visitor.get(`/portal/assets?page=${encodeURIComponent(`/${"ü".repeat(1_000)}`)}`);
    expect(status).toBe(200);
    expect(body).toContain("too long for a QR code");
    expect(copied(body)[0]).toContain("ref=jane");
  });
});

describe("the statistics (PORTAL-2)", () => {
  const AT = "/portal/statistics";
  const come = async (ref: string, landing: string, sub?: string) =>
    click({ program_id: program.id, ref, landing, referrer: "", ...(sub === undefined ? {} : { sub }) });

  it("say so where there is nothing in the days", async () => {
    const { body } = await visitor.get(`${AT}?from=2020-01-01&to=2020-01-31`);
    expect(body).toContain("Nothing in this period");
    expect(body).not.toContain("<table");
  });

  it("are clicks, sales, conversion and earnings, by page and by sub-id, of the partner alone", async () => {
    await makePartner(program, { slug: "joe" });
    for (const sub of ["news-1", "news-1", "blog", undefined]) await come("jane", "/pricing", sub);
    await come("joe", "/of-joe", "sub-of-joe");
    await recorded();
    await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000, currency: "usd" }));
    await sendA(program, sessionCompleted({ ref: "jane", amount: 500, currency: "jpy" }));
    const shown = textOf((await visitor.get(AT)).body);
    expect(shown).toContain("Clicks 4 vs. previous 30 days: 0");
    expect(shown).toContain("Sales 2 vs. previous 30 days: 0");
    expect(shown).toContain("Conversion 50.0 % Earned");
    for (const text of ["/pricing 4", "news-1 2", "blog 1", "cannot be split by sub-id"]) expect(shown).toContain(text);
    expect(shown).toContain("Earned 20.00 USD vs. previous");
    expect(textOf((await visitor.get(`${AT}?currency=JPY`)).body)).toContain("Earned 100 JPY vs. previous");
    expect(shown).not.toContain("of-joe");
  });

  it("are of the days that are asked for, whatever the address says", async () => {
    await come("jane", "/");
    await recorded();
    expect(textOf((await visitor.get(`${AT}?from=2020-01-01&to=2020-01-31`)).body)).toContain(
      "Clicks 0 vs. previous 31 days: 0",
    );
    for (const query of [
      "from=x&to=y",
      "from=2026-05-01&to=2020-01-01",
      "from=1970-01-01",
      "to=1970-01-01",
      "from=9999-12-30",
    ]) {
      expect([query, (await visitor.get(`${AT}?${query}`)).status]).toEqual([query, 200]);
    }
  });
});

describe("a payout", () => {
  it("is pending in no sense of a commission's, which waits for approval: it is scheduled", async () => {
    await makeCommissions(program, jane.id, [{ amount_cents: 9_000 }]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    for (const path of ["/portal/payouts", `/portal/payouts/${body.data[0]!.id}`]) {
      const shown = textOf((await visitor.get(path)).body);
      expect([shown.includes("scheduled"), /pending/i.test(shown)]).toEqual([true, false]);
    }
  });
});

describe("payout details", () => {
  it("offer no account for transfers that the program cannot make", async () => {
    const shown = async () => (await visitor.get("/portal/details")).body.includes("Account at Stripe");
    expect(await shown()).toBe(false);
    await program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key: "rk_live_1" });
    expect(await shown()).toBe(true);
  });
});

describe("the statement of a payout (PORTAL-3)", () => {
  it("names the last day of its period, whose end is the first instant after it", async () => {
    const created_at = "2026-02-28T23:59:59.999Z";
    await makeCommissions(program, jane.id, [{ created_at }, { created_at: "2026-03-01T00:00:00.000Z" }]);
    const month = { period_start: "2026-02-01", period_end: "2026-03-01" };
    await program.api("POST", "/api/v1/payouts/generate", month);
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    const shown = textOf((await visitor.get(`/portal/payouts/${body.data[0]!.id}`)).body);
    expect(shown).toContain("Period 1 Feb 2026 to 28 Feb 2026 Commissions 1");
  });

  it("has each commission with its calculation, as a page and as a file, and is the partner's alone", async () => {
    const [commission] = await makeCommissions(program, jane.id, [{ amount_cents: 2_000, txn_amount_cents: 10_000 }]);
    await program.api("POST", "/api/v1/payouts/generate", { period_end: new Date().toISOString() });
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    const [payout] = body.data;
    const at = `/portal/payouts/${payout!.id}`;
    expect((await visitor.get("/portal/payouts")).body).toContain(`href="${at}"`);
    const shown = textOf((await visitor.get(at)).body);
    for (const text of [payout!.id, "20 % of a sale of 100.00 USD", "20.00 USD", "Download as CSV"])
      expect(shown).toContain(text);
    const file = await visitor.get(`${at}/statement.csv`);
    expect(file.headers.get("content-type")).toContain("text/csv");
    const [head, line, ...rest] = file.body.split("\r\n");
    expect(head).toBe("date,commission_id,kind,calculation,amount,currency");
    expect(line).toMatch(
      new RegExp(`,${commission!.id},sale,"?20 % of a sale of 100.00 USD, the program's rate"?,20.00,USD$`),
    );
    expect(rest).toEqual([""]);
    const joe = await makePartner(program, { slug: "joe", email: `${uniqueId("joe")}@partners.example` });
    const other = await signInPartner(joe.email);
    for (const path of [at, `${at}/statement.csv`]) expect((await other.get(path)).status).toBe(404);
  });

  it("ends its period with the last day of which it takes something, in the program's zone", async () => {
    await program.api("PATCH", "/api/v1/programs/me", { time_zone: "America/New_York" });
    const periods = [
      ["2026-03-01T05:00:00.000Z", "2026-03-09T04:00:00.000Z", "1 Mar 2026 to 8 Mar 2026"],
      ["2026-03-09T04:00:00.000Z", "2026-03-10T12:00:00.000Z", "9 Mar 2026 to 10 Mar 2026"],
      [undefined, "2026-04-01T04:00:00.000Z", "Up to 31 Mar 2026"],
      // Payout months consist of UTC days (PAGE-23).
      ["2026-04-02", "2026-05-01", "2 Apr 2026 to 30 Apr 2026 (UTC days)"],
      ["2026-05-01", "2026-06-01", "1 May 2026 to 31 May 2026 (UTC days)"],
    ] as const;
    for (const [period_start, period_end, said] of periods) {
      const created_at = new Date(Date.parse(period_end) - 1).toISOString();
      await makeCommissions(program, jane.id, [{ created_at }]);
      const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {
        period_start,
        period_end,
      });
      const shown = textOf((await visitor.get(`/portal/payouts/${body.payouts[0]!.id}`)).body);
      expect(shown).toContain(`Period ${said} Commissions`);
    }
  });
});
