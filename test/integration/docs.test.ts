import { beforeAll, describe, expect, it } from "vitest";
import { REVIEW_REASONS } from "../../src/domain/commission.ts";
import { ATTEMPT_ERRORS } from "../../src/domain/delivery.ts";
import { SENT_EVENT_TYPES } from "../../src/domain/event.ts";
import { EVENT_OUTCOMES } from "../../src/domain/payment.ts";
import { READ_TROUBLES } from "../../src/domain/read-trouble.ts";
import { REFUSAL_REASONS } from "../../src/domain/refusal.ts";
import { ERROR_CODES } from "../../src/http/errors.ts";
import { textOfHtml } from "../../src/site/html-text.ts";
import { ERRORS } from "../../src/http/openapi/errors.ts";
import { GUIDES } from "../../src/site/guide-list.ts";
import { operations, servedDocument } from "../support/openapi.ts";
import { BASE_URL, call } from "../support/program.ts";

/** The limit on the bytes of one page and of the search index. */
const MAX_BYTES = 60 * 1024;

const SECTIONS = [...servedDocument().tags.map(({ name }) => name.toLowerCase()), "errors", "outbound"];
const PATHS = ["/docs", ...SECTIONS.map((name) => `/docs/api/${name}`), "/docs/search?q=payout"];

interface Index {
  entries: { title: string; href: string }[];
}

let bodies: Map<string, { headers: Headers; body: string }>;

beforeAll(async () => {
  const replies = await Promise.all(PATHS.map(async (path) => [path, await call<string>(path)] as const));
  for (const [path, { status }] of replies) expect([path, status]).toEqual([path, 200]);
  bodies = new Map(replies);
});

const bodyOf = (path: string) => bodies.get(path)?.body ?? "";
const idsIn = (body: string) => [...body.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id);
const linksIn = (body: string) => [...body.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = ""]) => href);

async function gzipped(text: string): Promise<number> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

