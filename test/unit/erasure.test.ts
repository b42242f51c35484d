/** "By linked customer and payment ids and by whole, decoded addresses". */
import { describe, expect, it } from "vitest";
import { holdsAddress, isAddress, withoutAddresses } from "../../src/domain/erasure.ts";

const ADDRESS = "jo.buyer+1@example.com";
const holds = (text: string) => holdsAddress(text, new Set([ADDRESS]));

describe("a text that holds an address", () => {
  it.each([
    ["plain", JSON.stringify({ email: "jo.buyer+1@example.com" })],
    ["in other case", JSON.stringify({ email: "Jo.Buyer+1@EXAMPLE.com" })],
    ["with an escaped @", '{"email": "jo.buyer+1\\u0040example.com"}'],
    ["escaped letter by letter", '{"email": "\\u006A\\u006f.buyer\\u002b1@example\\u002ecom"}'],
    ["as the name of a field", '{"jo.buyer+1@example.com": 1}'],
    ["among words", JSON.stringify({ description: "Invoice for Jo <jo.buyer+1@example.com>." })],
    ["at the end of a sentence", JSON.stringify({ text: "Sent to jo.buyer+1@example.com. Thanks" })],
    ["in quotes", JSON.stringify({ text: "it was 'jo.buyer+1@example.com'" })],
    ["in a URL", JSON.stringify({ url: "https://shop.example/?mail=jo.buyer+1@example.com&x=1" })],
    ["in a URL, escaped", JSON.stringify({ url: "https://shop.example/?mail=jo.buyer%2B1%40example.com" })],
    ["after mailto:", JSON.stringify({ url: "mailto:jo.buyer+1@example.com" })],
    ["in JSON of its own", JSON.stringify({ metadata: { customer: '{"email":"jo.buyer+1\\u0040example.com"}' } })],
    ["deep", `${'{"a":['.repeat(5_000)}"jo.buyer+1@example.com"${"]}".repeat(5_000)}`],
    ["in a list of them", JSON.stringify({ email: "mo@example.com|jo.buyer+1@example.com" })],
    ["between marks", JSON.stringify({ text: "**_jo.buyer+1@example.com_**" })],
    ["after marks, in a text of anything", JSON.stringify({ text: "'jo.buyer+1@example.com" })],
    ["in a text for an address", JSON.stringify({ email: "Jo <jo.buyer+1@example.com>" })],
    ["and is no JSON", "email=jo.buyer+1@example.com"],
  ])("%s", (_, text) => expect(holds(text)).toBe(true));

  it.each([
    ["another's that ends like it", "anjo.buyer+1@example.com"],
    ["another's that begins like it", "jo.buyer+1@example.com.au"],
    ["another's without its tag", "jo.buyer@example.com"],
    ["another's with dots elsewhere", "jobuyer+1@example.com"],
    ["its domain alone", "@example.com"],
    ["its parts apart", "jo.buyer+1 @ example.com"],
  ])("not %s", (_, text) => expect(holds(JSON.stringify({ text }))).toBe(false));

  it.each(["_", "-", "'", "lee&", "lee/", "lee=", "?", "#", "|"])(
    "not where the field is an address, another's with %s before it",
    (mark) => {
      const other = { customer_email: `${mark}${ADDRESS}`, data: { email: `${mark}${ADDRESS}` } };
      expect(holds(JSON.stringify(other))).toBe(false);
      expect(withoutAddresses(other, new Set([ADDRESS]))).toEqual(other);
    },
  );

  it.each(["_jo@example.com", "jo&mo@example.com", "jo/mo@example.com", "jo=mo@example.com", "-#jo|?@example.com"])(
    "whatever characters it has: %s",
    (address) => {
      for (const text of [
        ...[address, address.toUpperCase(), `to ${address}.`, `<${address}>`, `mailto:${address}`],
        ...[`https://a.example/?mail=${address}&x=1`, `https://a.example/?mail=${encodeURIComponent(address)}&x=1`],
      ]) {
        expect([text, holdsAddress(JSON.stringify({ text }), new Set([address]))]).toEqual([text, true]);
      }
      expect(holdsAddress(JSON.stringify({ email: address, text: `x${address}` }), new Set([address]))).toBe(true);
      expect(holdsAddress(JSON.stringify({ text: `x${address}` }), new Set([address]))).toBe(false);
    },
  );

  it("is redacted whole, and nothing else of the value changes", () => {
    const value = { a: ["x", { b: "for JO.BUYER+1@example.com", c: null, d: 1.5 }], e: "anjo.buyer+1@example.com" };
    expect(withoutAddresses(value, new Set([ADDRESS]))).toEqual({
      a: ["x", { b: "[erased]", c: null, d: 1.5 }],
      e: "anjo.buyer+1@example.com",
    });
  });
});

describe("an address to erase", () => {
  it.each(["jo@example.com", "Jo.Buyer+1@example.co.uk", "jürgen@bücher.example", "o'neil@example.com"])(
    "is %s",
    (text) => expect(isAddress(text)).toBe(true),
  );
  it.each([
    ...["@", "a@", "@b.example", "nobody", "a@b", "a b@c.example", "a@@b.example", "a@b@c.example", "a@.example"],
    ...["a@b..example", "a@b.example.", "Jo <jo@example.com>", "a@b.example,c@d.example", " a@b.example", "%@%"],
  ])("is not %s", (text) => {
    expect(isAddress(text)).toBe(false);
  });
});
