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
export type { ProviderName, VendorName } from "../domain/provider-name.ts";
export type { Reach } from "./reach.ts";
import type * as z from "zod";
import type { Fact, KeptBy } from "../domain/fact.ts";
import type { Cents } from "../domain/money.ts";
import type { ProviderName, VendorName } from "../domain/provider-name.ts";
import type { RefusalReason } from "../domain/refusal.ts";
import type { ConnectedAccounts, Transfers } from "./connect.ts";
import type { VendorDestinations } from "./destinations.ts";
import type { Reach } from "./reach.ts";
import type { ThinEvent, VendorReads } from "./reads.ts";

/** A vendor event after parsing. `facts` empty means deliberately ignored, and `ignored` names the reason. */
export interface ProviderEvent {
  event_id: string;
  event_type: string;
  occurred_at: string;
  /** Of the vendor's test mode, its sandbox or its simulator: no money moved. */
  test: boolean;
  /** It was found in the vendor's list: it says nothing of whether the vendor's webhooks come. */
  listed?: true;
  facts: Fact[];
  ignored: string | null;
}

/** Why an event of an account that is connected to the owner's is ignored: its sales are not the owner's. */
export const CONNECTED_ACCOUNT = "connected_account";

export type ParseResult =
  | { ok: true; event: ProviderEvent }
  | {
      ok: false;
      details: { path: string; message: string }[];
      /** Of one of which no more than the body of its type is wrong. */
      envelope: Pick<ProviderEvent, "event_type" | "occurred_at"> | null;
    };

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
  /**
   * Parses a verified body. Unknown fields are accepted; an undocumented shape of a known event is refused with paths, and
   * so is one that `thinOf` is not null for: it would say nothing.
   */
  parse(body: unknown): ParseResult;
  /** What a verified body only names, and something is read of; null for one that says all itself. Never throws. */
  thinOf?(body: unknown): ThinEvent | null;
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
  /** With the provider's name. */
  label: (name: string) => string;
  hint: (name: string) => string;
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
  hosts: readonly string[];
  /** The query parameter that takes the reference. */
  parameter: string;
}

/** Elements of the provider on the owner's own pages: the tracking script gives them the reference (TRACK-13). */
export interface PaymentElements {
  /** The attribute by which they are found. */
  having: string;
  /** The attribute that takes the reference; one that the page has given stays. */
  attribute: string;
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

/** What is known of every provider, however its facts come. The service is loops over `registry.ts`: nothing else names one. */
interface ProviderBase {
  name: ProviderName;
  /** Its name for people, inside a sentence (PAGE-15). */
  text: string;
  kept_by: KeptBy;
}

/** A payment provider that reports by signed webhooks. */
export interface Vendor extends ProviderBase, WebhookFormat {
  name: VendorName;
  reported_by: "webhook";
  /** What its program can keep; the API key is for `reads`, `destinations` and `connect`. */
  secrets: { webhook_secret: SecretField; api_key?: SecretField };
  /** What its owner is asked to select there. */
  wanted_events: { needed: readonly WantedEvent[]; better: readonly WantedEvent[] };
  /** All types that something is read of; those that are not wanted say again what the wanted ones say. */
  read_types: readonly string[];
  /** How the reference is passed to its checkout; `intro` has code in backquotes. */
  checkout: {
    intro: string;
    snippets: readonly Snippet[];
    payment_links: PaymentLinks | null;
    payment_elements: PaymentElements | null;
  };
  customers: ProviderCustomers;
  document: WebhookDocument;
  /** Payouts through its connected accounts: of the provider that the payout method is named after. */
  connect?: (reach: Reach) => Transfers & ConnectedAccounts;
  /** What the vendor keeps, where it can be read with an API key. */
  reads?: (reach: Reach) => VendorReads;
  /** Where the vendor sends its webhooks, where it can be made with an API key. */
  destinations?: (reach: Reach) => VendorDestinations;
}

/** How the owner's server names a customer: by its own id, by the address, or by both. */
export interface ReportedCustomer {
  id: string | null;
  email: string | null;
}

/** A line of a sale. */
export interface ReportedItem {
  product_id: string;
  amount_cents: Cents;
}

/** What the owner's server reports; `external_id` is its own, once for each kind. */
export interface ReportedFacts {
  lead: { external_id: string; ref: string; customer: ReportedCustomer };
  sale: {
    external_id: string;
    ref: string | null;
    customer: ReportedCustomer;
    /** Smallest units, net of tax. */
    amount_cents: Cents;
    /** ISO 4217, upper case. */
    currency: string;
    items: ReportedItem[] | null;
  };
  refund: { external_id: string; sale_external_id: string; amount_cents: Cents };
}
export type ReportKind = keyof ReportedFacts;
export type Report = { [K in ReportKind]: { kind: K } & ReportedFacts[K] }[ReportKind];

/** The value of a field of what is reported; null where it is not given. */
export type Said = string | number | null;

/** The owner's own server: it reports what it sold itself, with the program's API key. */
export interface OwnerProvider extends ProviderBase {
  reported_by: "owner";
  /** The form of the owner's own ids, of customers and of what is reported: an address is none, for the ledger goes by ids. */
  id_pattern: RegExp;
  /**
   * The event that a reported fact is, at `occurred_at` (ISO 8601, milliseconds, UTC), in a program of this currency. The
   * same fact has the same id.
   */
  eventOf(report: Report, occurred_at: string, currency: string): ProviderEvent;
  /**
   * What facts of one event say, by the fields of the request, to be compared with what is reported again; `personal` are
   * those that an erasure takes away.
   */
  saidBy(facts: readonly Fact[]): { said: ReadonlyMap<string, Said>; personal: readonly string[] };
}

/** All that is known of a payment provider: what it has depends on how its facts come. */
export type Provider = Vendor | OwnerProvider;
