/** An HTTP service that sends e-mails, played: it takes requests as Resend's or Postmark's API does, and refuses as they do. */
import { mailSenders, type MailSender, type MailSettings } from "../../src/core/mails/senders.ts";
import type { Fetch } from "../../src/lib/deadline.ts";

export const MAIL_SERVICE = "https://mail.example/api";
export const MAIL_KEY = "re_played_key_0123456789";

/** The answer to the next request; `cut` and `late` accept the e-mail without confirming it. */
export type Answer = "ok" | "cut" | "busy" | "away" | "same key" | "broken" | "no key" | "bad address" | "inactive";

export interface MailService {
  fetch: Fetch;
  /** The accepted e-mails, each once by its key if the API supports keys. */
  taken: { to: string; subject: string; html: string; text: string; id: string; headers: Record<string, string> }[];
  requests: Request[];
  /** Answers to come; then all is well. */
  answers: Answer[];
  /** The `Retry-After` header of a busy or unavailable service. */
  retryAfter: string;
}

interface Api {
  read: (body: Record<string, unknown>, headers: Headers) => MailService["taken"][number];
  isAuthorized: (headers: Headers) => boolean;
  knowsKeys: boolean;
  replies: Record<Exclude<Answer, "cut">, [status: number, body: unknown]>;
}

const of = (status: number, name: string): [number, unknown] => [status, { statusCode: status, name, message: name }];
const code = (status: number, ErrorCode: number): [number, unknown] => [
  status,
  { ErrorCode, Message: "As documented." },
];

const APIS: Record<"resend" | "postmark", Api> = {
  resend: {
    read: ({ to, subject, html, text, headers: own = {} }, headers) => {
      const [address = ""] = to as string[];
      const id = headers.get("idempotency-key") ?? "";
      const parts = { to: address, subject: String(subject), html: String(html), text: String(text) };
      return { ...parts, id, headers: own as Record<string, string> };
    },
    isAuthorized: (headers) => headers.get("authorization") === `Bearer ${MAIL_KEY}`,
    knowsKeys: true,
    replies: {
      ok: [200, { id: "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" }],
      busy: of(429, "rate_limit_exceeded"),
      away: of(503, "service_unavailable"),
      "same key": of(409, "concurrent_idempotent_requests"),
      broken: of(500, "application_error"),
      "no key": of(403, "invalid_api_key"),
      "bad address": of(422, "validation_error"),
      inactive: of(422, "validation_error"),
    },
  },
  postmark: {
    read: ({ To, Subject, HtmlBody, TextBody, Metadata, Headers }) => ({
      ...{ to: String(To), subject: String(Subject), html: String(HtmlBody), text: String(TextBody) },
      id: (Metadata as { mail_id: string }).mail_id,
      headers: Object.fromEntries(
        (Headers as { Name: string; Value: string }[]).map(({ Name, Value }) => [Name, Value]),
      ),
    }),
    isAuthorized: (headers) => headers.get("x-postmark-server-token") === MAIL_KEY,
    knowsKeys: false,
    replies: {
      ok: [200, { To: "x", SubmittedAt: "2026-01-01T00:00:00Z", MessageID: "m", ErrorCode: 0, Message: "OK" }],
      busy: code(429, 429),
      away: code(503, 503),
      // The service without keys: as documented for a body that is not JSON.
      "same key": code(409, 409),
      broken: code(500, 500),
      "no key": code(401, 10),
      "bad address": code(422, 300),
      inactive: code(422, 406),
    },
  },
};

export function openMailService(style: keyof typeof APIS): MailService {
  const api = APIS[style];
  const service: MailService = {
    taken: [],
    requests: [],
    answers: [],
    retryAfter: "600",
    async fetch(url, init) {
      const request = new Request(url, init);
      service.requests.push(request.clone());
      const mail = api.read(await request.json(), request.headers);
      const answer = api.isAuthorized(request.headers) ? (service.answers.shift() ?? "ok") : "no key";
      const isNew = !api.knowsKeys || !service.taken.some(({ id }) => id === mail.id);
      if ((answer === "ok" || answer === "cut") && isNew) service.taken.push(mail);
      if (answer === "cut") throw new Error("connection lost");
      const [status, body] = api.replies[answer];
      const headers: Record<string, string> =
        answer === "busy" || answer === "away" ? { "retry-after": service.retryAfter } : {};
      return Response.json(body, { status, headers });
    },
  };
  return service;
}

export const MAIL_FROM = { EMAIL_FROM: "service@example.com", ENVIRONMENT: "production" };

/** The senders of a deployment that sends by this service. */
export function sendersOf(service: MailService, style: string, more: Partial<MailSettings> = {}): MailSender[] {
  const http = { EMAIL_API_URL: MAIL_SERVICE, EMAIL_API_KEY: MAIL_KEY, EMAIL_API_STYLE: style };
  return mailSenders({ ...MAIL_FROM, ...http, ...more }, service.fetch);
}
