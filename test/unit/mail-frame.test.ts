/** The text and the form of e-mails: every kind, as text and as HTML (MAIL-6). */
import fc from "fast-check";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import type { Notice } from "../../src/core/kernel/notices.ts";
import { luminance, textColorOn } from "../../src/domain/brand-color.ts";
import { MAIL_KINDS } from "../../src/domain/mail.ts";
import { composeFor } from "../../src/http/mails/compose.ts";
import { readUnsubscribeToken } from "../../src/http/mails/unsubscribe.ts";
import { inLanguageOfBrowser } from "../../src/http/pages/locale.ts";
import { signInMail } from "../../src/http/mails/sign-in.ts";
import { SecretSealer } from "../../src/lib/seal.ts";
import { BANNED } from "../support/banned-words.ts";
import { NAMED, NOTICES, PROGRAM } from "../support/mail-notices.ts";

const SEALER = new SecretSealer(["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]);
const compose = composeFor({ PUBLIC_URL: "https://service.example", ENVIRONMENT: "production" }, SEALER);
const KINDS = Object.values<Notice>(NOTICES).map((notice) => [notice.kind, notice] as const);

/** The visible text of the HTML, without its tags. */
function seen(html: string): string {
  return html
    .replaceAll(/<style>[^]*?<\/style>|<!--[^]*?-->|<title>[^]*?<\/title>/g, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll("&nbsp;", " ");
}

const words = (text: string) => text.replaceAll(/\s+/g, " ").trim();

describe.each(KINDS)("an e-mail of %s (MAIL-6)", (kind, notice) => {
  it("says the same in both of its parts, in plain words", async () => {
    const mails = await compose(notice);
    expect(mails.length).toBeGreaterThan(0);
    for (const { kind: of, mail, reader } of mails) {
      expect(of).toBe(kind);
      expect(mail.subject).not.toMatch(/[\r\n]/);
      const html = words(seen(mail.html));
      expect(html).toContain(words(mail.subject));
      for (const line of mail.text.split("\n")) {
        if (line === "-- ") continue;
        // A line of the text is one of the table, a link, or a paragraph.
        const [label = "", value = ""] = /^(.*?): (.*)$/.exec(line)?.slice(1) ?? [line];
        expect(html).toContain(words(label));
        if (!value.startsWith("https://")) expect(html).toContain(words(value));
      }
      const text = mail.text.replaceAll(NAMED, "");
      for (const [instead, pattern] of Object.entries(BANNED)) {
        expect(pattern.exec(text)?.[0], `${mail.subject}: write: ${instead}`).toBeUndefined();
      }
      expect(mail.text).toContain("You get this e-mail");
      expect(reader.audience === "partner").toBe(reader.partner_id !== undefined);
    }
  });

  it("writes no day as programs do (PROG-11)", async () => {
    for (const { mail } of await compose(notice)) {
      const ours = mail.text.replace("bank 2026-12-03", "");
      expect(ours).not.toMatch(/\d{4}-\d{2}-\d{2}/);
    }
  });

  it("is of tables and styles of its elements, in the color of the program, light and dark", async () => {
    for (const { mail } of await compose(notice)) {
      expect(mail.html).not.toMatch(/<(?:div|script|link|img|svg|form)\b|position:|flex|grid/);
      expect(mail.html).not.toContain(NAMED);
      expect(mail.html).toContain(`bgcolor="${PROGRAM.brand_color}"`);
      expect(mail.html).toContain("@media (prefers-color-scheme:dark)");
      // Some clients cut off longer e-mails.
      expect(new TextEncoder().encode(mail.html).length).toBeLessThan(100_000);
      for (const [, href = ""] of mail.html.matchAll(/href="([^"]*)"/g)) {
        expect(href).toMatch(/^https:\/\/service\.example\//);
      }
    }
  });

  it("has a link to switch it off where that is allowed, also for programs (RFC 8058, MAIL-8)", async () => {
    for (const { mail, reader } of await compose(notice)) {
      const may = MAIL_KINDS[kind].may_be_off && reader.audience !== "applicant";
      const [, url] =
        /^<(https:\/\/service\.example\/unsubscribe\/[\w.~-]+)>$/.exec(mail.headers?.["List-Unsubscribe"] ?? "") ?? [];
      expect(url !== undefined).toBe(may);
      if (url === undefined) continue;
      expect(mail.headers!["List-Unsubscribe-Post"]).toBe("List-Unsubscribe=One-Click");
      expect([mail.text.includes(url), mail.html.includes(`href="${url}"`)]).toEqual([true, true]);
      const read = await readUnsubscribeToken(SEALER, url.split("/").at(-1)!);
      expect(read).toEqual({ program_id: PROGRAM.id, reader, kind, address: mail.to });
    }
  });

  it("keeps what follows a long name in its subject, and ends no sentence twice after a name with a full stop", async () => {
    const named = async (name: string) => {
      const mails = await compose({ ...notice, program: { ...PROGRAM, name } });
      return mails.map(({ mail }) => mail);
    };
    const long = `${"Long ".repeat(15)}Ltd.`;
    const [short, full] = await Promise.all([named("Acme"), named(long)]);
    expect(full.map(({ subject }) => subject)).toEqual(short.map(({ subject }) => subject.replace("Acme", long)));
    for (const { text } of full) expect(text).not.toMatch(/\.\.(?:\s|$)/);
  });

  it("has no link where the deployment has no address, and is not written where it is for that link (HTTP-25)", async () => {
    const composed = composeFor({ ENVIRONMENT: "production" }, SEALER)(notice);
    const [first] = await compose(notice);
    if (first?.mail.text.includes("?token=")) {
      await expect(composed).rejects.toMatchObject({ code: "not_configured" });
      return;
    }
    for (const { mail } of await composed) expect(mail.html).not.toContain("href=");
  });
});

describe("the e-mail with a sign-in link", () => {
  it("is from the program where there is one account, and has the link in both parts", () => {
    const url = `https://service.example/sign-in?token=${"A".repeat(43)}`;
    const owner = {
      audience: "owner",
      program_id: "prog_1",
      partner_id: null,
      role: "owner",
      member_since: null,
      brand_color: "#aa0000",
    } as const;
    const asker = { device: "Safari on macOS", place: null };
    const one = signInMail("a@b.example", url, [{ ...owner, program_name: NAMED }], asker);
    expect([one.html.includes(`bgcolor="#aa0000"`), one.html.includes(url), one.text.includes(url)]).toEqual(
      Array(3).fill(true),
    );
    const both = ["One", "Two"].map((program_name) => ({ ...owner, program_name }));
    const two = signInMail("a@b.example", url, both, asker);
    expect(two.subject).toBe("Your sign-in link for your affiliate programs");
    expect(two.html).not.toContain("#aa0000");
  });
});

describe("the color of a program", () => {
  it("is written on in white or black, whichever can be read", () => {
    const hex = fc.integer({ min: 0, max: 0xffffff }).map((number) => `#${number.toString(16).padStart(6, "0")}`);
    fc.assert(
      fc.property(hex, (color) => {
        const [dark, light] = [luminance(color), luminance(textColorOn(color))].toSorted((a, b) => a - b) as [
          number,
          number,
        ];
        expect((light + 0.05) / (dark + 0.05)).toBeGreaterThanOrEqual(4.5);
      }),
    );
    expect([textColorOn("#000000"), textColorOn("#ffff00")]).toEqual(["#ffffff", "#000000"]);
  });
});

describe("the days of an e-mail (PROG-11)", () => {
  it("are those of the program's zone, in English whatever browser caused it", async () => {
    const program = { ...PROGRAM, time_zone: "America/Los_Angeles" };
    const said: string[] = [];
    const german = new Hono().use(inLanguageOfBrowser).get("/", async (c) => {
      for (const notice of [NOTICES.payout_generated, NOTICES.member_invited, NOTICES.commissions_earned]) {
        said.push(...(await compose({ ...notice, program })).map(({ mail }) => mail.text));
      }
      return c.text("");
    });
    await german.request("/", { headers: { "accept-language": "de-DE" } });
    expect(said.map((text) => /\d+ [A-Z][a-z]+ \d{4}/.exec(text)?.[0])).toEqual([
      "14 Dec 2026",
      "29 Nov 2026",
      "21 Nov 2026",
    ]);
  });
});
