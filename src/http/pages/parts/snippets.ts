import type { Program } from "../../../core/kernel/rows.ts";

/** Snippets for owners and partners, with the program's own values. */

/** The program's domain, or an example of one. */
export function siteOf({ domain }: Pick<Program, "domain">): string {
  return domain ?? "your-domain.example";
}

/** The partner's link to the program's site; the script there keeps the reference. */
export function referralLink(program: Pick<Program, "domain">, slug: string): string {
  return `https://${siteOf(program)}/?ref=${slug}`;
}

/** The link through this service, which counts the click itself and redirects to the program's domain. */
export function redirectLink(origin: string, program: Pick<Program, "id">, slug: string): string {
  return `${origin}/r/${program.id}/${slug}`;
}

type Scripted = Pick<Program, "id" | "cookie_days" | "attribution">;

/** The tracking script's tag (TRACK-11); `param` is the `data-param` for links of another product. */
export function scriptTag(origin: string, program: Scripted, param: string | null = null): string {
  const attributes = scriptOptions(program, param).map(([name, value]) => ` data-${name}="${value}"`);
  return `<script src="${origin}/service.js"${attributes.join("")} defer></script>`;
}

/** The same with all options in the script's address, for tag managers, which drop attributes (TRACK-23). */
export function tagManagerTag(origin: string, program: Scripted, param: string | null = null): string {
  return `<script src="${origin}/service.js?${new URLSearchParams(scriptOptions(program, param)).toString()}"></script>`;
}

/** The program, and the options that differ from the script's defaults. */
function scriptOptions(program: Scripted, param: string | null): [string, string][] {
  return [
    ["program", program.id],
    ...(program.cookie_days === 60 ? [] : [["cookie-days", String(program.cookie_days)] as [string, string]]),
    ...(program.attribution === "last" ? [] : [["attribution", program.attribution] as [string, string]]),
    ...(param === null ? [] : [["param", param] as [string, string]]),
  ];
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
