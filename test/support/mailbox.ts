/** The platform's e-mail binding, played: keeps what it is given. */
import type { Mail } from "../../src/lib/mail.ts";

export interface Mailbox {
  mails: (Mail & { from: string })[];
  /** What a deployment with e-mail has set. */
  bindings: { EMAIL: SendEmail; EMAIL_FROM: string };
}

/** `before` runs before each e-mail is taken; what it throws goes to the sender. */
export function openMailbox(before: (mail: Mail) => unknown = () => {}): Mailbox {
  const mails: Mailbox["mails"] = [];
  const send = async (mail: Mail & { from: string }) => {
    await before(mail);
    mails.push(mail);
  };
  return { mails, bindings: { EMAIL: { send } as unknown as SendEmail, EMAIL_FROM: "service@example.com" } };
}
