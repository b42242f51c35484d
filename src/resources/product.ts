import * as z from "zod";
import type { products } from "../db/schema.ts";
import { PROVIDER_NAMES } from "../providers/registry.ts";
import { resource } from "./field.ts";
import { EXAMPLE_PROVIDER, EXAMPLE_TIME, INTERNAL, nullableString, string, timestamp } from "./output.ts";

export type Product = typeof products.$inferSelect;

export const PRODUCT = resource<Product>()({
  program_id: INTERNAL,
  provider: { audit: null, read: () => z.enum(PROVIDER_NAMES), example: EXAMPLE_PROVIDER },
  id: {
    ...{ audit: null, read: string, example: "prod_Ss45LY8HsRvKY5" },
    text: "The provider's id of a product or of a price.",
  },
  name: {
    ...{ audit: null, read: nullableString, example: "Ultimate" },
    text: "Its name, if the provider's events state it.",
  },
  last_seen_at: {
    ...{ audit: null, read: () => timestamp, example: EXAMPLE_TIME },
    text: "When a payment last contained it, exact to the day.",
  },
});
