import { PAYOUT_METHODS, TRANSFER_METHOD } from "../../../domain/partner.ts";
import type { Option } from "./form.tsx";
import { transferName, walletName } from "../../brand-names.ts";

type Method = (typeof PAYOUT_METHODS)[number];

const METHOD_TEXTS: Record<Method, () => string> = {
  wallet: walletName,
  [TRANSFER_METHOD]: () => `${transferName()} account`,
  bank_transfer: () => "Bank transfer",
  crypto: () => "Crypto",
};

export function payoutMethodText(method: Method | null): string {
  return method === null ? "Not set" : METHOD_TEXTS[method]();
}

/** How and where to a payout goes, as it was fixed: "PayPal: w****a@example.com". */
export function recipientText({ method, recipient }: { method: Method | null; recipient: string | null }): string {
  return recipient === null ? payoutMethodText(method) : `${payoutMethodText(method)}: ${recipient}`;
}

export const payoutMethodOptions = (): Option[] => [
  { value: "", label: "Not set" },
  ...PAYOUT_METHODS.map((value) => ({ value, label: METHOD_TEXTS[value]() })),
];
