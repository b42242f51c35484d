/** The payment providers, as seen from outside this folder. */
import { auditEventTypes } from "../domain/event.ts";
import { TRANSFER_METHOD } from "../domain/partner.ts";
import type { ConnectedAccounts, Transfers } from "./connect.ts";
import * as list from "./list.ts";
import {
  SECRET_NAMES,
  type OwnerProvider,
  type Provider,
  type ProviderName,
  type Reach,
  type SecretField,
  type SecretName,
  type Vendor,
  type VendorName,
} from "./provider.ts";

/** Ordered by name, as pages and documents list them. */
export const PROVIDERS: readonly Provider[] = orderAndCheck(Object.values<Provider>(list));

type Listed = (typeof list)[keyof typeof list];
/** The names of the listed providers as a union, for the API's values. */
export type ListedProvider = Listed["name"];
export const PROVIDER_NAMES = PROVIDERS.map(({ name }) => name) as readonly ProviderName[] as readonly ListedProvider[];

/** Providers with webhooks: pages and settings of addresses, secrets, status and snippets loop over them. */
export const VENDORS: readonly Vendor[] = PROVIDERS.filter((provider) => provider.reported_by === "webhook");
type ListedVendors = Extract<Listed, { reported_by: "webhook" }>;
export type ListedVendor = ListedVendors["name"];
export const VENDOR_NAMES = VENDORS.map(({ name }) => name) as readonly VendorName[] as readonly ListedVendor[];

/** The provider for reports of the owner's server. */
export const OWNER_PROVIDER: OwnerProvider = PROVIDERS.find((provider) => provider.reported_by === "owner")!;

/** The types of the audit log, including those of providers' events. */
export const AUDIT_EVENT_TYPES = auditEventTypes(PROVIDER_NAMES);

/**
 * Orders providers by name. Throws if two of them clash, so that the service does not start: in their name, in the form
 * of their customer ids, or in a role that only one may have (e-mail addresses in payments, reports of the owner's
 * server). Throws as well if a provider with connected accounts is not `TRANSFER_METHOD`, or has an API key without a
 * use for it, or the reverse.
 */
export function orderAndCheck(providers: readonly Provider[]): Provider[] {
  for (const [i, { name }] of providers.entries()) {
    if (providers.slice(i + 1).some((other) => name === other.name))
      throw new Error(`two providers have the name ${name}`);
  }
  if (providers.filter(({ reported_by }) => reported_by === "owner").length !== 1) {
    throw new Error("one provider is the owner's server, and no more");
  }
  refuseClashes(providers.filter((provider) => provider.reported_by === "webhook"));
  return providers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function refuseClashes(vendors: readonly Vendor[]): void {
  for (const [i, { name, customers, connect, reads, destinations, secrets }] of vendors.entries()) {
    if (name !== TRANSFER_METHOD && connect !== undefined) {
      throw new Error(`${name}: payouts are transfers through ${TRANSFER_METHOD}`);
    }
    const isKeyUsed = [connect, reads, destinations].some((one) => one !== undefined);
    if (isKeyUsed !== (secrets.api_key !== undefined)) {
      throw new Error(`${name}: an API key is for what is read, made or paid with it, and for nothing else`);
    }
    const { id_prefix, id_pattern, has_email } = customers;
    if (!id_pattern.source.startsWith(`^${id_prefix}`)) {
      throw new Error(`${name}: the form of its customer ids does not begin with "${id_prefix}"`);
    }
    for (const other of vendors.slice(i + 1)) {
      if (id_prefix.startsWith(other.customers.id_prefix) || other.customers.id_prefix.startsWith(id_prefix)) {
        throw new Error(`${name} and ${other.name}: customer ids begin alike`);
      }
      if (has_email && other.customers.has_email) {
        throw new Error(`${name} and ${other.name}: one provider at most has the customer's e-mail address`);
      }
    }
  }
}

const byName = new Map(PROVIDERS.map((provider) => [provider.name, provider]));

/** The provider with this name; undefined for a name that this version does not know. */
export function providerNamed(name: string): Provider | undefined {
  return byName.get(name as ProviderName);
}

/** A provider's name for people, for use in a sentence; an unknown name is returned unchanged. */
export function providerName(name: string): string {
  return providerNamed(name)?.text ?? name;
}

export const TRANSFER_SERVICE = providerName(TRANSFER_METHOD);

/** The vendor with this name, or undefined. */
export function vendorNamed(name: string): Vendor | undefined {
  const provider = providerNamed(name);
  return provider?.reported_by === "webhook" ? provider : undefined;
}

/** Whether a provider's events may name their program, so that the URL need not. */
export function claimsPrograms(name: ProviderName): boolean {
  return vendorNamed(name)?.claims_programs === true;
}

/** The provider of a customer id, by its form; null for an owner's own number. */
export function providerOfCustomer(customer_id: string): ProviderName | null {
  return VENDORS.find(({ customers }) => customers.id_pattern.test(customer_id))?.name ?? null;
}

/** The vendor whose payments contain the customer's e-mail address. */
export const VENDOR_WITH_EMAIL: Vendor | undefined = VENDORS.find(({ customers }) => customers.has_email);

/** The API of the provider whose connected accounts receive payouts (OUT-6). */
export function connectTo(reach: Reach): Transfers & ConnectedAccounts {
  const connect = vendorNamed(TRANSFER_METHOD)?.connect;
  if (!connect) throw new Error(`${TRANSFER_METHOD} has no connected accounts`);
  return connect(reach);
}

/** The name of a secret in the API: `provider_a_webhook_secret`. */
export type SecretSetting = `${VendorName}_${SecretName}`;

/** The settings of the listed providers as a union. */
export type ListedSetting = {
  [P in ListedVendor]: `${P}_${SecretOf<Extract<ListedVendors, { name: P }>>}`;
}[ListedVendor];
type SecretOf<P extends Pick<Vendor, "secrets">> = keyof P["secrets"] & SecretName;

export interface Setting {
  setting: SecretSetting;
  provider: Vendor;
  secret: SecretName;
  field: SecretField;
}

/** The secrets of all vendors, for the API, the settings page and the program's row. */
export const SECRET_SETTINGS: readonly Setting[] = SECRET_NAMES.flatMap((secret) =>
  VENDORS.flatMap((provider): Setting[] => {
    const field = provider.secrets[secret];
    return field ? [{ setting: `${provider.name}_${secret}`, provider, secret, field }] : [];
  }),
);

/** Computes a value for each secret of every provider, keyed by its name in the API. */
export function bySecretSetting<T>(valueOf: (of: Setting) => T): Record<ListedSetting, T> {
  return Object.fromEntries(SECRET_SETTINGS.map((of) => [of.setting, valueOf(of)])) as Record<ListedSetting, T>;
}

/** The same keyed by `<setting>_set`, which is the only visible fact about a secret (PROG-4). */
export function bySecretSet<T>(valueOf: (of: Setting) => T): Record<`${ListedSetting}_set`, T> {
  const entries = SECRET_SETTINGS.map((of) => [`${of.setting}_set`, valueOf(of)]);
  return Object.fromEntries(entries) as Record<`${ListedSetting}_set`, T>;
}

/** Computes a value for each vendor, keyed by its name. */
export function byVendor<T>(valueOf: (name: ListedVendor, vendor: Vendor) => T): Record<ListedVendor, T> {
  const entries = VENDORS.map((vendor) => [vendor.name, valueOf(vendor.name as ListedVendor, vendor)]);
  return Object.fromEntries(entries) as Record<ListedVendor, T>;
}
