/**
 * The one interface to a payment provider: verify a delivery, parse it into facts, and what pages, settings, imports and
 * the OpenAPI document show of it. All knowledge of a vendor lives in its folder; nothing outside `providers/` reads a
 * vendor's field or names a provider.
 */
export type {
  AdjustmentFact,
  AttributionFact,
  CancellationFact,
  CodeFact,
  CodeUseFact,
  CustomerFact,
  Fact,
  LinkFact,
  PaymentFact,
} from "../domain/fact.ts";
export type { ProviderName } from "../domain/provider-name.ts";
import type * as z from "zod";
import type { Fact } from "../domain/fact.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import type { RefusalReason } from "../domain/refusal.ts";
import type { Fetch } from "../lib/deadline.ts";
import type { ConnectedAccounts, Transfers } from "./connect.ts";

/** A vendor event after parsing. `facts` empty means deliberately ignored, and `ignored` names the reason. */
export interface ProviderEvent {
  event_id: string;
  event_type: string;
  occurred_at: string;
  /** Of the vendor's test mode, its sandbox or its simulator: no money moved. */
  test: boolean;
  facts: Fact[];
  ignored: string | null;
}

export type ParseResult =
  | { ok: true; event: ProviderEvent }
  | { ok: false; details: { path: string; message: string }[] };

/** What an unverified body claims about where it belongs; it may choose which secret to try and nothing else. */
export interface ClaimedOwner {
  program_id: string | null;
  transaction_id: string | null;
  subscription_id: string | null;
}

/** How a vendor signs and writes its webhooks. */
export interface WebhookFormat {
  /** The neutral header first, then the vendor's own name for it (IN-6). */
  signature_headers: readonly [string, ...string[]];
  /**
   * What is wrong with the signature header alone, before anything of the body is read (IN-5): it is not
   * of the vendor's form, or its timestamp is more than 300 s from `now` (ms). Null where nothing is.
   */
  whyRefused(input: { header: string | null; now: number }): Extract<RefusalReason, "no_signature" | "time"> | null;
  /**
   * True when some signature in `header` is the HMAC-SHA256 of the exact body bytes under one of `secrets`, and its
   * timestamp lies within 300 s either side of `now` (ms). Compared in constant time; malformed input is false.
   */
  verify(input: { header: string | null; body: Uint8Array; secrets: readonly string[]; now: number }): Promise<boolean>;
  /** Parses a verified body. Unknown fields are accepted; an undocumented shape of a known event is refused with paths. */
  parse(body: unknown): ParseResult;
  /**
   * Whether its events may say which program they belong to; else the URL alone does (IN-1). Payments of one that does
   * are looked up by the vendor's ids alone: `db/schema-ledger.ts` needs an index for that, as `payments_of_b` is.
   */
  claims_programs: boolean;
  /** Reads the owner claim of a body that has not been verified yet; never throws. All null where it has none. */
  claimedOwner(body: unknown): ClaimedOwner;
}

/** A value that an owner pastes. It is sealed, kept for the program and the provider, and never shown. */
export interface SecretField {
  label: string;
  hint: string;
  /** What follows from removing it. */
  removed: string;
}

/** The values of a provider that a program can keep. A setting's name in the API is `<provider>_<field>` (PROG-9). */
export const SECRET_NAMES = ["webhook_secret", "api_key"] as const;
export type SecretName = (typeof SECRET_NAMES)[number];

/** What a provider is to be asked to send, and what each is for. */
export interface WantedEvent {
  type: string;
  purpose: string;
}

/** What snippets are filled with: of the program, and a partner's slug as an example. */
export interface SnippetValues {
  program_id: string;
  slug: string;
  /** The owner's site, without a scheme. */
  domain: string;
}

/** Code for one kind of checkout; `test/browser/checkout.browser.test.ts` runs each. */
export interface Snippet {
  label: string;
  /** HTML for the owner's page. */
  page: ((values: SnippetValues) => string) | null;
  /** JavaScript with the vendor's library for the owner's server: the body of a function, with `ref` from the page. */
  server: ((values: SnippetValues) => string) | null;
}

/** Pages that the provider hosts: the tracking script gives links to them the reference (TRACK-13). */
export interface PaymentLinks {
  /** Matches the hosts, in the fewest bytes: the script is sent to every visitor. */
  hosts: RegExp;
  /** The query parameter that takes the reference. */
  parameter: string;
}

/** Customers as the provider knows them: for imports. */
export interface ProviderCustomers {
  /** The form of its customer ids, and how they begin: `registered` refuses two providers whose ids begin alike. */
  id_pattern: RegExp;
  id_prefix: string;
  /** Whether its payments have the customer's e-mail address. One provider at most. */
  has_email: boolean;
}

/** Its webhook in the OpenAPI document. */
export interface WebhookDocument {
  description: string;
  /** Read by the vendor's own format; what is not needed is not looked at. */
  event: z.ZodType;
  example: unknown;
}

/** How the vendor's API is reached. */
export interface Reach {
  fetch: Fetch;
  /** `<NAME>_API_URL`, without a path. */
  baseUrl: string;
  /** The clock, ms. */
  now: () => number;
}

/** All that is known of a payment provider. The service is loops over `registry.ts`: nothing else names one. */
export interface Provider extends WebhookFormat {
  name: ProviderName;
  /** Its name for people, inside a sentence. */
  text: string;
  /** What its program can keep; a provider without an API key has no payouts. */
  secrets: { webhook_secret: SecretField; api_key?: SecretField };
  wanted_events: { needed: readonly WantedEvent[]; better: readonly WantedEvent[] };
  /** How the reference is passed to its checkout; `intro` has code in backquotes. */
  checkout: { intro: string; snippets: readonly Snippet[]; payment_links: PaymentLinks | null };
  customers: ProviderCustomers;
  document: WebhookDocument;
  /** Payouts through its connected accounts: of the provider that the payout method is named after. */
  connect?: (reach: Reach) => Transfers & ConnectedAccounts;
}
