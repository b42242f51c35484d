import type { Program } from "../../../core/kernel/rows.ts";
import type { Provider, WantedEvent } from "../../../providers/provider.ts";
import { CopyLine } from "../parts/copy.tsx";
import { webhookUrl } from "../parts/snippets.ts";

interface ProviderWebhookProps {
  program: Program;
  origin: string;
  provider: Provider;
}

/** Where a provider has to send its webhooks, and which. */
export function ProviderWebhook({ program, origin, provider }: ProviderWebhookProps) {
  const { needed, better } = provider.wanted_events;
  return (
    <div class="prose spaced">
      <h3>Webhook address for {provider.text}</h3>
      <CopyLine label={`webhook address for ${provider.text}`} text={webhookUrl(origin, program, provider.name)} />
      <p>Ask it to send these events:</p>
      <Events events={needed} />
      <p>And these, so that refunds and late payments are counted:</p>
      <Events events={better} />
    </div>
  );
}

function Events({ events }: { events: readonly WantedEvent[] }) {
  return (
    <ul class="plain-list dense">
      {events.map(({ type, purpose }) => (
        <li>
          <code>{type}</code> <span class="muted">{purpose}</span>
        </li>
      ))}
    </ul>
  );
}
