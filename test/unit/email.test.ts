import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressKey, emailKey, sameAddress } from "../../src/domain/email.ts";

/** PAY-12: without a `+tag`, the dots that the mail provider ignores, case and a trailing dot. */
describe("addresses of one mailbox are the same (PAY-12)", () => {
  it.each([
    ["jane@example.com", "JANE@Example.COM"],
    ["jane@example.com", "jane+shop@example.com"],
    ["jane@example.com", "jane+shop+more@example.com"],
    ["jane@example.com", "jane+@example.com"],
    ["jane@example.com", "jane@example.com."],
    ["jane@example.com", " jane@example.com\n"],
    ["jane@example.com", '"jane"@example.com'],
    ["jane@example.com", '"jane+shop"@example.com'],
    ["jane@example.com", "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ"],
    ["jane@example.com", "ja\u00adne@exam\u200bple.com"],
    ["jane.doe@gmail.com", "janedoe@gmail.com"],
    ["jane.doe@gmail.com", "j.a.n.e.d.o.e+x@GoogleMail.com."],
    ["jane_doe@proton.me", "jane-doe@protonmail.com"],
    ["jane.doe@pm.me", "janedoe@protonmail.ch"],
    ["jürgen@bücher.example", "JÜRGEN@BÜCHER.EXAMPLE"],
    ["jürgen@bücher.example", "ju\u0308rgen@xn--bcher-kva.example"],
    ["jane@bücher.example", "jane@bücher。example。"],
    ["+jane@example.com", "+JANE@example.com"],
  ])("%j and %j", (a, b) => {
    expect(addressKey(a)).toBe(addressKey(b));
    expect(sameAddress(a, b)).toBe(true);
  });
});

describe("addresses of different mailboxes differ (PAY-12)", () => {
  it.each([
    ["jane@example.com", "jane@example.org"],
    ["jane.doe@example.com", "janedoe@example.com"],
    ["jane_doe@gmail.com", "janedoe@gmail.com"],
    ["jane@gmail.com", "jane@gmail.com.example"],
    ["jane@mail.example.com", "jane@example.com"],
    ["+jane@example.com", "+john@example.com"],
    ["...@gmail.com", "..@gmail.com"],
    ["jane@bücher.example", "jane@bucher.example"],
    ["jane", "john"],
  ])("%j and %j", (a, b) => {
    expect(sameAddress(a, b)).toBe(false);
  });

  it("and nobody's address is like no other", () => {
    expect([sameAddress(null, null), sameAddress("jane@example.com", null), sameAddress(null, "")]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe("addressKey", () => {
  it("takes any text, and the key of a key is the key", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.constantFrom("gmail.com", "proton.me", "bücher.example", "a..b", "1.2", "[::1]", "x/y:8"),
        (local, domain) => {
          for (const text of [local, `${local}@${domain}`, `${domain}@${local}`])
            expect(addressKey(text)).toBeTypeOf("string");
          const key = addressKey(`jane@${domain}`);
          expect(addressKey(key)).toBe(key);
        },
      ),
    );
  });
});

describe("emailKey", () => {
  it("lowers what SQLite lowers, and nothing else", () => {
    expect(emailKey("JÜRGEN+X@Example.com")).toBe("jÜrgen+x@example.com");
  });
});
