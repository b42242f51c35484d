import { isOfRemovedSecret, openRefusalOf, refusalsOf } from "../../../../core/inbound/refusals.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { VendorName } from "../../../../domain/provider-name.ts";
import { isMaybeListed } from "../../../../domain/refusal.ts";
import { countText, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { REFUSAL_TEXTS } from "../../parts/words.ts";
import { providerName } from "../../../../providers/registry.ts";

/** A provider's last refused delivery with reason and remedy; not highlighted once verified events follow. */
export function LastRefusal({ program, provider }: { program: Program; provider: VendorName }) {
  const { refused, last_refusal } = refusalsOf(program, provider);
  if (last_refusal === null || isOfRemovedSecret(program, provider, last_refusal)) return null;
  const isOver = openRefusalOf(program, provider) === null;
  const { why, help } = REFUSAL_TEXTS[last_refusal.reason];
  const isListed = isMaybeListed(last_refusal.reason);
  return (
    <Notice tone={isOver ? "calm" : "warn"}>
      <p>
        {isListed ? "An event of" : "A delivery to the webhook address for"} {providerName(provider)} was refused{" "}
        <When at={last_refusal.at} />: {why}.{" "}
        {isOver ? "Verified events arrived later, so you only need to act if one is missing." : help}
        {isOver || isListed
          ? null
          : " Anyone can send to this address, so a refused delivery may not come from the provider."}
      </p>
      <p class="muted">
        {countText(refused)} refused so far. <a href="/dashboard/events?type=webhook.refused">Events</a>
      </p>
    </Notice>
  );
}
