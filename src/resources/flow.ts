import * as z from "zod";
import type { flows } from "../db/schema.ts";
import { CONDITION_FIELDS, CONDITION_OPS, conditionProblem, MAX_VALUES, type Condition } from "../domain/condition.ts";
import { FLOW_ACTION_TYPES, FLOW_BASES, FLOW_EVENTS, MAX_CONDITIONS } from "../domain/flow.ts";
import { MAX_HOLD_DAYS } from "../domain/group.ts";
import { resource } from "./field.ts";
import { currency, text, time, visibleText } from "./input.ts";
import { currencyCode, idColumn, string, TIME, timestamp } from "./output.ts";

export type Flow = typeof flows.$inferSelect;

const single = z.union([z.number(), text(500, 0), z.boolean()]);

const condition = z
  .strictObject({
    field: z.enum(CONDITION_FIELDS),
    op: z.enum(CONDITION_OPS),
    value: z.union(
      [single, z.array(single).max(MAX_VALUES)],
      "This must be a number, a text, true or false, or a list of them.",
    ),
  })
  .superRefine((value, issues) => {
    const problem = conditionProblem(value);
    if (problem) issues.addIssue({ code: "custom", path: [problem.path], message: problem.message });
  });

/** A value of a condition, as the API shows it. */
const shownSingle = () => z.union([z.number(), z.string(), z.boolean()]);
export const shownValue = () => z.union([shownSingle(), z.array(shownSingle())]);

const shownCondition = () =>
  z.strictObject({
    field: z.enum(CONDITION_FIELDS),
    op: z.enum(CONDITION_OPS),
    value: shownValue(),
  } satisfies Record<keyof Condition, unknown>);

export const FLOW = resource<Flow>()({
  id: idColumn("flow"),
  program_id: idColumn("program"),
  name: {
    ...{ audit: "plain", read: string, example: "Big orders", write: visibleText(200), needed: true },
    text: "A name of your own.",
  },
  event: {
    ...{ audit: "plain", read: () => z.enum(FLOW_EVENTS), example: "transaction_completed" },
    write: z.enum(FLOW_EVENTS),
    text: "What it decides: payments, or leads that your server reports.",
  },
  action_type: {
    ...{ audit: "plain", read: () => z.enum(FLOW_ACTION_TYPES), example: "percentage" },
    ...{ write: z.enum(FLOW_ACTION_TYPES), needed: true },
    text: "Whether `action_value` is a percentage or a flat amount.",
  },
  action_value: {
    ...{ audit: "plain", read: () => z.number(), example: 30, write: z.number(), needed: true },
    text: "A percentage, or for `flat` an amount in smallest units of the payment's currency, of the program's for a lead.",
  },
  conditions: {
    ...{ audit: "plain", read: () => z.array(shownCondition()), write: z.array(condition).max(MAX_CONDITIONS) },
    example: [{ field: "txn_amount_cents", op: "gt", value: 10000 }],
    text: "All of them must hold; without one it applies to every payment.",
  },
  priority: {
    ...{ audit: "plain", read: () => z.number(), example: 10, write: z.number() },
    text: "The highest is tried first.",
  },
  active: {
    ...{ audit: "plain", read: () => z.boolean(), example: true, write: z.boolean() },
    text: "Whether the flow is in use.",
  },
  hold_days: {
    ...{
      audit: "plain",
      read: () => z.int().nullable(),
      example: null,
      write: z.int().min(0).max(MAX_HOLD_DAYS).nullable(),
    },
    text: "How many days its commissions are on hold. Null: the group's, or the program's `auto_approve_days`.",
  },
  starts_at: {
    ...{ audit: "plain", read: () => timestamp.nullable(), example: null, write: time.nullable() },
    text: "It applies to payments made from then on; null: from any time.",
  },
  ends_at: {
    ...{ audit: "plain", read: () => timestamp.nullable(), example: null, write: time.nullable() },
    text: "It applies to payments made before; null: without end.",
  },
  currency: {
    ...{ audit: "plain", read: () => currencyCode.nullable(), example: null, write: currency.nullable() },
    text: "The only currency to which it applies; null: every currency. A flow with an amount has one, the program's unless given.",
  },
  base: {
    ...{ audit: "plain", read: () => z.enum(FLOW_BASES), example: "payment", write: z.enum(FLOW_BASES) },
    text: "What a percentage is of, and what a flat amount needs: the whole payment, or with `matching_items` the lines that the conditions on `product_id` match.",
  },
  created_at: TIME,
  updated_at: TIME,
});
