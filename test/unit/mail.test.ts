import { afterEach, describe, expect, it, vi } from "vitest";
import { escapeHtml, sendMail, sendMails } from "../../src/lib/mail.ts";

afterEach(() => vi.restoreAllMocks());

const MAIL = { to: "owner@example.com", subject: "Subject", text: "https://secret.link/", html: "<p>secret</p>" };

describe("mail", () => {
  it("goes through the binding, from the configured sender (PAGE-11)", async () => {
    const send = vi.fn(async () => ({}));
    expect(await sendMail({ EMAIL: { send }, EMAIL_FROM: "s@example.com", ENVIRONMENT: "production" }, MAIL)).toBe(
      true,
    );
    expect(send).toHaveBeenCalledExactlyOnceWith({ ...MAIL, from: "s@example.com" });
  });

  it.each([
    ["no binding", { EMAIL_FROM: "s@example.com" }],
    ["no sender", { EMAIL: { send: () => Promise.reject(new Error("not to be called")) } }],
  ])("with %s is written to the log in development only (PAGE-11)", async (_name, bindings) => {
    const log = vi.spyOn(console, "info").mockImplementation(() => {});
    expect(await sendMail({ ...bindings, ENVIRONMENT: "development" }, MAIL)).toBe(false);
    expect(log.mock.calls.join()).toContain(MAIL.text);
    log.mockClear();
    expect(await sendMail({ ...bindings, ENVIRONMENT: "production" }, MAIL)).toBe(false);
    expect(log.mock.calls.join()).not.toContain(MAIL.text);
    expect(log.mock.calls.join()).not.toContain(MAIL.to);
  });

  it("that the platform refuses is logged without its text, not thrown", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const send = () => Promise.reject(new Error("over quota"));
    expect(await sendMail({ EMAIL: { send }, EMAIL_FROM: "s@example.com", ENVIRONMENT: "development" }, MAIL)).toBe(
      false,
    );
    expect(log.mock.calls.join()).toContain("over quota");
    expect(log.mock.calls.join()).not.toContain(MAIL.text);
  });

  it("of one change goes out some at a time, 300 of them, one by one", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const state = { open: 0, most: 0 };
    const sent: string[] = [];
    const send = async ({ to }: { to: string }) => {
      state.most = Math.max(state.most, ++state.open);
      await Promise.resolve();
      state.open--;
      if (to === "1@example.com") throw new Error("over quota");
      sent.push(to);
    };
    const mails = Array.from({ length: 302 }, (_, i) => ({ ...MAIL, to: `${i}@example.com` }));
    await sendMails({ EMAIL: { send }, EMAIL_FROM: "s@example.com", ENVIRONMENT: "production" }, mails, "req_1");
    expect(sent).toEqual(mails.slice(0, 300).flatMap(({ to }) => (to === "1@example.com" ? [] : [to])));
    expect(state.most).toBe(6);
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)) as object);
    expect(lines).toEqual([
      expect.objectContaining({ what: "e-mail not sent", request_id: "req_1" }),
      expect.objectContaining({ what: "e-mails not sent: too many at once", request_id: "req_1", left_off: 2 }),
    ]);
  });

  it("keeps foreign text out of its markup", () => {
    expect(escapeHtml(`<a href="x" title='y'>&amp;</a>`)).toBe(
      "&#60;a href=&#34;x&#34; title=&#39;y&#39;&#62;&#38;amp;&#60;/a&#62;",
    );
  });
});
