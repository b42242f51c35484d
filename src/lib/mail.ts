import { logInFull, logLine, reasonOf } from "./log.ts";
import { partsOf } from "./slices.ts";

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
 * Sends one e-mail through the platform's `send_email` binding. Where none is set up, the link is written to the
 * Worker's log in development only (PAGE-11): so the text is logged there, and nowhere else. Never throws; true
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

/** How many e-mails of one change go out; the platform ends work that takes long after its reply. */
const MOST_AT_ONCE = 300;
/** As many as a Worker's connections. */
const SENT_TOGETHER = 6;

/** Sends several e-mails as `sendMail` does, the first 300 of them. Never throws. */
export async function sendMails(env: MailBindings, mails: readonly Mail[], request_id?: string): Promise<void> {
  for (const together of partsOf(mails.slice(0, MOST_AT_ONCE), SENT_TOGETHER)) {
    await Promise.all(together.map((mail) => sendMail(env, mail, request_id)));
  }
  const left_off = mails.length - MOST_AT_ONCE;
  if (left_off > 0) logLine("error", { what: "e-mails not sent: too many at once", request_id, left_off });
}

/** An e-mail of paragraphs, which may have lines: as text, and the same as HTML. */
export function paragraphsMail(to: string, subject: string, paragraphs: readonly string[]): Mail {
  return {
    to,
    subject,
    text: `${paragraphs.join("\n\n")}\n`,
    html: paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph).replaceAll("\n", "<br>")}</p>`).join("\n"),
  };
}

/** A foreign text fit for a subject or a line: no line breaks or other control characters, at most 80 characters. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, 80)
    .toWellFormed();
}

/** A text for a place in HTML between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
