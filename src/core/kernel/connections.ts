/** What a program keeps of one provider. */
import type { ProviderName } from "../../domain/provider-name.ts";
import type { Sealed } from "../../lib/seal.ts";
import type { Program } from "./rows.ts";

export interface Connection {
  webhook_secret: Sealed | null;
  /** The one before stays valid until its time. */
  webhook_secret_previous: Sealed | null;
  webhook_secret_previous_until: string | null;
  api_key: Sealed | null;
  last_event_at: string | null;
  refusals: string | null;
}

/** A program's connection to a provider; one that was never touched is empty. */
export function connectionOf(program: Program, provider: ProviderName): Connection {
  const columns = program as unknown as Record<string, Sealed | null | undefined>;
  const column = (name: keyof Connection) => columns[`${provider}_${name}`] ?? null;
  return {
    webhook_secret: column("webhook_secret"),
    webhook_secret_previous: column("webhook_secret_previous"),
    webhook_secret_previous_until: column("webhook_secret_previous_until"),
    api_key: column("api_key"),
    last_event_at: column("last_event_at"),
    refusals: column("refusals"),
  };
}
