import * as z from "zod";
import { CLICK_ID_PATTERN, PROGRAM_ID_PATTERN } from "../../domain/click.ts";
import { SLUG_PATTERN } from "../../domain/partner.ts";
import { VENDORS } from "../../providers/registry.ts";
import { ok, type Documented, type Reply } from "../route.ts";

const programId = z.string().describe("The program whose webhook this is.");

const PAGE: Reply[] = [{ status: 200, description: "A page for people.", media_type: "text/html" }];

const PAGE_OR_TEXT: Reply[] = [
  { status: 200, description: "A page for people, or Markdown.", media_type: ["text/html", "text/markdown"] },
];

const JSON_OR_TEXT = ["application/json", "text/plain"];

/** The body that `domain/click.ts` parses by hand, because it runs once per click; a test compares the two. */
const click = z.strictObject({
  program_id: z.string().regex(PROGRAM_ID_PATTERN),
  ref: z.string().regex(SLUG_PATTERN).describe("The partner's slug."),
  landing: z.string().regex(/^\//).optional().describe("The path of the page that the visitor arrived at."),
  referrer: z
    .string()
    .regex(/^$|^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/]/)
    .optional()
    .describe("The page the visitor came from, or empty."),
  sub: z
    .string()
    .optional()
    .describe("Where the partner placed the link: 1 to 64 letters, digits, - or _; anything else is ignored."),
  id: z
    .string()
    .regex(CLICK_ID_PATTERN)
    .optional()
    .describe("An id that stays the same on a retry, so that the click counts once."),
});

/** Routes that `route` does not declare: signed webhooks, cheap ones of visitors' browsers, and pages. */
export const OUTSIDE: readonly Documented[] = [
  ...VENDORS.map(({ name, text, document, claims_programs }): Documented => ({
    method: "POST",
    path: `/webhooks/${name}`,
    operation: `receive${pascal(name)}`,
    tag: "Inbound",
    summary: `Receive an event from ${text}`,
    description: document.description,
    query: z.object({ program_id: claims_programs ? programId.optional() : programId }),
    body: { name: `${pascal(name)}Event`, schema: document.event, kind: "raw", example: document.example },
    reply: ok("Received", "Stored and decided."),
    errors: ["invalid_signature", "provider_not_configured", "not_found", "rate_limited", "provider_unavailable"],
  })),
  {
    method: "GET",
    path: "/service.js",
    operation: "getScript",
    tag: "Tracking",
    summary: "Get the tracking script",
    description: 'Put it before the closing body tag, with `data-program="prog_…"`.',
    reply: [
      { status: 200, description: "The script.", media_type: "text/javascript", headers: { ETag: "Its version." } },
      { status: 304, description: "The browser has it already.", headers: { ETag: "Its version." } },
    ],
  },
  {
    method: "POST",
    path: "/click",
    operation: "recordClick",
    tag: "Tracking",
    summary: "Record a click",
    description:
      "At most 4 KiB. Clicks by bots and with unknown references get the same answer, but are only counted. The visitor's country is stored, and no IP address. Any origin may call it, without credentials.",
    query: z.object({
      kept: z.string().optional().describe("The reference that the visitor already has."),
      first: z.string().optional().describe("Present with first-click attribution: `kept` stays if it is known."),
    }),
    body: { name: "Click", schema: click, kind: "raw", media_types: JSON_OR_TEXT },
    reply: [{ status: 202, description: "The click is stored.", schema: "ClickTaken" }],
    errors: ["rate_limited", "internal_error"],
  },
  {
    method: "OPTIONS",
    path: "/click",
    operation: "allowClick",
    tag: "Tracking",
    summary: "Answer the preflight request of a click",
    reply: [{ status: 204, description: "Any origin may send a POST." }],
  },
  {
    method: "GET",
    path: "/r/:program_id/:slug",
    operation: "followLink",
    tag: "Tracking",
    summary: "Follow a referral link",
    query: z.object({
      to: z.string().default("/").describe("A path on that domain."),
      sub: z
        .string()
        .optional()
        .describe("Where the partner placed the link: 1 to 64 letters, digits, - or _; anything else is left out."),
    }),
    reply: [
      {
        status: 302,
        description: "Redirects to the page, with the reference.",
        headers: {
          Location:
            "`https://<domain><to>?ref=<slug>&sub=<sub>&service_click=<id>`, without `sub` where none was given.",
        },
      },
    ],
    errors: ["not_found", "rate_limited", "storage_unavailable", "internal_error"],
  },
  {
    method: "GET",
    path: "/healthz",
    operation: "getHealth",
    tag: "Service",
    summary: "Check the health of the service",
    reply: ok("Health", "It is set up, and its database answers."),
    errors: ["storage_unavailable", "not_configured", "internal_error"],
  },
  {
    method: "GET",
    path: "/openapi.json",
    operation: "getDocument",
    tag: "Service",
    summary: "Get the OpenAPI document",
    reply: [{ status: 200, description: "OpenAPI 3.1.", media_type: "application/json" }],
  },
  {
    method: "GET",
    path: "/client.d.ts",
    operation: "getClientTypes",
    tag: "Service",
    summary: "Get the types of the TypeScript client",
    description: "For `hono/client`: `curl -O` this file into your project and import `AffiliateApi` from it.",
    reply: [{ status: 200, description: "TypeScript declarations.", media_type: "text/plain" }],
  },
  {
    method: "GET",
    path: "/docs/events/:file",
    operation: "getEventSchema",
    tag: "Service",
    summary: "Get the schema of an outbound event",
    description: "`file` is the event's type with `.json`, such as `payout.paid.json`.",
    reply: [{ status: 200, description: "JSON Schema of the event's `data`.", media_type: "application/json" }],
    errors: ["not_found"],
  },
  {
    method: "GET",
    path: "/docs",
    operation: "getDocs",
    tag: "Service",
    summary: "Get the first page of the documentation",
    reply: PAGE,
  },
  {
    method: "GET",
    path: "/llms.txt",
    operation: "getTextIndex",
    tag: "Service",
    summary: "Get the index of the documentation as text",
    reply: [{ status: 200, description: "A list of the guides and sections.", media_type: "text/plain" }],
  },
  {
    method: "GET",
    path: "/docs/api/:section",
    operation: "getDocsSection",
    tag: "Service",
    summary: "Get a section of the reference",
    description:
      "A part of this document as a page with samples, such as `/docs/api/partners`. With `.md` at the end of the address, as Markdown.",
    reply: PAGE_OR_TEXT,
    errors: ["not_found"],
  },
  {
    method: "GET",
    path: "/docs/search",
    operation: "searchDocs",
    tag: "Service",
    summary: "Search the documentation",
    query: z.object({ q: z.string().optional().describe("The words to find; results with more of them come first.") }),
    reply: PAGE,
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/search.json",
    operation: "getSearchIndex",
    tag: "Service",
    summary: "Get the search index of the documentation",
    reply: [{ status: 200, description: "Everything that the search can find.", media_type: "application/json" }],
  },
  {
    method: "GET",
    path: "/docs/:guide",
    operation: "getGuide",
    tag: "Service",
    summary: "Get a guide",
    description:
      "How to start, integrate, migrate, pay out, verify webhooks, deploy and operate, such as `/docs/start`. With `.md` at the end of the address, as Markdown.",
    reply: PAGE_OR_TEXT,
    errors: ["not_found"],
  },
];

/** `provider_a` becomes `ProviderA`. */
function pascal(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase());
}
