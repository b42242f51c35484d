import type { NoticeOf } from "../../core/kernel/notices.ts";
import { dayFor, type Letter } from "./letter.ts";

/** Notifies the owner that an endpoint was disabled after failures (HOOK-9). */
export function endpointDisabledLetters(
  { program, endpoint }: NoticeOf<"endpoint_disabled">,
  origin: string | null,
): Letter[] {
  const { failing_since } = endpoint;
  const since = failing_since === null ? "" : ` since ${dayFor(program, failing_since)}`;
  const letter: Letter = {
    to: program.owner_email,
    reader: { audience: "owner" },
    subject: `Webhook endpoint disabled: ${new URL(endpoint.url).hostname}`,
    program,
    parts: [
      `The webhook endpoint ${endpoint.url} of your program "${program.name}" has been disabled.`,
      `No delivery to it has succeeded${since}: ${endpoint.failure_count} attempts in a row failed. Its page and GET /api/v1/webhooks/${endpoint.id} show the reasons.`,
      `Once the problem is fixed, enable it in the dashboard or with PATCH /api/v1/webhooks/${endpoint.id} {"active": true}.`,
      `Then resend the missed events with POST /api/v1/webhooks/${endpoint.id}/recover.`,
    ],
  };
  if (origin !== null)
    letter.action = { label: "Open the endpoint", url: `${origin}/dashboard/webhooks/${endpoint.id}` };
  return [letter];
}
