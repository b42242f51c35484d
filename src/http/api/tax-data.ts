import * as z from "zod";
import { masked, readTaxData, setTaxData, viewTaxData, type GivenTaxData } from "../../core/partners/tax-data.ts";
import { PAYEE_KINDS } from "../../domain/tax.ts";
import { country, percentage, visibleText } from "../../resources/input.ts";
import { json, ok, route } from "../route.ts";
import { takes } from "../validate.ts";

export const taxDataSet = takes<GivenTaxData>()({
  legal_name: visibleText(200).describe("The name on invoices."),
  address: visibleText(500).describe("The address on invoices."),
  country: country.describe("ISO 3166-1: two letters."),
  kind: z.enum(PAYEE_KINDS).describe("Whether the partner is a business."),
  tax_id: visibleText(50).nullish().describe("The VAT or tax number, as the partner writes it."),
  vat_rate: percentage
    .nullish()
    .describe("The VAT in percent that a business charges in its own country, with a `tax_id`. Without it: none."),
});

/** `/api/v1/partners/:id/tax-data` (OUT-33). */
export const taxData = [
  route("GET /api/v1/partners/:id/tax-data", {
    operation: "getTaxData",
    tag: "Partners",
    scope: ["read"],
    summary: "Get a partner's tax data",
    description:
      "In full for a key with the scope `payouts`, which leaves an event `tax_data.read`; masked for any other.",
    reply: ok("TaxData", "The data; null without any."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => viewTaxData(await readTaxData(ctx, params.id)),
  }),
  route("PUT /api/v1/partners/:id/tax-data", {
    operation: "setTaxData",
    tag: "Partners",
    scope: ["payouts"],
    summary: "Set a partner's tax data",
    description: "Replaces them. Invoices of payouts that are paid already keep the data of their time.",
    body: json("TaxDataSet", taxDataSet),
    reply: ok("TaxData", "The data as they are now, masked."),
    errors: ["not_found"],
    handle: async ({ ctx, params, body }) => viewTaxData(masked(await setTaxData(ctx, params.id, body))),
  }),
];
