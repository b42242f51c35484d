/**
 * Every function of this service that reads strangers' input, without the HTTP around it. `parsers-http.ts` has the
 * rest.
 */
import { namesOf, readQuestion, slugStem } from "../../src/domain/application.ts";
import { networksOf, parseAddress, whyNotPublic } from "../../src/domain/address.ts";
import { ibanProblem, tidyIban } from "../../src/domain/iban.ts";
import { isKnownBot } from "../../src/domain/bot.ts";
import { parseClick } from "../../src/domain/click.ts";
import { decodeCsv } from "../../src/domain/csv-encoding.ts";
import { readCsvTable } from "../../src/domain/csv-table.ts";
import { amountIn, readResultFile } from "../../src/domain/result-file.ts";
import { sepaName } from "../../src/domain/sepa-text.ts";
import { readXml } from "../../src/domain/xml.ts";
import { csvRecord, withoutApostrophe } from "../../src/domain/csv.ts";
import { addressKey, emailKey } from "../../src/domain/email.ts";
import { holdsAddress, isAddress, withoutAddresses } from "../../src/domain/erasure.ts";
import {
  cellText,
  isReferred,
  readCodes,
  readPayoutMethod,
  readPercentage,
  readStatus,
  splitName,
  splitPromotionCodes,
} from "../../src/domain/import-cell.ts";
import { columnKey, matchColumns } from "../../src/http/import/columns.ts";
import { LINK_PARAM_PATTERN } from "../../src/http/import/product.ts";
import { trimText } from "../../src/domain/invisible.ts";
import { linkTarget } from "../../src/domain/link.ts";
import { codeKey, suggestedSlugs } from "../../src/domain/code.ts";
import { maskAccount, maskAddress } from "../../src/domain/mask.ts";
import { isOwnHost } from "../../src/domain/own-host.ts";
import { searchText, SLUG_PATTERN, slugKey } from "../../src/domain/partner.ts";
import { normalDomain, PAYOUT_TERM_PATTERN } from "../../src/domain/program.ts";
import { eachSlugOnce } from "../../src/domain/reference.ts";
import { isProgramId, shardOfClickObject, shardOfKey, shardOfProgram, shardOfToken } from "../../src/domain/shard.ts";
import { normalTimeZone } from "../../src/domain/time-zone.ts";
import { isVisible } from "../../src/domain/visible.ts";
import { checkTargetUrl, whyHostRefused, whyNameRefused } from "../../src/domain/target-url.ts";
import { sourceOf } from "../../src/core/kernel/click-sources.ts";
import { cursorId } from "../../src/db/page.ts";
import { fromBase64, fromHex, sha256Hex } from "../../src/lib/crypto.ts";
import { instantOf } from "../../src/lib/id.ts";
import { redact } from "../../src/lib/log.ts";
import { escapeHtml } from "../../src/lib/mail.ts";
import { compareUtf8 } from "../../src/lib/utf8-order.ts";
import { resolveTarget } from "../../src/core/kernel/target.ts";
import { signatureHeaders } from "../../src/outbound/sign.ts";
import { VENDORS, providerOfCustomer, type ListedVendor } from "../../src/providers/registry.ts";
import { ownersServer } from "../../src/providers/api/index.ts";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { isTestKey } from "../../src/providers/provider-a/api.ts";
import { providerAConnect } from "../../src/providers/provider-a/connect.ts";
import { invoiceLines } from "../../src/providers/provider-a/lines.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { transactionLines } from "../../src/providers/provider-b/lines.ts";
import type { Vendor } from "../../src/providers/provider.ts";
import { invoicePaid, sessionCompleted } from "./provider-a.ts";
import { TEST_VENDORS } from "./vendors/index.ts";
import { transactionCompleted } from "./provider-b.ts";
import { ALL_FILLED } from "./import-cells.ts";
import { allSlices } from "./slices.ts";

export interface Parser {
  /** The module it is in, below src. */
  module: string;
  name: string;
  read: (text: string) => unknown;
  /** A valid input. */
  good: string;
  /** Frames around a repeated text that make the parser read as far as possible; added to `FRAMES`. */
  frames?: readonly (readonly [string, string])[];
  /** Its own worst texts of about `n` characters, in addition to the repeated ones. */
  worst?: Record<string, (n: number) => string>;
}

const PARAMS = ["ref", "via"];
const OWN_HOSTS = { public_host: "service.example", worker_name: "affiliate" };
const ADDRESSES = new Set(["jane@example.com"]);

