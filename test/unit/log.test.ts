import { describe, expect, it } from "vitest";
import { keyOn, tokenOn } from "../../src/domain/shard.ts";
import { randomToken } from "../../src/lib/crypto.ts";
import { reasonOf, redact } from "../../src/lib/log.ts";

describe("the reason of a failure in the log", () => {
  it.each([
    [new Error("outer", { cause: new Error("inner") }), "inner"],
    [
      new Error("Failed query: select 1 params: jane@example.com", { cause: new Error("no such table") }),
      "no such table",
    ],
    [new Error("plain"), "plain"],
    [new Error("outer", { cause: "a text" }), "a text"],
    ["thrown text", "thrown text"],
    [undefined, "undefined"],
  ])("of %s is the innermost cause's", (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});

describe("what opens a door", () => {
  it("S6: is taken out of a line whichever database it belongs to, in an address too", () => {
    for (const shard of [0, 1, 31]) {
      const token = tokenOn(shard, randomToken(32));
      for (const text of [
        token,
        `"${token}"`,
        `https://service.example/sign-in?token=${token}&as=1`,
        `token ${token}.`,
      ]) {
        expect(redact(text)).not.toContain(token.slice(-43));
      }
      expect(redact(`key ${keyOn(shard, randomToken(32))}`)).toBe("key [secret]");
    }
    expect(redact("evt_01jd0000000000000000000000 /dashboard/settings")).toBe(
      "evt_01jd0000000000000000000000 /dashboard/settings",
    );
  });
});
