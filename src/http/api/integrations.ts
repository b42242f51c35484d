import * as z from "zod";
import { makeDestination } from "../../core/inbound/destination.ts";
import { reconcileEvents } from "../../core/inbound/read-list.ts";
import { checkInstallation } from "../../core/overview/installation.ts";
import { integrationStatus } from "../../core/overview/integrations.ts";
import { MAX_TARGET_URL_LENGTH } from "../../domain/target-url.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { destinationsOf, readsOf } from "../connect.ts";
import { isMailing } from "../mails/mailer.ts";
import { scriptUrl, siteReachOf } from "../site-reach.ts";
import { created, ok, optionalJson, route } from "../route.ts";
import { timeRange } from "../validate.ts";

/** How far back a provider's list of events is to be read. */
export const listReadBody = z.strictObject({ since: timeRange.shape.from });

export const destinationMake = z.strictObject({
  replace: z
    .boolean()
    .default(false)
    .describe("Also where a signing secret is stored that is of no address that the provider shows."),
});

export const installationQuery = z.object({
  url: z
    .string()
    .max(MAX_TARGET_URL_LENGTH)
    .optional()
    .describe("A page of your site, https; the program's domain unless given."),
});

/** `/api/v1/integrations` (PROG-6, PROG-10, PROG-12, IN-16, IN-20). */
export const integrations = [
  route("GET /api/v1/integrations/status", {
    operation: "getIntegrationStatus",
    tag: "Program",
    scope: ["read"],
    summary: "Get the state of the provider connections",
    reply: ok("Integrations", "The connections."),
    handle: ({ ctx, c }) => integrationStatus(ctx, isMailing(c.env)),
  }),
  route("GET /api/v1/integrations/script", {
    operation: "checkInstallation",
    tag: "Program",
    scope: ["read"],
    summary: "Check the installation of the tracking script",
    description:
      "Opens a page of your site now and says what is missing: the script, the right program id, permission by the page's Content-Security-Policy, or a click. Follows at most 5 redirects, reads at most 2 MiB and takes at most 10 seconds; only public addresses are opened. At most 30 checks a minute for each program.",
    query: installationQuery,
    reply: ok("Installation", "The checks."),
    errors: ["not_configured"],
    handle: ({ ctx, query, c }) =>
      checkInstallation(ctx, { ...query, script_url: scriptUrl(publicUrl(c.env)) }, siteReachOf(c)),
  }),
  route("POST /api/v1/integrations/:provider/reconcile", {
    operation: "reconcileIntegration",
    tag: "Program",
    scope: ["write"],
    summary: "Fetch events that no webhook delivered",
    description:
      "Reads the provider's list of events with the program's API key, as happens every hour anyway: since everything was last complete, or since `since` where that is earlier, at most 30 days back. A call reads a part; while `is_reading` is true, the rest follows automatically.",
    body: optionalJson("ListRead", listReadBody),
    reply: ok("ListReading", "How far the list has been read."),
    errors: ["not_found", "provider_not_configured"],
    handle: ({ ctx, params, body, c }) => reconcileEvents(ctx, { ...params, ...body }, readsOf(c.env)),
  }),
  route("POST /api/v1/integrations/:provider/destination", {
    operation: "createIntegrationDestination",
    tag: "Program",
    // It uses one secret and stores another.
    scope: ["keys"],
    summary: "Create the webhook destination at the provider",
    description:
      "Uses the program's API key to create a webhook destination at the provider, with the program's webhook URL and the event types that are needed. Its signing secret is stored and not shown. An existing destination gets the event types it lacks.",
    body: optionalJson("DestinationMake", destinationMake),
    reply: [ok("Destination", "The existing destination."), created("Destination", "A new destination.")],
    errors: [
      "not_found",
      "already_exists",
      "invalid_transition",
      "provider_not_configured",
      "provider_unavailable",
      "not_configured",
    ],
    handle: async ({ ctx, params, body, c }) => {
      const input = { ...params, origin: publicUrl(c.env), ...body };
      const made = await makeDestination(ctx, input, destinationsOf(c.env));
      return c.json(made, made.outcome === "created" ? 201 : 200);
    },
  }),
];