function parser(module: string, name: string, good: string, read: Parser["read"], more: Partial<Parser> = {}): Parser {
  return { module, name, good, read, ...more };
}

const readResults = (text: string) => allSlices(readResultFile(text)).result;

const OF_THE_IMPORT: Parser[] = [
  parser("domain/csv-encoding.ts", "decodeCsv", "a,b", (text) => decodeCsv(new TextEncoder().encode(text))),
  parser("domain/csv-table.ts", "readCsvTable", "a,b\n1,2\n", (text) => allSlices(readCsvTable(text, 5_000)).result, {
    frames: [
      ["email,code\n", ""],
      ['email,code\na"', ""],
      ['email,code\n"', ""],
      ['email,code\n"', '"'],
      ["[[A]]\nemail,code\n", ""],
      ["[[", "\nemail,code\n"],
      ["sep=", "\n"],
    ],
  }),
  parser("domain/result-file.ts", "a CSV", "payout_id,status\npay_1,paid\n", readResults, {
    frames: [
      ["payout_id,status,reason\npay_1,", ",x"],
      ["", ",status\na,b\n"],
    ],
  }),
  parser("domain/result-file.ts", "a pain.002", "<Document><CstmrPmtStsRpt/></Document>", readResults, {
    frames: [
      ["<Document><CstmrPmtStsRpt>", "</CstmrPmtStsRpt></Document>"],
      [
        "<Document><CstmrPmtStsRpt><TxInfAndSts><OrgnlEndToEndId>",
        "</OrgnlEndToEndId></TxInfAndSts></CstmrPmtStsRpt></Document>",
      ],
    ],
  }),
  parser("domain/result-file.ts", "amountIn", "1,234.56", (text) => amountIn(text, 2), { frames: [["1,", ".50"]] }),
  parser("domain/sepa-text.ts", "sepaName", "Zoë", sepaName),
  parser("domain/xml.ts", "readXml", "<a>&lt;</a>", readXml, {
    frames: [
      ["<a>", "</a>"],
      ["<a ", "/>"],
      ['<a x="', '"/>'],
      ["<!-- ", " --><a/>"],
      ["<a>&#", ";</a>"],
    ],
  }),
  parser("domain/csv.ts", "withoutApostrophe", "'=1", withoutApostrophe, { frames: [["'", "x"]] }),
  parser("core/kernel/click-sources.ts", "the host of a referrer", "https://a.example/b", (text) =>
    sourceOf({ referrer: text }, "referrer"),
  ),
  parser("domain/csv.ts", "csvRecord", "=1", (text) => csvRecord([text])),
  parser("http/import/columns.ts", "columnKey", "E-mail", columnKey),
  parser("http/import/columns.ts", "matchColumns", "email\ncode", (text) =>
    matchColumns("partners", {}, text.split(/[\n,]/).slice(0, 200), ALL_FILLED),
  ),
  parser("domain/import-cell.ts", "readCodes", "ann, https://x.example/?ref=bob", (text) => readCodes(text, PARAMS), {
    frames: [
      ["https://x.example/?", "&ref=ann"],
      ["https://", "/?ref=ann"],
      ["https://x.example/", "?ref=ann"],
      ["ann x.example/#", "#?ref=ann"],
    ],
    worst: {
      "one link again and again": (n) => "x?ref=a,".repeat(n / 8),
      "other letters in every place": (n) => `https://${otherLetters(n)}.example/?ref=a`,
    },
  }),
  parser("domain/import-cell.ts", "readStatus", "Approved", (text) => readStatus(text, { a: "active" })),
  parser("domain/import-cell.ts", "readPayoutMethod", "Bank transfer", (text) => readPayoutMethod(text, new Map())),
  parser("domain/import-cell.ts", "splitPromotionCodes", "ANN20; BOB", splitPromotionCodes),
  parser("domain/import-cell.ts", "cellText", "n/a", cellText, { frames: [["(", ")"]] }),
  parser("domain/invisible.ts", "trimText", " a\u200b", trimText, { frames: [["a", "b"]] }),
  parser("domain/import-cell.ts", "isReferred", "active", isReferred),
  parser("domain/import-cell.ts", "readPercentage", "12,5 %", readPercentage, {
    frames: [
      ["1.", "%"],
      ["12", "x"],
    ],
  }),
  parser("domain/import-cell.ts", "splitName", "Ada Lovelace", splitName),
  parser("http/import/product.ts", "LINK_PARAM_PATTERN", "via", (text) => LINK_PARAM_PATTERN.test(text)),
  parser("providers/api/index.ts", "id_pattern", "order-9001", (text) => ownersServer.id_pattern.test(text)),
  parser("providers/registry.ts", "providerOfCustomer", "cus_1", providerOfCustomer, { frames: [["cus_", ""]] }),
];

