/** The platform's e-mail binding, played: it stores the sent e-mails. */
import { mailSenders } from "../../src/core/mails/senders.ts";
import type { Mail } from "../../src/lib/mail.ts";
import { sendDueMails } from "../../src/outbound/mails.ts";
import { testContext } from "./program.ts";

export interface Mailbox {
  mails: (Mail & { from: string })[];
  /** The bindings of a deployment with e-mail. */
  bindings: { EMAIL: SendEmail; EMAIL_FROM: string };
  /**
   * Sends the program's due e-mails at an instant, as a wake-up does; gives all e-mails received so far, in the order in
   * which they were stored: several are sent at once.
   */
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
  const ids = new Map<object, string>();
  const idOf = (mail: object) => ids.get(mail) ?? "";
  const senders = mailSenders({ ...bindings, ENVIRONMENT: "production" }, () =>
    Promise.reject(new Error("no service")),
  ).map((sender) => ({
    ...sender,
    send: async (mail: Parameters<typeof sender.send>[0]) => {
      const result = await sender.send(mail);
      const received = mails.find((one) => !ids.has(one) && one.to === mail.to && one.text === mail.text);
      if (received) ids.set(received, mail.id);
      return result;
    },
  }));
  return {
    mails,
    bindings,
    async deliver(program_id, now = Date.now()) {
      await sendDueMails(testContext(now), program_id, { senders, keepsContent: false }, () => now);
      mails.splice(0, mails.length, ...mails.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : idOf(a) > idOf(b) ? 1 : 0)));
      return mails;
    },
  };
}
