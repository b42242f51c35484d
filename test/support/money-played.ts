/** A played vendor for each provider that the list has. */
import type { ListedProvider } from "../../src/providers/registry.ts";
import type { Life } from "./money-life.ts";
import { VendorApi } from "./money-vendor-api.ts";
import { TEST_VENDORS } from "./vendors/index.ts";
import type { Played } from "./vendors/test-vendor.ts";

export function play(provider: ListedProvider, life: Life, n: string): Played {
  if (provider !== "api") return TEST_VENDORS[provider].played(life, n);
  const vendor = new VendorApi(life, n);
  return { vendor, bodies: () => vendor.events.map((event) => JSON.stringify(event)) };
}
