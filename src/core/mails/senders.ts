/** Senders of e-mails: the platform's binding, an HTTP service, or the log of a local service. */
import type { MailResult } from "../../domain/mail.ts";
import { EXPIRED, fetchWithin, withTimeout, startDeadline, type Fetch } from "../../lib/deadline.ts";
import { readAtMost } from "../../lib/http-body.ts";
import { keepLocalMail } from "./local-mails.ts";
import { logInFull, logLine, reasonOf } from "../../lib/log.ts";
import type { Mail } from "../../lib/mail.ts";

/** An e-mail with the id by which a sender recognizes a repetition. */
export interface OutgoingMail extends Mail {
  id: string;
}

export interface MailSender {
  name: string;
  /** It accepts an e-mail with an id once, however often it is handed over within a day. */
  is_repeatable: boolean;
  /** Never throws. */
  send(mail: OutgoingMail): Promise<MailResult>;
}

/** The optional settings of the deployment. */
export interface MailSettings {
  EMAIL?: { send(mail: Mail & { from: string }): Promise<unknown> };
  EMAIL_FROM?: string;
  /** The HTTP service: its address, its key, and its API. */
  EMAIL_API_URL?: string;
  EMAIL_API_KEY?: string;
  EMAIL_API_STYLE?: string;
  ENVIRONMENT: string;
}

/** The senders of a deployment, in the order of the attempts; empty outside development if no sender is set up. */
export function mailSenders(settings: MailSettings, fetch: Fetch): MailSender[] {
  const { EMAIL, EMAIL_FROM: from, EMAIL_API_URL, EMAIL_API_KEY, EMAIL_API_STYLE = "resend", ENVIRONMENT } = settings;
  const style = STYLES[EMAIL_API_STYLE];
  const senders: MailSender[] = [];
  if (EMAIL && from) senders.push(bindingSender(EMAIL, from));
  if (EMAIL_API_URL && EMAIL_API_KEY && from && style) {
    senders.push(httpSender({ url: EMAIL_API_URL, key: EMAIL_API_KEY, from, style, fetch }));
  }
  if (senders.length === 0 && ENVIRONMENT === "development") senders.push(LOG);
  return senders;
}

/** The sender of a local service: `/dev/mails` shows the e-mail, and the text is logged. */
const LOG: MailSender = {
  name: "log",
  is_repeatable: true,
  async send(mail) {
    keepLocalMail(mail);
    const { id: mail_id, to, subject, text } = mail;
    logInFull({ what: "no e-mail is set up", mail_id, subject, to, text });
    return { result: "accepted" };
  },
};

/** The binding's own codes. */
const SAID_BY_BINDING = /\bE_[A-Z]/;

/** Codes of the binding's errors that are permanent. */
const REFUSED_BY_BINDING = /\bE_(?:RECIPIENT_SUPPRESSED|RECIPIENT_NOT_ALLOWED|VALIDATION_ERROR)\b/;

/** Codes for too many e-mails. */
const LIMITED_BY_BINDING = /\bE_(?:RATE_LIMIT|DAILY_LIMIT)_EXCEEDED\b/;

/** The platform's `send_email` binding. A refusal has a code: an error without one is no answer. */
function bindingSender(binding: NonNullable<MailSettings["EMAIL"]>, from: string): MailSender {
  return {
    name: "binding",
    is_repeatable: false,
    async send({ id: _, ...mail }) {
      try {
        await withTimeout(TIMEOUT_MS, "the binding", binding.send({ ...mail, from }));
        return { result: "accepted" };
      } catch (error) {
        const code = error instanceof Error && "code" in error ? String(error.code) : "";
        const reason = `${code} ${reasonOf(error)}`.trim();
        if (!SAID_BY_BINDING.test(reason)) return { result: "silent", reason };
        if (REFUSED_BY_BINDING.test(reason)) return { result: "refused", reason };
        return { result: "busy", reason, is_limited: LIMITED_BY_BINDING.test(reason), retry_after: null };
      }
    },
  };
}

interface Service {
  url: string;
  key: string;
  from: string;
  style: Style;
  fetch: Fetch;
}

