/** The renderer of the pages' JSX. */
import { describe, expect, it } from "vitest";
import { createContext, Fragment, jsx, raw, render, useContext } from "../../src/http/jsx.ts";

const HOSTILE = `<b>"'&`;
const ESCAPED = "&lt;b&gt;&quot;&#39;&amp;";

describe("JSX", () => {
  it("escapes every text and attribute that is not raw", () => {
    expect(render(HOSTILE)).toBe(ESCAPED);
    expect(render(jsx("p", { title: HOSTILE, children: [HOSTILE, raw("<i>")] }))).toBe(
      `<p title="${ESCAPED}">${ESCAPED}<i></p>`,
    );
    expect(render(jsx(() => HOSTILE, {}))).toBe(ESCAPED);
  });

  it("renders nothing for null, undefined and booleans, and numbers as texts", () => {
    expect(render([null, undefined, true, false, 0, ["a", [1]]])).toBe("0a1");
    expect(render(jsx(Fragment, { children: jsx("br", {}) }))).toBe("<br/>");
    expect(render(jsx("p", {}))).toBe("<p></p>");
  });

  it("writes attributes as HTML reads them", () => {
    const props = { required: true, disabled: false, "aria-hidden": true, rows: 3, class: undefined, id: null };
    expect(render(jsx("input", props))).toBe('<input required="" aria-hidden="true" rows="3"/>');
  });

  it("gives an element the value of the nearest provider, also after one that failed", () => {
    const Word = createContext("none");
    const Shown = () => useContext(Word);
    const shown = jsx(Shown, {});
    const inside = jsx(Word.Provider, { value: "inner", children: [shown, " "] });
    expect(render([jsx(Word.Provider, { value: "outer", children: [inside, shown] }), " ", shown])).toBe(
      "inner outer none",
    );
    const fails = jsx(() => {
      throw new Error("planted");
    }, {});
    expect(() => render(jsx(Word.Provider, { value: "lost", children: fails }))).toThrow("planted");
    expect(render(shown)).toBe("none");
  });
});
