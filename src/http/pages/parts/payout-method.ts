import { PAYOUT_METHODS } from "../../../domain/partner.ts";
import type { Option } from "./form.tsx";

const METHOD_TEXTS: Record<(typeof PAYOUT_METHODS)[number], string> = {
  wallet: "Wallet",
  provider_a: "Provider A account",
  bank_transfer: "Bank transfer",
  crypto: "Crypto",
};

export function payoutMethodText(method: (typeof PAYOUT_METHODS)[number] | null): string {
  return method === null ? "Not set" : METHOD_TEXTS[method];
}

export const PAYOUT_METHOD_OPTIONS: Option[] = [
  { value: "", label: "Not set" },
  ...PAYOUT_METHODS.map((value) => ({ value, label: METHOD_TEXTS[value] })),
];
