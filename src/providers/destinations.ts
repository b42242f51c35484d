/**
 * Where a vendor sends its webhooks, as it keeps it for one address and lets it be changed with a program's API key.
 * Implementations know the vendor's wire format; nothing outside `providers/` does. None of these functions throws: what
 * went wrong is their answer.
 */
import type { Answer } from "./api-call.ts";
import type { KeyModes } from "./connect.ts";
import { failureOf, type ReadFailure } from "./reads.ts";

export interface Destination {
  /** The vendor's. */
  id: string;
  url: string;
  /** The program that this service made it for; null for one that it did not make. */
  made_for: string | null;
  /** The types of events that it gets; null for all. */
  types: readonly string[] | null;
  is_active: boolean;
  /** It gets the events of the vendor's test mode, and no others. */
  test: boolean;
  /** Signs its webhooks; null where the vendor does not show it again. */
  secret: string | null;
}

export interface DestinationOrder {
  url: string;
  program_id: string;
  types: readonly string[];
}

export interface DestinationFailure extends ReadFailure {
  /** The vendor's words, without any part of a key and any whole account; null where it says none. */
  message: string | null;
}

export type DestinationAnswer<T> = { outcome: "done"; value: T } | DestinationFailure;

export interface VendorDestinations extends KeyModes {
  /** What an API key needs for it, in the vendor's words: inside a sentence. */
  permission: string;
  /** All of the account, whatever their address. */
  list(api_key: string): Promise<DestinationAnswer<Destination[]>>;
  make(api_key: string, order: DestinationOrder): Promise<DestinationAnswer<Destination & { secret: string }>>;
  /** Makes it active, with exactly these types. */
  change(api_key: string, id: string, types: readonly string[]): Promise<DestinationAnswer<Destination>>;
  /** Done as well where it is gone already. */
  remove(api_key: string, id: string): Promise<DestinationAnswer<null>>;
}

/** What an answer that is not the expected one says; `message` as the vendor writes it. */
export function destinationFailure(answer: Answer, message: string | null): DestinationFailure {
  return { ...failureOf(answer), message };
}

const MARK = /^Affiliate program (prog_\w{1,100})$/;

/** The description of one that is made for a program, by which it is known again. */
export function descriptionFor(program_id: string): string {
  return `Affiliate program ${program_id}`;
}

export function madeFor(description: string | null | undefined): string | null {
  return MARK.exec(description ?? "")?.[1] ?? null;
}
