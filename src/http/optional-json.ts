import type { Context } from "hono";
import type * as z from "zod";
import type { AppEnv } from "../env.ts";
import { AppError } from "../lib/errors.ts";
import { detailsOf } from "./validate.ts";

/** The body of an action that needs none: an empty one is `{}`, any other is judged as everywhere (contract §2). */
export async function optionalJson<T extends z.ZodType>(c: Context<AppEnv>, schema: T): Promise<z.output<T>> {
  const text = await c.req.text();
  let value: unknown = {};
  if (text.trim() !== "") {
    const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
    if (type !== "application/json") {
      throw new AppError("unsupported_media_type", "Send the body as application/json.");
    }
    try {
      value = JSON.parse(text);
    } catch {
      throw new AppError("invalid_json", "The body is not valid JSON.");
    }
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new AppError("validation_failed", "The request is not valid.", { details: detailsOf(read.error) });
}
