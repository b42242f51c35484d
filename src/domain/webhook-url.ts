import type { VendorName } from "./provider-name.ts";

/** The address for a vendor's webhooks to a program; `origin` is `PUBLIC_URL`. */
export function webhookUrl(origin: string, program_id: string, provider: VendorName): string {
  return `${origin}/webhooks/${provider}?program_id=${program_id}`;
}
