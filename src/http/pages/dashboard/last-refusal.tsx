import { openRefusalOf, refusalsOf } from "../../../core/inbound/refusals.ts";
import type { Program } from "../../../core/kernel/rows.ts";
import type { VendorName } from "../../../domain/provider-name.ts";
import { plural, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { REFUSAL_TEXTS } from "../parts/words.ts";
import { providerWithin } from "../../brand-names.ts";

/** The last delivery of a provider that was refused, why, and what to do; calm where verified events came after it. */
export function LastRefusal({ program, provider }: { program: Program; provider: VendorName }) {
  const { refused, last_refusal } = refusalsOf(program, provider);
  if (last_refusal === null) return null;
  const isOver = openRefusalOf(program, provider) === null;
  const { why, help } = REFUSAL_TEXTS[last_refusal.reason];
  return (
    <Notice tone={isOver ? "calm" : "warn"}>
      <p>
        A delivery to the webhook address for {providerWithin(provider)} was refused <When at={last_refusal.at} />:{" "}
        {why}.{" "}
        {isOver
          ? "Verified events came after it, so there is nothing to do unless you miss one."
          : `${help} Anybody can send to this address, so a refused delivery may not be the provider's.`}
      </p>
      <p class="muted">
        {plural(refused, "delivery", "deliveries")} refused so far.{" "}
        <a href="/dashboard/events?type=webhook.refused">Events</a>
      </p>
    </Notice>
  );
}
