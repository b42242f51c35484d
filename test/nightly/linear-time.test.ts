/**
 * "Linear time, everywhere": what strangers send is read in time that grows with its length and no faster. Each parser is
 * fed one time and ten times of every text below; a ratio decides, so that the machine's speed does not matter. It takes
 * minutes; `test/unit/parsers.test.ts` holds that no parser is left out.
 */
import { describe, expect, it } from "vitest";
import { decideCustomerLines, type NamedPartner } from "../../src/core/imports/customer-lines.ts";
import { decidePartnerLines, type KnownPartner } from "../../src/core/imports/partner-lines.ts";
import type { PartnerInput } from "../../src/core/partners/partners.ts";
import { growth, isLinear, TIMES } from "../support/linear.ts";
import { HTTP_PARSERS } from "../support/parsers-http.ts";
import { PARSERS, type Parser } from "../support/parsers.ts";
import { allSlices } from "../support/slices.ts";

const ALL = [...PARSERS, ...HTTP_PARSERS];

/** Characters of the smaller text. */
const LENGTH = 3_000;

/** So many texts that take too long are enough to report. */
const MAX_REPORTED = 3;

/** Repeated parts: any text with a meaning in some grammar or pattern. */
const UNITS = [
  ...["a", "1", " ", "\t", "\n", "\0", "-", "_", ".", ",", ";", ":", "=", "&", "?", "#", "/", "\\", '"', "'", "<", "("],
  ...[
    "[",
    "{",
    "@",
    "+",
    "*",
    "%",
    "é",
    "\ud800",
    "\u00ad",
    "a ",
    "a.",
    "a@",
    "a=b;",
    "a=b&",
    "a@b.c1",
    "1.",
    "1,",
    "a-",
  ],
  ...["a:", "/..", "%25", '"a', '"\n', "\\u0040", "Bearer ", "sk_a", "\u0301\u0316", "ﷺ", "Bot/1 "],
];

/** Surroundings beside the parser's own frames. */
const FRAMES = [
  ["", ""],
  ["x", "!"],
] as const;

function textsFor({ frames = [], worst = {} }: Parser): Map<string, (n: number) => string> {
  const texts = new Map(Object.entries(worst));
  for (const [head, tail] of [...FRAMES, ...frames]) {
    for (const unit of UNITS) {
      texts.set(`${head}${unit}…${tail}`, (n) => head + unit.repeat(n / unit.length) + tail);
    }
  }
  return texts;
}

const NAMED = ALL.map((parser) => [`${parser.module}: ${parser.name}`, parser] as const);

describe("linear in what it reads is", () => {
  it.each(NAMED)("%s", async (_, parser) => {
    const slow: string[] = [];
    for (const [name, text] of textsFor(parser)) {
      const ratio = await growth(parser.read, { small: text(LENGTH), large: text(TIMES * LENGTH) });
      if (!isLinear(ratio)) slow.push(`${JSON.stringify(name)} takes ${Math.round(ratio)} times as long`);
      if (slow.length === MAX_REPORTED) break;
    }
    expect(slow).toEqual([]);
  });
});

describe("the import's judgment of lines", () => {
  const NOBODY = { id: "par_1", email: "a@b.co", slug: "a", payout_email: null };
  const known = {
    ...{ partners: new Map(), holders: new Map<string, never>(), addresses: new Map<string, string>() },
    groups: new Map(),
    counts: new Map<string, number>(),
    ...{ byCode: new Map([["a", NOBODY]]), byEmail: new Map<string, NamedPartner>() },
  };
  const newcomer = (input: PartnerInput) => ({ ...input, id: `par_${input.slug}` }) as unknown as KnownPartner;

  /** The common part of the lines, each with its number. */
  const LINES: Record<string, (i: number) => { address: string; codes: string[] }> = {
    "all different": (i) => ({ address: `p${i}@b.co`, codes: [`a${i}`] }),
    "of one address": (i) => ({ address: "p@b.co", codes: [`a${i}`] }),
    "with one code": (i) => ({ address: `p${i}@b.co`, codes: ["a"] }),
    "equal addresses": () => ({ address: "p@b.co", codes: ["a"] }),
    "with many codes": (i) => ({ address: "p@b.co", codes: Array.from({ length: 20 }, (_, k) => `a${20 * i + k}`) }),
  };

  it.each(Object.entries(LINES))("is linear in their number: %s", async (_, of) => {
    const lines = (count: number) =>
      Array.from({ length: count }, (_each, i) => {
        const { address, codes } = of(i);
        return {
          partner: {
            ...{ line: i, input: { email: address }, codes, group: null, status: null },
            promotion_codes: codes.map((code) => ({ provider: "provider_a" as const, code })),
          },
          customer: {
            ...{ line: i, customer: { provider: "provider_a", scope: "email", subject: address } as const },
            ...{ customer_email: address, codes: ["a", ...codes], partner_email: null, unreadable: null },
          },
        };
      });
    const inputs = { small: lines(500), large: lines(TIMES * 500) };
    type Lines = typeof inputs.small;
    const ratios = [
      await growth((all: Lines) => {
        allSlices(
          decidePartnerLines(
            all.map(({ partner }) => partner),
            known,
            newcomer,
          ),
        );
      }, inputs),
      await growth((all: Lines) => {
        allSlices(
          decideCustomerLines(
            all.map(({ customer }) => customer),
            known,
          ),
        );
      }, inputs),
    ];
    expect(ratios.filter((ratio) => !isLinear(ratio))).toEqual([]);
  });
});

describe("the measure", () => {
  const inputsOf = (length: number) => ({ small: "a".repeat(length), large: "a".repeat(TIMES * length) });

  it.each<[string, number, (text: string) => unknown]>([
    ["a pattern that begins at every character", LENGTH / 3, (text) => text.replace(/[^\s@]+(?:@|!)[a-z]+/g, "")],
    ["two repetitions of the same", LENGTH / 3, (text) => /^[a-z:]*:?[a-z:]*$/.test(`${text}!`)],
    ["a cell that is trimmed as it grows", LENGTH, (text) => [...text].reduce((cell, last) => (cell + last).trim())],
  ])("finds %s", async (_, length, read) => {
    expect(isLinear(await growth(read, inputsOf(length)))).toBe(false);
  });

  it("lets pass what goes over all once", async () => {
    const work = (text: string) => {
      let sum = 0;
      for (let round = 0; round < 100; round++) for (let i = 0; i < text.length; i++) sum += text.charCodeAt(i) ^ round;
      return sum;
    };
    expect(isLinear(await growth(work, inputsOf(LENGTH)))).toBe(true);
  });
});
