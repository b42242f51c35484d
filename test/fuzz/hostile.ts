/** Input of an attacker, a bug or a bad day: texts, numbers, JSON, bodies, queries, headers. */
import fc from "fast-check";
import { importQuery } from "../../src/http/api/imports.ts";
import * as queries from "../../src/http/queries.ts";
import { VENDORS } from "../../src/providers/registry.ts";

/** Unescaped in a page, each of these would run a script. */
export const MARKUP = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "'\"--></style></script></title><svg onload=alert(1)>",
];

const TEXTS = [
  ...MARKUP,
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udc00x",
  "x\udbff",
  "😀👩‍👩‍👧‍👦",
  "e\u0301\u202e\u2066\ufeff\ufffe\uffff",
  "\u0007\u001b[31m\r\nX-Injected: 1",
  "ﬀİıſK",
  "ß".repeat(300),
  "x".repeat(9_000),
  "' or 1=1 --",
  '"; drop table partners; --',
  "') union select sql from sqlite_master --",
  "%' escape '\\",
  "_%\\_",
  '* AND partners:x NEAR("',
  "%00%ff%2e%2e%2f",
  "../../../etc/passwd",
  "${7*7}{{7*7}}#{7*7}",
  '=HYPERLINK("http://x")',
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "null",
  "undefined",
  "true",
  "NaN",
  "-1",
  "0x10",
  "1e3",
  "１２",
  "9007199254740993",
  "1e400",
  "2026-02-30",
  "2026-01-01T24:00:00Z",
  "+275760-09-13",
  "-271821-04-20T00:00:00Z",
  "9999-12-31",
  "a@b",
  "a@b.co\r\nBcc: x@y.z",
  "http://localhost/",
  "https://127.0.0.1:443/",
  "https://[::ffff:10.0.0.1]/",
  "https://user:pw@receiver.example.com/",
  "https://receiver.example.com.:65536/",
  "https://xn--/",
  "javascript:alert(1)",
  "//evil.example",
  "prog_",
  "*",
];

/** Numbers as JSON texts, most of which a program cannot hold exactly. */
const NUMBERS = [
  ..."0 -0 1 -1 0.1 100 100.00001 12.3456 1.0 1e2 1e21 1e308 -1e308 1e400 -1e400 1e-400 5e-324".split(" "),
  ..."2147483648 4294967296 9007199254740991 9007199254740993 -9007199254740993".split(" "),
  ..."123456789012345678901234567890 253402300800000 8640000000000001 0.30000000000000004".split(" "),
];

/** Texts that no parser accepts. */
const BROKEN = ["", "NaN", "Infinity", "01", "0x10", "'a'", "undefined", "[1,]", '"\t"', '"\\ud80"', "{a:1}", "/**/1"];

function nested(depth: number, open: string, close: string): string {
  return open.repeat(depth) + close.repeat(depth);
}

const SHAPES = [
  "null",
  "true",
  "false",
  "[]",
  "{}",
  "[[]]",
  "[null]",
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":1,"valueOf":2,"toJSON":3,"then":4,"length":5}',
  '{"$gt":"","$ne":null}',
  '{"a":1,"a":2}',
  `[${'"partner.created",'.repeat(400)}"*"]`,
  nested(500, "[", "]"),
  nested(9_000, "[", "]"),
  `{"a":${nested(3_000, "[", "]")}}`,
  `${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`,
  JSON.stringify("x".repeat(20_000)),
];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 300 }) },
);

/** A value as JSON text. */
export const hostileJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: hostileText.map((text) => JSON.stringify(text)) },
  { weight: 4, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 3, arbitrary: fc.constantFrom(...SHAPES) },
  { weight: 1, arbitrary: fc.constantFrom(...BROKEN) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)) },
);

/** A name of a field, as JSON text. */
export const hostileName: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom(
      "__proto__",
      "constructor",
      "prototype",
      "toString",
      "then",
      "id",
      "program_id",
      "secret",
      "status",
    ),
    hostileText,
  )
  .map((name) => JSON.stringify(name));

export type Body = string | Uint8Array<ArrayBuffer> | null;

/** Bodies that are no JSON objects, and some that are hardly any text. */
export const hostileBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 3, arbitrary: hostileJson },
  {
    weight: 2,
    arbitrary: fc.constantFrom(null, "", " ", "\ufeff{}", "{}x", "{", '{"a"', "a=1&b=2", "[".repeat(30_000)),
  },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Uint8Array.from(bytes)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      Uint8Array.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      Uint8Array.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
      Uint8Array.from([0x1f, 0x8b, 0x08, 0x00]),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(70_000, 600_000, 1_100_000).map((length) => `{"name":"${"x".repeat(length)}"}`),
  },
);

export const contentType: fc.Arbitrary<string> = fc.constantFrom(
  "application/json",
  "APPLICATION/JSON; charset=utf-16",
  "application/json;;",
  "application/problem+json",
  "text/plain",
  "text/csv",
  "text/html",
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "multipart/form-data; boundary=x",
  ";",
  "json",
);

const SOURCES = import.meta.glob<string>("../../src/http/**/*.{ts,tsx}", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Every parameter of a list or a page. */
const QUERY_NAMES = [
  ...new Set([
    ...Object.values({ ...queries, importQuery }).flatMap(({ shape }) => Object.keys(shape)),
    ...Object.values(SOURCES).flatMap((source) => [...source.matchAll(/\.query\("(\w+)"\)/g)].map(([, name]) => name!)),
  ]),
];

/** A query string with allowed and forbidden parts. */
export const hostileQuery: fc.Arbitrary<string> = fc
  .array(
    fc.tuple(
      fc.constantFrom(...QUERY_NAMES, ..."param __proto__ constructor a[] %00 %ff %".split(" ")),
      fc.oneof(
        hostileText.map((text) => encodeURIComponent(text.toWellFormed())),
        fc.constantFrom("%", "%ff%fe", "%E0%A4%A", "%00", "a&&=&", "+", "1#2", "a=b=c"),
      ),
    ),
    { maxLength: 4 },
  )
  .map((parameters) => parameters.map(([name, value]) => `${name}=${value}`).join("&"));

/** A part of a path. */
export const hostileSegment: fc.Arbitrary<string> = fc.oneof(
  hostileText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 3_000)),
  fc.constantFrom(
    "%00",
    "%",
    "%ff",
    "..%2f..%2f",
    "%2e%2e",
    "%2F",
    "me",
    "export.csv",
    "simulate",
    "bulk",
    "par_",
    ":id",
    "{id}",
    "a;b=c",
    "x".repeat(8_000),
  ),
);

export const oddMethod: fc.Arbitrary<string> = fc.constantFrom(
  ..."GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND QUERY FOO get".split(" "),
);

export const hostileHeader: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      ..."idempotency-key cookie accept if-none-match origin referer user-agent x-forwarded-for".split(" "),
      ..."cf-connecting-ip authorization content-encoding sec-purpose".split(" "),
      ...VENDORS.flatMap(({ signature_headers }) => signature_headers.map((name) => name.toLowerCase())),
      ..."x-http-method-override x-request-id range expect x-d1-bookmark service-bookmark".split(" "),
    ),
    fc.oneof(
      hostileText,
      fc.constantFrom(
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Basic c2s6",
        "t=1,v1=a",
        "ts=1;h1=a",
        "gzip",
        "x".repeat(300),
      ),
    ),
  ),
  fc.tuple(fc.constant("idempotency-key"), fc.constantFrom("a", "b", "c", "'", "é", "x".repeat(255), "x".repeat(256))),
);
