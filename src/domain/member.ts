/** Who signs in to the dashboard of a program, and what each may do there (TEAM-1). */
export const MEMBER_ROLES = ["owner", "finance", "viewer"] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** As people read it. */
export const ROLE_TITLES: Record<MemberRole, string> = { owner: "Owner", finance: "Finance", viewer: "Viewer" };

export const MAX_MEMBERS = 100;

/**
 * What a page or a form needs of who asks for it. `own`: only what is the reader's own. `read`: no payout details. `details`:
 * what shows payout details. `money`: decides on commissions and payouts. `manage`: anything else that writes.
 */
export type Right = "own" | "read" | "details" | "money" | "manage";

const RIGHTS: Record<MemberRole, readonly Right[]> = {
  owner: ["own", "read", "details", "money", "manage"],
  finance: ["own", "read", "details", "money"],
  viewer: ["own", "read"],
};

export function roleMay(role: MemberRole, right: Right): boolean {
  return RIGHTS[role].includes(right);
}
