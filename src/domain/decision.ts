import type { CommissionStatus } from "./commission.ts";

/** Decisions about a commission, by the owner or the daily approval. */
export const DECISION_KINDS = ["approve", "reject", "reopen", "flag", "dismiss"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

export interface Decided {
  kind: DecisionKind;
  detail: string | null;
  created_at: string;
}

/** The columns of a commission that decisions set. */
export interface Judged {
  status: Exclude<CommissionStatus, "paid">;
  approved_at: string | null;
  rejected_reason: string | null;
  /** `manual` if it was flagged by hand. */
  review_reason: "manual" | null;
  review_reasons: "manual" | "";
  dismissed_reasons: string;
}

interface DecidedColumns {
  status: CommissionStatus;
  flagged: boolean;
  review_reason: string | null;
  rejected_reason: string | null;
  dismissed_reasons: string;
}

/** The decisions that lead from one state of a commission to another, in order. */
export function decisionsBetween(before: DecidedColumns, after: DecidedColumns): Pick<Decided, "kind" | "detail">[] {
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

/** The columns that result from a commission's decisions, in order; the last of each sort counts. */
export function resultOfDecisions(decisions: readonly Decided[]): Judged {
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
