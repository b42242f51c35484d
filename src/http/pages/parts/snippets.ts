import type { Program } from "../../../core/context.ts";

/** What an owner or partner copies, filled with the program's own values. */

/** The partner's link to the program's site; the script there keeps the reference. */
export function referralLink(program: Pick<Program, "domain">, slug: string): string {
  return `https://${program.domain ?? "your-domain.example"}/?ref=${slug}`;
}

/** The link through this service, which counts the click itself and leads to the program's domain. */
export function redirectLink(origin: string, program: Pick<Program, "id">, slug: string): string {
  return `${origin}/r/${program.id}/${slug}`;
}

/** The tracking script's tag (contract §10), with the settings that differ from its defaults. */
export function scriptTag(origin: string, program: Pick<Program, "id" | "cookie_days" | "attribution">): string {
  const attributes = [
    `src="${origin}/service.js"`,
    `data-program="${program.id}"`,
    ...(program.cookie_days === 60 ? [] : [`data-cookie-days="${program.cookie_days}"`]),
    ...(program.attribution === "last" ? [] : [`data-attribution="${program.attribution}"`]),
  ];
  return `<script ${attributes.join(" ")} defer></script>`;
}

export function webhookUrl(
  origin: string,
  program: Pick<Program, "id">,
  provider: "provider_a" | "provider_b",
): string {
  return `${origin}/webhooks/${provider}?program_id=${program.id}`;
}
