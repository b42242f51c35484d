// eslint-disable-next-line no-restricted-imports -- of Node's modules this one alone is there (`nodejs_als`)
import { AsyncLocalStorage } from "node:async_hooks";
import { TRANSFER_METHOD } from "../domain/partner.ts";
import type { NameSettings } from "../env.ts";
import { escapeHtml, oneLine } from "../lib/mail.ts";
import { PROVIDERS, VENDORS } from "../providers/registry.ts";

/** How people call each provider, by its name in the API, and the service behind the payout method `wallet`. */
type Names = ReadonlyMap<string, string>;

const WALLET = "wallet";
const DEFAULTS: Names = new Map([...PROVIDERS.map(({ name, text }) => [name, text] as const), [WALLET, "PayPal"]]);
/** What a deployment may name: the owner's own server is nobody's brand. */
const NAMED: readonly string[] = [...VENDORS.map(({ name }) => name), WALLET];

const MOST_LENGTH = 40;

const chosen = new AsyncLocalStorage<Names>();
const kept = new WeakMap<NameSettings, Names>();

const current = (): Names => chosen.getStore() ?? DEFAULTS;

/** What is written within, for people, has the names of this deployment. */
export function inNamesOf<Value>(settings: NameSettings, write: () => Value): Value {
  let names = kept.get(settings);
  if (!names) kept.set(settings, (names = namesOf(settings)));
  return chosen.run(names, write);
}

function namesOf(settings: NameSettings): Names {
  const given = NAMED.flatMap((name) => {
    const text = oneLine(settings[`${name.toUpperCase()}_NAME` as keyof NameSettings] ?? "", MOST_LENGTH);
    return text === "" ? [] : [[name, text] as const];
  });
  return new Map([...DEFAULTS, ...given]);
}

/** A provider's name within a sentence; a name that this version does not know is shown as it is. */
export function providerWithin(provider: string): string {
  return current().get(provider) ?? provider;
}

/** The name of the provider that transfers go through. */
export const transferName = (): string => providerWithin(TRANSFER_METHOD);

/** The name of the service that pays to e-mail addresses. */
export const walletName = (): string => providerWithin(WALLET);

/** HTML of ours that has the default names, with those of this deployment; code and attributes stay as they are. */
export function renamed(html: string): string {
  const names = current();
  const own = new Map(NAMED.map((name) => [DEFAULTS.get(name)!, names.get(name)!]));
  if ([...own].every(([before, now]) => before === now)) return html;
  const pattern = new RegExp(`(<code\\b[^]*?</code>|<[^>]*>)|\\b(?:${[...own.keys()].join("|")})\\b`, "g");
  return html.replaceAll(pattern, (text, left?: string) => left ?? escapeHtml(own.get(text) ?? text));
}
