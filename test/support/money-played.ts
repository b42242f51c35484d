/** A played vendor for each provider that the list has. */
import type { ListedProvider } from "../../src/providers/registry.ts";
import type { Life } from "./money-life.ts";
import type { PlayedVendor } from "./money-vendor.ts";
import { VendorA } from "./money-vendor-a.ts";
import { VendorApi } from "./money-vendor-api.ts";
import { VendorB } from "./money-vendor-b.ts";
import { bodyOfA } from "./provider-a.ts";
import { bodyOfB } from "./provider-b.ts";

export interface Played {
  vendor: PlayedVendor<unknown>;
  /** The bodies of its events so far. */
  bodies: () => string[];
}

/** A new provider does not compile without its own. */
export const PLAYED: Record<ListedProvider, (life: Life, n: string) => Played> = {
  api(life, n) {
    const vendor = new VendorApi(life, n);
    return { vendor, bodies: () => vendor.events.map((event) => JSON.stringify(event)) };
  },
  provider_a(life, n) {
    const vendor = new VendorA(life, n);
    return { vendor, bodies: () => vendor.events.map(bodyOfA) };
  },
  provider_b(life, n) {
    const vendor = new VendorB(life, n);
    return { vendor, bodies: () => vendor.events.map(bodyOfB) };
  },
};
