import { describe, expect, it } from "vitest";
import { isKnownBot } from "../../src/domain/bot.ts";

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

describe("known bots, whose clicks are answered 202 and not recorded (TRACK-6)", () => {
  it.each([
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/140.0.0.0 Safari/537.36",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "WhatsApp/2.23.20.0",
    "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "Mozilla/5.0 (Linux; Android 11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse",
  ])("knows %s", (userAgent) => {
    expect(isKnownBot(userAgent)).toBe(true);
    expect(isKnownBot(userAgent), "the same from what is remembered").toBe(true);
  });

  it.each([
    CHROME,
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 320.0.0.0",
  ])("lets a visitor's browser pass: %s", (userAgent) => {
    expect(isKnownBot(userAgent)).toBe(false);
    expect(isKnownBot(userAgent)).toBe(false);
  });

  it("lets pass what someone drives on purpose, and who gives no name", () => {
    for (const tool of ["node", "curl/8.5.0", "python-requests/2.32", "Go-http-client/1.1", "axios/1.7.2", "undici"]) {
      expect([tool, isKnownBot(tool)]).toEqual([tool, false]);
    }
    expect(isKnownBot(CHROME.replace("Chrome/", "HeadlessChrome/"))).toBe(false);
    expect(isKnownBot(null)).toBe(false);
    expect(isKnownBot("")).toBe(false);
  });

  it("answers the same whatever was asked before, also past what it remembers", () => {
    for (let i = 0; i < 2_500; i++) isKnownBot(`${CHROME} Visitor/${i}`);
    expect(isKnownBot(CHROME)).toBe(false);
    expect(isKnownBot("Googlebot/2.1")).toBe(true);
  });
});
