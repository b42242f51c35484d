import type { Vendor } from "../../providers/provider.ts";
import { byVendor, type ListedVendor } from "../../providers/registry.ts";
import { readingStatus, type ReadingStatus } from "../inbound/reading.ts";
import { refusalsOf, type Refusals } from "../inbound/refusals.ts";
import { connectionOf } from "../kernel/connections.ts";
import { prove, type Caller } from "../kernel/context.ts";
import type { Program } from "../kernel/rows.ts";
import { seenTypes, type SeenType } from "../kernel/seen-types.ts";
import { booksStatus, type BooksStatus } from "../reconcile/findings.ts";

export interface ProviderStatus extends Refusals, ReadingStatus {
  /** A secret is set and a verified event has arrived (PROG-10). */
  configured: boolean;
  webhook_secret_set: boolean;
  last_event_at: string | null;
  event_types: SeenType[];
}

/** The state of the program's connections to the payment providers, and of its books. */
export async function integrationStatus(caller: Caller): Promise<Record<ListedVendor, ProviderStatus> & BooksStatus> {
  const [{ program }, [books]] = await prove(caller, booksStatus(caller));
  return {
    ...byVendor((_, provider) => statusOf(program, provider, caller.now)),
    reconciled_at: books?.reconciled_at ?? null,
    differences: books?.differences ?? 0,
    deliveries_left: books?.deliveries_left ?? 0,
  };
}

function statusOf(program: Program, provider: Vendor, now: number): ProviderStatus {
  const connection = connectionOf(program, provider.name);
  const { webhook_secret, last_event_at } = connection;
  const webhook_secret_set = webhook_secret !== null;
  return {
    configured: webhook_secret_set && last_event_at !== null,
    webhook_secret_set,
    last_event_at,
    event_types: seenTypes(provider, connection, now),
    ...refusalsOf(program, provider.name),
    ...readingStatus(program, provider.name),
  };
}