interface Style {
  name: string;
  is_repeatable: boolean;
  path: string;
  headers: (key: string, id: string) => Record<string, string>;
  body: (mail: OutgoingMail, from: string) => unknown;
  /** Whether an answer reports that this address cannot receive mail. */
  isRefused: (status: number, body: unknown) => boolean;
}

const STYLES: Record<string, Style | undefined> = {
  /** https://resend.com/docs/api-reference: keys of 24 hours; a wrong address is 422 `validation_error`. */
  resend: {
    name: "resend",
    is_repeatable: true,
    path: "/emails",
    headers: (key, id) => ({ Authorization: `Bearer ${key}`, "Idempotency-Key": id }),
    body: ({ to, subject, text, html, headers }, from) => ({ from, to: [to], subject, text, html, headers }),
    isRefused: (status, body) => status === 422 && fieldOf(body, "name") === "validation_error",
  },
  /** https://postmarkapp.com/developer/api/overview#error-codes: 300 a wrong address, 406 one that is inactive. */
  postmark: {
    name: "postmark",
    is_repeatable: false,
    path: "/email",
    headers: (key) => ({ "X-Postmark-Server-Token": key }),
    body: ({ id, to, subject, text, html, headers = {} }, from) => ({
      ...{ From: from, To: to, Subject: subject, TextBody: text, HtmlBody: html },
      ...{ MessageStream: "outbound", Metadata: { mail_id: id } },
      Headers: Object.entries(headers).map(([Name, Value]) => ({ Name, Value })),
    }),
    isRefused: (status, body) => status === 422 && [300, 406].includes(Number(fieldOf(body, "ErrorCode"))),
  },
};

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 16 * 1024;

function httpSender({ url, key, from, style, fetch }: Service): MailSender {
  return {
    name: style.name,
    is_repeatable: style.is_repeatable,
    async send(mail) {
      const deadline = startDeadline(TIMEOUT_MS);
      try {
        const response = await fetchWithin(
          deadline,
          fetch,
          new URL(`.${style.path}`, `${url.replace(/\/$/, "")}/`).href,
          {
            method: "POST",
            redirect: "manual",
            headers: { "Content-Type": "application/json", Accept: "application/json", ...style.headers(key, mail.id) },
            body: JSON.stringify(style.body(mail, from)),
          },
        );
        if (response === EXPIRED) return { result: "silent", reason: "no answer in time" };
        const { bytes } = await readAtMost(response.body, MAX_ANSWER_BYTES, deadline);
        return resultOf(style, response, parsed(bytes));
      } catch (error) {
        return { result: "silent", reason: reasonOf(error) };
      } finally {
        deadline.clear();
      }
    },
  };
}

function resultOf(style: Style, { ok, status, headers }: Response, body: unknown): MailResult {
  if (ok) return { result: "accepted" };
  const said = fieldOf(body, "name") ?? fieldOf(body, "ErrorCode");
  const is_said = typeof said === "string" || typeof said === "number";
  const reason = is_said ? `status ${status}, ${`${said}`.slice(0, 60)}` : `status ${status}`;
  if (style.isRefused(status, body)) return { result: "refused", reason };
  // It may have been accepted before; at 409 an attempt under the same key is running, or was accepted.
  if ((status >= 500 && status !== 503) || status === 409) return { result: "silent", reason };
  return { result: "busy", reason, is_limited: status === 429, retry_after: headers.get("retry-after") };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}

/**
 * Hands over one e-mail now, to the next sender if one refuses it: a sign-in link, which the person requests again if
 * it does not arrive. Never throws; returns whether it was accepted. `request_id` is that of the request.
 */
export async function sendNow(
  senders: readonly MailSender[],
  mail: OutgoingMail,
  request_id?: string,
): Promise<boolean> {
  const { subject } = mail;
  if (senders.length === 0) logLine("info", { what: "no e-mail is set up", request_id, subject });
  for (const sender of senders) {
    const result = await sender.send(mail);
    if (result.result === "accepted") return true;
    const { reason } = result;
    logLine("error", { what: "e-mail not sent", request_id, subject, sender: sender.name, reason });
    if (result.result === "silent") return false;
  }
  return false;
}
