/** The policies that let the tracking script load and report (PROG-12). */
import { describe, expect, it } from "vitest";
import { readPolicies, whyNotCalled, whyNotLoaded } from "../../src/domain/content-policy.ts";

const PAGE = new URL("https://shop.example/pricing");
const SCRIPT = new URL("https://service.example/service.js");
const tag = (more: { nonce?: string; integrity?: string } = {}) => ({
  ...{ url: SCRIPT, nonce: null, integrity: null },
  ...more,
});

describe("a script", () => {
  it.each([
    "",
    ";;",
    "img-src 'none'",
    "script-src *",
    "script-src https:",
    "script-src http:",
    "script-src service.example",
    "script-src SERVICE.example",
    "Script-Src https://service.example",
    "script-src http://service.example",
    "script-src *.example",
    "script-src https://service.example:443",
    "script-src https://service.example:*",
    "script-src https://service.example/",
    "script-src https://service.example/service.js",
    "default-src 'none'; script-src 'self' https://service.example",
    "script-src 'none'; script-src-elem https://service.example",
    "script-src https://service.example; script-src 'none'",
    "connect-src 'none'",
  ])("loads under %j", (policy) => {
    expect(whyNotLoaded(readPolicies(policy), tag(), PAGE)).toBeNull();
  });

  it.each([
    ["default-src 'self'", "default-src"],
    ["script-src", "script-src"],
    ["script-src 'none'", "script-src"],
    ["script-src 'self' 'unsafe-inline' 'unsafe-eval'", "script-src"],
    ["script-src *.service.example", "script-src"],
    ["script-src https://notservice.example", "script-src"],
    ["script-src https://service.example:8443", "script-src"],
    ["script-src https://service.example/js/", "script-src"],
    ["script-src https://service.example/service", "script-src"],
    ["script-src wss://service.example data: blob:", "script-src"],
    ["script-src https://service.example 'strict-dynamic' 'nonce-x'", "script-src"],
    ["script-src *; script-src-elem 'self'", "script-src-elem"],
    ["script-src *, default-src 'self'", "default-src"],
    ["script-src 'nonce-other'", "script-src"],
    ["script-src \u0000(((", "script-src"],
  ])("does not load under %j", (policy, directive) => {
    expect(whyNotLoaded(readPolicies(policy), tag(), PAGE)).toBe(directive);
  });

  it("loads by its nonce or its hash", () => {
    const policies = readPolicies("script-src 'strict-dynamic' 'nonce-r4nd0m' 'sha256-abc='");
    expect(whyNotLoaded(policies, tag({ nonce: "r4nd0m" }), PAGE)).toBeNull();
    expect(whyNotLoaded(policies, tag({ integrity: "sha256-abc=" }), PAGE)).toBeNull();
    expect(whyNotLoaded(policies, tag({ nonce: "", integrity: "sha256-other=" }), PAGE)).toBe("script-src");
  });

  it("of the page's own host is itself", () => {
    const own = { ...tag(), url: new URL("https://shop.example/service.js") };
    expect(whyNotLoaded(readPolicies("default-src 'self'"), own, PAGE)).toBeNull();
    expect(whyNotLoaded(readPolicies("default-src 'self'"), own, new URL("http://shop.example/"))).toBeNull();
  });
});

describe("a click", () => {
  const CLICK = new URL("https://service.example/click");
  it.each([
    ["script-src 'none'", null],
    ["connect-src https://service.example", null],
    ["default-src 'none'; connect-src *", null],
    ["connect-src 'self'", "connect-src"],
    ["connect-src https://service.example/service.js", "connect-src"],
    ["default-src 'self'; script-src https://service.example", "default-src"],
  ])("under %j", (policy, directive) => {
    expect(whyNotCalled(readPolicies(policy), CLICK, PAGE)).toBe(directive);
  });
});
