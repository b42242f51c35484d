/** The readers of a request in routes, pages and middlewares: headers, cookies, queries, bodies, paths. */
import { env } from "cloudflare:workers";
import { Hono, type Context, type HonoRequest, type MiddlewareHandler } from "hono";
import type * as z from "zod";
import { app } from "../../src/app.ts";
import { importFields, type ImportKind } from "../../src/http/import/columns.ts";
import { retryAfterMs } from "../../src/domain/retry-after.ts";
import { endpointCreate } from "../../src/http/api/webhooks.ts";
import { commissionCreate } from "../../src/http/api/commissions.ts";
import { flowCreate } from "../../src/http/api/flows.ts";
import { importQuery } from "../../src/http/api/imports.ts";
import { resultsQuery } from "../../src/http/api/payout-results.ts";
import { onboardingStart } from "../../src/http/api/onboarding.ts";
import { partnerCreate } from "../../src/http/api/partners.ts";
import { programPatch } from "../../src/http/api/programs.ts";
import { programCreate } from "../../src/http/admin.ts";
import { authenticateOperator } from "../../src/http/authenticate.ts";
import { takeClick } from "../../src/http/click.ts";
import { readCustomerLine } from "../../src/http/import/customer-line.ts";
import type { ImportFile, LineCells } from "../../src/http/import/line.ts";
import { readPartnerLine } from "../../src/http/import/partner-line.ts";
import { FormFields, parseMoney } from "../../src/http/pages/forms.ts";
import { filterOf } from "../../src/http/pages/filters.ts";
import { signInMail } from "../../src/http/mails/sign-in.ts";
import { partnerQuery } from "../../src/http/queries.ts";
import { isClick, limitParameters, pathOf } from "../../src/http/request-path.ts";
import { requireVisit, type PageEnv } from "../../src/http/session.ts";
import { refererOf } from "../../src/http/track.ts";
import { checkUnread } from "../../src/http/unverified-body.ts";
import { ok, json, route } from "../../src/http/route.ts";
import { pageQuery, timeRange } from "../../src/http/validate.ts";
import { PAGES } from "./parsers-pages.ts";
import type { Parser } from "./parsers.ts";
import { jsonTexts } from "./parsers.ts";

const URL_OF_TESTS = "https://service.example/";

/** A route behind this middleware, asked with a request. */
function behind(middleware: unknown, request: (text: string) => RequestInit & { url?: string }) {
  const routes = new Hono()
    .onError(() => new Response(null, { status: 400 }))
    .use(limitParameters as MiddlewareHandler)
    .all("*", middleware as MiddlewareHandler, () => new Response());
  return async (text: string) => {
    const { url = URL_OF_TESTS, ...init } = request(text);
    return routes.fetch(new Request(url, init), { ADMIN_TOKEN: "x".repeat(32) });
  };
}

const DOCUMENTED = { operation: "try", tag: "Service", scope: ["read"], summary: "Try" } as const;
const READS = route("GET /api/v1/tried", {
  ...DOCUMENTED,
  query: pageQuery.extend(timeRange.shape),
  reply: ok("Deleted", "Read."),
  handle: ({ query }) => query,
});
const TAKES = route("POST /api/v1/tried", {
  ...DOCUMENTED,
  body: json("PartnerCreate", partnerCreate),
  reply: ok("Deleted", "Taken."),
  handle: ({ body: taken }) => taken,
});

/** Header values are ASCII: of others the runtime only complains. */
const ascii = (text: string) => text.replaceAll(/[^\x20-\x7e]/g, "x");
const header = (name: string) => (text: string) => ({ headers: { [name]: ascii(text) } });
const body = (type: string) => (text: string) => ({ method: "POST", headers: { "content-type": type }, body: text });
const search = (name: string) => (text: string) => ({ url: `${URL_OF_TESTS}?${name}=${text}` });