const OF_NAMES: Parser[] = [
  parser("domain/email.ts", "emailKey", "Jane@example.com", emailKey),
  parser("domain/email.ts", "addressKey", "Jane@example.com", addressKey, {
    frames: [
      ['"', '"@gmail.com'],
      ["jane@", ".example."],
    ],
    worst: {
      "marks out of their order": (n) => `a${"\u0301\u0316".repeat(n / 2)}@example.com`,
      "other letters in every place": (n) => `jane@${otherLetters(n)}.example`,
    },
  }),
  parser("domain/erasure.ts", "isAddress", "jane@example.com", isAddress, { frames: [["jane@a.", ""]] }),
  parser("domain/erasure.ts", "holdsAddress", "to jane@example.com", (text) => holdsAddress(text, ADDRESSES), {
    frames: [
      ['["@', '"]'],
      ['{"email":"', '@a.b"}'],
      ["\\u0040%40@", ""],
    ],
  }),
  parser("domain/erasure.ts", "withoutAddresses", "jane@example.com", (text) => withoutAddresses({ text }, ADDRESSES)),
  parser("domain/iban.ts", "ibanProblem", "DE89 3704 0044 0532 0130 00", (text) => ibanProblem(tidyIban(text))),
  parser("domain/mask.ts", "maskAddress", "jane@example.com", maskAddress),
  parser("domain/mask.ts", "maskAccount", "acct_123456789", maskAccount),
  parser("domain/code.ts", "suggestedSlugs", "JANE-DOE20", (text) => [codeKey(text), suggestedSlugs(text)]),
  parser("domain/partner.ts", "SLUG_PATTERN", "ann", (text) => [SLUG_PATTERN.test(text), slugKey(text)]),
  parser("domain/partner.ts", "searchText", "ann", (text) =>
    searchText({ email: text, slug: text, first_name: text, last_name: text }),
  ),
  parser("domain/program.ts", "PAYOUT_TERM_PATTERN", "NET-30", (text) => PAYOUT_TERM_PATTERN.test(text), {
    frames: [["NET-", ""]],
  }),
  parser("domain/program.ts", "normalDomain", "shop.example", normalDomain, {
    frames: [["a.", ".example"]],
    worst: { "other letters in every place": (n) => `${otherLetters(n)}.example` },
  }),
  parser("lib/utf8-order.ts", "compareUtf8", "50%off", (text) => compareUtf8(text, text)),
  parser("domain/visible.ts", "isVisible", "Ada", isVisible),
  parser("domain/time-zone.ts", "normalTimeZone", "Europe/Berlin", normalTimeZone, { frames: [["Europe/", ""]] }),
  parser(
    "domain/reference.ts",
    "eachSlugOnce",
    "a b",
    (text) => eachSlugOnce(text.split(" ").map((ref) => ({ ref }))).length,
  ),
  parser("domain/shard.ts", "shards", "sk_1", (text) => [
    ...[isProgramId(text), shardOfProgram(text), shardOfToken(text), shardOfKey(text), shardOfClickObject(text)],
  ]),
  parser("domain/bot.ts", "isKnownBot", "Mozilla/5.0 (compatible; Googlebot/2.1)", isKnownBot, {
    frames: [
      ["Mozilla/5.0 (", ") Safari/605"],
      ["Mozilla/5.0 Version/1", ""],
    ],
    worst: { "numbers and dots": (n) => `a/${"1.".repeat(n / 2)}x` },
  }),
];

