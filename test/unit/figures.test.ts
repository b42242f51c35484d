import { describe, expect, it } from "vitest";
import { changeText } from "../../src/http/pages/parts/figures.tsx";

describe("a change since before", () => {
  it("is said in percent", () => {
    expect([changeText(9, 8), changeText(6, 8), changeText(8, 8)]).toEqual([
      "+12.5\u00a0%",
      "−25.0\u00a0%",
      "0.0\u00a0%",
    ]);
  });

  it("is said in times where a percentage would be longer than the figure", () => {
    expect([changeText(109, 10), changeText(110, 10), changeText(200_000_119_263, 28_426)]).toEqual([
      "+990.0\u00a0%",
      "×11",
      "×7,035,816",
    ]);
  });

  it("is nothing where there was nothing", () => {
    expect([changeText(5, 0), changeText(0, 0), changeText(5, -3)]).toEqual(["", "", ""]);
  });
});
