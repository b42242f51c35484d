import { Hono } from "hono";
import * as z from "zod";
import { makeDestination } from "../../core/inbound/destination.ts";
import { reconcileEvents } from "../../core/inbound/read-list.ts";
import { checkInstallation } from "../../core/overview/installation.ts";
import { integrationStatus } from "../../core/overview/integrations.ts";
import { MAX_TARGET_URL_LENGTH } from "../../domain/target-url.ts";
import type { AppEnv } from "../../env.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { destinationsOf, readsOf } from "../connect.ts";
import { isMailing } from "../mails/mailer.ts";
import { optionalJson } from "../optional-json.ts";
import { scriptUrl, siteReachOf } from "../site-reach.ts";
import { query, timeRange } from "../validate.ts";

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
export const integrations = new Hono<AppEnv>()
  .get("/status", async (c) => c.json(await integrationStatus(c.var.ctx, isMailing(c.env))))
  .get("/script", query(installationQuery), async (c) => {
    const input = { ...c.req.valid("query"), script_url: scriptUrl(publicUrl(c.env)) };
    return c.json(await checkInstallation(c.var.ctx, input, siteReachOf(c)));
  })
  .post("/:provider/reconcile", optionalJson(listReadBody), async (c) => {
    const { since } = c.req.valid("json");
    return c.json(await reconcileEvents(c.var.ctx, { provider: c.req.param("provider"), since }, readsOf(c.env)));
  })
  .post("/:provider/destination", optionalJson(destinationMake), async (c) => {
    const origin = publicUrl(c.env);
    const input = { provider: c.req.param("provider"), origin, ...c.req.valid("json") };
    const made = await makeDestination(c.var.ctx, input, destinationsOf(c.env));
    return c.json(made, made.outcome === "created" ? 201 : 200);
  });
