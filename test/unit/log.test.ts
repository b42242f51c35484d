import { describe, expect, it } from "vitest";
import { reasonOf } from "../../src/lib/log.ts";

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
