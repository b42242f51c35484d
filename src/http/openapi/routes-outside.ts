import * as z from "zod";
import { VENDORS } from "../../providers/registry.ts";
import { pageQuery } from "../validate.ts";
import { eventSchemaName } from "./requests.ts";
import { created, ok, type Route, type RouteReply } from "./route.ts";

const programId = z.object({
  program_id: z.string().optional().describe("Whose webhook this is."),
});

const PAGE: RouteReply[] = [{ status: 200, description: "A page for people.", media_type: "text/html" }];

const PAGE_OR_TEXT: RouteReply[] = [
  { status: 200, description: "A page for people, or Markdown.", media_type: ["text/html", "text/markdown"] },
];

const JSON_OR_TEXT = ["application/json", "text/plain"];

/** What is not called with a program's API key. */
export const OUTSIDE_ROUTES: Route[] = [
  {
    method: "POST",
    path: "/admin/programs",
    tag: "Operator",
    summary: "Create a program",
    body: { schema: "ProgramCreate" },
    replies: created("ProgramWithKey", "The program and its API key, which is shown only here."),
  },
  {
    method: "GET",
    path: "/admin/programs",
    tag: "Operator",
    summary: "List programs",
    query: pageQuery,
    replies: ok("ProgramList", "A page of programs, newest first."),
  },
  {
    method: "POST",
    path: "/admin/programs/:id/api-key",
    tag: "Operator",
    summary: "Issue a new API key",
    description: "The old one stops working at once.",
    body: { schema: "Nothing", optional: true },
    replies: created("ProgramWithKey", "The program and its new key, which is shown only here."),
  },
  {
    method: "POST",
    path: "/admin/sign-in-links",
    tag: "Operator",
    summary: "A one-time dashboard link for an owner",
    description: "For deployments without e-mail.",
    body: { schema: "SignInLinkCreate" },
    replies: created("SignInLink", "The link, good for one use."),
    errors: ["not_configured"],
  },
  {
    method: "POST",
    path: "/admin/reconcile",
    tag: "Operator",
    summary: "Check the ledger",
    description:
      "Compares commissions with the journal, payments with their facts, balances with entries, payouts with their commissions and with the vendor's transfers. Each call looks at a bounded part; call it with `next` until that is null. Nothing is repaired unless `repair` says so.",
    body: { schema: "Reconcile", optional: true },
    replies: ok("Reconciling", "What was looked at, and every difference that is there."),
    errors: ["not_found"],
  },
  {
    method: "POST",
    path: "/admin/secrets/reseal",
    tag: "Operator",
    summary: "Seal the stored secrets under the present key",
    description:
      "After `ENCRYPTION_KEY` was replaced. Each call seals a bounded number of values again; call it until `left` is 0, then no earlier key is needed.",
    body: { schema: "Nothing", optional: true },
    replies: ok("Resealing", "What was sealed again, what is left, and what no key opens."),
  },
  ...VENDORS.map(({ name, text, document }): Route => ({
    method: "POST",
    path: `/webhooks/${name}`,
    tag: "Inbound",
    summary: `An event of ${text}`,
    description: document.description,
    query: programId,
    body: { schema: eventSchemaName(name) },
    replies: ok("Received", "Stored for good, and decided."),
    errors: ["invalid_signature", "provider_not_configured", "not_found", "rate_limited", "provider_unavailable"],
  })),
  {
    method: "GET",
    path: "/service.js",
    tag: "Tracking",
    summary: "The tracking script",
    description: 'Put before the closing body tag with `data-program="prog_…"`.',
    replies: [
      { status: 200, description: "The script.", media_type: "text/javascript", headers: { ETag: "Its version." } },
      { status: 304, description: "The browser has it already.", headers: { ETag: "Its version." } },
    ],
    errors: ["internal_error"],
  },
  {
    method: "POST",
    path: "/click",
    tag: "Tracking",
    summary: "Record a click",
    description:
      "At most 4 KiB. Clicks of bots and of unknown partners are answered alike, and only counted. The visitor's country is kept as the platform names it, and no address. Any origin, without credentials.",
    query: z.object({
      kept: z.string().optional().describe("The reference that the visitor has."),
      first: z.string().optional().describe("Present with first-click attribution: `kept` stays if it is known."),
    }),
    body: { schema: "Click", media_types: JSON_OR_TEXT },
    replies: [{ status: 202, description: "The click is durable.", schema: "ClickTaken" }],
    errors: ["rate_limited", "internal_error"],
  },
  {
    method: "OPTIONS",
    path: "/click",
    tag: "Tracking",
    summary: "The preflight of a click",
    replies: [{ status: 204, description: "Any origin may POST." }],
  },
  {
    method: "GET",
    path: "/r/:program_id/:slug",
    tag: "Tracking",
    summary: "A link that records the click and leads to the program's domain",
    query: z.object({ to: z.string().default("/").describe("A path on that domain.") }),
    replies: [
      {
        status: 302,
        description: "To the page, with the reference.",
        headers: { Location: "`https://<domain><to>?ref=<slug>&service_click=<id>`" },
      },
    ],
    errors: ["not_found", "rate_limited", "storage_unavailable", "internal_error"],
  },
  {
    method: "GET",
    path: "/healthz",
    tag: "Service",
    summary: "Whether the service is set up, and its database answers",
    replies: ok("Health", "They do."),
    errors: ["storage_unavailable", "not_configured", "internal_error"],
  },
  {
    method: "GET",
    path: "/openapi.json",
    tag: "Service",
    summary: "This document",
    replies: [{ status: 200, description: "OpenAPI 3.1.", media_type: "application/json" }],
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/events/:file",
    tag: "Service",
    summary: "The schema of an outbound event",
    description: "`file` is the event's type and `.json`, such as `payout.paid.json`.",
    replies: [{ status: 200, description: "JSON Schema of the event's `data`.", media_type: "application/json" }],
    errors: ["not_found", "internal_error"],
  },
  {
    method: "GET",
    path: "/docs",
    tag: "Service",
    summary: "The guides and the sections of the reference",
    replies: PAGE,
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/llms.txt",
    tag: "Service",
    summary: "The addresses of all texts, for programs that read",
    replies: [{ status: 200, description: "A list of the guides and sections.", media_type: "text/plain" }],
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/api/:section",
    tag: "Service",
    summary: "A section of the reference",
    description: "This document as a page, with samples: `/docs/api/partners`. With `.md` behind it, as Markdown.",
    replies: PAGE_OR_TEXT,
    errors: ["not_found", "internal_error"],
  },
  {
    method: "GET",
    path: "/docs/search",
    tag: "Service",
    summary: "What the guides and the reference say of some words",
    query: z.object({ q: z.string().optional().describe("The words, all of which must be there.") }),
    replies: PAGE,
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/search.json",
    tag: "Service",
    summary: "The index of that search",
    replies: [{ status: 200, description: "All that can be found.", media_type: "application/json" }],
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/:guide",
    tag: "Service",
    summary: "A guide",
    description:
      "How to start, integrate, migrate, pay out, verify webhooks, deploy and operate: `/docs/start`. With `.md` behind it, as Markdown.",
    replies: PAGE_OR_TEXT,
    errors: ["not_found", "internal_error"],
  },
];
