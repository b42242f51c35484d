import type { Bindings } from "../env.ts";
import type { ConnectedAccounts, Transfers } from "../providers/connect.ts";
import { providerAConnect } from "../providers/provider-a-connect.ts";

/** Provider A's API as the deployment reaches it, through the global `fetch` (DEP-2). */
export function connectOf(env: Pick<Bindings, "PROVIDER_A_API_URL">): Transfers & ConnectedAccounts {
  return providerAConnect({
    fetch: (url, init) => fetch(url, init),
    baseUrl: env.PROVIDER_A_API_URL,
    now: Date.now,
  });
}
