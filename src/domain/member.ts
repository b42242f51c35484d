/** Roles of team members in a program's dashboard, and their rights (TEAM-1). */
export const MEMBER_ROLES = ["owner", "finance", "viewer"] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** Role names for people. */
export const ROLE_TITLES: Record<MemberRole, string> = { owner: "Owner", finance: "Finance", viewer: "Viewer" };

export const MAX_MEMBERS = 100;

/**
 * The right that a page or form requires. `own`: only the reader's own data. `read`: no payout details. `details`:
 * shows payout details. `money`: decides on commissions and payouts. `manage`: any other write whose effect the owners
 * can undo. `secure` and, for the reader's own data, `own_secure`: the effect outlives a session or locks others out,
 * so a recent verification of the address is required too (PROOF-3).
 */
export type Right = "own" | "own_secure" | "read" | "details" | "money" | "manage" | "secure";

const RIGHTS: Record<MemberRole, readonly Right[]> = {
  owner: ["own", "own_secure", "read", "details", "money", "manage", "secure"],
  finance: ["own", "own_secure", "read", "details", "money"],
  viewer: ["own", "own_secure", "read"],
};

export function roleMay(role: MemberRole, right: Right): boolean {
  return RIGHTS[role].includes(right);
}

export function needsProof(right: Right): boolean {
  return right === "secure" || right === "own_secure";
}
