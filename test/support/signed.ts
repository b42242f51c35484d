/** Events of the listed providers, signed as each of them signs: one that the list has more does not compile without its own. */
import type { ListedProvider } from "../../src/providers/registry.ts";
import { signA } from "./provider-a-event.ts";
import { signB } from "./provider-b.ts";

type Sign = (body: string | Uint8Array, secret: string) => Promise<string>;
const SIGN: Record<ListedProvider, Sign> = { provider_a: signA, provider_b: signB };

/** The neutral header (IN-6) with the signature of these bytes under this secret, as of now. */
export async function signed(
  provider: ListedProvider,
  body: string | Uint8Array,
  secret: string,
): Promise<Record<string, string>> {
  return { [`${provider.replace("_", "-")}-signature`]: await SIGN[provider](body, secret) };
}
