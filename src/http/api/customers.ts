import { Hono } from "hono";
import * as z from "zod";
import { eraseCustomer } from "../../core/customers/erase.ts";
import { LONGEST_ADDRESS } from "../../domain/email.ts";
import { isAddress } from "../../domain/erasure.ts";
import type { AppEnv } from "../../env.ts";
import { jsonBody, requireJson, text } from "../validate.ts";

/** An address as a payment provider may have sent it, so looser than the addresses the service itself writes to. */
export const erasure = z.strictObject({
  email: text(LONGEST_ADDRESS).refine(isAddress, "This must be an e-mail address."),
});

/** `POST /api/v1/customers/erase` (JOB-1). */
export const customers = new Hono<AppEnv>().post("/erase", requireJson, jsonBody(erasure), async (c) => {
  const erased = await eraseCustomer(c.var.ctx, c.req.valid("json").email);
  return c.json({ erased });
});
