import * as z from "zod";
import { eraseCustomer } from "../../core/customers/erase.ts";
import { LONGEST_ADDRESS } from "../../domain/email.ts";
import { isAddress } from "../../domain/erasure.ts";
import { json, ok, route } from "../route.ts";
import { text } from "../../resources/input.ts";

/** An address as a payment provider may have sent it, so looser than the addresses the service itself writes to. */
export const erasure = z.strictObject({
  email: text(LONGEST_ADDRESS).refine(isAddress, "This must be an e-mail address."),
});

/** `POST /api/v1/customers/erase` (JOB-1). */
export const customers = [
  route("POST /api/v1/customers/erase", {
    operation: "eraseCustomer",
    tag: "Customers",
    scope: ["write"],
    summary: "Erase a customer",
    description:
      "Removes a customer's e-mail address from payments, commissions and the stored events of providers. Sums stay the same.",
    body: json("CustomerErase", erasure),
    reply: ok("Erased", "In how many records the address was."),
    handle: async ({ ctx, body }) => ({ erased: await eraseCustomer(ctx, body.email) }),
  }),
];
