import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ageOfProgramId,
  clickObjectOn,
  keyOn,
  MAX_SHARD,
  programIdOn,
  shardOfClickObject,
  isFurtherKey,
  shardOfKey,
  shardOfProgram,
  shardOfToken,
  TOKEN_PATTERN,
  tokenOn,
} from "../../src/domain/shard.ts";
import { PROGRAM_ID_PATTERN } from "../../src/domain/click.ts";
import { clickObject, hintOf } from "../../src/clicks/region.ts";
import { randomToken } from "../../src/lib/crypto.ts";
import { newId } from "../../src/lib/id.ts";

const shard = fc.integer({ min: 0, max: MAX_SHARD });
/** Any instant at which the time of an id begins with 0 anyway. */
const instant = fc.integer({ min: 0, max: Date.parse("3084-01-01T00:00:00Z") });
const random = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => toUrlSafe(bytes));

function toUrlSafe(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

describe("the shard of a program id", () => {
  it("is read from the id alone, and an id without one means shard 0", () => {
    fc.assert(
      fc.property(instant, shard, (now, n) => {
        const id = newId("program", now);
        expect(shardOfProgram(id)).toBe(0);
        const put = programIdOn(n, id);
        expect(shardOfProgram(put)).toBe(n);
        expect(put).toMatch(PROGRAM_ID_PATTERN);
        expect(put).toHaveLength(id.length);
        expect(programIdOn(0, put)).toBe(id);
        expect(ageOfProgramId(put)).toBe(ageOfProgramId(id));
      }),
    );
  });

  it("keeps the order of age among ids of several shards", () => {
    fc.assert(
      fc.property(instant, instant, shard, shard, (a, b, m, n) => {
        fc.pre(a < b);
        const [older, newer] = [programIdOn(m, newId("program", a)), programIdOn(n, newId("program", b))];
        expect(ageOfProgramId(older) < ageOfProgramId(newer)).toBe(true);
      }),
    );
  });

  it("of anything else is 0, whatever a stranger sends", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(shardOfProgram(text)).toBe(0);
        expect(shardOfProgram(`prog_${text.slice(0, 20)}`)).toBe(0);
      }),
    );
    // Letters that base 32 leaves out, capitals, other kinds, other lengths.
    for (const id of [
      "prog_i1kf8e8t9q4w5h2n3x7c0v6b8m",
      "prog_U1kf8e8t9q4w5h2n3x7c0v6b8m",
      "part_11kf8e8t9q4w5h2n3x7c0v6b8m",
      "prog_11kf8e8t9q4w5h2n3x7c0v6b8",
      "prog_11kf8e8t9q4w5h2n3x7c0v6b8mm",
      "prog_",
      "",
    ]) {
      expect([id, shardOfProgram(id)]).toEqual([id, 0]);
    }
    expect(shardOfProgram("prog_11kf8e8t9q4w5h2n3x7c0v6b8m")).toBe(1);
    expect(shardOfProgram("prog_z1kf8e8t9q4w5h2n3x7c0v6b8m")).toBe(MAX_SHARD);
  });

  it("has no digit beyond the last", () => {
    expect(() => programIdOn(MAX_SHARD + 1, newId("program", 0))).toThrow(RangeError);
  });
});

describe("the shard of a token and of a key", () => {
  it("is read from them alone; shard 0 leaves them as they always were", () => {
    fc.assert(
      fc.property(random, shard, (text, n) => {
        expect(tokenOn(0, text)).toBe(text);
        expect(tokenOn(n, text)).toMatch(TOKEN_PATTERN);
        expect(shardOfToken(tokenOn(n, text))).toBe(n);
        expect(keyOn(0, text)).toBe(`sk_${text}`);
        expect(shardOfKey(keyOn(n, text))).toBe(n);
        // An additional key has one character more than the program's first, and is never taken for it.
        const further = keyOn(n, `${text}x`);
        expect([shardOfKey(further), isFurtherKey(further), isFurtherKey(keyOn(n, text))]).toEqual([n, true, false]);
      }),
    );
    // The token of shard 0 may begin with any text.
    const unlucky = `1_${randomToken(32).slice(2)}`;
    expect([shardOfToken(unlucky), shardOfKey(`sk_${unlucky}`)]).toEqual([0, 0]);
  });

  it("of anything else is 0", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect([shardOfKey(text), shardOfToken(text)]).toEqual([0, 0]);
      }),
    );
    const text = randomToken(32);
    for (const token of [`0_${text}`, `i_${text}`, `A_${text}`, `1-${text}`, `11_${text}`, `1_${text}x`, `_${text}`]) {
      expect([token, shardOfToken(token), TOKEN_PATTERN.test(token)]).toEqual([token, 0, false]);
    }
  });
});

describe("the shard of a click object", () => {
  it("is in its name, beside the region that its hint comes from", () => {
    fc.assert(
      fc.property(fc.constantFrom("EU", "NA", "AS", undefined), fc.string(), shard, (continent, colo, n) => {
        const { name, hint } = clickObject({ continent, colo });
        const own = clickObjectOn(n, name);
        expect([shardOfClickObject(own), hintOf(own)]).toEqual([n, hint]);
        expect(clickObjectOn(0, name)).toBe(name);
      }),
    );
  });
});
