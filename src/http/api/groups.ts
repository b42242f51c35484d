import {
  createGroup,
  deleteGroup,
  getGroup,
  listGroups,
  updateGroup,
  type GroupInput,
  type GroupPatch,
} from "../../core/programs/groups.ts";
import { viewGroup } from "../../core/kernel/views.ts";
import { createShape, patchShape } from "../../resources/field.ts";
import { GROUP } from "../../resources/group.ts";
import { created, deleted, json, ok, route } from "../route.ts";
import { applyFrom, takes } from "../validate.ts";

export const groupCreate = takes<GroupInput>()(createShape(GROUP));

export const groupPatch = takes<GroupPatch>()({ ...patchShape(GROUP), apply_from: applyFrom });

/** `/api/v1/groups` (PART-14, PART-15). */
export const groups = [
  route("POST /api/v1/groups", {
    operation: "createGroup",
    tag: "Partners",
    scope: ["write"],
    summary: "Create a group",
    description:
      "At most 100 groups. Name and slug are unique in the program, ignoring case. `hold_days` needs the scope `payouts` too.",
    body: json("GroupCreate", groupCreate),
    reply: created("Group", "The new group."),
    errors: ["already_exists"],
    view: viewGroup,
    handle: ({ ctx, body }) => createGroup(ctx, body),
  }),
  route("GET /api/v1/groups", {
    operation: "listGroups",
    tag: "Partners",
    scope: ["read"],
    summary: "List groups",
    description: "All of them, by name.",
    reply: ok("GroupList", "The groups."),
    handle: async ({ ctx }) => ({ data: (await listGroups(ctx)).map(viewGroup) }),
  }),
  route("GET /api/v1/groups/:id", {
    operation: "getGroup",
    tag: "Partners",
    scope: ["read"],
    summary: "Get a group",
    reply: ok("Group", "The group."),
    errors: ["not_found"],
    view: viewGroup,
    handle: ({ ctx, params }) => getGroup(ctx, params.id),
  }),
  route("PATCH /api/v1/groups/:id", {
    operation: "updateGroup",
    tag: "Partners",
    scope: ["write"],
    summary: "Update a group",
    description:
      "`is_default: true` makes it the default in place of the one before. A new rate counts for payments made from then on, or since `apply_from`, which needs the scope `payouts` too, as `hold_days` and a default with fewer days on hold do.",
    body: json("GroupUpdate", groupPatch),
    reply: ok("Group", "The group as it is now."),
    errors: ["not_found", "already_exists"],
    view: viewGroup,
    handle: ({ ctx, params, body }) => updateGroup(ctx, params.id, body),
  }),
  route("DELETE /api/v1/groups/:id", {
    operation: "deleteGroup",
    tag: "Partners",
    scope: ["write"],
    summary: "Delete a group",
    description:
      "409 for a group with partners, which says how many, and for the default group. One with more days on hold than the default needs the scope `payouts` too.",
    reply: ok("Deleted", "It is deleted."),
    errors: ["not_found", "invalid_transition"],
    view: deleted,
    handle: ({ ctx, params }) => deleteGroup(ctx, params.id),
  }),
];
