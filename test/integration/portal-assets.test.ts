/** Assets that an owner gives to partners: listed in the settings, shown with the partner's link. */
import { beforeEach, describe, expect, it } from "vitest";
import { assetsText, readAssets, type Asset } from "../../src/domain/asset.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

const ASSETS: Asset[] = [
  { name: `Wide "new" banner`, kind: "banner", content: "https://cdn.example/wide.png?a=1&b=2" },
  { name: "For a newsletter", kind: "text", content: "Try it: {link}\n\nOr here: {link}" },
  { name: "Short", kind: "text", content: "We like it." },
  { name: "Prices", kind: "link", content: "https://shop.example/pricing?plan=pro" },
  { name: "Elsewhere", kind: "link", content: "https://other.example/" },
];

let program: TestProgram;
let portal: Visitor;

beforeEach(async () => {
  program = await makeProgram({ domain: "shop.example" });
  const jane = await makePartner(program, { slug: "jane", email: `${uniqueId("jane")}@partners.example` });
  portal = await signInPartner(jane.email);
});

const copied = (html: string) =>
  [...html.matchAll(/data-copy="([^"]*)"/g)].map(([, text = ""]) =>
    text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
  );

describe("assets (PORTAL-8)", () => {
  it("are shown to the partner with the partner's link, ready to copy", async () => {
    expect((await program.api("PATCH", "/api/v1/programs/me", { assets: ASSETS })).status).toBe(200);
    const { body } = await portal.get("/portal/assets");
    expect(copied(body).slice(2)).toEqual([
      '<a href="https://shop.example/?ref=jane"><img src="https://cdn.example/wide.png?a=1&amp;b=2" alt="Wide &quot;new&quot; banner"></a>',
      "Try it: https://shop.example/?ref=jane\n\nOr here: https://shop.example/?ref=jane",
      "We like it.\nhttps://shop.example/?ref=jane",
      "https://shop.example/pricing?plan=pro&ref=jane",
    ]);
    expect(textOf(body)).toContain("This page is not at shop.example, so a link to it cannot count for you.");
    expect(body).toContain('rel="noopener noreferrer"');
    // The picture would be loaded from the owner's host, which must not learn who opens the page.
    expect(body).not.toContain("<img");
  });

  it("are two short texts if the owner offers no text, and none without a domain", async () => {
    await program.api("PATCH", "/api/v1/programs/me", { name: "Acme", assets: [ASSETS[3]] });
    expect(copied((await portal.get("/portal/assets")).body).slice(2)).toEqual([
      "I recommend Acme: https://shop.example/?ref=jane",
      "Take a look at Acme: https://shop.example/?ref=jane\nThis is a partner link: if you buy, I earn a commission.",
      "https://shop.example/pricing?plan=pro&ref=jane",
    ]);
    await program.api("PATCH", "/api/v1/programs/me", { assets: ASSETS, domain: null });
    const { body } = await portal.get("/portal/assets");
    expect([copied(body), textOf(body).includes("as soon as Acme has set its domain")]).toEqual([[], true]);
  });

  it("are typed in the settings, and what is wrong is said with its number, with all that was typed", async () => {
    const owner = await signInOwner(program);
    const save = async (assets: string) => {
      await owner.get("/dashboard/settings/portal");
      return owner.post("/dashboard/settings/portal", { applications: "off", sale_amounts: "shown", assets });
    };
    for (const [typed, said] of [
      ["banner: Wide\nhttp://cdn.example/a.png", "Number 1: a banner needs an address that begins with https://."],
      ["text: A\nHello\n---\nfilm: B\nhttps://a.example/", "Number 2: it begins with banner:, text: or link:."],
      ["text: A", "Number 1: content: This must not be empty."],
    ]) {
      const { body } = await save(typed!);
      expect(textOf(body)).toContain(said);
      for (const line of typed!.split("\n")) expect(body).toContain(line);
    }
    expect((await save(assetsText(ASSETS))).status).toBe(303);
    const { body } = await program.api<{ assets: Asset[] }>("GET", "/api/v1/programs/me");
    expect(body.assets).toEqual(ASSETS);
    expect((await save("")).status).toBe(303);
    expect((await program.api<{ assets: Asset[] }>("GET", "/api/v1/programs/me")).body.assets).toEqual([]);
  });

  it("are read as they are written, with any line ends", () => {
    expect(readAssets(assetsText(ASSETS))).toEqual(ASSETS);
    expect(readAssets(assetsText(ASSETS).replaceAll("\n", "\r\n"))).toEqual(ASSETS);
    expect(readAssets(" \n---\n\n---")).toEqual([]);
    expect(readAssets("no kind\nx")).toEqual([{ kind: "", name: "no kind", content: "x" }]);
  });
});
