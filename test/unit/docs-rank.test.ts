import { describe, expect, it } from "vitest";
import { search, stemsOf, type Entry } from "../../src/http/docs-rank.ts";
import { synonymsBy } from "../../src/site/synonyms.ts";

const spaced = (text: string) => ` ${stemsOf(text).join(" ")} `;
const entry = (title: string, text: string, href = `/docs/page#${title}`): Entry => ({
  ...{ title, href, kind: "Guide", about: "" },
  ...{ head: spaced(title), words: spaced(text) },
});
const titles = (entries: Entry[], query: string, synonyms: Record<string, string[]> = {}) =>
  search({ entries, synonyms }, query).map(({ title }) => title);

describe("the search of the documentation (HTTP-34)", () => {
  it("has a page's title first, then a heading, then a text, and a whole word before a beginning", () => {
    const entries = [
      entry("Others", "an invoice"),
      entry("Numbers", "invoiceable"),
      entry("Invoiceables", ""),
      entry("The invoice", ""),
      entry("Your invoice", "", "/docs/page"),
    ];
    expect(titles(entries, "invoice")).toEqual(["Your invoice", "The invoice", "Invoiceables", "Others", "Numbers"]);
  });

  it("needs not all words, and has entries with more of them first", () => {
    const entries = [entry("Refund", ""), entry("Other", "refund dispute"), entry("None", "nothing")];
    expect(titles(entries, "refund dispute")).toEqual(["Other", "Refund"]);
    expect(titles(entries, "the")).toEqual([]);
  });

  it("has the whole phrase before its words apart", () => {
    const entries = [
      entry("Secret of a webhook", ""),
      entry("Webhook secret", ""),
      entry("Webhook secret rotation", ""),
    ];
    expect(titles(entries, "webhook secret").slice(0, 2)).toEqual(["Webhook secret", "Webhook secret rotation"]);
  });

  it("folds plurals, endings, accents and case, and finds the parts of a name", () => {
    for (const words of [
      ["refund", "refunds", "Refunded", "refunding", "réfund"],
      ["price", "prices", "pricing", "priced"],
      ["retry", "retries", "retried", "retrying"],
      ["address", "addresses"],
      ["status", "statuses"],
      ["box", "boxes"],
      ["e-mail", "email", "E-Mails"],
      ["back up", "backup", "back-ups"],
      ["log in", "login", "Log-in"],
      ["check out", "checkout"],
      ["charge back", "chargeback"],
      ["web hooks", "webhook"],
    ]) {
      expect(new Set(words.map((word) => stemsOf(word).join())).size, words.join()).toBe(1);
    }
    expect(stemsOf("listPartners rate_limited payout.paid")).toEqual(
      expect.arrayContaining(["listpartner", "list", "partner", "rate_limited", "limit", "payout.paid", "paid"]),
    );
  });

  it("knows synonyms, of one word or more, which count less than the words themselves", () => {
    const synonyms = synonymsBy(stemsOf);
    expect(titles([entry("Erase a customer", "")], "gdpr", synonyms)).toEqual(["Erase a customer"]);
    expect(titles([entry("Promotion codes", "")], "a coupon", synonyms)).toEqual(["Promotion codes"]);
    expect(titles([entry("Rates", "limits"), entry("Rate limits", "")], "too many requests", synonyms)[0]).toBe(
      "Rate limits",
    );
    const entries = [entry("Partners", ""), entry("Affiliate", "")];
    expect(titles(entries, "affiliate", synonyms)).toEqual(["Affiliate", "Partners"]);
  });
});
