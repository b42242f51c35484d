import type { ProviderName } from "../domain/provider-name.ts";

const FORMS: Record<ProviderName, RegExp> = {
  provider_a: /^cus_[A-Za-z0-9_]{1,250}$/,
  provider_b: /^ctm_[A-Za-z0-9_]{1,250}$/,
};

/** Which provider's a customer id is, by the form of its ids; null for one of neither, an owner's own number say. */
export function providerOfCustomer(customer_id: string): ProviderName | null {
  const found = Object.entries(FORMS).find(([, form]) => form.test(customer_id));
  return (found?.[0] as ProviderName | undefined) ?? null;
}

/** The provider whose payments have the customer's e-mail address. */
export const PROVIDER_WITH_EMAIL: ProviderName = "provider_a";
