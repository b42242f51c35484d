import type { Ctx } from "../core/kernel/context.ts";
import { disableGivenUp, type DisabledEndpoint } from "../core/webhooks/health.ts";
import { paragraphsMail, sendMail, type Mail, type MailBindings } from "../lib/mail.ts";

/** Disables the endpoints that are given up and notifies their owners by e-mail (HOOK-9). */
export function disableFailingEndpoints(ctx: Ctx, env: MailBindings): ReturnType<typeof disableGivenUp> {
  return disableGivenUp(ctx, async (disabled) => {
    await sendMail(env, mailAbout(disabled));
  });
}

function mailAbout({ program, endpoint }: DisabledEndpoint): Mail {
  const lines = [
    `The webhook endpoint ${endpoint.url} of your program "${program.name}" has been disabled.`,
    `It has not accepted a delivery since ${endpoint.failing_since}: ${endpoint.failure_count} attempts in a row failed.`,
    `When it works again, enable it in the dashboard or with PATCH /api/v1/webhooks/${endpoint.id} {"active": true}.`,
    `What it missed can then be sent with POST /api/v1/webhooks/${endpoint.id}/recover.`,
  ];
  return paragraphsMail(program.owner_email, `Webhook endpoint disabled: ${new URL(endpoint.url).hostname}`, lines);
}
