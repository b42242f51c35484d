/** Who signs in to the dashboard of a program, and what each may do there (TEAM-1). */
export const MEMBER_ROLES = ["owner", "finance", "viewer"] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** As people read it. */
export const ROLE_TITLES: Record<MemberRole, string> = { owner: "Owner", finance: "Finance", viewer: "Viewer" };

export const MAX_MEMBERS = 100;

/**
 * What a page or a form needs of who asks for it. `own`: only what is the reader's own. `read`: no payout details. `details`:
 * what shows payout details. `money`: decides on commissions and payouts. `manage`: writes anything else whose effect the
 * owners can undo. `secure` and, of the reader's own, `own_secure`: outlives a session or shuts others out, and so needs a
 * fresh proof of the address too (PROOF-3).
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
