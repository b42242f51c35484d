/**
 * Webhook destinations at a vendor: one for each address, readable and changeable with a program's API key.
 * Implementations contain the vendor's wire format, which the code outside `providers/` never uses. These functions
 * never throw: a failure is part of the answer.
 */
import type { Answer } from "./api-call.ts";
import type { KeyModes } from "./connect.ts";
import { failureOf, type ReadFailure } from "./reads.ts";

export interface Destination {
  /** The vendor's id. */
  id: string;
  url: string;
  /** The program for which this service created it; null for any other destination. */
  made_for: string | null;
  /** The event types that it receives; null for all. */
  types: readonly string[] | null;
  is_active: boolean;
  /** It receives only events of the vendor's test mode. */
  test: boolean;
  /** The signing secret; null if the vendor does not show it again. */
  secret: string | null;
}

export interface DestinationOrder {
  url: string;
  program_id: string;
  types: readonly string[];
}

export interface DestinationFailure extends ReadFailure {
  /** The vendor's message, without any part of a key and without whole account ids, or null. */
  message: string | null;
}

export type DestinationAnswer<T> = { outcome: "done"; value: T } | DestinationFailure;

export interface VendorDestinations extends KeyModes {
  /** The permission that an API key needs, in the vendor's words, as part of a sentence. */
  permission: string;
  /** Every destination of the account, at any address. */
  list(api_key: string): Promise<DestinationAnswer<Destination[]>>;
  make(api_key: string, order: DestinationOrder): Promise<DestinationAnswer<Destination & { secret: string }>>;
  /** Activates it for exactly these types. */
  change(api_key: string, id: string, types: readonly string[]): Promise<DestinationAnswer<Destination>>;
  /** Succeeds as well if it is already deleted. */
  remove(api_key: string, id: string): Promise<DestinationAnswer<null>>;
}

/** The failure for an unexpected answer; `message` in the vendor's own words. */
export function destinationFailure(answer: Answer, message: string | null): DestinationFailure {
  return { ...failureOf(answer), message };
}

const MARK = /^Affiliate program (prog_\w{1,100})$/;

/** The description that identifies a destination made for a program. */
export function descriptionFor(program_id: string): string {
  return `Affiliate program ${program_id}`;
}

export function programOfDescription(description: string | null | undefined): string | null {
  return MARK.exec(description ?? "")?.[1] ?? null;
}