const OF_ADDRESSES: Parser[] = [
  parser("domain/address.ts", "parseAddress", "2001:db8::1", (text) => {
    const address = parseAddress(text);
    return address && whyNotPublic(address);
  }),
  parser("domain/address.ts", "networksOf", "2001:db8::1", networksOf),
  parser("domain/own-host.ts", "isOwnHost", "service.example", (text) => isOwnHost(text, OWN_HOSTS)),
  parser("domain/target-url.ts", "checkTargetUrl", "https://hook.example/", checkTargetUrl, {
    frames: [
      ["https://", "/"],
      ["https://hook.example/", ""],
    ],
  }),
  parser("domain/target-url.ts", "whyHostRefused", "hook.example", whyHostRefused, { frames: [["a.", ".example"]] }),
  parser("domain/target-url.ts", "whyNameRefused", "hook.example", whyNameRefused, { frames: [["a.", ".1"]] }),
  parser("domain/application.ts", "a name and what is made of it", "Jane Doe", (text) => [
    ...[namesOf(text), readQuestion(text), slugStem(text, "a@b.co"), slugStem("", text)],
  ]),
  parser("domain/link.ts", "linkTarget", "/a?b#c", (text) => linkTarget("shop.example", text, "ann", "id").href, {
    frames: [
      ["/", ""],
      ["/?", "#"],
    ],
  }),
  parser("core/kernel/target.ts", "an answer of the resolver", "shop.example.", (text) => resolved(text)),
];

const OF_REQUESTS: Parser[] = [
  ...["program_id", "ref", "landing", "referrer", "id"].map((field) =>
    parser("domain/click.ts", `parseClick: ${field}`, "/ann", (text) => parseClick({ [field]: text }), {
      frames: [
        ["/", "?"],
        ["https", "://x"],
      ],
    }),
  ),
  parser("domain/click.ts", "parseClick: JSON", "{}", (text) => parseClick(JSON.parse(text)), { worst: jsonTexts() }),
  parser("db/page.ts", "cursorId", btoa(`evt_${"0".repeat(26)}`), (text) => cursorId({ cursor: text }, "event")),
  parser("lib/crypto.ts", "fromHex", "00ff", fromHex),
  parser("lib/crypto.ts", "fromBase64", "AAAA", fromBase64),
  parser("lib/crypto.ts", "sha256Hex", "sk_1", (text) => sha256Hex(text)),
  parser("lib/id.ts", "instantOf", "evt_01jd0000000000000000000000", instantOf),
  parser("lib/log.ts", "redact", "to jane@example.com", redact, {
    frames: [
      ["Bearer ", ""],
      ["a@", ".1"],
      ["sk_", "!"],
    ],
  }),
  parser("lib/mail.ts", "escapeHtml", "<b>", escapeHtml),
];

const OF_VENDORS: Parser[] = [
  ...VENDORS.flatMap((provider) => [...signatures(provider), anEvent(provider)]),
  parser("outbound/sign.ts", "signatureHeaders", `whsec_${btoa("secret")}`, (secret) =>
    signatureHeaders({ event_id: "evt_1", timestamp: 1, body: new Uint8Array(), secrets: [secret] }),
  ),
  parser(
    "providers/wire.ts",
    "parseWith: an instant",
    "2026-01-01T00:00:00Z",
    (occurred_at) => providerB.parse({ ...transactionCompleted(), occurred_at }),
    {
      frames: [["2026-01-01T00:00:00.", "Z"]],
    },
  ),
  parser(
    "providers/wire.ts",
    "parseWith: JSON",
    "{}",
    (text) => [
      ...VENDORS.map((provider) => provider.parse(JSON.parse(text))),
      ...VENDORS.map((provider) => provider.claimedOwner(JSON.parse(text))),
    ],
    { worst: jsonTexts() },
  ),
  parser("providers/provider-a/events.ts", "a session", "jane", (text) =>
    providerA.parse(
      sessionCompleted({ ref: text, email: text, customer: text, currency: text, metadata: { x: text } }),
    ),
  ),
  parser("providers/provider-a/thin.ts", "a thin event", "/v1/invoices/in_1", (text) =>
    providerA.parse({
      ...{ id: "evt_1", object: "v2.core.event", type: "v1.invoice.paid", created: "2026-01-05T12:00:00.000Z" },
      ...{ livemode: true, snapshot_event: text, context: text, related_object: { id: text, type: text, url: text } },
    }),
  ),
  parser(
    "providers/provider-a/payment.ts",
    "an invoice of many lines",
    "a b",
    (text) => {
      const event = invoicePaid();
      const data = text.split(" ").map((service_ref) => ({ metadata: { service_ref } }));
      return providerA.parse({ ...event, data: { object: { ...event.data.object, lines: { data } } } });
    },
    { worst: { "a reference in every line": (n) => Array.from({ length: n / 8 }, (_, i) => `ref-${i}`).join(" ") } },
  ),
  parser("providers/provider-a/lines.ts", "a line of an invoice", "1 × Pro (at $9.00 / month)", (description) =>
    invoiceLines([{ amount: 900, description }]),
  ),
  parser(
    "providers/provider-b/events.ts",
    "a transaction",
    "100",
    (text) =>
      providerB.parse(
        transactionCompleted({ data: { currency_code: text, details: { totals: { total: text, tax: text } } } }),
      ),
    { frames: [["-", ""]] },
  ),
  parser(
    "providers/provider-b/lines.ts",
    "the lines of a transaction",
    "100",
    (text) => transactionLines([{ price_id: "pri_1", totals: { total: text, tax: text } }], []),
    { frames: [["-", ""]] },
  ),
  parser("providers/provider-a/api.ts", "an API key", "sk_test_1", isTestKey),
  parser(
    "providers/provider-a/connect.ts",
    "a refusal",
    "on account 'acct_1'",
    (message) => {
      const fetch = () => Promise.resolve(Response.json({ error: { code: "x", message } }, { status: 403 }));
      return providerAConnect({ fetch, baseUrl: "https://vendor.example", now: () => 0 }).identify("sk_test_1");
    },
    { frames: [["on account 'acct_", "'"]] },
  ),
];

