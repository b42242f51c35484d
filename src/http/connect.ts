import type { DestinationsOf } from "../core/inbound/destination.ts";
import type { ReadsOf } from "../core/inbound/read-list.ts";
import type { Bindings } from "../env.ts";
import type { ConnectedAccounts, Transfers } from "../providers/connect.ts";
import type { VendorName, Reach } from "../providers/provider.ts";
import { connectTo } from "../providers/registry.ts";
import { TRANSFER_METHOD } from "../domain/partner.ts";

/** The global one (DEP-2). */
const GLOBAL: Reach["fetch"] = (url, init) => fetch(url, init);

/** The API that payouts go through, as the deployment reaches it. */
export function connectOf(env: Bindings, through = GLOBAL): Transfers & ConnectedAccounts {
  return connectTo(reachOf(env, TRANSFER_METHOD, through));
}

/** Reads from the providers, as the deployment reaches them. */
export function readsOf(env: Bindings, through = GLOBAL): ReadsOf {
  return ({ name, reads }) => reads?.(reachOf(env, name, through)) ?? null;
}

/** The webhook destinations at the providers, as the deployment reaches them. */
export function destinationsOf(env: Bindings): DestinationsOf {
  return ({ name, destinations }) => destinations?.(reachOf(env, name, GLOBAL)) ?? null;
}

function reachOf(env: Bindings, name: VendorName, through: Reach["fetch"]): Reach {
  const baseUrl = Object.entries(env).find(([variable]) => variable === `${name.toUpperCase()}_API_URL`)?.[1];
  return {
    fetch: through,
    baseUrl: typeof baseUrl === "string" ? baseUrl : "",
    now: Date.now,
  };
}
