import { providerName, SECRET_SETTINGS, type Setting } from "../../../../providers/registry.ts";

/** Texts that people paste into a secret's field, which are not secrets of a provider. */
const NO_SECRETS: readonly (readonly [RegExp, string])[] = [
  [/^pk_(?:live|test)_/, "This is a publishable key, which is no secret."],
  [/^sk_/, "This is an API key of this service."],
  [/^https?:\/\//i, "This is an address, not a secret."],
  [/\s/, "A secret has no blanks. Paste only the secret."],
];

/** Why a pasted text cannot be this secret; null if it may be. Vendors may change how their secrets begin. */
export function mistakenSecret({ field, setting }: Setting, text: string): string | null {
  if (isUsual(field, text)) return null;
  const other = SECRET_SETTINGS.find((one) => one.setting !== setting && isUsual(one.field, text));
  if (other) return `This is the ${lower(other)}. Paste it in that field.`;
  return NO_SECRETS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** Whether a text begins as the vendor's secrets of this kind do. */
export function isUsual({ begins }: Setting["field"], text: string): boolean {
  return begins.some((start) => text.startsWith(start));
}

/** "webhook signing secret of Stripe". */
function lower({ field, provider, secret }: Setting): string {
  const name = providerName(provider.name);
  return secret === "api_key" ? field.label(name) : `${field.label(name).toLowerCase()} of ${name}`;
}
