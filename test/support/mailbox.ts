/** The platform's e-mail binding, played: it stores the sent e-mails. */
import { mailSenders } from "../../src/core/mails/senders.ts";
import type { Mail } from "../../src/lib/mail.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { testContext } from "./program.ts";

export interface Mailbox {
  mails: (Mail & { from: string })[];
  /** The bindings of a deployment with e-mail. */
  bindings: { EMAIL: SendEmail; EMAIL_FROM: string };
  /** Sends the program's due e-mails at an instant, as a wake-up does; gives all e-mails received so far. */
  deliver(program_id: string, now?: number): Promise<Mailbox["mails"]>;
}

/** `before` runs before each e-mail is accepted; its exceptions reach the sender. */
export function openMailbox(before: (mail: Mail) => unknown = () => {}): Mailbox {
  const mails: Mailbox["mails"] = [];
  const send = async (mail: Mail & { from: string }) => {
    await before(mail);
    mails.push(mail);
  };
  const bindings = { EMAIL: { send } as unknown as SendEmail, EMAIL_FROM: "service@example.com" };
  const senders = mailSenders({ ...bindings, ENVIRONMENT: "production" }, () =>
    Promise.reject(new Error("no service")),
  );
  return {
    mails,
    bindings,
    async deliver(program_id, now = Date.now()) {
      await sendDueMails(testContext(now), program_id, { senders, keepsContent: false }, () => now);
      return mails;
    },
  };
}
