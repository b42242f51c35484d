/** The payment providers of the tests: one line for each, as in `src/providers/list.ts`. */
import type { ListedVendor } from "../../../src/providers/registry.ts";
import { vendorA } from "./provider-a/index.ts";
import { vendorB } from "./provider-b/index.ts";
import type { TestVendor, VendorCodes } from "./test-vendor.ts";

export const TEST_VENDORS: Record<ListedVendor, TestVendor> = { provider_a: vendorA, provider_b: vendorB };

/** The vendors with promotion codes. */
export const CODED = (Object.entries(TEST_VENDORS) as [ListedVendor, TestVendor][]).flatMap(
  ([name, { codes }]): [ListedVendor, VendorCodes][] => (codes ? [[name, codes]] : []),
);

/** Each webhook secret has the form of the vendor's own, which the log leaves out. */
export const TEST_SECRETS = Object.fromEntries(
  Object.entries(TEST_VENDORS).map(([name, { secret }]) => [name, secret]),
) as Record<ListedVendor, string>;

/** The samples as thin events, with and without their full event; empty if the vendor has only full events. */
export function thinSamples({ thinOf, samples }: TestVendor): object[] {
  return thinOf ? samples.flatMap((event) => [true, false].map((snapshot) => thinOf(event, snapshot))) : [];
}
