/** Pages write numbers and dates in the browser's language. Files do not, and amounts stay exact. */
import { beforeAll, describe, expect, it } from "vitest";
import { localeOf } from "../../src/http/pages/locale.ts";
import { iso } from "../../src/lib/time.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

describe("Accept-Language (PAGE-14)", () => {
  it.each([
    ["de-DE", "de-DE"],
    ["de-DE,de;q=0.9,en;q=0.8", "de-DE"],
    ["en;q=0.5, fr-CH ; q=0.8 , de;q=0.8", "fr-CH"],
    ["xx, de;q=0.1", "de"],
    ["de;q=0, fr;q=0.001", "fr"],
    ["DE-de", "de-DE"],
    ["*, de", "de"],
    ["zh-Hant-TW", "zh-Hant-TW"],
    ["q=1, ;;, -, de-, de;q=2, de;q=1.5, de;q=.5, de;q=0.1234, de q=1, fr", "fr"],
    ["de-u-nu-arab", null],
    ["de\u0000", null],
    ["", null],
    [undefined, null],
    ["xx-YY", null],
    [`${"xx,".repeat(19)}de`, "de"],
    [`${"xx,".repeat(20)}de`, null],
    [`de,${"x".repeat(500)}`, null],
  ])("%j asks for %j", (header, locale) => {
    expect(localeOf(header)).toBe(locale);
  });
});

describe("a page in the language of the browser (PAGE-14)", () => {
  let program: TestProgram;
  let portal: Visitor;
  let owner: Visitor;
  let payout: string;

  beforeAll(async () => {
    program = await makeProgram({ auto_approve_days: 10 });
    const jane = await makePartner(program, { slug: "jane", email: `${uniqueId("jane")}@partners.example` });
    const rate = { source: "partner", action_type: "percentage", action_value: 12.5 } as const;
    const created_at = "2026-03-02T10:00:00.000Z";
    await makeCommissions(program, jane.id, [
      { amount_cents: 123_456_789, txn_amount_cents: 987_654_312, rate, created_at },
      // Together nearly as much as a balance can be (PAY-22).
      { amount_cents: 2_251_799_813_684_000, status: "pending", created_at },
      { amount_cents: 991, status: "pending", created_at },
      { amount_cents: -50, kind: "clawback", status: "pending", created_at },
    ]);
    portal = await signInPartner(jane.email);
    owner = await signInOwner(program);
    await program.api("POST", "/api/v1/payouts/generate", { period_end: iso(Date.now()) });
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    payout = body.data[0]!.id;
  });

  const shown = async (visitor: Visitor, path: string, language?: string) => {
    const reply = await visitor.get(path, language === undefined ? {} : { "accept-language": language });
    expect(reply.headers.get("vary")).toBe("Cookie, Accept-Language");
    return textOf(reply.body).replaceAll(/[\u00a0\u202f]/g, " ");
  };

  it.each([
    ["de-DE,de;q=0.9", "22.517.998.136.849,41 USD", "02.03.2026", "12,5 %"],
    ["fr", "22 517 998 136 849,41 USD", "02/03/2026", "12,5 %"],
    ["en-IN", "2,25,17,99,81,36,849.41 USD", "2 Mar 2026", "12.5 %"],
    ["en-US", "22,517,998,136,849.41 USD", "Mar 2, 2026", "12.5 %"],
    ["ar-EG", "22,517,998,136,849.41 USD", "02/03/2026", "12.5 %"],
    ["fa", "22,517,998,136,849.41 USD", "2026/03/02", "12.5 %"],
    ["th", "22,517,998,136,849.41 USD", "02/03/2026", "12.5 %"],
    [undefined, "22,517,998,136,849.41 USD", "2 Mar 2026", "12.5 %"],
    ["xx;;", "22,517,998,136,849.41 USD", "2 Mar 2026", "12.5 %"],
  ])("%s: %s, %s, %s", async (language, money, day, rate) => {
    expect(await shown(portal, "/portal", language)).toContain(money);
    const listed = await shown(portal, "/portal/commissions", language);
    for (const text of [day, rate, "\u22120"]) expect(listed).toContain(text);
    expect(await shown(owner, "/dashboard", language)).toContain(money);
    for (const body of [listed]) expect(body).toContain("Commissions");
  });

  it("is its own only: pages that are made at the same moment are each in theirs", async () => {
    const languages = ["de-DE", "en-US", "fr", "de-DE", "en-US", "fr"];
    const all = await Promise.all(languages.map(async (language) => shown(portal, "/portal/commissions", language)));
    expect(all.map((text) => /02\.03\.2026|Mar 2, 2026|02\/03\/2026/.exec(text)?.[0])).toEqual([
      ...["02.03.2026", "Mar 2, 2026", "02/03/2026"],
      ...["02.03.2026", "Mar 2, 2026", "02/03/2026"],
    ]);
  });

  it("leaves files as they are", async () => {
    const path = `/portal/payouts/${payout}/statement.csv`;
    const german = await portal.get(path, { "accept-language": "de-DE" });
    expect(german.body).toBe((await portal.get(path)).body);
    expect(german.body).toContain("12.5 % of a sale of 9,876,543.12 USD");
    expect(german.body).toContain(",1234567.89,USD");
  });
});
