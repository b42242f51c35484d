import {
  addMember,
  listMembers,
  removeMember,
  updateMember,
  type MemberInput,
  type MemberPatch,
} from "../../core/sessions/members.ts";
import { viewMember } from "../../core/kernel/views.ts";
import { MAX_MEMBERS } from "../../domain/member.ts";
import { SCOPES } from "../../domain/scope.ts";
import { createShape, patchShape } from "../../resources/field.ts";
import { MEMBER } from "../../resources/team.ts";
import { created, deleted, json, ok, route } from "../route.ts";
import { takes } from "../validate.ts";

export const memberCreate = takes<MemberInput>()(createShape(MEMBER));

export const memberPatch = takes<MemberPatch>()(patchShape(MEMBER));

/** `/api/v1/members` (TEAM-1, TEAM-2, TEAM-4). */
export const members = [
  route("GET /api/v1/members", {
    operation: "listMembers",
    tag: "Team",
    // No scope limits an owner in the dashboard, so a key that adds an owner must have every scope (ACCESS-12).
    scope: ["read"],
    summary: "List members",
    description: "All of them, oldest first.",
    reply: ok("MemberList", "The members."),
    handle: async ({ ctx }) => ({ data: (await listMembers(ctx)).map(viewMember) }),
  }),
  route("POST /api/v1/members", {
    operation: "createMember",
    tag: "Team",
    scope: SCOPES,
    summary: "Add a member",
    description: `At most ${MAX_MEMBERS}. The person gets an e-mail with a sign-in link, valid for 7 days. 429 beyond 200 invitations of the program within 24 hours to addresses that have not signed in.`,
    body: json("MemberCreate", memberCreate),
    reply: created("Member", "The new member."),
    errors: ["already_exists", "not_configured"],
    view: viewMember,
    handle: ({ ctx, body }) => addMember(ctx, body),
  }),
  route("PATCH /api/v1/members/:id", {
    operation: "updateMember",
    tag: "Team",
    scope: SCOPES,
    summary: "Change a member's role",
    description: "Their sessions end. The last owner keeps the role.",
    body: json("MemberUpdate", memberPatch),
    reply: ok("Member", "The member as it is now."),
    errors: ["not_found", "invalid_transition"],
    view: viewMember,
    handle: ({ ctx, params, body }) => updateMember(ctx, params.id, body),
  }),
  route("DELETE /api/v1/members/:id", {
    operation: "deleteMember",
    tag: "Team",
    scope: SCOPES,
    summary: "Remove a member",
    description: "Their sessions end. The last owner cannot be removed.",
    reply: ok("Deleted", "The member is gone."),
    errors: ["not_found", "invalid_transition"],
    view: deleted,
    handle: ({ ctx, params }) => removeMember(ctx, params.id),
  }),
];
