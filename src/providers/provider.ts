/**
 * The one narrow interface to a payment provider: verify a delivery, parse it into facts. All knowledge of a vendor's
 * wire format lives behind it; nothing outside `providers/` reads a vendor's field.
 */
export type {
  AdjustmentFact,
  AttributionFact,
  CancellationFact,
  CustomerFact,
  Fact,
  LinkFact,
  PaymentFact,
} from "../domain/fact.ts";
export type { ProviderName } from "../domain/provider-name.ts";
import type { Fact } from "../domain/fact.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import type { RefusalReason } from "../domain/refusal.ts";

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

export interface Provider {
  name: ProviderName;
  /** The neutral header first, then the vendor's own name for it (IN-6). */
  signature_headers: readonly string[];
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
  /** Reads the owner claim of a body that has not been verified yet; never throws. */
  claimedOwner(body: unknown): ClaimedOwner;
}
