/** Partners who are deactivated and turn active. */
import { putPartner } from "./model-rules.ts";
import { settle } from "./model.ts";
import type { State } from "./model-state.ts";

type PartnerStatus = State["partners"][string]["status"];

/** A partner's status; a newly active one gets the waiting payments. */
export function setPartnerStatus(state: State, slug: string, status: PartnerStatus, now: number): void {
  if (!putPartner(state, slug, { status }, now) || status !== "active") return;
  for (const key of waitingFor(state, slug)) settle(state, key, now);
}

/** The purchases that wait for a partner to turn active. */
export function waitingFor({ sales }: State, slug: string): string[] {
  return Object.entries(sales).flatMap(([key, { outcome, partner }]) =>
    outcome === "partner_not_active" && partner === slug ? [key] : [],
  );
}
