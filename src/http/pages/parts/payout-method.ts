import { PAYOUT_METHODS, TRANSFER_METHOD, WALLET_SERVICE } from "../../../domain/partner.ts";
import type { Option } from "./form.tsx";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";

type Method = (typeof PAYOUT_METHODS)[number];

const METHOD_TEXTS: Record<Method, string> = {
  wallet: WALLET_SERVICE,
  [TRANSFER_METHOD]: `${TRANSFER_SERVICE} account`,
  bank_transfer: "Bank transfer",
  crypto: "Crypto",
};

export function payoutMethodText(method: Method | null): string {
  return method === null ? "Not set" : METHOD_TEXTS[method];
}

/** The fixed method and destination of a payout: "PayPal: w****a@example.com". */
export function recipientText({ method, recipient }: { method: Method | null; recipient: string | null }): string {
  return recipient === null ? payoutMethodText(method) : `${payoutMethodText(method)}: ${recipient}`;
}

export const PAYOUT_METHOD_OPTIONS: readonly Option[] = [
  { value: "", label: "Not set" },
  ...PAYOUT_METHODS.map((value) => ({ value, label: METHOD_TEXTS[value] })),
];
