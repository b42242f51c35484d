import { connectionOf } from "../../../../core/kernel/connections.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { seenTypes } from "../../../../core/kernel/seen-types.ts";
import { webhookUrl } from "../../../../domain/webhook-url.ts";
import type { Vendor, WantedEvent } from "../../../../providers/provider.ts";
import { CopyLine } from "../../parts/copy.tsx";
import { plural, When } from "../../parts/figures.tsx";
import { providerName } from "../../../../providers/registry.ts";
import { sharedText } from "./provider-actions.tsx";

interface ProviderWebhookProps {
  program: Program;
  origin: string;
  provider: Vendor;
  /** The clock, ms. */
  now: number;
}

/** The address for a provider's webhooks, the event types, and the types received so far. */
export function ProviderWebhook({ program, origin, provider, now }: ProviderWebhookProps) {
  const connection = connectionOf(program, provider.name);
  const types = seenTypes(provider, connection, now);
  const { needed, better } = provider.wanted_events;
  // A connection that never worked lacks every type, which is shown above.
  const seen = connection.last_event_at === null ? null : new Map(types.map((one) => [one.type, one.last_seen_at]));
  const unused = types.filter(({ type }) => !provider.read_types.includes(type));
  return (
    <div class="prose spaced">
      <h3>Webhook address for {providerName(provider.name)}</h3>
      <CopyLine
        label={`webhook address for ${providerName(provider.name)}`}
        text={webhookUrl(origin, program.id, provider.name)}
      />
      <p class="muted">
        Does another program here use the same account at {providerName(provider.name)}? {sharedText(provider)}
      </p>
      <div class="copy-all">
        <details>
          <summary>{plural(needed.length + better.length, "event")} to select</summary>
          <Events events={needed} seen={seen} />
          <p>These count refunds and late payments:</p>
          <Events events={better} seen={seen} />
          {seen === null ? null : (
            <p class="muted">
              A type without a date did not arrive in 30 days: nothing of the kind happened, or it is not selected at
              the provider.
            </p>
          )}
        </details>
        <button
          type="button"
          class="quiet"
          data-copy={[...needed, ...better].map(({ type }) => type).join("\n")}
          hidden
          aria-label={`Copy all events for ${providerName(provider.name)}`}
        >
          Copy all
        </button>
      </div>
      {unused.length === 0 ? null : (
        <p class="muted">
          These arrive too but are not needed:{" "}
          {unused.map(({ type }, i) => (
            <>
              {i === 0 ? "" : ", "}
              <code>{type}</code>
            </>
          ))}
        </p>
      )}
    </div>
  );
}

interface EventsProps {
  events: readonly WantedEvent[];
  /** The last time of each type; null to hide the times. */
  seen: ReadonlyMap<string, string | null> | null;
}

function Events({ events, seen }: EventsProps) {
  return (
    <ul class="plain-list dense">
      {events.map(({ type, purpose }) => {
        const at = seen?.get(type) ?? null;
        return (
          <li>
            <code>{type}</code>{" "}
            <span>
              <span class="muted">{purpose}</span>
              {at === null ? null : (
                <>
                  {" "}
                  · last received <When at={at} only="day" />
                </>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
