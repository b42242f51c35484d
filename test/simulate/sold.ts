/** A purchase of the simulation, as its vendor stores it. */
import type { ListedVendor } from "../../src/providers/registry.ts";
import type { Chance } from "../../src/dev/chance.ts";

export interface Sold {
  key: string;
  provider: ListedVendor;
  customer: string;
  subscription: string | null;
  email: string | null;
  gross: number;
  tax: number;
  /** Net of tax; a negative one is a credit for an unused period. */
  lines: { products: string[]; amount: number }[];
  currency: string;
  payment_intent: string;
  charge: string;
  refunded: number;
  adjustments: { id: string; amount: number; status: string }[];
  dispute: { id: string; amount: number } | null;
}

export const PRODUCTS = ["pro", "lite", "extra"] as const;

/**
 * The lines of an amount, of a product and a price each; sometimes a credit is among them. It has two others beside it, so that a part of the lines can come to less than the payment and more than 0.
 */
export function linesOf(chance: Chance, net: number): Sold["lines"] {
  const first = chance.happens(0.4) ? net : chance.whole(1, net);
  const credit = chance.happens(0.6) ? chance.whole(1, net) : 0;
  const amounts = [first, net - first + credit, -credit].filter((amount) => amount !== 0);
  return amounts.map((amount) => {
    const name = chance.of(PRODUCTS);
    return { products: [`pro_${name}`, `pri_${name}`], amount };
  });
}
