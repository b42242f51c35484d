import type { VendorName } from "./provider-name.ts";

/** Where a vendor sends a program's webhooks; `origin` is `PUBLIC_URL`. */
export function webhookUrl(origin: string, program_id: string, provider: VendorName): string {
  return `${origin}/webhooks/${provider}?program_id=${program_id}`;
}
