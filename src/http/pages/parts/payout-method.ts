import { PAYOUT_METHODS, TRANSFER_METHOD } from "../../../domain/partner.ts";
import type { Option } from "./form.tsx";

type Method = (typeof PAYOUT_METHODS)[number];

const METHOD_TEXTS: Record<Method, string> = {
  wallet: "Wallet",
  [TRANSFER_METHOD]: "Provider A account",
  bank_transfer: "Bank transfer",
  crypto: "Crypto",
};

export function payoutMethodText(method: Method | null): string {
  return method === null ? "Not set" : METHOD_TEXTS[method];
}

/** How and where to a payout goes, as it was fixed: "Wallet: w****@example.com". */
export function recipientText({ method, recipient }: { method: Method | null; recipient: string | null }): string {
  return recipient === null ? payoutMethodText(method) : `${payoutMethodText(method)}: ${recipient}`;
}

export const PAYOUT_METHOD_OPTIONS: Option[] = [
  { value: "", label: "Not set" },
  ...PAYOUT_METHODS.map((value) => ({ value, label: METHOD_TEXTS[value] })),
];
