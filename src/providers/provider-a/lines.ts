/** The products and amounts of an invoice's and a session's lines. */
import * as z from "zod";
import type { PaymentFact, PaymentLine } from "../../domain/fact.ts";
import { negate, sumWithin } from "../../domain/money.ts";
import { aliasesOf, expandableId, id, optionalText, productName, signedAmount } from "../wire.ts";

const amounts = z.array(z.object({ amount: signedAmount })).nullish();

/** Before 2025-03-31 a line's price has its product, or its plan does. */
const price = z.object({ id, product: expandableId, nickname: optionalText }).nullish();

const invoiceLine = z.object({
  /** Before discounts; with the tax, if that is included. */
  amount: signedAmount,
  description: optionalText,
  discount_amounts: amounts,
  /** Discounts, which `discount_amounts` repeats, and credit grants. */
  pretax_credit_amounts: z.array(z.object({ amount: signedAmount, type: optionalText })).nullish(),
  taxes: z.array(z.object({ amount: signedAmount, tax_behavior: optionalText })).nullish(),
  tax_amounts: z.array(z.object({ amount: signedAmount, inclusive: z.boolean().nullish() })).nullish(),
  pricing: z.object({ price_details: z.object({ price: expandableId, product: expandableId }).nullish() }).nullish(),
  price,
  plan: price,
});

const sessionLine = z.object({
  /** After discounts, with all tax. */
  amount_total: signedAmount,
  amount_tax: signedAmount,
  description: optionalText,
  price,
});

/** The lines of an invoice, for its payment's fact; absent if it has no lines, or if the amount of a line is missing. */
export function invoiceLines(lines: readonly unknown[]): Pick<PaymentFact, "lines"> {
  return readAll(lines, invoiceLine, (line) => {
    const included = [
      ...(line.taxes ?? []).filter(({ tax_behavior }) => tax_behavior === "inclusive"),
      ...(line.tax_amounts ?? []).filter(({ inclusive }) => inclusive),
    ];
    const credits = (line.pretax_credit_amounts ?? []).filter(({ type }) => type !== "discount");
    const less = [...(line.discount_amounts ?? []), ...credits, ...included];
    const sold = line.price ?? line.plan;
    const { price: price_id, product } = line.pricing?.price_details ?? { price: sold?.id, product: sold?.product };
    const name = PLAN.exec(line.description ?? "")?.[1];
    return {
      ...namedProducts([product, name], [price_id, name, sold?.nickname]),
      amount_cents: sumWithin([line.amount, ...less.map(({ amount }) => negate(amount))]),
    };
  });
}

/** The description of a subscription's line, such as `1 × Ultimate (at $192.00 / year)`. */
const PLAN = /^\d+ × (.+) \(at .+\)$/;

/** The same for the lines of a session. */
export function sessionLines(lines: readonly unknown[]): Pick<PaymentFact, "lines"> {
  return readAll(lines, sessionLine, ({ amount_total, amount_tax, description, price: sold }) => ({
    ...namedProducts([sold?.product, description], [sold?.id, description, sold?.nickname]),
    amount_cents: sumWithin([amount_total, negate(amount_tax)]),
  }));
}

function readAll<Schema extends z.ZodType>(
  lines: readonly unknown[],
  schema: Schema,
  read: (line: z.output<Schema>) => PaymentLine,
): Pick<PaymentFact, "lines"> {
  const parsed = z.array(schema).safeParse(lines);
  return parsed.success && lines.length > 0 ? { lines: parsed.data.map(read) } : {};
}

/** The non-null ids, each followed by the parts of its name. */
function namedProducts(...given: [string | null | undefined, ...name: (string | null | undefined)[]][]) {
  const found = given.filter(([product]) => product);
  const names = found.map(([, ...name]) => productName(...name));
  return { products: aliasesOf(...found.map(([product]) => product)), ...(names.some(Boolean) ? { names } : {}) };
}
