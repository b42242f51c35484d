import type { BaseCtx, Mailer } from "../../core/kernel/context.ts";
import { openMailer } from "../../core/mails/plan.ts";
import { mailSenders, type MailSender } from "../../core/mails/senders.ts";
import type { Bindings } from "../../env.ts";
import { composeFor } from "./compose.ts";

/** The senders of a deployment's e-mails, and whether the content stays readable. */
export function mailOf(env: Bindings): { senders: MailSender[]; keepsContent: boolean } {
  return {
    senders: mailSenders(env, (url, init) => fetch(url, init)),
    keepsContent: env.ENVIRONMENT === "development",
  };
}

/** Null if there is no sender: then e-mails are not stored either. */
export function mailerOf(env: Bindings, sealer: BaseCtx["sealer"], wake: Mailer["wake"]): Mailer | null {
  return mailOf(env).senders.length > 0 ? openMailer(composeFor(env, sealer), wake) : null;
}

/** Whether the deployment sends e-mails to the outside. */
export function isMailing(env: Bindings): boolean {
  return mailOf(env).senders.some(({ name }) => name !== "log");
}
