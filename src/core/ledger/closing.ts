import { and, eq, isNull } from "drizzle-orm";
import { providerEvents } from "../../db/schema.ts";
import type { Fact } from "../../domain/fact.ts";
import { CLAIMED_ELSEWHERE, type EventOutcome, type Outcome } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { newId } from "../../lib/id.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { CommitPlan } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Recorded } from "./facts.ts";

/** Why a test event is not used; stored with it. */
export const TEST_MODE = "test_mode";

export type OpenEvent = Pick<ProviderEvent, "event_id" | "event_type" | "facts" | "ignored"> & Pick<Recorded, "found">;

/** A vendor event that is to be closed by its audit event, which is written once, by whoever comes first. */
export interface Closing {
  provider: ProviderName;
  event: OpenEvent;
  /** How many payments it left unsettled. */
  concerned: number;
}

/** What an event came to, given what its payment came to. */
export function eventOutcome({ event, concerned }: Closing, outcome: Outcome | null): EventOutcome {
  if (event.ignored === TEST_MODE) return TEST_MODE;
  const has = (kind: Fact["kind"]) => event.facts.some((fact) => fact.kind === kind);
  if (has("payment")) return outcome ?? "unpaid";
  if (has("lead") && outcome !== null) return leadOutcome(outcome);
  if (has("elsewhere")) return CLAIMED_ELSEWHERE;
  const isOpen = event.facts.some((fact) => fact.kind === "adjustment" && fact.open);
  if (isOpen || has("cancellation")) return concerned > 0 ? "flagged" : "waiting";
  if (has("adjustment")) return concerned > 0 ? "adjusted" : "waiting";
  if (has("attribution") || has("code_use") || has("customer")) return event.found ? "remembered" : "unknown_ref";
  return has("link") || has("code") ? "linked" : "ignored";
}

/** A lead whose reference leads to a partner is remembered, also where an erasure has left no address to remember it for. */
function leadOutcome(outcome: Outcome): EventOutcome {
  return outcome === "commission" || outcome === "unknown_ref" ? outcome : "remembered";
}

/** The closing as a part of a commit, which fails where somebody else has closed the event. */
export function planClosing(ctx: ProgramCtx, { provider, event }: Closing, outcome: EventOutcome): CommitPlan {
  const id = newId("event", ctx.now);
  return {
    writes: [
      {
        statement: ctx.db
          .update(providerEvents)
          .set({ outcome, audit_event_id: id })
          .where(
            and(
              eq(providerEvents.program_id, ctx.program.id),
              eq(providerEvents.provider, provider),
              eq(providerEvents.event_id, event.event_id),
              isNull(providerEvents.audit_event_id),
            ),
          ),
        expect: 1,
      },
    ],
    occurrences: [
      {
        id,
        type: `webhook.${provider}`,
        payload: { event_id: event.event_id, event_type: event.event_type, outcome },
      },
    ],
  };
}
