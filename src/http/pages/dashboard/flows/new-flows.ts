/** One form of a new flow as several flows: its own, one for later payments, and one for everything else (FLOW-18). */
import type { Flow, Program } from "../../../../core/kernel/rows.ts";
import type { FlowInput } from "../../../../core/programs/flows.ts";
import type { Condition } from "../../../../domain/condition.ts";
import { givenConditions } from "../../../../domain/flow.ts";
import { parseMoney, type FormFields } from "../../forms.ts";

const ENDING = ["payment_number", "months_since_first_payment"] as const;
type Ending = (typeof ENDING)[number];
/** The distance of the end from the value: "at most 3" ends at 4. */
const PAST: Partial<Record<string, number>> = { lt: 0, lte: 1, eq: 1 };

type Compared = Pick<Condition, "field" | "op">;

/** The field by which these conditions end, if one does: the customer's first payments, or first months. */
export function endingOf(conditions: readonly { field: string; op: string }[]): Ending | null {
  return ENDING.find((field) => conditions.some((one) => one.field === field && one.op in PAST)) ?? null;
}

/** The conditions for the payments after those that these conditions match; null if they do not end. */
export function afterwards(conditions: readonly Condition[]): Condition[] | null {
  const ending = endingOf(conditions);
  if (ending === null) return null;
  const isEnd = ({ field, op }: Compared) => field === ending && op in PAST;
  const ends = conditions.filter(isEnd).map(({ op, value }) => Number(value) + (PAST[op] ?? 0));
  const rest = conditions.filter(({ field }) => field !== ending);
  return [...rest, { field: ending, op: "gte", value: Math.min(...ends) }];
}

export interface NewFlows {
  inputs: FlowInput[];
  /** The field of the form that is wrong. */
  problem?: { path: "then_value" | "only"; message: string };
}

/** The flows that the form of a new one makes, in the order in which they are tried. */
export function newFlows(
  first: FlowInput,
  fields: FormFields,
  existing: readonly Flow[],
  program: Pick<Program, "currency">,
): NewFlows {
  const inputs = [first];
  const then = fields.text("then_value");
  if (then !== "") {
    const conditions = afterwards(first.conditions ?? []);
    if (conditions === null)
      return {
        inputs,
        problem: { path: "then_value", message: "This needs a condition that ends, such as the first 12 months." },
      };
    const money = parseMoney(then, first.currency ?? program.currency);
    const action_value = first.action_type === "flat" ? money : Number(then);
    inputs.push({ ...first, name: `${first.name}, afterwards`.slice(0, MAX_NAME), action_value, conditions });
  }
  if (fields.isTicked("only") !== true || first.event === "lead_created") return { inputs };
  const last = existing.findLast((flow) => flow.active && isForAll(flow));
  if (last && last.action_value === 0) return { inputs };
  if (last) return { inputs, problem: { path: "only", message: `“${last.name}” already applies to everything else.` } };
  const priority = Math.min(first.priority ?? 0, ...existing.map((flow) => flow.priority)) - BELOW;
  inputs.push({ name: "Everything else", action_type: "percentage", action_value: 0, priority });
  return { inputs };
}

const MAX_NAME = 200;
/** Leaves room for flows between. */
const BELOW = 10;

function isForAll(flow: Flow): boolean {
  const isUnlimited = flow.starts_at === null && flow.ends_at === null && flow.currency === null;
  return isUnlimited && flow.event === "transaction_completed" && givenConditions(flow).length === 0;
}
