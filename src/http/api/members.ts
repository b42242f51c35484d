import { Hono } from "hono";
import * as z from "zod";
import {
  addMember,
  listMembers,
  removeMember,
  updateMember,
  type MemberInput,
  type MemberPatch,
} from "../../core/sessions/members.ts";
import { viewMember } from "../../core/kernel/views.ts";
import { MEMBER_ROLES } from "../../domain/member.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { email, jsonBody, requireJson, takes } from "../validate.ts";

export const memberCreate = takes<MemberInput>()({ email, role: z.enum(MEMBER_ROLES) });

export const memberPatch = takes<MemberPatch>()({ role: z.enum(MEMBER_ROLES).optional() });

/** `/api/v1/members` (TEAM-1, TEAM-2, TEAM-4). */
export const members = new Hono<AppEnv>()
  .get("/", async (c) => c.json({ data: (await listMembers(c.var.ctx)).map(viewMember) }))
  .post("/", requireJson, jsonBody(memberCreate), replies(viewMember, 201), async (c) => {
    return c.json(viewMember(await addMember(c.var.ctx, c.req.valid("json"))), 201);
  })
  .patch("/:id", requireJson, jsonBody(memberPatch), async (c) => {
    return c.json(viewMember(await updateMember(c.var.ctx, c.req.param("id"), c.req.valid("json"))));
  })
  .delete("/:id", async (c) => {
    const { id } = await removeMember(c.var.ctx, c.req.param("id"));
    return c.json({ id, deleted: true });
  });
