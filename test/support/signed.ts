/** Events of the listed providers, signed as each of them signs. */
import type { ListedVendor } from "../../src/providers/registry.ts";
import { nowSeconds } from "./vendor.ts";
import { TEST_VENDORS } from "./vendors/index.ts";

/** The neutral header of a provider's signature (IN-6). */
export function signatureHeader(provider: ListedVendor): string {
  return `${provider.replace("_", "-")}-signature`;
}

/** The signature of these bytes under this secret, at a time in seconds: now by default. */
export function signatureOf(
  provider: ListedVendor,
  body: string | Uint8Array,
  secret: string,
  at = nowSeconds(),
): Promise<string> {
  return TEST_VENDORS[provider].sign(body, secret, at);
}

/** The neutral header with the signature of these bytes under this secret, as of now. */
export async function signed(
  provider: ListedVendor,
  body: string | Uint8Array,
  secret: string,
): Promise<Record<string, string>> {
  return { [signatureHeader(provider)]: await signatureOf(provider, body, secret) };
}
