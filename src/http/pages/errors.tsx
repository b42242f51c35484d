import type { Context } from "hono";
import type { ErrorCode } from "../../lib/errors.ts";
import { logFailure, requestOf, retryAfterOf, statusOf, toAppError } from "../errors.ts";
import type { PageEnv } from "../session.ts";
import { Mark, Plain } from "./layout.tsx";
import { page } from "./page.tsx";

const TITLES: Partial<Record<ErrorCode, string>> = {
  not_found: "Not found",
  forbidden: "Not allowed",
  rate_limited: "Too many requests",
  payload_too_large: "Too large",
  internal_error: "Something went wrong",
  storage_unavailable: "Please try again",
  not_configured: "Not set up yet",
};

/** Renders any thrown value as a page, with the same codes as the API and without more detail (`http/errors.ts`). */
export async function renderPageError(thrown: unknown, c: Context<PageEnv>): Promise<Response> {
  const error = toAppError(thrown);
  if (error.code === "internal_error" || error.code === "storage_unavailable") logFailure(thrown, requestOf(c));
  const retryAfter = retryAfterOf(error);
  if (retryAfter !== null) c.header("Retry-After", String(retryAfter));
  const title = TITLES[error.code] ?? "That didn't work";
  return page(
    c,
    { title, status: statusOf(error.code) },
    <Plain>
      <Mark />
      <div class="card prose">
        <h1>{title}</h1>
        <p>{error.message}</p>
        {(error.details ?? []).map(({ message }) => (
          <p>{message}</p>
        ))}
        <p class="actions">
          <a class="button" href="/">
            Go to overview
          </a>
        </p>
        <p class="muted small">
          Request <code>{c.var.request_id}</code>
        </p>
      </div>
    </Plain>,
  );
}
