/** The lines of a transaction, and the parts of them that an adjustment returns. */
import * as z from "zod";
import type { PaymentLine } from "../../domain/fact.ts";
import { negate, sumWithin, type Cents } from "../../domain/money.ts";
import { aliasesOf, amount, id, optionalText, productName, signedAmount } from "../wire.ts";

/** Totals are texts of whole numbers in the currency's lowest unit; numbers are accepted as well. */
function wholeNumber(pattern: RegExp, error: string) {
  return z.union([z.string().regex(pattern).transform(Number), z.number()], { error });
}
export const total = wholeNumber(/^[0-9]+$/, "This must be a whole number of the lowest unit, 0 or more.").pipe(amount);
/** The total of a downgrade is negative. */
export const signedTotal = wholeNumber(/^-?[0-9]+$/, "This must be a whole number of the lowest unit.").pipe(
  signedAmount,
);

/** Totals of an adjustment: amount including tax, and tax, as in a transaction. */
export const totals = z.object({ total, tax: signedTotal });

/** A proration credit is negative. */
const lineTotals = z.object({ total: signedTotal, tax: signedTotal });

const lineItems = z.array(
  z.object({
    id: id.nullish(),
    price_id: id,
    totals: lineTotals,
    product: z.object({ id, name: optionalText }).nullish(),
  }),
);
const prices = z.array(
  z.object({ price: z.object({ id, product_id: id.nullish(), name: optionalText, description: optionalText }) }),
);

/** The lines of a payment's fact; absent if the product or the amount of a line is missing. */
export function transactionLines(line_items: unknown, items: unknown): { lines?: PaymentLine[] } {
  const found = lineItems.safeParse(line_items).data;
  if (!found || found.length === 0) return {};
  const sold = new Map((prices.safeParse(items).data ?? []).map(({ price }) => [price.id, price]));
  const lines = found.map(({ id: line, price_id, totals: sums, product }): PaymentLine => {
    const price = sold.get(price_id);
    const product_id = product?.id ?? price?.product_id;
    const name = product?.name ?? null;
    const names = [productName(name), productName(name, price?.name ?? price?.description)];
    return {
      ...(line ? { id: line } : {}),
      products: aliasesOf(product_id, price_id),
      ...(names.some(Boolean) ? { names: product_id ? names : names.slice(1) } : {}),
      amount_cents: netOf(sums),
    };
  });
  return { lines };
}

const adjustedItems = z.array(z.object({ item_id: id, totals }));

/** The lines that an adjustment names; absent if the amount of a line is missing. */
export function adjustedLines(items: unknown): { lines?: { id: string; amount_cents: Cents }[] } {
  const found = adjustedItems.safeParse(items).data;
  if (!found || found.length === 0) return {};
  return { lines: found.map(({ item_id, totals: sums }) => ({ id: item_id, amount_cents: netOf(sums) })) };
}

function netOf({ total: whole, tax }: z.output<typeof lineTotals>): Cents {
  return sumWithin([whole, negate(tax)]);
}
