/** The readers of the forms on pages for strangers and partners. */
import type { Context } from "hono";
import { env } from "cloudflare:workers";
import type { Program } from "../../src/core/kernel/rows.ts";
import { pickChanged } from "../../src/core/kernel/stale.ts";
import { assetProblem, bannerHtml, readAssets, textWithLink } from "../../src/domain/asset.ts";
import { readPolicies, whyNotCalled, whyNotLoaded } from "../../src/domain/content-policy.ts";
import { checksOf, clickAddressOf } from "../../src/domain/installation.ts";
import { search } from "../../src/http/docs-rank.ts";
import { meanwhileText, SHOWN_FIELD, readShown } from "../../src/http/pages/edits.ts";
import { homeOf, returnPath, signInAddress } from "../../src/http/pages/return-to.ts";
import { mayRequest } from "../../src/http/pages/rights.tsx";
import { FormFields } from "../../src/http/pages/forms.ts";
import { localeOf } from "../../src/http/pages/locale.ts";
import { exceptionsIn } from "../../src/http/pages/dashboard/payouts/exports.tsx";
import { programInput } from "../../src/http/pages/dashboard/settings/fields.tsx";
import { ratesInput } from "../../src/http/pages/dashboard/settings/rates.tsx";
import { joinValues, readForm, readStamp } from "../../src/http/pages/join/form.tsx";
import { readClaim } from "../../src/http/pages/portal/claims.tsx";
import { buildLink } from "../../src/http/pages/portal/link-builder.tsx";
import { parseAnswer } from "../../src/http/pages/passkey-answer.ts";
import { base64url, PasskeyRefused, readAssertion, readRegistration } from "../../src/lib/passkey.ts";
import type { PageEnv } from "../../src/http/session.ts";
import { jsonTexts, type Parser } from "./parsers.ts";

const PROGRAM = {
  ...{ id: "prog_1", domain: "shop.example", questions: ["Why? (optional)"], terms: "Be kind.", terms_version: 1 },
} as Program & { domain: string };

const SITE = new URL("https://shop.example/");
const SCRIPT_AT = "https://service.example/service.js";

/** A form with the text in each of these fields. */
function form(text: string, ...names: string[]): FormFields {
  const data = new FormData();
  for (const name of names) data.set(name, text);
  return new FormFields(data);
}

/** Reads the text as each byte string of a device: of a new passkey, and of a used one. */
async function readMade(text: string): Promise<unknown[]> {
  const expected = { origin: "https://service.example", challenge: new Uint8Array(3) };
  const client = (type: string) =>
    base64url(new TextEncoder().encode(JSON.stringify({ type, challenge: "AAAA", origin: expected.origin })));
  const host = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("service.example")));
  const authenticatorData = base64url(Uint8Array.from([...host, 0x45, ...Array<number>(21).fill(0), 1, 7]));
  const made = { clientDataJSON: client("webauthn.create"), authenticatorData, publicKey: text };
  const used = { clientDataJSON: client("webauthn.get"), authenticatorData, signature: text };
  const read = [
    readRegistration({ id: "Bw", response: { ...made, publicKeyAlgorithm: -7 } }, expected),
    readRegistration({ id: "Bw", response: { ...made, publicKeyAlgorithm: -257 } }, expected),
    readRegistration({ id: "Bw", response: { ...made, authenticatorData: text, publicKeyAlgorithm: -7 } }, expected),
    readRegistration({ id: "Bw", response: { ...made, clientDataJSON: text, publicKeyAlgorithm: -7 } }, expected),
    readAssertion({ id: "Bw", response: used }, P256, expected),
  ];
  return Promise.all(
    read.map((one) =>
      one.catch((error: unknown) => {
        if (error instanceof PasskeyRefused) return error;
        throw error;
      }),
    ),
  );
}

/** The base point of the curve. */
const FOUND = {
  title: "Retries",
  href: "/docs/webhooks#retries",
  kind: "Guide",
  about: "",
  head: " retri ",
  words: " webhook ",
};

const P256 = {
  ...({ kty: "EC", crv: "P-256" } as const),
  x: "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
  y: "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU",
};

/** An RSA key with a modulus of this many bytes. */
function longKey(length: number): Uint8Array {
  const der = (tag: number, ...content: number[]) => [
    ...[tag, 0x83, content.length >> 16, (content.length >> 8) & 0xff, content.length & 0xff],
    ...content,
  ];
  const key = der(0x30, ...der(0x02, ...Array<number>(length).fill(0x7f)), ...[0x02, 0x03, 1, 0, 1]);
  const rsa = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
  return Uint8Array.from(der(0x30, ...rsa, ...der(0x03, 0, ...key)));
}

