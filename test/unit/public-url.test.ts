import { describe, expect, it } from "vitest";
import { publicUrl, readPublicUrl } from "../../src/lib/public-url.ts";

const production = (PUBLIC_URL?: string) => readPublicUrl({ PUBLIC_URL, ENVIRONMENT: "production" });

describe("PUBLIC_URL is https outside development (HTTP-19)", () => {
  it.each([
    ["https://affiliates.example.com", "https://affiliates.example.com"],
    ["https://affiliates.example.com/", "https://affiliates.example.com"],
    [" https://Affiliates.Example.com:8443 ", "https://affiliates.example.com:8443"],
  ])("%s is an origin", (given, origin) => expect(production(given)).toEqual({ origin }));

  it.each([
    ...[
      "http://affiliates.example.com",
      "affiliates.example.com",
      "https://example.com/path",
      "https://example.com/?a=b",
    ],
    ...["https://user@example.com", "https://example.com/#x", "ftp://example.com", "https://", "javascript:alert(1)"],
  ])("%s is none", (given) => {
    expect(production(given)).toEqual({ problem: "The variable PUBLIC_URL is not an https address without a path." });
    expect(() => publicUrl({ PUBLIC_URL: given, ENVIRONMENT: "production" })).toThrow(
      expect.objectContaining({ code: "not_configured" }),
    );
  });

  it("is missing where it is not set, empty or blank", () => {
    for (const given of [undefined, "", " "]) {
      expect(production(given)).toEqual({ problem: "The variable PUBLIC_URL is not set." });
    }
  });

  it("falls back to the local address in development alone, where http will do", () => {
    const local = (PUBLIC_URL?: string) => readPublicUrl({ PUBLIC_URL, ENVIRONMENT: "development" });
    expect(local()).toEqual({ origin: "http://localhost:8787" });
    expect(local("http://localhost:9000")).toEqual({ origin: "http://localhost:9000" });
    for (const ENVIRONMENT of ["", "staging", "Development"])
      expect(readPublicUrl({ ENVIRONMENT })).toHaveProperty("problem");
  });
});
