import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KEPT_BYTES, parseClick } from "../../src/domain/click.ts";

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

/** The size in JSON, as the log has it. */
const bytesOf = (text: string) => new TextEncoder().encode(JSON.stringify(text)).length - 2;

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

  const stored = (texts: { landing?: string; referrer?: string }) => {
    const parsed = parseClick({ ...CLICK, ...texts });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.details));
    return { landing: parsed.click.landing, referrer: parsed.click.referrer };
  };

  it("keeps of a landing and of a referrer the part before query and fragment (TRACK-9)", () => {
    expect(stored({ landing: "/reset?token=secret#top", referrer: "https://a.example/in?token=secret" })).toEqual({
      landing: "/reset",
      referrer: "https://a.example/in",
    });
  });

  it.each([
    ["x", 256],
    ["é", 255],
    ["€", 256],
    ["😀", 253],
    ['"', 255],
    ["\\", 255],
  ])("keeps 256 bytes of a landing of %s, whole characters alone (TRACK-25)", (character, bytes) => {
    const { landing } = stored({ landing: `/${character.repeat(2_000)}` });
    expect(landing.replaceAll(character, "")).toBe("/");
    expect(bytesOf(landing)).toBe(bytes);
  });

  it("keeps 256 bytes of each, and 384 of both (TRACK-25)", () => {
    const long = `https://a.example/${"€".repeat(600)}`;
    expect(bytesOf(stored({ landing: "/", referrer: long }).referrer)).toBe(255);
    const both = stored({ landing: `/${"x".repeat(600)}`, referrer: long });
    expect([both.landing, both.referrer].map(bytesOf)).toEqual([256, 126]);
    const short = { landing: "/pricing", referrer: `https://a.example/${"x".repeat(238)}` };
    expect(stored(short)).toEqual(short);
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
              bytesOf(kept) <= KEPT_BYTES.each &&
              kept.isWellFormed() &&
              !/\p{Cc}/u.test(kept.replace(/[\u0080-\u009f]/g, "")),
          ) &&
          bytesOf(landing) + bytesOf(referrer) <= KEPT_BYTES.both &&
          landing.startsWith("/") &&
          !/[?#]/.test(landing + referrer)
        );
      }),
      { numRuns: 500 },
    );
  });
});
