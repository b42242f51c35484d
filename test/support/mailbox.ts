/** The platform's e-mail binding, played: keeps what it is given. */
import { mailSenders } from "../../src/core/kernel/mail-senders.ts";
import type { Mail } from "../../src/lib/mail.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { testContext } from "./program.ts";

export interface Mailbox {
  mails: (Mail & { from: string })[];
  /** What a deployment with e-mail has set. */
  bindings: { EMAIL: SendEmail; EMAIL_FROM: string };
  /** Sends what is due of the program, as a wake-up does, at an instant; gives all that it was given so far. */
  deliver(program_id: string, now?: number): Promise<Mailbox["mails"]>;
}

/** `before` runs before each e-mail is taken; what it throws goes to the sender. */
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
