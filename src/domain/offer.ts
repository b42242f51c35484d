/** The offer to new partners of a group, for the public page for applications (JOIN-10). */
import { traceCondition, type Condition, type ConditionField, type ConditionSubject } from "./condition.ts";
import { eventOf, givenConditions, isOpenEnded, sortFlows, type Flow, type FlowEvent } from "./flow.ts";

/** The group of a new partner. */
export interface OfferGroup {
  slug: string;
  /** Null for the program's. */
  commission_pct: number | null;
  hold_days: number | null;
}

export interface EventOffer {
  /** The only flow that can apply, without its conditions on the group; null without one, or if the rates vary. */
  flow: (Flow & { event: FlowEvent; given: Condition[] }) | null;
  /** Whether no one sentence states the rates: several flows can apply, or one with conditions that are not public. */
  varies: boolean;
}

export interface Offer {
  /** The rate of payments to which no other flow applies: of the flow for all of them, else of the group or program. */
  commission_pct: number;
  /** As in `OfferGroup`. */
  hold_days: number | null;
  payments: EventOffer;
  leads: EventOffer;
  /** Whether a flow for all payments replaces the rate of the group or program. */
  is_replaced: boolean;
}

/** Conditions that a reader of the page cannot check, or that are not meant for the public. */
const NOT_PUBLIC: readonly ConditionField[] = ["partner_slug", "customer_email", "product_id"];

/** `now`: ISO 8601. */
export function offerOf(
  program: { default_commission_pct: number },
  group: OfferGroup,
  flows: readonly Flow[],
  now: string,
): Offer {
  const inForce = sortFlows(flows).filter((flow) => flow.ends_at === null || flow.ends_at > now);
  const payments = reachable("transaction_completed", group, inForce, now);
  const forAll = payments.at(-1);
  const rate = forAll && isForAll(forAll, now) ? forAll.action_value : null;
  return {
    commission_pct: rate ?? group.commission_pct ?? program.default_commission_pct,
    hold_days: group.hold_days,
    payments: eventOffer("transaction_completed", payments),
    leads: eventOffer("lead_created", reachable("lead_created", group, inForce, now)),
    is_replaced: rate !== null,
  };
}

/** The flows of the event that can apply to the group, in their order; one that applies to all is the last. */
function reachable(event: FlowEvent, { slug }: OfferGroup, flows: readonly Flow[], now: string): Flow[] {
  const subject = { partner_group: slug } as ConditionSubject;
  const open = flows.filter((flow) => {
    const conditions = givenConditions(flow).filter(isOfGroup);
    return eventOf(flow) === event && conditions.every((condition) => traceCondition(condition, subject).held);
  });
  const end = open.findIndex((flow) => isForAll(flow, now));
  return end === -1 ? open : open.slice(0, end + 1);
}

/** Whether the flow applies to every payment or lead of the group; a flat amount has a currency (FLOW-15). */
function isForAll(flow: Flow, now: string): boolean {
  return isOpenEnded(flow, now) && givenConditions(flow).every(isOfGroup);
}

function isOfGroup({ field }: Condition): boolean {
  return field === "partner_group";
}

function eventOffer(event: FlowEvent, open: readonly Flow[]): EventOffer {
  const [flow] = open;
  if (!flow) return { flow: null, varies: false };
  const given = givenConditions(flow).filter((condition) => !isOfGroup(condition));
  if (open.length > 1 || given.some(({ field }) => NOT_PUBLIC.includes(field))) return { flow: null, varies: true };
  return { flow: { ...flow, event, given }, varies: false };
}
