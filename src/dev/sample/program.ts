/** The sample's settings and rules of the newcomer's program. */

/** Settings of a new program that the sample replaces; its removal restores those that are unchanged. */
export const SETTINGS = {
  domain: "shop.example",
  auto_approve_days: 30,
  min_payout_cents: 2_500,
  applications: "review",
  questions: ["Where will you share your link?", "How did you hear of us? (optional)"],
  terms: "Please do not bid on our name in search ads, and mention to your readers that you earn a commission.",
  assets: [
    {
      name: "For a newsletter",
      kind: "text",
      content: "I have used it for a year and would not go back. This link has more:\n\n{link}",
    },
    { name: "Prices", kind: "link", content: "https://shop.example/pricing" },
  ],
} as const;

export const GROUPS = [
  { name: "Creators", slug: "creators", commission_pct: 25 },
  { name: "Agencies", slug: "agencies", commission_pct: 30 },
];

export const FLOWS = [
  {
    ...{ name: "Yearly plans", action_type: "percentage", action_value: 30, priority: 2, currency: "USD" },
    conditions: [{ field: "txn_amount_cents", op: "gte", value: 29_000 }],
  },
  {
    ...{ name: "Leads of agencies", event: "lead_created", action_type: "flat", action_value: 1_500, priority: 1 },
    conditions: [{ field: "partner_group", op: "eq", value: "agencies" }],
  },
];

export const CURRENCIES = ["USD", "EUR", "GBP", "JPY"] as const;
export type SampleCurrency = (typeof CURRENCIES)[number];

/** Tax in percent, on top of the price. */
export const TAX: Record<SampleCurrency, number> = { USD: 0, EUR: 19, GBP: 20, JPY: 10 };

/** Monthly prices in smallest units without tax; a year costs ten months. */
export const PLANS: { id: string; weight: number; price: Record<SampleCurrency, number> }[] = [
  { id: "starter", weight: 5, price: { USD: 2_900, EUR: 2_700, GBP: 2_400, JPY: 4_300 } },
  { id: "team", weight: 3, price: { USD: 7_900, EUR: 7_400, GBP: 6_600, JPY: 11_800 } },
  { id: "business", weight: 1, price: { USD: 19_900, EUR: 18_500, GBP: 16_600, JPY: 29_800 } },
];

/** Valid numbers of no account, by the partner's country. */
export const IBANS: Record<string, string> = {
  DE: "DE89370400440532013000",
  GB: "GB29NWBK60161331926819",
  FR: "FR1420041010050500013M02606",
  NL: "NL91ABNA0417164300",
};