const HEADERS: Parser[] = [
  {
    module: "domain/retry-after.ts",
    name: "Retry-After",
    good: "Fri, 06 Nov 2026 08:49:37 GMT",
    read: (text) => retryAfterMs(text, Date.UTC(2026, 10, 6)),
    frames: [
      ["Fri, ", "08:49:37 GMT"],
      ["1", "."],
    ],
  },
  {
    module: "http/authenticate.ts",
    name: "Authorization",
    good: "Bearer sk_1",
    read: behind(authenticateOperator(), header("authorization")),
    frames: [
      ["Bearer ", ""],
      ["Bearer a", " b"],
    ],
  },
  {
    module: "http/session.ts",
    name: "Cookie",
    good: "a=b",
    read: behind(requireVisit(), header("cookie")),
    frames: [
      ["__Host-visit=", ""],
      ["a=b; ", "; __Host-visit=x"],
    ],
    worst: {
      "many cookies": (n) => "__Host-visit=a; ".repeat(n / 16),
      "many names": (n) => Array.from({ length: n / 10 }, (_, i) => `a${i}=b`).join("; "),
    },
  },
  { module: "http/track.ts", name: "refererOf", good: "https://shop.example/", read: refererOf },
  {
    module: "http/click.ts",
    name: "Content-Type",
    good: "text/plain",
    read: (text) =>
      takeClick(new Request(URL_OF_TESTS, { ...body(ascii(text))("{"), body: "{" }), {} as typeof env, NOBODY),
    frames: [["text/plain", ";"]],
  },
  {
    module: "http/unverified-body.ts",
    name: "Content-Length",
    good: "1",
    read: (text) => {
      const raw = { headers: new Headers({ "content-length": ascii(text) }), body: null };
      return checkUnread({ raw } as HonoRequest, () => Promise.resolve());
    },
  },
  {
    module: "http/request-path.ts",
    name: "isClick",
    good: `${URL_OF_TESTS}click`,
    read: (url) => isClick({ method: "POST", url } as Request),
    frames: [
      ["https://", "/click"],
      ["https://x/click", ""],
    ],
  },
];

const NOBODY = { waitUntil: () => undefined };

const ADDRESSES: Parser[] = [
  {
    module: "app.ts",
    name: "the routes",
    good: "healthz",
    read: (text) => app.fetch(new Request(URL_OF_TESTS + text), env, CONTEXT),
    frames: [
      ["admin/", ""],
      ["r/", "/x"],
      ["nothing?", ""],
    ],
  },
  { module: "http/request-path.ts", name: "pathOf", good: URL_OF_TESTS, read: (url) => pathOf({ url }) },
  ...["page", "cursor", "from"].map((name) => ({
    module: "resources/input.ts",
    name: `query: ${name}`,
    good: "1",
    read: behind(READS.respond, search(name)),
    frames: [
      ["2026-01-01T00:00:00.", "Z"],
      ["&", ""],
    ] as const,
    worst: { "many parameters": (n: number) => `1${"&page=1".repeat(n / 7)}` },
  })),
  {
    module: "http/pages/filters.ts",
    name: "filterOf",
    good: "ann",
    read: behind((c: Context<PageEnv>) => new Response(JSON.stringify(filterOf(c, partnerQuery))), search("search")),
  },
];

const CONTEXT = NOBODY as unknown as ExecutionContext;

