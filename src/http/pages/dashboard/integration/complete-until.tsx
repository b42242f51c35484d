import { connectionOf } from "../../../../core/kernel/connections.ts";
import { MOST_UNPARSABLE, readingStatus, type Unparsable } from "../../../../core/inbound/reading.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { Vendor } from "../../../../providers/provider.ts";
import { plural, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { READ_TROUBLE_TEXTS } from "../../parts/words.ts";
import { providerName } from "../../../../providers/registry.ts";
import { providerSettings } from "../settings/tabs.tsx";

/** Unreadable events of the list, each with its problem and the time of the next attempt. */
function NotTakenIn({ unparsable, provider }: { unparsable: readonly Unparsable[]; provider: Vendor }) {
  // The total beyond the stored limit is unknown.
  const isAll = unparsable.length < MOST_UNPARSABLE;
  return (
    <Notice tone="warn">
      <p>
        {isAll ? null : "At least "}
        {plural(unparsable.length, "event", "events")} of {providerName(provider.name)}{" "}
        {unparsable.length === 1 ? "is" : "are"} in an unsupported format and not stored.
        {isAll ? " Everything else is stored." : null} We retry every day, and when you read the list now. If the
        problem remains, report it to the operator of this service.
      </p>
      <ul>
        {unparsable.map(({ event_id, event_type, occurred_at, problem }) => (
          <li>
            <code>{event_type ?? "no type"}</code> <code>{event_id}</code>, <When at={occurred_at} />: {problem}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** The time until which a provider's events are complete, and any problem with its list of events. */
export function CompleteUntil({ program, provider }: { program: Program; provider: Vendor }) {
  if (provider.reads === undefined) return null;
  const { complete_from, complete_until, recovered, ...status } = readingStatus(program, provider.name);
  const { api_key_set, is_reading, read_failure, unanswered, unparsable } = status;
  if (!api_key_set) {
    if (connectionOf(program, provider.name).webhook_secret === null) return null;
    return (
      <p class="muted">
        <a href={providerSettings(provider.name)}>Add an API key of {providerName(provider.name)}</a> to find events
        whose webhooks were lost.
      </p>
    );
  }
  return (
    <>
      <p>
        {complete_until === null ? (
          "The provider's list of events is not completely read yet."
        ) : (
          <>
            Complete until <When at={complete_until} />: every event that the provider has listed from{" "}
            <When at={complete_from} /> until then is stored.
          </>
        )}
        {recovered === 0 ? null : <> {plural(recovered, "event", "events")} arrived without a webhook.</>}
        {is_reading && read_failure === null ? " The list is being read now." : null}
      </p>
      {read_failure === null ? null : (
        <Notice tone="warn">
          <p>
            The list of events of {providerName(provider.name)} cannot be read since <When at={read_failure.since} />:{" "}
            {READ_TROUBLE_TEXTS[read_failure.reason].why}. {READ_TROUBLE_TEXTS[read_failure.reason].help}
          </p>
        </Notice>
      )}
      {unanswered === null ? null : (
        <Notice tone="warn">
          <p>
            We have asked {providerName(provider.name)} which payments its refunds are of, or what its codes are called,
            without an answer since <When at={unanswered.since} />: {READ_TROUBLE_TEXTS[unanswered.reason].why}.{" "}
            {READ_TROUBLE_TEXTS[unanswered.reason].help} Until then these refunds lower no commission.
          </p>
        </Notice>
      )}
      {unparsable.length === 0 ? null : <NotTakenIn unparsable={unparsable} provider={provider} />}
    </>
  );
}
