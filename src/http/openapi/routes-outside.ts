import * as z from "zod";
import { VENDORS } from "../../providers/registry.ts";
import { pageQuery } from "../validate.ts";
import { eventSchemaName } from "./requests.ts";
import { created, ok, type Route, type RouteReply } from "./route.ts";

const programId = z.string().describe("The program whose webhook this is.");

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
    summary: "Replace a program's API key",
    description: "The old key stops working at once.",
    body: { schema: "Nothing", optional: true },
    replies: created("ProgramWithKey", "The program and its new key, which is shown only here."),
  },
  {
    method: "POST",
    path: "/admin/sign-in-links",
    tag: "Operator",
    summary: "Create a one-time sign-in link",
    description:
      "For a team member or a partner who gets no e-mail from the deployment. Send it to nobody but the person with that address: it signs in as whoever has it.",
    body: { schema: "SignInLinkCreate" },
    replies: created("SignInLink", "The link, valid for one use."),
    errors: ["not_configured"],
  },
  {
    method: "POST",
    path: "/admin/reconcile",
    tag: "Operator",
    summary: "Check the ledger",
    description:
      "Compares commissions with the journal, payments with their facts, balances with entries, and payouts with their commissions and with the provider's transfers. Each call checks a limited part; call it with `next` until that is null. Nothing is repaired unless `repair` says so.",
    body: { schema: "Reconcile", optional: true },
    replies: ok("Reconciling", "What was checked, and the differences found."),
    errors: ["not_found"],
  },
  {
    method: "POST",
    path: "/admin/secrets/reseal",
    tag: "Operator",
    summary: "Reseal the stored secrets with the current key",
    description:
      "Use it after you replaced `ENCRYPTION_KEY`. Each call reseals a limited number of values; call it until `left` is 0, after which nothing stored needs an earlier key. Links to unsubscribe in earlier e-mails do.",
    body: { schema: "Nothing", optional: true },
    replies: ok("Resealing", "What was resealed, what is left, and what no key opens."),
  },
  ...VENDORS.map(({ name, text, document, claims_programs }): Route => ({
    method: "POST",
    path: `/webhooks/${name}`,
    tag: "Inbound",
    summary: `Receive an event from ${text}`,
    description: document.description,
    query: z.object({ program_id: claims_programs ? programId.optional() : programId }),
    body: { schema: eventSchemaName(name) },
    replies: ok("Received", "Stored and decided."),
    errors: ["invalid_signature", "provider_not_configured", "not_found", "rate_limited", "provider_unavailable"],
  })),
  {
    method: "GET",
    path: "/service.js",
    tag: "Tracking",
    summary: "Get the tracking script",
    description: 'Put it before the closing body tag, with `data-program="prog_…"`.',
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
      "At most 4 KiB. Clicks by bots and with unknown references get the same answer, but are only counted. The visitor's country is stored, and no IP address. Any origin may call it, without credentials.",
    query: z.object({
      kept: z.string().optional().describe("The reference that the visitor already has."),
      first: z.string().optional().describe("Present with first-click attribution: `kept` stays if it is known."),
    }),
    body: { schema: "Click", media_types: JSON_OR_TEXT },
    replies: [{ status: 202, description: "The click is stored.", schema: "ClickTaken" }],
    errors: ["rate_limited", "internal_error"],
  },
  {
    method: "OPTIONS",
    path: "/click",
    tag: "Tracking",
    summary: "Answer the preflight request of a click",
    replies: [{ status: 204, description: "Any origin may send a POST." }],
  },
  {
    method: "GET",
    path: "/r/:program_id/:slug",
    tag: "Tracking",
    summary: "Follow a referral link",
    query: z.object({
      to: z.string().default("/").describe("A path on that domain."),
      sub: z
        .string()
        .optional()
        .describe("Where the partner placed the link: 1 to 64 letters, digits, - or _; anything else is left out."),
    }),
    replies: [
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
    tag: "Service",
    summary: "Check the health of the service",
    replies: ok("Health", "It is set up, and its database answers."),
    errors: ["storage_unavailable", "not_configured", "internal_error"],
  },
  {
    method: "GET",
    path: "/openapi.json",
    tag: "Service",
    summary: "Get the OpenAPI document",
    replies: [{ status: 200, description: "OpenAPI 3.1.", media_type: "application/json" }],
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/events/:file",
    tag: "Service",
    summary: "Get the schema of an outbound event",
    description: "`file` is the event's type with `.json`, such as `payout.paid.json`.",
    replies: [{ status: 200, description: "JSON Schema of the event's `data`.", media_type: "application/json" }],
    errors: ["not_found", "internal_error"],
  },
  {
    method: "GET",
    path: "/docs",
    tag: "Service",
    summary: "Get the first page of the documentation",
    replies: PAGE,
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/llms.txt",
    tag: "Service",
    summary: "Get the index of the documentation as text",
    replies: [{ status: 200, description: "A list of the guides and sections.", media_type: "text/plain" }],
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/api/:section",
    tag: "Service",
    summary: "Get a section of the reference",
    description:
      "A part of this document as a page with samples, such as `/docs/api/partners`. With `.md` at the end of the address, as Markdown.",
    replies: PAGE_OR_TEXT,
    errors: ["not_found", "internal_error"],
  },
  {
    method: "GET",
    path: "/docs/search",
    tag: "Service",
    summary: "Search the documentation",
    query: z.object({ q: z.string().optional().describe("The words to find; a result has all of them.") }),
    replies: PAGE,
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/search.json",
    tag: "Service",
    summary: "Get the search index of the documentation",
    replies: [{ status: 200, description: "Everything that the search can find.", media_type: "application/json" }],
    errors: ["internal_error"],
  },
  {
    method: "GET",
    path: "/docs/:guide",
    tag: "Service",
    summary: "Get a guide",
    description:
      "How to start, integrate, migrate, pay out, verify webhooks, deploy and operate, such as `/docs/start`. With `.md` at the end of the address, as Markdown.",
    replies: PAGE_OR_TEXT,
    errors: ["not_found", "internal_error"],
  },
];
