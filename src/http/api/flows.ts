import * as z from "zod";
import type { ApplyFrom } from "../../core/ledger/apply-from.ts";
import { createFlow, deleteFlow, getFlow, listFlows, updateFlow, type FlowInput } from "../../core/programs/flows.ts";
import { simulateFlow } from "../../core/programs/simulate.ts";
import { viewFlow, viewSavedFlow } from "../../core/kernel/views.ts";
import { createShape } from "../../resources/field.ts";
import { FLOW } from "../../resources/flow.ts";
import { created, deleted, json, ok, route } from "../route.ts";
import { percentage } from "../../resources/input.ts";
import { applyFrom, givenId, takes } from "../validate.ts";

export const flowCreate = takes<FlowInput & ApplyFrom>()({ ...createShape(FLOW), apply_from: applyFrom });

export const flowPatch = flowCreate.partial();

export const simulation = z
  .strictObject({
    flow: flowCreate
      .omit({ apply_from: true })
      .partial({ name: true, action_type: true, action_value: true })
      .optional(),
    flow_id: givenId.optional(),
    partner_id: givenId.optional(),
    group_id: givenId.optional(),
    commission_pct: percentage.nullish(),
    default_commission_pct: percentage.optional(),
    apply_from: applyFrom,
    last: z.int().min(1).max(1_000),
  })
  .superRefine((value, issues) => {
    const { flow, flow_id, partner_id, group_id, commission_pct, default_commission_pct, apply_from } = value;
    const refuse = (path: string, message: string) => issues.addIssue({ code: "custom", path: [path], message });
    const hasId = partner_id !== undefined || group_id !== undefined;
    const isMove = partner_id !== undefined && group_id !== undefined;
    const given = [flow !== undefined || flow_id !== undefined, hasId, default_commission_pct !== undefined];
    const rules = given.filter(Boolean).length;
    if (rules !== 1) refuse("flow", "Give a flow, a flow_id or both; or one rate.");
    else if (!isMove && hasId !== (commission_pct !== undefined)) {
      refuse("commission_pct", "This goes with a partner_id or a group_id.");
    } else if (given[0] === false && apply_from === undefined) refuse("apply_from", "A rate needs this.");
  });

export const flows = [
  route("POST /api/v1/flows", {
    operation: "createFlow",
    tag: "Flows",
    scope: ["write"],
    summary: "Create a flow",
    description:
      "At most 100 flows with 20 conditions each. `hold_days` and `apply_from` need the scope `payouts` too, and so does any flow while one has `hold_days`.",
    body: json("FlowCreate", flowCreate),
    reply: created("SavedFlow", "The new flow."),
    view: viewSavedFlow,
    handle: ({ ctx, body }) => createFlow(ctx, body),
  }),
  route("GET /api/v1/flows", {
    operation: "listFlows",
    tag: "Flows",
    scope: ["read"],
    summary: "List flows",
    description: "All of them, highest priority first.",
    reply: ok("FlowList", "The flows."),
    handle: async ({ ctx }) => ({ data: (await listFlows(ctx)).map(viewFlow) }),
  }),
  route("POST /api/v1/flows/simulate", {
    operation: "simulateFlow",
    tag: "Flows",
    // It only reads, and shows payments.
    scope: ["read"],
    summary: "Simulate a flow on past payments",
    description:
      "Shows what the last payments would have earned. With `flow`, a new flow is tried; with `flow` and `flow_id`, a change of that flow; with `flow_id` alone, that flow switched on. With `apply_from`, it shows what would change for the payments since then that are among the newest 100; a rate can be tried the same way, with `partner_id` and `commission_pct`, or `default_commission_pct`. Writes nothing.",
    body: json("FlowSimulate", simulation),
    reply: ok("Simulation", "Old and new amounts, and their sums by currency."),
    errors: ["not_found"],
    handle: ({ ctx, body }) => simulateFlow(ctx, body),
  }),
  route("GET /api/v1/flows/:id", {
    operation: "getFlow",
    tag: "Flows",
    scope: ["read"],
    summary: "Get a flow",
    reply: ok("Flow", "The flow."),
    errors: ["not_found"],
    view: viewFlow,
    handle: ({ ctx, params }) => getFlow(ctx, params.id),
  }),
  route("PATCH /api/v1/flows/:id", {
    operation: "updateFlow",
    tag: "Flows",
    scope: ["write"],
    summary: "Update a flow",
    description:
      "`conditions`, when sent, replaces all of them. `hold_days` and `apply_from` need the scope `payouts` too, and so does any change while a flow has `hold_days`.",
    body: json("FlowUpdate", flowPatch),
    reply: ok("SavedFlow", "The flow as it is now."),
    errors: ["not_found"],
    view: viewSavedFlow,
    handle: ({ ctx, params, body }) => updateFlow(ctx, params.id, body),
  }),
  route("DELETE /api/v1/flows/:id", {
    operation: "deleteFlow",
    tag: "Flows",
    scope: ["write"],
    summary: "Delete a flow",
    description: "While a flow has `hold_days`, this needs the scope `payouts` too.",
    reply: ok("Deleted", "It is deleted."),
    errors: ["not_found"],
    view: deleted,
    handle: ({ ctx, params }) => deleteFlow(ctx, params.id),
  }),
];
