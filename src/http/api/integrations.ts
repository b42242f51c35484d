import { Hono } from "hono";
import * as z from "zod";
import { makeDestination } from "../../core/inbound/destination.ts";
import { reconcileEvents } from "../../core/inbound/read-list.ts";
import { integrationStatus } from "../../core/overview/integrations.ts";
import type { AppEnv } from "../../env.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { destinationsOf, readsOf } from "../connect.ts";
import { isMailing } from "../mails/mailer.ts";
import { optionalJson } from "../optional-json.ts";
import { timeRange } from "../validate.ts";

/** How far back a provider's list of events is to be read. */
export const listReadBody = z.strictObject({ since: timeRange.shape.from });

export const destinationMake = z.strictObject({
  replace: z
    .boolean()
    .default(false)
    .describe("Also where a signing secret is stored that is of no address that the provider shows."),
});

/** `/api/v1/integrations` (PROG-6, PROG-10, IN-16, IN-20). */
export const integrations = new Hono<AppEnv>()
  .get("/status", async (c) => c.json(await integrationStatus(c.var.ctx, isMailing(c.env))))
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