export const PARSERS: readonly Parser[] = [
  ...OF_THE_IMPORT,
  ...OF_NAMES,
  ...OF_ADDRESSES,
  ...OF_REQUESTS,
  ...OF_VENDORS,
];

function signatures(provider: Vendor) {
  const name = provider.text;
  const [time, key, separator] = TEST_VENDORS[provider.name as ListedVendor].header;
  const good = `${time}${separator}${key}=${"0".repeat(64)}`;
  const frames = [
    [`${time}${separator}${key}=`, ""],
    [`${time}${separator}`, "=1"],
    [`${time}${separator}a=`, ""],
  ] as const;
  const worst = {
    "many signatures": (n: number) => time + `${separator}${key}=${"0".repeat(64)}`.repeat(n / 64),
    "many pairs": (n: number) => `a=b${separator}`.repeat(n / 4) + good,
  };
  const body = new Uint8Array();
  const input = (header: string) => ({ header, body, secrets: ["one", "two"], now: 1_795_347_945_000 });
  return [
    parser("providers/signature.ts", `${name}: verify`, good, (text) => provider.verify(input(text)), {
      frames,
      worst,
    }),
    parser("providers/signature.ts", `${name}: whyRefused`, good, (text) => provider.whyRefused(input(text)), {
      ...{ frames, worst },
    }),
  ];
}

/** Its event of the OpenAPI document, with the text in the place of each text but its type. */
function anEvent({ name, document, parse, claimedOwner }: Vendor): Parser {
  const { example } = document;
  return parser("providers/wire.ts", `${name}: an event`, "jane", (text) => {
    const body: unknown = JSON.parse(JSON.stringify(example), (key, value: unknown) =>
      typeof value === "string" && !key.endsWith("type") ? text : value,
    );
    return [parse(body), claimedOwner(body)];
  });
}

function resolved(data: string) {
  const records = [1, 5, 28, 39].map((type) => ({ type, data }));
  const fetch = () => Promise.resolve(Response.json({ Status: 0, Answer: records }));
  const deps = { fetch, resolverUrl: "https://resolver.example/", ownHosts: OWN_HOSTS, timeoutMs: 60_000 };
  return resolveTarget("shop.example", deps);
}

function otherLetters(n: number): string {
  return Array.from({ length: n }, (_, i) => String.fromCodePoint(0x4e00 + (i % 20_000))).join("");
}

/** JSON that is as deep, as wide or as long as its text. */
export function jsonTexts(): Record<string, (n: number) => string> {
  return {
    "lists in lists": (n) => "[".repeat(n / 2) + "]".repeat(n / 2),
    "lists in lists, not closed": (n) => "[".repeat(n),
    "objects in objects": (n) => '{"a":'.repeat(n / 6) + "1" + "}".repeat(n / 6),
    "many fields": (n) => `{${Array.from({ length: n / 10 }, (_, i) => `"f${i}":1`).join()}}`,
    "one field again and again": (n) => `{${'"a":1,'.repeat(n / 6)}"a":1}`,
    "numbered fields": (n) => `{${Array.from({ length: n / 10 }, (_, i) => `"${i * 65_537}":1`).join()}}`,
    "a long number": (n) => "1".repeat(n),
    "a text of escapes": (n) => `"${"\\u0041".repeat(n / 6)}"`,
    "a list of lists": (n) => `[${"[],".repeat(n / 3)}[]]`,
  };
}
