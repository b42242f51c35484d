import type { BaseCtx, Mailer } from "../../core/kernel/context.ts";
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

/** Writes a deployment's e-mails; null if there is no sender: then e-mails are not stored either. */
export function composerOf(env: Bindings, sealer: BaseCtx["sealer"]): Mailer["compose"] | null {
  return mailOf(env).senders.length > 0 ? composeFor(env, sealer) : null;
}

/** Whether the deployment sends e-mails to the outside. */
export function isMailing(env: Bindings): boolean {
  return mailOf(env).senders.some(({ name }) => name !== "log");
}
