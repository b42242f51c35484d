import { MAX_MEMBERS } from "../../domain/member.ts";
import { created, ok, type Route } from "./route.ts";

/** Who signs in to the dashboard. */
export const TEAM_ROUTES: Route[] = [
  {
    method: "GET",
    path: "/api/v1/members",
    tag: "Team",
    summary: "List members",
    description: "All of them, oldest first.",
    replies: ok("MemberList", "The members."),
  },
  {
    method: "POST",
    path: "/api/v1/members",
    tag: "Team",
    summary: "Add a member",
    description: `At most ${MAX_MEMBERS}. The person gets an e-mail with a sign-in link, valid for 7 days. 429 beyond 200 invitations of the program within 24 hours to addresses that have not signed in.`,
    body: { schema: "MemberCreate" },
    replies: created("Member", "The new member."),
    errors: ["already_exists", "not_configured"],
  },
  {
    method: "PATCH",
    path: "/api/v1/members/:id",
    tag: "Team",
    summary: "Change a member's role",
    description: "Their sessions end. The last owner keeps the role.",
    body: { schema: "MemberUpdate" },
    replies: ok("Member", "The member as it is now."),
    errors: ["not_found", "invalid_transition"],
  },
  {
    method: "DELETE",
    path: "/api/v1/members/:id",
    tag: "Team",
    summary: "Remove a member",
    description: "Their sessions end. The last owner cannot be removed.",
    replies: ok("Deleted", "The member is gone."),
    errors: ["not_found", "invalid_transition"],
  },
];