describe("the documentation is pages for people (HTTP-17, HTTP-33)", () => {
  it("describes every route on the page of its section, with its parameters, fields and samples", () => {
    for (const { method, path, operation } of operations()) {
      const [tag = ""] = operation.tags;
      const body = bodyOf(`/docs/api/${tag.toLowerCase()}`);
      const card = body.slice(body.indexOf(`id="${operation.operationId}"`)).split("</section>")[0] ?? "";
      expect([path, card.includes(`<span class="badge">${method}</span> <code>${path}</code>`)]).toEqual([path, true]);
      for (const { name } of operation.parameters ?? []) expect(card).toContain(`<code>${name}</code>`);
      const isSampled = tag !== "Inbound" && method !== "OPTIONS" && path !== "/r/{program_id}/{slug}";
      expect([path, card.includes("curl &quot;"), card.includes("TypeScript for")]).toEqual([
        path,
        isSampled,
        isSampled,
      ]);
      expect(bodyOf("/docs")).toContain(`href="/docs/api/${tag.toLowerCase()}#${operation.operationId}"`);
    }
  });

  it("describes every error by cause and cure, and every outbound event with an example (HTTP-32)", () => {
    const escaped = (text: string) =>
      text.replaceAll("`", "").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("'", "&#39;");
    const errors = bodyOf("/docs/api/errors").replaceAll(/<\/?code>/g, "");
    for (const code of ERROR_CODES) {
      expect(idsIn(bodyOf("/docs/api/errors"))).toContain(code);
      for (const text of Object.values(ERRORS[code])) expect(errors).toContain(escaped(text));
    }
    for (const event of SENT_EVENT_TYPES) {
      const card = bodyOf("/docs/api/outbound").split(`id="${event}"`)[1]?.split("</section>")[0];
      expect(card).toContain(`&quot;event&quot;: &quot;${event}&quot;`);
      expect(card).toContain(`href="/docs/events/${event}.json"`);
    }
  });

  it("says what each outcome, flag, refusal and failed attempt means, as a page and as Markdown (HTTP-32)", async () => {
    const { body: markdown } = await call<string>("/docs/api/errors.md");
    const page = bodyOf("/docs/api/errors");
    for (const [name, values] of Object.entries({
      outcome: EVENT_OUTCOMES,
      review: REVIEW_REASONS,
      refusal: REFUSAL_REASONS,
      unread: READ_TROUBLES,
      attempt: ATTEMPT_ERRORS,
    })) {
      for (const value of values) {
        expect(idsIn(page)).toContain(`${name}-${value}`);
        expect(markdown).toMatch(new RegExp(`^- \`${value}\`: [A-Z].{15,}\\.$`, "m"));
      }
    }
  });

  it("has the headers, fields and an example of every outbound event as Markdown too", async () => {
    const { body } = await call<string>("/docs/api/outbound.md");
    for (const header of ["X-Service-Signature", "X-Service-Event-Id", "webhook-signature"])
      expect(body).toContain(`- \`${header}\``);
    for (const event of SENT_EVENT_TYPES) {
      const part = body.split(`## ${event}\n`)[1]?.split("\n## ")[0];
      expect(part).toContain("- `data.id`");
      expect(part).toContain(`"event": "${event}"`);
    }
  });

  it("calls the deployment's own address in every sample (HTTP-19)", () => {
    for (const [path, { body }] of bodies) {
      for (const [, url = ""] of body.matchAll(/curl &quot;(https?:\/\/[^/&]*)/g))
        expect([path, url]).toEqual([path, BASE_URL]);
    }
  });

  it("keeps the operator's section apart (HTTP-31)", () => {
    for (const { body } of bodies.values()) {
      const [, group = ""] = /Operator<\/p>(.*?)<\/ul>/s.exec(body) ?? [];
      expect(linksIn(group)).toEqual(["/docs/api/operator"]);
    }
    expect(bodyOf("/docs/api/operator")).toContain("$ADMIN_TOKEN");
    expect(bodyOf("/docs/api/operator")).not.toContain("$API_KEY");
  });

  it("leads to places that are there, with ids that occur once", () => {
    const targets = new Map([...bodies].map(([path, { body }]) => [path, idsIn(body)]));
    for (const [path, { body }] of bodies) {
      const ids = idsIn(body);
      expect([path, new Set(ids).size]).toEqual([path, ids.length]);
      for (const href of linksIn(body)) {
        const [at = "", id] = href.split("#");
        const there = at === "" ? ids : targets.get(at);
        if (there === undefined)
          expect(href).toMatch(/^\/(docs\/[a-z-]+(#.*)?|docs\/events\/.*|openapi\.json|client\.d\.ts|llms\.txt)$/);
        else if (id !== undefined) expect([path, href, there.includes(id)]).toEqual([path, href, true]);
      }
      for (const section of SECTIONS) expect(linksIn(body)).toContain(`/docs/api/${section}`);
      for (const { name } of GUIDES) expect(linksIn(body)).toContain(`/docs/${name}`);
    }
  });

  it("shows headings and results as text, escaped once", async () => {
    const pages = ["/docs/integrate", "/docs/security", "/docs/search?q=provider%27s"];
    for (const path of pages) {
      const { body } = await call<string>(path);
      const prose = body.replaceAll(/<(pre|code)\b.*?<\/\1>/gs, "");
      expect([path, /&amp;(?:#\d+|[a-z]+);/.exec(prose)?.[0]]).toEqual([path, undefined]);
    }
    const { entries } = (await call<Index>("/docs/search.json")).body;
    expect(entries.filter(({ title }) => /&(?:#\d+|[a-z]+);/.test(title))).toEqual([]);
    expect(textOfHtml("On the owner&#39;s <code>&lt;body&gt;</code>")).toBe("On the owner's <body>");
  });

  it("loads nothing from elsewhere, and no page is more than 60 KB (HTTP-33)", async () => {
    const guides = await Promise.all(
      GUIDES.map(async ({ name }) => [`/docs/${name}`, await call<string>(`/docs/${name}`)] as const),
    );
    for (const [path, { headers, body }] of [...bodies, ...guides]) {
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(body).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?![^>]*src)/);
      const loaded = [...body.matchAll(/<(?:link|script|img|iframe)[^>]*?(?:href|src)="([^"]*)"/g)].map(
        ([, at = ""]) => at,
      );
      for (const at of loaded) expect(at).toMatch(/^(\/assets\/|data:)/);
      const files = loaded.filter((at) => at.startsWith("/"));
      expect(files).toHaveLength(3);
      const sizes = await Promise.all(
        [body, ...(await Promise.all(files.map(async (at) => (await call<string>(at)).body)))].map(gzipped),
      );
      expect([path, sizes.reduce((sum, size) => sum + size, 0) < MAX_BYTES]).toEqual([path, true]);
      // A page has few operations, so that a phone does not scroll through the whole API.
      expect([path, body.match(/class="card operation"/g)?.length ?? 0]).toEqual([
        path,
        expect.toSatisfy((n: number) => n < 40),
      ]);
    }
  });

  it("may be kept by caches, but for what a search found", async () => {
    for (const [path, { headers }] of bodies) {
      const kept = path.includes("?") ? "no-store" : "public, max-age=3600";
      expect([path, headers.get("cache-control")]).toEqual([path, kept]);
    }
    expect((await call("/docs/search.json")).headers.get("cache-control")).toBe("public, max-age=3600");
    expect((await call("/docs/api/nothing")).status).toBe(404);
  });
});

/** Queries of newcomers, each with the address of its answer. */
const ANSWERS: Record<string, string> = {
  pagination: "/docs#pagination",
  paging: "/docs#pagination",
  "429": "/docs#rate-limits",
  "rate limits": "/docs#rate-limits",
  sandbox: "/docs/testing",
  "test without real money": "/docs/testing",
  php: "/docs/signatures#php",
  "verify signature python": "/docs/signatures#python",
  "webhook retries": "/docs/webhooks#delivery-and-retries",
  "deploy production": "/docs/first-deploy",
  gdpr: "/docs/api/customers#eraseCustomer",
  pricing: "/docs/costs",
  "import rewardful": "/docs/migrate#import",
  "refund after payout": "/docs/payouts#a-refund-after-the-payout",
  idempotent: "/docs#idempotency",
  "promo code": "/docs/integrate#promotion-codes",
  shopify: "/docs/integrate#facts-from-your-own-server",
  zapier: "/docs/integrate#facts-from-your-own-server",
  postback: "/docs/integrate#facts-from-your-own-server",
  "w-9": "/docs/payouts#tax-data",
  "1099": "/docs/payouts#tax-data",
  "back up": "/docs/operate#backups",
  "roll back": "/docs/deploy#upgrade-and-rollback",
  "log in": "/docs/start#sign-in-and-team",
  "2fa": "/docs/start#sign-in-and-team",
  "team member": "/docs/start#sign-in-and-team",
  docker: "/docs/first-deploy",
  license: "/docs/first-deploy",
  smtp: "/docs/operate#e-mail",
  logs: "/docs/operate#watching",
  "missing sale": "/docs/api/claims",
  "audit log": "/docs/api/events",
  "cookie banner": "/docs/script",
  "csv import": "/docs/migrate#import",
  "sepa file": "/docs/payouts#files-for-banks-and-wise",
  react: "/docs/integrate#1-add-the-script",
  woocommerce: "/docs/integrate#facts-from-your-own-server",
  magento: "/docs/integrate#facts-from-your-own-server",
  "mobile app": "/docs/integrate#facts-from-your-own-server",
  "pay per lead": "/docs/integrate#facts-from-your-own-server",
  slack: "/docs/webhooks#slack-hubspot-and-other-tools",
  "web hook": "/docs/webhooks",
  "end point": "/docs/webhooks#create-an-endpoint",
  "next.js": "/docs/integrate#1-add-the-script",
  "node.js": "/docs/integrate#from-typescript",
  "rest api": "/docs/integrate#api",
  "set up": "/docs/start",
  "getting started": "/docs/start",
  "check out": "/docs/integrate#2-pass-the-reference-at-checkout",
  "sign up": "/docs/integrate#facts-from-your-own-server",
  "e-mail": "/docs/operate#e-mail",
  sso: "/docs/start#sign-in-and-team",
  kyc: "/docs/payouts#tax-data",
  "tax form": "/docs/payouts#tax-data",
  vat: "/docs/payouts#self-billing-invoices",
  "when do i get paid": "/docs/payouts",
  "payout schedule": "/docs/payouts",
  "minimum payout": "/docs/payouts#before-the-first-payout",
  "paypal payout": "/docs/payouts#the-file-for-paypal",
  "net 30": "/docs/payouts#before-the-first-payout",
  "charge back": "/docs/payouts#a-refund-after-the-payout",
  "how do i pay affiliates": "/docs/payouts#pay",
  "recurring commissions": "/docs/rules",
  "partner tiers": "/docs/rules",
  "multi level": "/docs/rules#what-rules-cannot-do",
  bonus: "/docs/rules#what-rules-cannot-do",
  banners: "/docs/start#what-partners-see",
  "qr code": "/docs/start#what-partners-see",
  statistics: "/docs/start#what-partners-see",
  "pay per click": "/docs/start#what-partners-see",
  "sale not tracked": "/docs/api/claims",
  "terms and conditions": "/docs/start#let-partners-apply",
  "how do partners join": "/docs/start#let-partners-apply",
  "invite affiliate": "/docs/api/partners#invitePartner",
  "discount for customers": "/docs/integrate#promotion-codes",
  "cookie duration": "/docs/script",
  adblocker: "/docs/script#when-something-is-wrong",
  "free trial": "/docs/costs",
  "white label": "/docs/integrate#the-portal-in-your-own-site",
  "custom domain": "/docs/first-deploy#the-address",
};

describe("the search of the documentation (HTTP-34)", () => {
  const found = async (query: string) => {
    const { status, body } = await call<string>(`/docs/search?q=${encodeURIComponent(query)}`);
    expect(status).toBe(200);
    return linksIn(body.split("<main")[1] ?? "");
  };

  it("has the answer among the first three results, in the words of who asks", async () => {
    for (const [query, answer] of Object.entries(ANSWERS)) {
      expect([query, (await found(query)).slice(0, 3)]).toEqual([query, expect.arrayContaining([answer])]);
    }
  });

  it("shows eight results, and the others on demand", async () => {
    const [, main = ""] = (await call<string>("/docs/search?q=payout")).body.split("<main");
    const [first = "", others = ""] = main.split("<details");
    expect(linksIn(first)).toHaveLength(8);
    expect(/<summary>Show (\d+) more/.exec(others)?.[1]).toBe(String(linksIn(others).length));
  });

  it("finds operations, fields, errors, events and sections of guides, by words in any order", async () => {
    expect((await found("list partners"))[0]).toBe("/docs/api/partners#listPartners");
    expect((await found("partners LIST"))[0]).toBe("/docs/api/partners#listPartners");
    expect((await found("createPartner"))[0]).toBe("/docs/api/partners#createPartner");
    expect(await found("external_id refund")).toContain("/docs/api/facts#trackRefund");
    expect(await found("review_reason")).toContain("/docs/api/commissions#listCommissions");
    expect((await found("rate_limited"))[0]).toBe("/docs/api/errors#rate_limited");
    expect((await found("payout.paid"))[0]).toBe("/docs/api/outbound#payout.paid");
    expect((await found("webhook secret"))[0]).toBe("/docs/webhooks#replace-the-secret");
  });

  it("says of each result what it is and how its text begins", async () => {
    const { body } = await call<string>("/docs/search?q=reprocess");
    const [, result = ""] = /<li>(<a href="\/docs\/api\/payments#reprocessPayment">.*?)<\/li>/s.exec(body) ?? [];
    expect(result).toContain("POST /api/v1/payments/{id}/reprocess");
    expect(result).toContain("Use it after you corrected a slug or a partner.");
  });

  it("leads to the guides from a query for nothing or too much, and shows markup as text", async () => {
    for (const query of ["", "   ", "qqqqqq", "x".repeat(5_000)]) {
      expect((await found(query)).at(-1), query).toBe("/docs");
    }
    const { body } = await call<string>(`/docs/search?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
    expect(body).not.toContain("<script>alert");
    expect(body).toContain("&lt;script&gt;");
    expect((await call<string>("/docs/search?q=%26lt%3B")).body).toContain('value="&amp;lt;"');
  });

  it("has a form that works without a script, on every page", () => {
    for (const { body } of bodies.values()) {
      expect(body.match(/<form method="get" action="\/docs\/search" role="search"/g)).toHaveLength(2);
    }
  });

  it("has an index of all of it, whose addresses are there", async () => {
    const { body } = await call<Index>("/docs/search.json");
    const index = body.entries;
    expect(await gzipped(JSON.stringify(body))).toBeLessThan(MAX_BYTES);
    expect(new Set(index.map(({ href }) => href)).size).toBe(index.length);
    for (const { operation } of operations()) {
      expect(index.some(({ href }) => href.endsWith(`#${operation.operationId}`))).toBe(true);
    }
    for (const part of idsIn(bodyOf("/docs").split('id="conventions"')[1] ?? "")) {
      expect(index.some(({ href }) => href === `/docs#${part}`)).toBe(true);
    }
    for (const { href, title } of index) {
      const [at = "", id] = href.split("#");
      const page = bodies.get(at) ? { status: 200, body: bodyOf(at) } : await call<string>(at);
      expect([href, page.status, title.length > 0]).toEqual([href, 200, true]);
      if (id !== undefined) expect([href, idsIn(page.body).includes(id)]).toEqual([href, true]);
    }
  });
});

describe("the texts for programs that read (HTTP-35)", () => {
  it("are listed by llms.txt, and each is there as Markdown", async () => {
    const { status, headers, body } = await call<string>("/llms.txt");
    expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(body.startsWith("# ")).toBe(true);
    const links = [...body.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, url = ""]) => url);
    const names = [...GUIDES.map(({ name }) => `/docs/${name}.md`), ...SECTIONS.map((name) => `/docs/api/${name}.md`)];
    expect(links.toSorted()).toEqual([...names, "/openapi.json"].map((path) => BASE_URL + path).toSorted());
    for (const path of names) {
      const text = await call<string>(path);
      expect([path, text.status, text.headers.get("content-type")]).toEqual([
        path,
        200,
        "text/markdown; charset=utf-8",
      ]);
      expect(text.body.startsWith("# ")).toBe(true);
    }
  });

  it("have every operation with its fields and samples", async () => {
    for (const { method, path, operation } of operations()) {
      const { body } = await call<string>(`/docs/api/${operation.tags[0]?.toLowerCase()}.md`);
      const part = body.split(`\`${method} ${path}\` (\`${operation.operationId}\`)`)[1]?.split("\n## ")[0] ?? "";
      for (const { name, description = "-" } of operation.parameters ?? []) {
        expect(part).toContain(`- \`${name}\``);
        expect(part).toContain(description);
      }
      const [good] = Object.keys(operation.responses);
      expect(part).toContain(`${good}: `);
    }
  });
});
