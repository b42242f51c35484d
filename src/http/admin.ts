import { Hono } from "hono";
import * as z from "zod";
import { forProgram } from "../core/context.ts";
import { createProgram, findProgram, listPrograms, regenerateApiKey, type ProgramWithKey } from "../core/programs.ts";
import { createOwnerLink } from "../core/sign-in.ts";
import { viewProgram } from "../core/views.ts";
import type { AppEnv } from "../env.ts";
import { currency, domain, programName } from "./api/programs.ts";
import { email, jsonBody, pageQuery, query, requireJson } from "./validate.ts";

export const programCreate = z.strictObject({
  name: programName,
  owner_email: email,
  domain: domain.nullish(),
  currency: currency.optional(),
});

export const linkCreate = z.strictObject({ email });

/** The only replies that show a key. */
function viewWithKey({ program, api_key }: ProgramWithKey) {
  return { program: viewProgram(program), api_key };
}

/** `/admin`: the operator's endpoints (contract §3). */
export const admin = new Hono<AppEnv>()
  .post("/programs", requireJson, jsonBody(programCreate), async (c) => {
    const made = await createProgram(c.var.base, c.req.valid("json"));
    return c.json(viewWithKey(made), 201);
  })
  .get("/programs", query(pageQuery), async (c) => {
    const page = await listPrograms(c.var.base, c.req.valid("query"));
    return c.json({ ...page, data: page.data.map(viewProgram) });
  })
  .post("/programs/:id/api-key", async (c) => {
    const { base } = c.var;
    const program = await findProgram(base, c.req.param("id"));
    return c.json(viewWithKey(await regenerateApiKey(forProgram(base, program))), 201);
  })
  .post("/sign-in-links", requireJson, jsonBody(linkCreate), async (c) => {
    const { token, expires_at } = await createOwnerLink(c.var.base, c.req.valid("json").email);
    return c.json({ url: `${new URL(c.req.url).origin}/sign-in?token=${token}`, expires_at }, 201);
  });
