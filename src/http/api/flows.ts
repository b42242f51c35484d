import { Hono } from "hono";
import * as z from "zod";
import type { ApplyFrom } from "../../core/ledger/apply-from.ts";
import { createFlow, deleteFlow, getFlow, listFlows, updateFlow, type FlowInput } from "../../core/programs/flows.ts";
import { simulateFlow } from "../../core/programs/simulate.ts";
import { viewFlow } from "../../core/kernel/views.ts";
import {
  CONDITION_FIELDS,
  CONDITION_OPS,
  conditionProblem,
  FLOW_ACTION_TYPES,
  FLOW_EVENTS,
  MAX_CONDITIONS,
} from "../../domain/flow.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { applyFrom, givenId, jsonBody, percentage, requireJson, takes, text } from "../validate.ts";

const condition = z
  .strictObject({
    field: z.enum(CONDITION_FIELDS),
    op: z.enum(CONDITION_OPS),
    value: z.union([z.number(), text(500, 0)], "This must be a number or a text."),
  })
  .superRefine((value, issues) => {
    const problem = conditionProblem(value);
    if (problem) issues.addIssue({ code: "custom", path: [problem.path], message: problem.message });
  });

export const flowCreate = takes<FlowInput & ApplyFrom>()({
  name: text(200),
  event: z.enum(FLOW_EVENTS).optional(),
  action_type: z.enum(FLOW_ACTION_TYPES),
  action_value: z.number(),
  conditions: z.array(condition).max(MAX_CONDITIONS).optional(),
  priority: z.number().optional(),
  active: z.boolean().optional(),
  apply_from: applyFrom,
});

export const flowPatch = flowCreate.partial();

export const simulation = z
  .strictObject({
    flow: flowCreate.omit({ apply_from: true }).partial({ name: true }).optional(),
    flow_id: givenId.optional(),
    partner_id: givenId.optional(),
    commission_pct: percentage.nullish(),
    default_commission_pct: percentage.optional(),
    apply_from: applyFrom,
    last: z.int().min(1).max(1_000),
  })
  .superRefine((value, issues) => {
    const { flow, flow_id, partner_id, commission_pct, default_commission_pct, apply_from } = value;
    const refuse = (path: string, message: string) => issues.addIssue({ code: "custom", path: [path], message });
    const isPartner = partner_id !== undefined;
    const given = [flow !== undefined || flow_id !== undefined, isPartner, default_commission_pct !== undefined];
    const rules = given.filter(Boolean).length;
    if (rules !== 1) refuse("flow", "Give a flow, a flow_id or both; or one rate.");
    else if (isPartner !== (commission_pct !== undefined)) refuse("commission_pct", "This goes with a partner_id.");
    else if (given[0] === false && apply_from === undefined) refuse("apply_from", "A rate needs this.");
  });

/** `/api/v1/flows` (FLOW-6 to FLOW-10). */
export const flows = new Hono<AppEnv>()
  .post("/", requireJson, jsonBody(flowCreate), replies(viewFlow, 201), async (c) => {
    const flow = await createFlow(c.var.ctx, c.req.valid("json"));
    return c.json(viewFlow(flow), 201);
  })
  .post("/simulate", requireJson, jsonBody(simulation), async (c) =>
    c.json(await simulateFlow(c.var.ctx, c.req.valid("json"))),
  )
  .get("/", async (c) => c.json({ data: (await listFlows(c.var.ctx)).map(viewFlow) }))
  .get("/:id", async (c) => c.json(viewFlow(await getFlow(c.var.ctx, c.req.param("id")))))
  .patch("/:id", requireJson, jsonBody(flowPatch), async (c) => {
    const flow = await updateFlow(c.var.ctx, c.req.param("id"), c.req.valid("json"));
    return c.json(viewFlow(flow));
  })
  .delete("/:id", async (c) => {
    const { id } = await deleteFlow(c.var.ctx, c.req.param("id"));
    return c.json({ id, deleted: true });
  });
