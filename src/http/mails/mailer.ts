import type { BaseCtx } from "../../core/kernel/context.ts";
import { mailSenders, type MailSender } from "../../core/kernel/mail-senders.ts";
import type { Mailer } from "../../core/kernel/notices.ts";
import type { Bindings } from "../../env.ts";
import { composeFor } from "./compose.ts";

/** Who sends the e-mails of a deployment, and whether they stay readable. */
export function mailOf(env: Bindings): { senders: MailSender[]; keepsContent: boolean } {
  return {
    senders: mailSenders(env, (url, init) => fetch(url, init)),
    keepsContent: env.ENVIRONMENT === "development",
  };
}

/** Null where nobody sends: then none is stored either. */
export function mailerOf(env: Bindings, sealer: BaseCtx["sealer"], wake: Mailer["wake"]): Mailer | null {
  return mailOf(env).senders.length > 0 ? { compose: composeFor(env, sealer), wake } : null;
}

/** Whether e-mails leave the deployment. */
export function isMailing(env: Bindings): boolean {
  return mailOf(env).senders.some(({ name }) => name !== "log");
}
