/** Pages, e-mails and guides have names for people, and the API's words in code alone (PAGE-15). */
import { beforeAll, describe, expect, it } from "vitest";
import type { Notice } from "../../src/core/kernel/notices.ts";
import { GUIDES } from "../../src/site/guide-list.ts";
import { composeFor } from "../../src/http/mails/compose.ts";
import { SecretSealer } from "../../src/lib/seal.ts";
import { sendB } from "../support/ledger.ts";
import { NOTICES } from "../support/mail-notices.ts";
import { servedDocument } from "../support/openapi.ts";
import { API_KEY_A } from "../support/payouts.ts";
import { makePartner } from "../support/program.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";

/** Words of the API that pages do not use. */
const API_WORDS = /\bprovider[ _-]?[ab]\b|\bwallets?\b/i;

const NAMES = ["Paddle", "PayPal", "Stripe"];

const READ_TOO = /\b(?:aria-label|title|placeholder|alt|label|data-confirm)="([^"]*)"/g;

/** Paths of the API, and types of events. */
const MACHINE_WORDS = /(?<=\s)\/[\w{}:/.-]+|\b[a-z_]+\.[a-z_]+\b/g;

/** The visible text of a page outside of code: texts, and attributes that contain text. */
function readOf(html: string): string {
  const prose = html
    .replaceAll(/<(code|pre|textarea|style)\b[^]*?<\/\1>/g, " … ")
    .replaceAll(/<a\b[^>]*>(https?:[^<]*)<\/a>/g, " … ");
  const attributes = [...prose.matchAll(READ_TOO)].map(([, text]) => text);
  return [prose.replaceAll(/<[^>]*>/g, " "), ...attributes]
    .join("\n")
    .replaceAll(MACHINE_WORDS, " … ")
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

let stocked: Stocked;
let readers: Record<"dashboard" | "portal", Visitor>;

beforeAll(async () => {
  stocked = await makeStocked();
  const { program, partner } = stocked;
  await program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key: API_KEY_A });
  await program.api("PATCH", `/api/v1/partners/${partner.id}`, {
    ...{ payout_method: "wallet", payout_email: "jane@pay.example", provider_a_account_id: "acct_1jane" },
  });
  await makePartner(program, { payout_method: "provider_a" });
  await sendB(program, transactionCompleted({ ref: partner.slug }));
  readers = { dashboard: await signInOwner(program), portal: await signInPartner(partner.email) };
});

const PAGES = pageRoutes("dashboard", "portal").filter(
  ({ method, path }) => method === "GET" && !path.endsWith(".csv"),
);

async function pageOf(path: string): Promise<string> {
  const { status, body } = await readers[path.startsWith("/portal") ? "portal" : "dashboard"].get(path);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

const addresses = () => [
  ...PAGES.map(({ path }) => pageAddress(path, stocked.ids)),
  ...["/docs", ...GUIDES.map(({ name }) => `/docs/${name}`)],
  ...servedDocument().tags.map(({ name }) => `/docs/api/${name.toLowerCase()}`),
  ...["/docs/api/errors", "/docs/api/outbound", "/docs/search?q=provider"],
];

describe("a page, a guide or the reference (PAGE-15)", () => {
  it("has the API's words in code alone, and the names Stripe, Paddle and PayPal", async () => {
    const found: string[] = [];
    const seen = new Set<string>();
    for (const address of addresses()) {
      const body = await pageOf(address);
      found.push(...having(address, body, API_WORDS));
      for (const name of NAMES) if (readOf(body).includes(name)) seen.add(name);
    }
    expect(found).toEqual([]);
    expect([...seen].toSorted()).toEqual(NAMES);
  });

  it("keeps the API's words where machines read", async () => {
    const { program } = stocked;
    const status = await program.api("GET", "/api/v1/integrations/status");
    expect(Object.keys(status.body)).toEqual(expect.arrayContaining(["provider_a", "provider_b"]));
    const payments = await program.api<{ data: { provider: string }[] }>("GET", "/api/v1/payments");
    expect(new Set(payments.body.data.map(({ provider }) => provider))).toEqual(
      new Set(["provider_a", "provider_b", "api"]),
    );
  });

  it("is found where it has them elsewhere", () => {
    for (const html of [
      "<p>Pay through provider A</p>",
      "<td>Provider_B</td>",
      '<input aria-label="Your wallet">',
      "<option value=x>provider&#95;a</option>",
    ]) {
      expect(readOf(html)).toMatch(API_WORDS);
    }
    for (const html of [
      '<a href="#provider_a">x</a>',
      "<code>provider_a</code>",
      "<pre>wallet</pre>",
      "Body of POST /webhooks/provider_a",
    ]) {
      expect(readOf(html)).not.toMatch(API_WORDS);
    }
  });
});

describe("a form that is refused (PAGE-15)", () => {
  it("says the names", async () => {
    const visitor = readers.portal;
    await visitor.get("/portal/details");
    const { status, body } = await visitor.post("/portal/details", { payout_method: "wallet", payout_email: "" });
    expect(status).toBe(422);
    expect(readOf(body)).toContain("A payout by PayPal needs the e-mail address of your account there.");
    expect(readOf(body)).not.toMatch(API_WORDS);
  });
});

const SEALER = new SecretSealer(["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]);
const composed = (notice: Notice) =>
  composeFor({ PUBLIC_URL: "https://service.example", ENVIRONMENT: "production" }, SEALER)(notice);

describe("an e-mail (PAGE-15)", () => {
  it.each(Object.values<Notice>(NOTICES).map((notice) => [notice.kind, notice] as const))(
    "of %s",
    async (_, notice) => {
      for (const { mail } of await composed(notice)) {
        const text = mail.text.replaceAll(/\S+@\S+/g, "");
        expect(`${mail.subject} ${text} ${readOf(mail.html).replaceAll(/\S+@\S+/g, "")}`).not.toMatch(API_WORDS);
      }
    },
  );

  it("has the names of the provider and of the wallet service", async () => {
    const [refused] = await composed(NOTICES.webhooks_refused);
    expect(refused?.mail.text).toContain("Stripe");
    const [changed] = await composed(NOTICES.payout_details);
    expect(changed?.mail.text).toContain("E-mail at PayPal");
  });
});

/** The matches in a page, with the text around them. */
function having(address: string, html: string, pattern: RegExp): string[] {
  const read = readOf(html).replaceAll(/\s+/g, " ");
  return [...read.matchAll(new RegExp(pattern, "gi"))].map(
    ({ index }) => `${address}: ${read.slice(Math.max(0, index - 50), index + 50)}`,
  );
}