const BODIES: Parser[] = [
  {
    module: "http/route.ts",
    name: "Content-Type",
    good: "application/json",
    read: behind(TAKES.respond, (type) => ({ ...body(ascii(type))("{}"), body: "{}" })),
  },
  {
    module: "http/route.ts",
    name: "a JSON body",
    good: "{}",
    read: behind(TAKES.respond, body("application/json")),
    worst: jsonTexts(),
  },
  ...["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"].map((type) => ({
    module: "http/pages/forms.ts",
    name: `a form as ${type}`,
    good: type.startsWith("multipart") ? "--x--\r\n" : "a=b",
    read: async (text: string) => readForm(await new Request(URL_OF_TESTS, body(type)(text)).formData()),
    frames: [
      ["name=", ""],
      ['--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n', "\r\n--x--\r\n"],
      ["--x\r\nContent-Disposition: form-data; ", '"\r\n\r\n\r\n--x--\r\n'],
    ] as const,
    worst: {
      "many fields": (n: number) => "name=1&".repeat(n / 7),
      "many parts": (n: number) =>
        `${'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n1\r\n'.repeat(n / 60)}--x--\r\n`,
    },
  })),
  {
    module: "http/pages/forms.ts",
    name: "fields of a form",
    good: "1.50",
    read: (text) => {
      const data = new FormData();
      data.set("name", text);
      return readForm(data);
    },
    frames: [
      ["1.", ""],
      ["-1", "."],
    ],
  },
  { module: "http/pages/forms.ts", name: "parseMoney", good: "1,000.50", read: (text) => parseMoney(text, "EUR") },
  {
    module: "http/mails/sign-in.ts",
    name: "a program's name in the subject",
    good: "Shop",
    read: (program_name) =>
      signInMail(
        "a@b.co",
        URL_OF_TESTS,
        [
          {
            audience: "owner",
            program_id: "prog_1",
            program_name,
            brand_color: null,
            partner_id: null,
            role: "owner",
            member_since: null,
          },
        ],
        { device: null, place: null },
      ),
  },
];

function readForm(data: FormData) {
  const fields = new FormFields(data);
  return [
    ...[fields.text("name"), fields.raw("name"), fields.number("name"), fields.money("name", "EUR")],
    ...[fields.all("name").length, fields.has("name"), fields.textOrNull("name")],
  ];
}

const SCHEMAS: Record<string, z.ZodObject> = {
  "http/admin.ts": programCreate,
  "http/api/commissions.ts": commissionCreate,
  "http/api/flows.ts": flowCreate,
  "http/api/imports.ts": importQuery,
  "http/api/onboarding.ts": onboardingStart,
  "http/api/payout-results.ts": resultsQuery,
  "http/api/partners.ts": partnerCreate,
  "http/api/programs.ts": programPatch,
  "http/api/webhooks.ts": endpointCreate,
};

/** Every field of every body, as a text. */
const FIELDS: Parser[] = Object.entries(SCHEMAS).flatMap(([module, schema]) =>
  Object.keys(schema.shape).map((field) => ({
    module,
    name: `field ${field}`,
    good: "x",
    read: (text: string) => schema.shape[field]?.safeParse(text),
    frames: [
      ["https://", "/"],
      ["jane@", ".example"],
      ["NET-", ""],
    ] as const,
  })),
);

const ORDER = { product: "other", param: null, status: "active", provider: null } as const;

const LINES: Parser[] = (["partners", "customers"] as const).flatMap((kind) =>
  importFields(kind).map((field) => ({
    module: `http/import/${kind === "partners" ? "partner" : "customer"}-line.ts`,
    name: `column ${field}`,
    good: "x@b.co",
    read: (text: string) => readLine(kind, field, text),
    frames: [
      ["a@", ".co"],
      ["https://x.example/?ref=", ""],
    ] as const,
  })),
);

/** A line that is good but for this text in one of its cells. */
function readLine(kind: ImportKind, field: string, text: string) {
  const others: Record<string, string> = { email: "a@b.co", code: "ann", customer_email: "b@b.co" };
  const cell = (of: string) => (of === field ? text : (others[of] ?? ""));
  const each: LineCells["each"] = (of) => [{ column: of, text: cell(of), isFurther: false }];
  const cells: LineCells = { line: 2, cell, each, columnOf: (of) => of };
  const file: ImportFile = {
    ...{ order: { ...ORDER, kind }, params: ["ref"], statuses: {}, columns: [], places: new Map(), further: new Set() },
  };
  return kind === "partners" ? readPartnerLine(file, cells) : readCustomerLine(file, cells);
}

export const HTTP_PARSERS: readonly Parser[] = [...HEADERS, ...ADDRESSES, ...BODIES, ...FIELDS, ...LINES, ...PAGES];
