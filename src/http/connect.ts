import type { Bindings } from "../env.ts";
import type { ConnectedAccounts, Transfers } from "../providers/connect.ts";
import { connectTo } from "../providers/registry.ts";

/** The API that payouts go through, as the deployment reaches it, through the global `fetch` (DEP-2). */
export function connectOf(env: Pick<Bindings, "PROVIDER_A_API_URL">): Transfers & ConnectedAccounts {
  return connectTo({
    fetch: (url, init) => fetch(url, init),
    baseUrl: env.PROVIDER_A_API_URL,
    now: Date.now,
  });
}
