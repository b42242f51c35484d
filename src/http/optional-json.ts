import type { Context, MiddlewareHandler } from "hono";
import * as z from "zod";
import type { AppEnv } from "../env.ts";
import { AppError } from "../lib/errors.ts";
import { detailsOf } from "./validate.ts";

interface OptionalBody<T extends z.ZodType> {
  in: { json?: z.input<T> };
  out: { json: z.output<T> };
}

/** The body of an action that needs none: an empty one is `{}`, any other is judged as everywhere (HTTP-22). */
export function optionalJson<T extends z.ZodObject>(schema: T): MiddlewareHandler<AppEnv, string, OptionalBody<T>> {
  return async function optionalJson(c, next) {
    const read = schema.safeParse(await readJson(c));
    if (!read.success) {
      throw new AppError("validation_failed", "The request is not valid.", { details: detailsOf(read.error) });
    }
    c.req.addValidatedData("json", read.data);
    await next();
  };
}

/** An action that takes nothing: unknown fields are refused (HTTP-6). */
export const nothing = z.strictObject({});

async function readJson(c: Context<AppEnv, string, OptionalBody<z.ZodType>>): Promise<unknown> {
  const text = await c.req.text();
  if (text.trim() === "") return {};
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new AppError("unsupported_media_type", "Send the body as application/json.");
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new AppError("invalid_json", "The body is not valid JSON.");
  }
}
