import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KEPT_CHARACTERS, parseClick } from "../../src/domain/click.ts";

const CLICK = {
  program_id: "prog_01h2xcejqtf2nbrexx3vqjhp41",
  ref: "jane",
  landing: "/pricing",
  referrer: "https://blog.example/post",
};

function refusedPaths(body: unknown): string[] {
  const parsed = parseClick(body);
  return parsed.ok ? [] : parsed.details.map(({ path }) => path);
}

describe("a reported click is `{program_id, ref, landing, referrer}` (TRACK-9)", () => {
  it("is read as it was sent, with and without an id", () => {
    expect(parseClick(CLICK)).toEqual({ ok: true, click: { ...CLICK, id: null } });
    expect(parseClick({ ...CLICK, id: "0.4fzyo82mvyr" })).toEqual({
      ok: true,
      click: { ...CLICK, id: "0.4fzyo82mvyr" },
    });
  });

  it("may leave out where it came from and where it arrived", () => {
    const { program_id, ref } = CLICK;
    expect(parseClick({ program_id, ref })).toEqual({
      ok: true,
      click: { program_id, ref, landing: "/", referrer: "", id: null },
    });
  });

  it("keeps a sub-id that fits and drops any other, and counts (TRACK-19)", () => {
    const subOf = (sub: string) => {
      const parsed = parseClick({ ...CLICK, sub });
      return parsed.ok ? parsed.click.sub : "refused";
    };
    expect(["newsletter", "A-1_b", "a".repeat(64)].map(subOf)).toEqual(["newsletter", "A-1_b", "a".repeat(64)]);
    expect(["", "a b", "jäne", "<b>", "a".repeat(65), "a\n"].map(subOf)).toEqual(Array.from({ length: 6 }));
    expect(refusedPaths({ ...CLICK, sub: 7 })).toEqual(["sub"]);
  });

  it.each<[string, unknown, string[]]>([
    ["null", null, [""]],
    ["a list", [CLICK], [""]],
    ["a text", "click", [""]],
    ["nothing", {}, ["program_id", "ref"]],
    ["a number for a text", { ...CLICK, ref: 7 }, ["ref"]],
    ["null for a text", { ...CLICK, referrer: null }, ["referrer"]],
    ["a program id of another kind", { ...CLICK, program_id: "par_01h2xcejqtf2nbrexx3vqjhp41" }, ["program_id"]],
    ["a program id with more behind it", { ...CLICK, program_id: `${CLICK.program_id}\n` }, ["program_id"]],
    ["an empty ref", { ...CLICK, ref: "" }, ["ref"]],
    ["a ref outside the alphabet", { ...CLICK, ref: "jäne" }, ["ref"]],
    ["a ref of 65 characters", { ...CLICK, ref: "a".repeat(65) }, ["ref"]],
    ["a landing that is no path", { ...CLICK, landing: "https://shop.example/" }, ["landing"]],
    ["an empty landing", { ...CLICK, landing: "" }, ["landing"]],
    ["a referrer that is no URL", { ...CLICK, referrer: "blog.example" }, ["referrer"]],
    ["a script as referrer", { ...CLICK, referrer: "javascript:alert(1)" }, ["referrer"]],
    ["an id with a space", { ...CLICK, id: "a b" }, ["id"]],
    ["an empty id", { ...CLICK, id: "" }, ["id"]],
    ["an unknown field", { ...CLICK, utm_source: "x" }, ["utm_source"]],
    [
      "a field of the prototype",
      JSON.parse('{"__proto__": "x", "constructor": "y"}'),
      ["__proto__", "constructor", "program_id", "ref"],
    ],
    [
      "everything at once",
      { program_id: 1, ref: " ", landing: "x", referrer: "x", id: ",", more: 1 },
      ["program_id", "more", "ref", "landing", "referrer", "id"],
    ],
  ])("is refused with the field's path: %s", (_, body, paths) => {
    expect(refusedPaths(body).toSorted()).toEqual(paths.toSorted());
  });

  it("takes refs of 1 and of 64 characters of the whole alphabet", () => {
    for (const ref of ["a", "-", "_", "AZaz09_-".repeat(8)]) expect(refusedPaths({ ...CLICK, ref })).toEqual([]);
  });

  it("keeps of a landing the path alone, and 1,024 characters of each text", () => {
    const long = `/${"x".repeat(3000)}`;
    const parsed = parseClick({ ...CLICK, landing: "/reset?token=secret#top", referrer: `https://a.example${long}` });
    expect(parsed.ok && parsed.click.landing).toBe("/reset");
    expect(parsed.ok && parsed.click.referrer).toHaveLength(KEPT_CHARACTERS);
    const cut = parseClick({ ...CLICK, landing: `${long.slice(0, KEPT_CHARACTERS - 1)}😀` });
    expect(cut.ok && cut.click.landing.isWellFormed()).toBe(true);
  });

  it("never throws, and what it accepts can be stored and given back as it is", () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.webUrl(), fc.constant("/\ud800\u0000x"));
    const field = fc.oneof(text, fc.anything());
    const body = fc.oneof(
      fc.anything(),
      fc.record({ program_id: field, ref: field, landing: field, referrer: field, id: field }, { requiredKeys: [] }),
      fc
        .record({ landing: text.map((rest) => `/${rest}`), referrer: text.map((rest) => `x://y${rest}`) })
        .map((texts) => ({ ...CLICK, ...texts })),
    );
    fc.assert(
      fc.property(body, (value) => {
        const parsed = parseClick(value);
        if (!parsed.ok) return parsed.details.length > 0;
        const { landing, referrer } = parsed.click;
        return (
          [landing, referrer].every(
            (kept) =>
              kept.length <= KEPT_CHARACTERS &&
              kept.isWellFormed() &&
              !/\p{Cc}/u.test(kept.replace(/[\u0080-\u009f]/g, "")),
          ) &&
          landing.startsWith("/") &&
          !/[?#]/.test(landing)
        );
      }),
      { numRuns: 500 },
    );
  });
});
