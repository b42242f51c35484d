import type { Program } from "../../../core/rows.ts";
import type { ProviderName } from "../../../domain/provider-name.ts";
import { CopyLine } from "../parts/copy.tsx";
import { providerText } from "../parts/figures.tsx";
import { WANTED_EVENTS, webhookUrl, type WantedEvent } from "../parts/snippets.ts";

interface ProviderWebhookProps {
  program: Program;
  origin: string;
  provider: ProviderName;
}

/** Where a provider has to send its webhooks, and which. */
export function ProviderWebhook({ program, origin, provider }: ProviderWebhookProps) {
  const { needed, better } = WANTED_EVENTS[provider];
  const name = providerText(provider);
  return (
    <div class="prose spaced">
      <h3>Webhook address for {name}</h3>
      <CopyLine label={`webhook address for ${name}`} text={webhookUrl(origin, program, provider)} />
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
