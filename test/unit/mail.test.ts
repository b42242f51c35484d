import { describe, expect, it } from "vitest";
import { escapeHtml } from "../../src/lib/mail.ts";

describe("mail", () => {
  it("keeps foreign text out of its markup", () => {
    expect(escapeHtml(`<a href="x" title='y'>&amp;</a>`)).toBe(
      "&#60;a href=&#34;x&#34; title=&#39;y&#39;&#62;&#38;amp;&#60;/a&#62;",
    );
  });
});