export const PAGES: Parser[] = [
  {
    module: "http/pages/join/form.tsx",
    name: "an application",
    good: "https://www.example.com",
    read: async (text) => {
      const fields = form(text, "name", "email", "website", "answer_0", "terms");
      const stamp = await readStamp({ key: "key", visit: "visit", program: PROGRAM }, text, 0);
      return [readForm(PROGRAM, fields), joinValues(PROGRAM, fields), stamp];
    },
    frames: [
      ["https://", ""],
      ["1.", ""],
      [`1.${"n".repeat(22)}.`, ""],
    ],
  },
  {
    module: "http/pages/portal/claims.tsx",
    name: "a claim",
    good: "example.com",
    read: (text) => [readClaim(form(text, "order_id")), readClaim(form(text, "day", "email_domain"))],
    frames: [["", ".com"]],
  },
  {
    module: "http/pages/portal/link-builder.tsx",
    name: "a link",
    good: "/pricing",
    read: (text) => {
      const query = { page: text, sub: text, utm_source: text, utm_medium: text, utm_campaign: text };
      return buildLink({ req: { query: () => query }, env } as unknown as Context<PageEnv>, PROGRAM, { slug: "ann" });
    },
    frames: [
      ["https://shop.example/", ""],
      ["/?", "#"],
    ],
  },
  {
    module: "domain/asset.ts",
    name: "assets",
    good: "text: A\nTry {link}",
    read: (text) => {
      const banner = { name: text, kind: "banner", content: text } as const;
      return [
        readAssets(text),
        assetProblem(banner),
        bannerHtml(banner, text),
        textWithLink(text, "https://a.example/"),
      ];
    },
    frames: [["text: A\n", "\n---\n"]],
  },
  {
    module: "domain/content-policy.ts",
    name: "a page's policies",
    good: "script-src 'self' https://a.example; connect-src *",
    read: (text) => {
      const policies = readPolicies(text);
      const script = { url: SITE, nonce: text, integrity: text };
      return [whyNotLoaded(policies, script, SITE), whyNotCalled(policies, SITE, SITE)];
    },
    frames: [
      ["script-src ", ""],
      ["script-src https://", ""],
    ],
  },
  {
    module: "domain/installation.ts",
    name: "what a page of the owner's site has",
    good: "script-src 'self'",
    read: (text) => {
      const script = {
        src: SCRIPT_AT,
        program: text,
        origin: null,
        type: null,
        nonce: text,
        integrity: text,
        policies_before: 1,
      };
      const page = {
        url: SITE,
        base: text,
        policy: text,
        meta_policies: [text],
        scripts: [{ ...script, src: text }, script],
      };
      const expected = { script_url: SCRIPT_AT, program_id: "prog_1", has_clicks: false, arrives: null };
      return [clickAddressOf(page, expected), checksOf(page, { ...expected, try_url: SITE.href })];
    },
  },
  {
    module: "http/pages/dashboard/settings/fields.tsx",
    name: "programInput",
    good: "https://shop.example/pricing",
    read: (text) => programInput(form(text, "domain", "questions", "assets", "payer_address"), "USD"),
    frames: [
      ["https://", "/?#"],
      ["", "\n"],
    ],
  },
  {
    module: "http/pages/dashboard/settings/rates.tsx",
    name: "ratesInput",
    good: "USD 1.0853",
    read: (text) => ratesInput(form(text, "base", "rates")),
    frames: [
      ["USD ", "\n"],
      ['"USD": "', '",'],
    ],
  },
  {
    module: "http/pages/dashboard/payouts/exports.tsx",
    name: "exceptionsIn",
    good: "pay_1, pay_2",
    read: (text) => exceptionsIn(form(text, "except", "except_ids")),
    frames: [["pay_1,", "pay_2"]],
  },
  {
    module: "http/pages/rights.tsx",
    name: "an address of a link",
    good: "/dashboard/flows/flw_1",
    read: (text) => [mayRequest("viewer", "GET", text), mayRequest("viewer", "POST", text)],
    frames: [["/dashboard/", "/x"]],
  },
  {
    module: "http/docs-rank.ts",
    name: "a query of the documentation",
    good: "webhook retries, listPartners payout.paid",
    read: (text) => search({ synonyms: {}, entries: [FOUND] }, text).length,
    frames: [["", "ing"]],
  },
  {
    module: "http/pages/return-to.ts",
    name: "a path to return to",
    good: "/dashboard/partners?search=ann",
    read: (text) => {
      const path = returnPath(text);
      return [path, homeOf("owner", text), signInAddress(text)];
    },
    frames: [
      ["/dashboard/", ""],
      ["/portal?", "#"],
    ],
  },
  {
    module: "http/pages/edits.ts",
    name: "what a form showed",
    good: JSON.stringify({ name: "Ann" }),
    read: (text) => {
      const shown = readShown(form(text, SHOWN_FIELD));
      return [pickChanged({ name: "Ann" }, { name: text }, { shown }), meanwhileText(text, text)];
    },
    frames: [
      ['{"name":"', '"}'],
      ['{"name":', "}"],
    ],
    worst: jsonTexts(),
  },
  {
    module: "http/pages/passkey-answer.ts",
    name: "a passkey",
    good: JSON.stringify({
      id: "AAAA",
      response: { clientDataJSON: "AAAA", authenticatorData: "AAAA", publicKey: "AAAA", publicKeyAlgorithm: -7 },
    }),
    read: (text) => [parseAnswer("create", text), parseAnswer("get", text)],
    frames: [['{"id":"', '"}']],
  },
  {
    module: "lib/passkey.ts",
    name: "what a device says of a passkey",
    good: "MAYCAQECAQE",
    read: readMade,
    worst: {
      "arrays in arrays": (n) => base64url(new Uint8Array(n * 0.75).fill(0x30)),
      "a long number": (n) => base64url(longKey(n * 0.75)),
    },
  },
  {
    module: "http/pages/locale.ts",
    name: "Accept-Language",
    good: "de-DE,de;q=0.9",
    read: (text) => localeOf(text),
    frames: [["de,", ";q=0.5"]],
  },
];
