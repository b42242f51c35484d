import type { Program } from "../../../core/kernel/rows.ts";

/** What an owner or partner copies, filled with the program's own values. */

/** The program's domain, or an example of one. */
export function siteOf({ domain }: Pick<Program, "domain">): string {
  return domain ?? "your-domain.example";
}

/** The partner's link to the program's site; the script there keeps the reference. */
export function referralLink(program: Pick<Program, "domain">, slug: string): string {
  return `https://${siteOf(program)}/?ref=${slug}`;
}

/** The link through this service, which counts the click itself and leads to the program's domain. */
export function redirectLink(origin: string, program: Pick<Program, "id">, slug: string): string {
  return `${origin}/r/${program.id}/${slug}`;
}

/**
 * The tracking script's tag (TRACK-11), with the settings that differ from its defaults; `param` is the `data-param`
 * for links of another product.
 */
export function scriptTag(
  origin: string,
  program: Pick<Program, "id" | "cookie_days" | "attribution">,
  param: string | null = null,
): string {
  const attributes = [
    `src="${origin}/service.js"`,
    `data-program="${program.id}"`,
    ...(program.cookie_days === 60 ? [] : [`data-cookie-days="${program.cookie_days}"`]),
    ...(program.attribution === "last" ? [] : [`data-attribution="${program.attribution}"`]),
    ...(param === null ? [] : [`data-param="${param}"`]),
  ];
  return `<script ${attributes.join(" ")} defer></script>`;
}

/** A sale of a checkout without a payment provider (FACT-1). */
export function saleSnippet(origin: string, slug: string): string {
  return `curl ${origin}/api/v1/track/sale \\
  -H "Authorization: Bearer $SERVICE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"external_id": "order-9001", "ref": "${slug}", "amount_cents": 12000, "currency": "USD", "net_of_tax": true}'`;
}

export function apiSnippet(origin: string): string {
  return `curl ${origin}/api/v1/programs/me \\
  -H "Authorization: Bearer $SERVICE_API_KEY"`;
}
