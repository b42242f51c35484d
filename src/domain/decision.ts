import type { CommissionStatus } from "./commission.ts";

/** What the owner, or the daily approval, decides of a commission. */
export const DECISION_KINDS = ["approve", "reject", "reopen", "flag", "dismiss"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

export interface Decided {
  kind: DecisionKind;
  detail: string | null;
  created_at: string;
}

/** What decisions make of a commission. */
export interface Judged {
  status: Exclude<CommissionStatus, "paid">;
  approved_at: string | null;
  rejected_reason: string | null;
  /** `manual` where it was flagged by hand. */
  review_reason: "manual" | null;
  review_reasons: "manual" | "";
  dismissed_reasons: string;
}

interface Judgeable {
  status: CommissionStatus;
  flagged: boolean;
  review_reason: string | null;
  rejected_reason: string | null;
  dismissed_reasons: string;
}

/** The decisions that lead from one state of a commission to another, in the order in which they are taken. */
export function decisionsBetween(before: Judgeable, after: Judgeable): Pick<Decided, "kind" | "detail">[] {
  const decided: Pick<Decided, "kind" | "detail">[] = [];
  if (before.status !== after.status && after.status !== "paid") {
    const kind = ({ approved: "approve", rejected: "reject", pending: "reopen" } as const)[after.status];
    decided.push({ kind, detail: kind === "reject" ? after.rejected_reason : null });
  }
  if (after.review_reason === "manual" && before.review_reason !== "manual")
    decided.push({ kind: "flag", detail: null });
  if (before.flagged && !after.flagged) decided.push({ kind: "dismiss", detail: after.dismissed_reasons });
  return decided;
}

/** What decisions about one commission come to; the last of each sort holds. `decisions` are in the order taken. */
export function judgedBy(decisions: readonly Decided[]): Judged {
  const judged: Judged = {
    status: "pending",
    approved_at: null,
    rejected_reason: null,
    review_reason: null,
    review_reasons: "",
    dismissed_reasons: "",
  };
  for (const { kind, detail, created_at } of decisions) {
    if (kind === "flag") Object.assign(judged, { review_reason: "manual", review_reasons: "manual" });
    else if (kind === "dismiss") {
      Object.assign(judged, { review_reason: null, review_reasons: "", dismissed_reasons: detail ?? "" });
    } else {
      judged.status = ({ approve: "approved", reject: "rejected", reopen: "pending" } as const)[kind];
      judged.approved_at = kind === "approve" ? created_at : null;
      judged.rejected_reason = kind === "reject" ? detail : null;
    }
  }
  return judged;
}
