import { logInFull, logLine, reasonOf } from "./log.ts";

export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** What this needs of the deployment: the `send_email` binding and the sender's address, both optional. */
export interface MailBindings {
  EMAIL?: { send(mail: Mail & { from: string }): Promise<unknown> };
  EMAIL_FROM?: string;
  ENVIRONMENT: string;
}

/**
 * Sends one e-mail through the platform's `send_email` binding. "Where none is set up, the link is written to the
 * Worker's log in development only" (contract §11): so the text is logged there, and nowhere else. Never throws; true
 * when the mail was handed over. `request_id` is that of the request that asked for it.
 */
export async function sendMail(env: MailBindings, mail: Mail, request_id?: string): Promise<boolean> {
  const { EMAIL, EMAIL_FROM, ENVIRONMENT } = env;
  if (!EMAIL || !EMAIL_FROM) {
    const { to, subject, text } = mail;
    const line = { what: "no e-mail is set up", request_id, subject };
    if (ENVIRONMENT === "development") logInFull({ ...line, to, text });
    else logLine("info", line);
    return false;
  }
  try {
    await EMAIL.send({ ...mail, from: EMAIL_FROM });
    return true;
  } catch (error) {
    logLine("error", { what: "e-mail not sent", request_id, subject: mail.subject, reason: reasonOf(error) });
    return false;
  }
}

/** A text for a place in HTML between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
