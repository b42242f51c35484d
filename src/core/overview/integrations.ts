import type { Vendor } from "../../providers/provider.ts";
import { byVendor, type ListedVendor } from "../../providers/registry.ts";
import { readingStatus, type ReadingStatus } from "../inbound/reading.ts";
import { refusalsOf, type Refusals } from "../inbound/refusals.ts";
import { connectionOf, isLastOfTest } from "../kernel/connections.ts";
import { prove, type Caller } from "../kernel/context.ts";
import { lastRefusedMail } from "../mails/mails.ts";
import type { Program } from "../kernel/rows.ts";
import { seenTypes, type SeenType } from "../kernel/seen-types.ts";
import { booksStatus, type BooksStatus } from "../reconcile/findings.ts";

export interface ProviderStatus extends Refusals, ReadingStatus {
  /** A secret is set and a verified event has arrived (PROG-10). */
  configured: boolean;
  webhook_secret_set: boolean;
  last_event_at: string | null;
  /** True if the last event was from the vendor's test mode. */
  is_last_event_test: boolean;
  /** When the last event of a connected account arrived, which is ignored; absent until one arrives. */
  last_connected_event_at?: string;
  event_types: SeenType[];
}

type IntegrationStatus = Record<ListedVendor, ProviderStatus> &
  BooksStatus & {
    /** Whether the deployment sends e-mail, and the last refused attempt for this program (MAIL-5). */
    email: { configured: boolean; last_refusal: { at: string; reason: string | null } | null };
  };

/** The state of the program's connections to the payment providers, of its books, and of its e-mails. */
export async function integrationStatus(caller: Caller, is_mailing: boolean): Promise<IntegrationStatus> {
  const [{ program }, [books], [refused]] = await prove(caller, booksStatus(caller), lastRefusedMail(caller));
  return {
    ...byVendor((_, provider) => statusOf(program, provider, caller.now)),
    reconciled_at: books?.reconciled_at ?? null,
    differences: books?.differences ?? 0,
    deliveries_left: books?.deliveries_left ?? 0,
    email: { configured: is_mailing, last_refusal: refused ?? null },
  };
}

function statusOf(program: Program, provider: Vendor, now: number): ProviderStatus {
  const connection = connectionOf(program, provider.name);
  const { webhook_secret, last_event_at, last_connected_event_at } = connection;
  const webhook_secret_set = webhook_secret !== null;
  return {
    configured: webhook_secret_set && last_event_at !== null,
    webhook_secret_set,
    last_event_at,
    is_last_event_test: isLastOfTest(connection),
    ...(last_connected_event_at === null ? {} : { last_connected_event_at }),
    event_types: seenTypes(provider, connection, now),
    ...refusalsOf(program, provider.name),
    ...readingStatus(program, provider.name),
  };
}
