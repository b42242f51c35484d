/**
 * The only interface to a payment provider: verifies a delivery, parses it into facts, and supplies the provider's part
 * of pages, settings, imports and the OpenAPI document. All knowledge of a vendor is in its folder; the code outside
 * `providers/` neither reads a vendor's fields nor names a provider.
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
import type { ConnectedAccounts, ReversedTransfer, Transfers } from "./connect.ts";
import type { VendorDestinations } from "./destinations.ts";
import type { Reach } from "./reach.ts";
import type { ThinEvent, VendorReads } from "./reads.ts";

/** A parsed vendor event. Empty `facts` mean that it is deliberately ignored, for the reason in `ignored`. */
export interface ProviderEvent {
  event_id: string;
  event_type: string;
  occurred_at: string;
  /** From the vendor's test mode, sandbox or simulator: no money moved. */
  test: boolean;
  /** It was read from the vendor's list, so it does not show that the vendor's webhooks arrive. */
  listed?: true;
  facts: Fact[];
  ignored: string | null;
  /** A transfer to a partner that was reversed in full: it changes a payout, but no payment. */
  reversed?: ReversedTransfer;
}

/** The reason to ignore an event of an account connected to the owner's: its sales are not the owner's. */
export const CONNECTED_ACCOUNT = "connected_account";

export type ParseResult =
  | { ok: true; event: ProviderEvent }
  | {
      ok: false;
      details: { path: string; message: string }[];
      /** The envelope, if only the body of the event's type is invalid. */
      envelope: Pick<ProviderEvent, "event_type" | "occurred_at"> | null;
    };

/** The owner that an unverified body claims; it may only choose which secret to try. */
export interface ClaimedOwner {
  program_id: string | null;
  transaction_id: string | null;
  subscription_id: string | null;
}

/** A vendor's signatures and webhook bodies. */
export interface WebhookFormat {
  /** The neutral header first, then the vendor's own name for it (IN-6). */
  signature_headers: readonly [string, ...string[]];
  /** Checks the header alone, unread (IN-5): its form, and a timestamp within 300 s of `now` (ms). Null if right. */
  whyRefused(input: { header: string | null; now: number }): Extract<RefusalReason, "no_signature" | "time"> | null;
  /**
   * Whether `header` has the HMAC-SHA256 of the exact bytes by one of `secrets`, within 300 s of `now` (ms), in
   * constant time.
   */
  verify(input: { header: string | null; body: Uint8Array; secrets: readonly string[]; now: number }): Promise<boolean>;
  /**
   * Parses a verified body with unknown fields. An undocumented shape is refused with paths, as is a thin event
   * (`thinOf`).
   */
  parse(body: unknown): ParseResult;
  /** Parses a thin event, which only references its data; null for a complete event. Never throws. */
  thinOf?(body: unknown): ThinEvent | null;
  /**
   * Whether its events may name their program; otherwise only the URL does (IN-1). The payments of such a provider are
   * looked up by the vendor's ids alone, which needs an index in `db/schema-ledger.ts` like `payments_of_b`.
   */
  claims_programs: boolean;
  /** Reads the owner claim of a body that is not verified yet, or all null. Never throws. */
  claimedOwner(body: unknown): ClaimedOwner;
}

/** A secret that an owner pastes. It is stored sealed for the program and the provider, and never shown. */
export interface SecretField {
  /** Contains the provider's name. */
  label: (name: string) => string;
  hint: (name: string) => string;
  /** The consequence of removing it. */
  removed: string;
  /** The first characters of the vendor's secrets of this kind. */
  begins: readonly string[];
}

/** The secrets of a provider that a program can store. A setting's name in the API is `<provider>_<field>` (PROG-9). */
export const SECRET_NAMES = ["webhook_secret", "api_key"] as const;
export type SecretName = (typeof SECRET_NAMES)[number];

/** An event type to select at the provider, and its purpose. */
export interface WantedEvent {
  type: string;
  purpose: string;
}

/** Values inserted into snippets: the program's, and an example partner's slug. */
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

/** Payment pages hosted by the provider: the tracking script adds the reference to links to them (TRACK-13). */
export interface PaymentLinks {
  hosts: readonly string[];
  /** The query parameter for the reference. */
  parameter: string;
}

/** The provider's elements on the owner's pages: the tracking script adds the reference to them (TRACK-13). */
export interface PaymentElements {
  /** The attribute that identifies them. */
  having: string;
  /** The attribute for the reference; the page's own value is kept. */
  attribute: string;
}

/** The provider's customers, for imports. */
export interface ProviderCustomers {
  /** The form and prefix of its customer ids: `registered` refuses two providers with the same prefix. */
  id_pattern: RegExp;
  id_prefix: string;
  /** Whether its payments contain the customer's e-mail address. At most one provider's do. */
  has_email: boolean;
}

export interface WebhookDocument {
  description: string;
  /** Parsed by the vendor's own format; unneeded parts are ignored. */
  event: z.ZodType;
  example: unknown;
}

/** Properties of every provider. The service loops over `registry.ts` and never names a provider. */
interface ProviderBase {
  name: ProviderName;
  /** Its name for people, for use in a sentence (PAGE-15). */
  text: string;
  kept_by: KeptBy;
}

/** A payment provider that reports by signed webhooks. */
export interface Vendor extends ProviderBase, WebhookFormat {
  name: VendorName;
  reported_by: "webhook";
  /** Secrets that a program can store; the API key is for `reads`, `destinations` and `connect`. */
  secrets: { webhook_secret: SecretField; api_key?: SecretField };
  /** Events that the owner selects at the vendor. */
  wanted_events: { needed: readonly WantedEvent[]; better: readonly WantedEvent[] };
  /** Every type with a reader; those that are not wanted repeat the content of wanted ones. */
  read_types: readonly string[];
  /** How the reference reaches its checkout; `intro` contains code in backquotes. */
  checkout: {
    intro: string;
    snippets: readonly Snippet[];
    payment_links: PaymentLinks | null;
    payment_elements: PaymentElements | null;
  };
  customers: ProviderCustomers;
  document: WebhookDocument;
  /** Payouts through its connected accounts, only for the provider that gives the payout method its name. */
  connect?: (reach: Reach) => Transfers & ConnectedAccounts;
  /** Reads the vendor's data, if an API key allows it. */
  reads?: (reach: Reach) => VendorReads;
  /** Manages the vendor's webhook destinations, if an API key allows it. */
  destinations?: (reach: Reach) => VendorDestinations;
}

/** A customer in a report of the owner's server: by its own id, by address, or by both. */
export interface ReportedCustomer {
  id: string | null;
  email: string | null;
}

/** A line of a sale. */
export interface ReportedItem {
  product_id: string;
  amount_cents: Cents;
}

/** Reports of the owner's server; `external_id` is its own, unique for each kind. */
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

export type ReportedValue = string | number | null;

/** The owner's own server: it reports its own sales with the program's API key. */
export interface OwnerProvider extends ProviderBase {
  reported_by: "owner";
  /** The owner's ids, of customers and reports; no addresses, because the ledger stores ids. */
  id_pattern: RegExp;
  /** A report's event at `occurred_at` (ISO 8601, ms, UTC), in this currency. The same report has the same id. */
  eventOf(report: Report, occurred_at: string, currency: string): ProviderEvent;
  /** Reported values of an event, by field, to compare a repeated report; erasure removes `personal` ones. */
  reportedValues(facts: readonly Fact[]): { values: ReadonlyMap<string, ReportedValue>; personal: readonly string[] };
}

/** A payment provider, with properties that depend on how it reports. */
export type Provider = Vendor | OwnerProvider;
