import { connectionOf, isLastOfTest } from "../../../../core/kernel/connections.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { Vendor } from "../../../../providers/provider.ts";
import { When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { CompleteUntil } from "./complete-until.tsx";
import { LastRefusal } from "./last-refusal.tsx";
import { providerName } from "../../../../providers/registry.ts";

/** A provider's last accepted event, its last refused delivery, and the time until which events are complete. */
export function ConnectionState({ program, provider }: { program: Program; provider: Vendor }) {
  const connection = connectionOf(program, provider.name);
  const { webhook_secret, last_event_at: last } = connection;
  return (
    <>
      <p>
        {last !== null ? (
          <>
            {webhook_secret === null ? "Not connected: no signing secret is set." : "Connected."} Last event{" "}
            <When at={last} />.
          </>
        ) : webhook_secret !== null ? (
          "The secret is set. We are waiting for the first event."
        ) : (
          "Not connected."
        )}
      </p>
      {isLastOfTest(connection) && program.live_only ? (
        <Notice tone="warn">
          <p>
            The last event came from the test mode of {providerName(provider.name)}, so it earns nothing. Real payments
            come from live mode: enter the webhook address there too, and set the secret that it shows.
          </p>
        </Notice>
      ) : null}
      {connection.last_connected_event_at !== null ? (
        <Notice tone="warn">
          <p>
            Events of connected accounts arrive, the last <When at={connection.last_connected_event_at} />. We ignore
            them, because these sales are not yours. Choose the events of your own account at{" "}
            {providerName(provider.name)}.
          </p>
        </Notice>
      ) : null}
      <LastRefusal program={program} provider={provider.name} />
      <CompleteUntil program={program} provider={provider} />
    </>
  );
}
