/** Ready-made starts of a new flow: the form filled in (PAGE-34). */
import type { Program } from "../../../../core/kernel/rows.ts";
import { dayIn, laterDate } from "../../../../domain/time-zone.ts";
import { NEW_FLOW, type FlowValues } from "./form.tsx";

interface Start {
  label: string;
  values: (today: string) => Partial<FlowValues>;
}

const one = (field: string, op: string, value: string) => [{ field, op, values: [value] }];

const STARTS: Record<string, Start> = {
  first_year: {
    label: "First-year rate",
    values: () => ({
      ...{ name: "First year", action_value: "50", then_value: "20" },
      conditions: one("months_since_first_payment", "lt", "12"),
    }),
  },
  first_payment: {
    label: "First payment only",
    values: () => ({
      ...{ name: "First payment", action_value: "30", then_value: "0" },
      conditions: one("payment_number", "lte", "1"),
    }),
  },
  product: {
    label: "Rate per product",
    values: () => ({
      ...{ name: "Product rate", action_value: "30", base: "matching_items" },
      conditions: one("product_id", "eq", ""),
    }),
  },
  new_customers: {
    label: "New customers only",
    values: () => ({
      ...{ name: "No commission for existing customers", action_value: "0" },
      conditions: one("new_customer", "eq", "no"),
    }),
  },
  lead: {
    label: "Flat amount per lead",
    values: () => ({ name: "Leads", event: "lead_created", action_type: "flat", action_value: "10.00" }),
  },
  campaign: {
    label: "Campaign between two dates",
    values: (today) => {
      const first = firstOfNextMonth(today);
      return {
        name: "Campaign",
        action_value: "40",
        starts_at: first,
        ends_at: laterDate(firstOfNextMonth(first), -1),
      };
    },
  },
};

/** The longest month has fewer days. */
const PAST_A_MONTH = 32;

function firstOfNextMonth(day: string): string {
  return `${laterDate(`${day.slice(0, 8)}01`, PAST_A_MONTH).slice(0, 8)}01`;
}

/** The values of a new flow, tried before `flows`: of the named start, or empty ones. */
export function startValues(
  start: string | undefined,
  flows: readonly { priority: number }[],
  { time_zone }: Pick<Program, "time_zone">,
): FlowValues {
  const named = start !== undefined && Object.hasOwn(STARTS, start) ? STARTS[start] : undefined;
  const priority = flows.length === 0 ? 0 : Math.floor(Math.max(...flows.map((flow) => flow.priority))) + ABOVE;
  return { ...NEW_FLOW, priority: String(priority), ...named?.values(dayIn(time_zone, Date.now())) };
}

/** Leaves room for flows between. */
const ABOVE = 10;

export function Starts({ at, chosen }: { at: string; chosen: string | undefined }) {
  return (
    <nav class="starts" aria-label="Start with">
      <span class="muted">Start with</span>
      {Object.entries(STARTS).map(([key, { label }]) => (
        <a class="chip" href={`${at}?start=${key}`} aria-current={key === chosen ? "true" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}
