import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linkTarget, partnerLink, sitePage } from "../../src/domain/link.ts";

const target = (to: string) => linkTarget("shop.example", to, "jane", "c1").href;

describe("a redirect link leads to the program's domain with `?ref=`, and nowhere else (TRACK-7)", () => {
  it.each([
    ["/", "https://shop.example/?ref=jane&service_click=c1"],
    ["/pricing", "https://shop.example/pricing?ref=jane&service_click=c1"],
    ["/a?x=1&ref=other#top", "https://shop.example/a?x=1&ref=jane&service_click=c1#top"],
    ["/a/../b", "https://shop.example/b?ref=jane&service_click=c1"],
    ["/@evil.example", "https://shop.example/@evil.example?ref=jane&service_click=c1"],
    ["/https://evil.example", "https://shop.example/https://evil.example?ref=jane&service_click=c1"],
  ])("keeps the path %s", (to, href) => expect(target(to)).toBe(href));

  it.each([
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "evil.example",
    "@evil.example",
    ".evil.example",
    ":8080",
    "",
    " //evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\u0000//evil.example",
  ])("gives the root for %j", (to) => expect(target(to)).toBe("https://shop.example/?ref=jane&service_click=c1"));

  it("never leaves the domain, whatever is asked", () => {
    const piece = fc.constantFrom(
      "/",
      "\\",
      ".",
      "..",
      "@",
      ":",
      "?",
      "#",
      "%2f",
      "%5c",
      "\t",
      "\n",
      "\r",
      "evil.example",
      "https:",
      "\u0000",
      "//",
      "[",
      "]",
      "％",
    );
    const to = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(piece).map((pieces) => pieces.join("")),
      fc.webUrl(),
    );
    fc.assert(
      fc.property(to, (path) => {
        const url = linkTarget("shop.example", path, "jane", "c1");
        expect(url.origin).toBe("https://shop.example");
        expect([url.username, url.password, url.searchParams.get("ref")]).toEqual(["", "", "jane"]);
        expect(new URL(url.href).origin, "as a browser reads the header").toBe("https://shop.example");
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a partner's link leads to a page of the program's site (PORTAL-1)", () => {
  it.each([
    ["", "https://shop.example/"],
    ["/pricing?plan=pro#top", "https://shop.example/pricing?plan=pro#top"],
    ["shop.example/a", "https://shop.example/a"],
    ["https://Shop.Example/a", "https://shop.example/a"],
    ["http://shop.example/a", "https://shop.example/a"],
    ["https://blog.shop.example/a", "https://blog.shop.example/a"],
    [" https://www.shop.example ", "https://www.shop.example/"],
  ])("%j", (typed, href) => expect(sitePage("shop.example", typed)?.href).toBe(href));

  it.each([
    "https://evil.example/",
    "https://shop.example.evil.example/",
    "https://evilshop.example/",
    "https://shop.example@evil.example/",
    "https://me:pw@shop.example/",
    "https://shop.example:8443/",
    "javascript:alert(1)",
    "ftp://shop.example/",
    "data:text/html,x",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "pricing",
    "a b",
  ])("refuses %j", (typed) => expect(sitePage("shop.example", typed)).toBeNull());

  it("is of the site without www too, where the domain has it", () => {
    expect(sitePage("www.shop.example", "https://shop.example/a")?.href).toBe("https://shop.example/a");
  });

  it("has the reference, and a sub-id and a campaign where they are given", () => {
    const page = new URL("https://shop.example/a?x=1&ref=other&sub=old&utm_source=kept#top");
    expect(partnerLink(page, { ref: "jane" })).toBe("https://shop.example/a?x=1&ref=jane&utm_source=kept#top");
    expect(partnerLink(new URL("https://shop.example/"), { ref: "jane", sub: "mail-1", utm_campaign: "a b&c" })).toBe(
      "https://shop.example/?ref=jane&sub=mail-1&utm_campaign=a+b%26c",
    );
  });
});
