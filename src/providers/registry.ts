/** The payment providers, as everything outside this folder sees them. */
import { auditEventTypes } from "../domain/event.ts";
import { TRANSFER_METHOD } from "../domain/partner.ts";
import type { ConnectedAccounts, Transfers } from "./connect.ts";
import * as list from "./list.ts";
import {
  SECRET_NAMES,
  type Provider,
  type ProviderName,
  type Reach,
  type SecretField,
  type SecretName,
} from "./provider.ts";

/** In the order of their names, which is that of pages and documents. */
export const PROVIDERS: readonly Provider[] = registered(Object.values<Provider>(list));

type Listed = (typeof list)[keyof typeof list];
/** The names of the listed providers, one by one: what the API takes and shows. */
export type ListedProvider = Listed["name"];
export const PROVIDER_NAMES = PROVIDERS.map(({ name }) => name) as readonly ProviderName[] as readonly ListedProvider[];

/** The types of the audit log, those of the providers' events among them. */
export const AUDIT_EVENT_TYPES = auditEventTypes(PROVIDER_NAMES);

/**
 * Providers in the order of their names. Throws where two of them clash, so that the service does not start: by their
 * name, by the form of their customer ids, or as the one whose payments have an e-mail address; and where one that makes
 * no transfers (`TRANSFER_METHOD`) has what only they need.
 */
export function registered(providers: readonly Provider[]): Provider[] {
  for (const [i, { name, customers, connect, secrets }] of providers.entries()) {
    if (name !== TRANSFER_METHOD && (connect !== undefined || secrets.api_key !== undefined)) {
      throw new Error(`${name}: payouts are transfers through ${TRANSFER_METHOD}, and no other API key is used`);
    }
    const { id_prefix, id_pattern, has_email } = customers;
    if (!id_pattern.source.startsWith(`^${id_prefix}`)) {
      throw new Error(`${name}: the form of its customer ids does not begin with "${id_prefix}"`);
    }
    for (const other of providers.slice(i + 1)) {
      if (name === other.name) throw new Error(`two providers have the name ${name}`);
      if (id_prefix.startsWith(other.customers.id_prefix) || other.customers.id_prefix.startsWith(id_prefix)) {
        throw new Error(`${name} and ${other.name}: customer ids begin alike`);
      }
      if (has_email && other.customers.has_email) {
        throw new Error(`${name} and ${other.name}: one provider at most has the customer's e-mail address`);
      }
    }
  }
  return providers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const byName = new Map(PROVIDERS.map((provider) => [provider.name, provider]));

/** The provider of this name; undefined for a name that this version does not know. */
export function providerNamed(name: string): Provider | undefined {
  return byName.get(name as ProviderName);
}

/** Whether its events may say which program they belong to, so that the URL need not. */
export function claimsPrograms(name: ProviderName): boolean {
  return providerNamed(name)?.claims_programs === true;
}

/** Whose a customer id is, by the form of its ids; null for one of no provider, an owner's own number say. */
export function providerOfCustomer(customer_id: string): ProviderName | null {
  return PROVIDERS.find(({ customers }) => customers.id_pattern.test(customer_id))?.name ?? null;
}

/** The provider whose payments have the customer's e-mail address. */
export const PROVIDER_WITH_EMAIL: Provider | undefined = PROVIDERS.find(({ customers }) => customers.has_email);

/** The API of the provider whose connected accounts payouts go through (OUT-6). */
export function connectTo(reach: Reach): Transfers & ConnectedAccounts {
  const connect = providerNamed(TRANSFER_METHOD)?.connect;
  if (!connect) throw new Error(`${TRANSFER_METHOD} has no connected accounts`);
  return connect(reach);
}

/** The name of a secret in the API: `provider_a_webhook_secret`. */
export type SecretSetting = `${ProviderName}_${SecretName}`;

/** Those of the listed providers, one by one. */
export type ListedSetting = { [P in Listed["name"]]: `${P}_${SecretOf<Extract<Listed, { name: P }>>}` }[Listed["name"]];
type SecretOf<P extends Pick<Provider, "secrets">> = keyof P["secrets"] & SecretName;

export interface Setting {
  setting: SecretSetting;
  provider: Provider;
  secret: SecretName;
  field: SecretField;
}

/** The secrets of all providers: what the API takes, the settings page asks for, and a program keeps. */
export const SECRET_SETTINGS: readonly Setting[] = SECRET_NAMES.flatMap((secret) =>
  PROVIDERS.flatMap((provider): Setting[] => {
    const field = provider.secrets[secret];
    return field ? [{ setting: `${provider.name}_${secret}`, provider, secret, field }] : [];
  }),
);

/** Gives each secret of every provider a value, by its name in the API. */
export function bySecretSetting<T>(valueOf: (of: Setting) => T): Record<ListedSetting, T> {
  return Object.fromEntries(SECRET_SETTINGS.map((of) => [of.setting, valueOf(of)])) as Record<ListedSetting, T>;
}

/** The same by `<setting>_set`, which is all that is shown of a secret (PROG-4). */
export function bySecretSet<T>(valueOf: (of: Setting) => T): Record<`${ListedSetting}_set`, T> {
  const entries = SECRET_SETTINGS.map((of) => [`${of.setting}_set`, valueOf(of)]);
  return Object.fromEntries(entries) as Record<`${ListedSetting}_set`, T>;
}

/** Gives each provider a value, by its name. */
export function byProvider<T>(valueOf: (name: ListedProvider, provider: Provider) => T): Record<ListedProvider, T> {
  const entries = PROVIDERS.map((provider) => [provider.name, valueOf(provider.name as ListedProvider, provider)]);
  return Object.fromEntries(entries) as Record<ListedProvider, T>;
}
