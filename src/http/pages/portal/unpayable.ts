import { connectionOf } from "../../../core/kernel/connections.ts";
import type { readWithoutDetails } from "../../../core/payouts/take-details.ts";
import { sumUp } from "../../../domain/amount.ts";
import { TRANSFER_METHOD, WALLET_SERVICE, type PayoutMethod } from "../../../domain/partner.ts";
import { COLUMN_OF } from "../../../domain/payout-details.ts";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";
import { plural, sumsText } from "../parts/figures.tsx";
import { programText } from "../parts/shown-name.ts";
import type { OwnProgram, Self } from "./self.ts";

/** Why no payout can be prepared or paid now, and the remedy; null if one can. */
export function unpayableText(
  partner: Pick<Self, "payout_method" | "tax_data_id" | (typeof COLUMN_OF)[PayoutMethod]>,
  program: Pick<OwnProgram, "id" | "name" | "connections" | "require_tax_data">,
): string | null {
  return noDestinationText(partner, program) ?? (lacksTaxData(partner, program) ? TAX_DATA_MISSING : null);
}

/** Whether the partner gets no payout for want of tax data (OUT-33). */
export function lacksTaxData(
  { tax_data_id }: Pick<Self, "tax_data_id">,
  { require_tax_data }: Pick<OwnProgram, "require_tax_data">,
): boolean {
  return require_tax_data && tax_data_id === null;
}

const TAX_DATA_MISSING = "You get no payouts until you have added your tax data, below your payout details.";

function noDestinationText(
  partner: Pick<Self, "payout_method" | (typeof COLUMN_OF)[PayoutMethod]>,
  program: Pick<OwnProgram, "id" | "name" | "connections">,
): string | null {
  const { payout_method } = partner;
  if (payout_method === null) return "How would you like to be paid?";
  if (partner[COLUMN_OF[payout_method]]) return null;
  if (payout_method === "wallet") return ADDRESS_MISSING;
  if (payout_method !== TRANSFER_METHOD) return DETAILS_MISSING[payout_method];
  return offersTransfers(program)
    ? `Set up your account at ${TRANSFER_SERVICE} to receive payouts there.`
    : `${notOffered(program)} Choose another way.`;
}

/** The destination of future payouts, by the saved details. */
export function destinationText(...of: Parameters<typeof unpayableText>): string {
  return unpayableText(...of) ?? "New payouts go there. So do open payouts without payout details.";
}

/** The payouts that wait for the partner's payout details (OUT-18); null if there are no such payouts. */
export function waitingText(
  waiting: Awaited<ReturnType<typeof readWithoutDetails>>,
  program: OwnProgram,
): string | null {
  const count = waiting.reduce((sum, { payouts }) => sum + payouts, 0);
  if (count === 0) return null;
  const [are, them] = count === 1 ? ["waits", "it"] : ["wait", "them"];
  return `${plural(count, "payout")} (${sumsText(sumUp(waiting, program))}) ${are} for your payout details. Add them so that we can pay ${them}.`;
}

/** The message if a payout by this method has no details. */
export const DETAILS_MISSING = {
  bank_transfer: "A bank transfer needs your bank account.",
  crypto: "A payout by crypto needs your network and address.",
};

/** The message if a payout through the wallet service has no address. */
export const ADDRESS_MISSING = `A payout by ${WALLET_SERVICE} needs the e-mail address of your account there.`;

/** Whether the program can create accounts for transfers. */
export function offersTransfers(program: Pick<OwnProgram, "connections">): boolean {
  return connectionOf(program, TRANSFER_METHOD).api_key !== null;
}

/** The message if it cannot. */
export function notOffered(program: Pick<OwnProgram, "id" | "name">): string {
  return `${programText(program)} does not offer payouts through ${TRANSFER_SERVICE} yet.`;
}
