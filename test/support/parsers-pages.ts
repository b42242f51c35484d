/** What the pages for strangers and partners read of their forms. */
import type { Context } from "hono";
import { env } from "cloudflare:workers";
import type { Program } from "../../src/core/kernel/rows.ts";
import { assetProblem, bannerHtml, readAssets, textWithLink } from "../../src/domain/asset.ts";
import { FormFields } from "../../src/http/pages/forms.ts";
import { localeOf } from "../../src/http/pages/locale.ts";
import { joinValues, readForm, readStamp } from "../../src/http/pages/join/form.tsx";
import { readClaim } from "../../src/http/pages/portal/claims.tsx";
import { buildLink } from "../../src/http/pages/portal/link-builder.tsx";
import type { PageEnv } from "../../src/http/session.ts";
import type { Parser } from "./parsers.ts";

const PROGRAM = {
  ...{ id: "prog_1", domain: "shop.example", questions: ["Why? (optional)"], terms: "Be kind.", terms_version: 1 },
} as Program & { domain: string };

/** A form with the text in each of these fields. */
function form(text: string, ...names: string[]): FormFields {
  const data = new FormData();
  for (const name of names) data.set(name, text);
  return new FormFields(data);
}

export const PAGES: Parser[] = [
  {
    module: "http/pages/join/form.tsx",
    name: "an application",
    good: "https://www.example.com",
    read: async (text) => {
      const fields = form(text, "name", "email", "website", "answer_0", "terms");
      return [readForm(PROGRAM, fields), joinValues(PROGRAM, fields), await readStamp("key", PROGRAM, text, 0)];
    },
    frames: [
      ["https://", ""],
      ["1.", ""],
    ],
  },
  {
    module: "http/pages/portal/claims.tsx",
    name: "a claim",
    good: "example.com",
    read: (text) => [readClaim(form(text, "order_id")), readClaim(form(text, "day", "email_domain"))],
    frames: [["", ".com"]],
  },
  {
    module: "http/pages/portal/link-builder.tsx",
    name: "a link",
    good: "/pricing",
    read: (text) => {
      const query = { page: text, sub: text, utm_source: text, utm_medium: text, utm_campaign: text };
      return buildLink({ req: { query: () => query }, env } as unknown as Context<PageEnv>, PROGRAM, { slug: "ann" });
    },
    frames: [
      ["https://shop.example/", ""],
      ["/?", "#"],
    ],
  },
  {
    module: "domain/asset.ts",
    name: "assets",
    good: "text: A\nTry {link}",
    read: (text) => {
      const banner = { name: text, kind: "banner", content: text } as const;
      return [
        readAssets(text),
        assetProblem(banner),
        bannerHtml(banner, text),
        textWithLink(text, "https://a.example/"),
      ];
    },
    frames: [["text: A\n", "\n---\n"]],
  },
  {
    module: "http/pages/locale.ts",
    name: "Accept-Language",
    good: "de-DE,de;q=0.9",
    read: (text) => localeOf(text),
    frames: [["de,", ";q=0.5"]],
  },
];
