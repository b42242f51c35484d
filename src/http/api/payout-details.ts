import * as z from "zod";
import { maskedDetails, readPayoutDetails } from "../../core/partners/payout-details.ts";
import { setPayoutDetails } from "../../core/partners/partners.ts";
import { PAYOUT_METHODS, TRANSFER_METHOD } from "../../domain/partner.ts";
import { FIELDS_OF, type DetailField, type GivenDetails } from "../../domain/payout-details.ts";
import { email, text } from "../../resources/input.ts";
import { askPayoutDetails, type Asked } from "../../core/payouts/ask-details.ts";
import { asIs, json, ok, optionalJson, route } from "../route.ts";
import { givenId, takes } from "../validate.ts";

const TEXTS: Partial<Record<DetailField, string>> = {
  email: "The address of a `wallet`.",
  account: `The connected account of \`${TRANSFER_METHOD}\`.`,
  country: "ISO 3166-1: two letters.",
  currency: "ISO 4217: the account's currency.",
  iban: "Spaces and case do not matter. Or an `account_number` with one of `routing_number`, `sort_code` and `bsb`.",
  network: "The network of a `crypto` address, such as `bitcoin`.",
};

function field(name: DetailField) {
  const schema = (name === "email" ? email : text(200, 0)).nullish();
  return TEXTS[name] === undefined ? schema : schema.describe(TEXTS[name]);
}

type Shape = { [F in DetailField]: ReturnType<typeof field> };

export const payoutDetailsSet = takes<GivenDetails>()({
  method: z.enum(PAYOUT_METHODS).nullable(),
  ...(Object.fromEntries(
    Object.values(FIELDS_OF).flatMap((names) => names.map((name) => [name, field(name)])),
  ) as Shape),
});

export const payoutDetailsAsk = z.strictObject({
  ids: z
    .array(givenId)
    .min(1)
    .max(500)
    .refine((ids) => new Set(ids).size === ids.length, "Name each partner once.")
    .optional()
    .describe("The partners; without it, all who have money to receive and no payout details."),
});

/** `/api/v1/partners/:id/payout-details` (OUT-23), `ask-payout-details` (OUT-30). */
export const payoutDetails = [
  route("GET /api/v1/partners/:id/payout-details", {
    operation: "getPayoutDetails",
    tag: "Partners",
    scope: ["read"],
    summary: "Get a partner's payout details",
    description:
      "The details of each method. In full for a key with the scope `payouts`, which leaves an event `payout_details.read`; masked for any other.",
    reply: ok("PayoutDetails", "The details."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => (await readPayoutDetails(ctx, params.id)).details,
  }),
  route("PUT /api/v1/partners/:id/payout-details", {
    operation: "setPayoutDetails",
    tag: "Partners",
    scope: ["payouts"],
    summary: "Set a partner's payout method and its details",
    description:
      "Send the fields of one method; the details of the other methods stay. A method alone means its stored details.",
    body: json("PayoutDetailsSet", payoutDetailsSet),
    reply: ok("PayoutDetails", "The details as they are now, masked."),
    errors: ["not_found"],
    handle: async ({ ctx, params, body }) => maskedDetails(ctx, await setPayoutDetails(ctx, params.id, body)),
  }),
  route("POST /api/v1/partners/ask-payout-details", {
    operation: "askPayoutDetails",
    tag: "Partners",
    scope: ["payouts"],
    summary: "Send partners a request for their payout details",
    description:
      "Each active partner without payout details gets an e-mail with a link to the portal, once in seven days however often you call. At most 10,000 per call; while `remaining` is not 0, send it again.",
    body: optionalJson("PayoutDetailsAsk", payoutDetailsAsk),
    reply: ok("PayoutDetailsAsked", "How many partners were asked, and how many were not."),
    errors: ["not_configured"],
    view: asIs<Asked>,
    handle: ({ ctx, body: { ids } }) => askPayoutDetails(ctx, { ids }),
  }),
];
