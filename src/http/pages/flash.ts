import type { PartnerStatus } from "../../domain/partner.ts";

/** The note after a change that applies from an earlier day (FLOW-11). */
const APPLIED =
  "Saved and applied. Payments since that day are decided again: the newest already, others within minutes.";

/** The note after a code was given to a partner, by the partner's status: only active partners earn (PART-4). */
const CODE_GIVEN: Record<PartnerStatus, string> = {
  active: "The code is the partner's. Payments that waited for it earn their commissions within minutes.",
  invited:
    "The code is the partner's. Payments that waited for it earn their commissions when the partner turns active.",
  deactivated:
    "The code is the partner's, who is deactivated. Of the payments that waited for it, those from while they were active earn their commissions.",
};

/** The note about the previous action, by page and by the word of `?done=` in its address. */
export const FLASH = {
  applications: {
    approved: "Approved. They were e-mailed their link, and one that signs them in.",
    declined: "Declined. They were notified by e-mail.",
  },
  claims: {
    granted: "The sale is the partner's. The partner sees it.",
    declined: "The claim is declined. The partner sees it.",
  },
  codes: CODE_GIVEN,
  commissions: {
    added: "The commission was added; it waits for approval like any other.",
    approved: "Approved.",
    rejected: "Rejected.",
    pending: "It waits for review again.",
    flagged: "Flagged: it will not be approved automatically.",
    unflagged: "The flag is gone; the same reason will not flag it again.",
  },
  customers: { erased: "The customer is forgotten: the address and what the provider sent of it are gone." },
  endpoints: {
    saved: "Saved.",
    deleted: "The endpoint is deleted. Nothing is sent to it any more.",
    tested: "A test event is on its way. Reload in a moment to see how it went.",
    redelivered: "It is being sent again. Reload in a moment to see how it went.",
    nothing: "Nothing failed or was missed since then.",
    on: "The endpoint is active. Now send what it missed.",
    off: "The endpoint is switched off.",
  },
  flows: {
    deleted: "The flow is deleted. Commissions it made stay.",
    active: "The flow is active.",
    inactive: "The flow is switched off.",
  },
  keys: { deleted: "The key is deleted. It no longer works." },
  mails: { saved: "Saved.", again: "It is sent again." },
  partners: {
    added: "The partner was added. Send the invitation, or ask them to sign in: that turns them active.",
    added_invited:
      "The partner was added, and the invitation is on its way: a link that signs in, once, within seven days.",
    added_alone: "The partner was added, but the invitation was not sent. Try again below, or ask them to sign in.",
    invited: "The invitation is on its way: a link that signs the partner in, once, within seven days.",
    invited_again: "The partner is invited again, as before. Payments that were refused meanwhile earned nothing.",
    saved: "Saved.",
    applied: APPLIED,
    forgotten: "The account is forgotten. The partner can set up another one in the portal, under Payout details.",
    deactivated: "The partner is deactivated and signed out.",
    activated: "The partner is active. Payments that waited for them earn their commissions within minutes.",
  },
  partner_codes: {
    removed: "The code is nobody's now. What it has earned stays, and so do renewals of what began with it.",
  },
  /** A recalculation uses the rules of the payment's own time, not the current ones (PAY-15, PAY-16). */
  payments: {
    reprocessed: "Decided again by the rules of when it was made. The result is below.",
    unchanged: "Decided again by the rules of when it was made: nothing changed.",
  },
  payouts: {
    paid: "Paid. Its commissions are paid too.",
    processing:
      "The transfer is under way. The provider has not confirmed it yet; we keep asking, and never send it twice.",
    failed: "The transfer has paid nobody; see below why.",
    canceled: "Canceled. Its commissions are free for the next payout.",
  },
  own_claims: {
    made: "Thank you. The program looks at it, and you see the answer here.",
    known: "You have made this claim before. Its answer is below.",
  },
  own_details: { connected: "Welcome back. It may take a moment until what you entered is checked." },
  sessions: {
    ended: "The session is ended.",
    passkey_added: "The passkey is added. Next time you can sign in with it.",
    passkey_removed: "The passkey is removed. Remove it from your device as well.",
  },
  settings: {
    saved: "Saved.",
    applied: APPLIED,
    secret: "The secret is saved.",
    replaced: "The secret is saved. The previous one stays valid for 24 hours.",
    cleared: "The secret is removed.",
  },
  team: {
    added: "The member was added.",
    changed: "The role is changed. Whoever has it signs in again.",
    removed: "The member was removed and signed out.",
  },
} as const;

type Keys<T> = T extends unknown ? keyof T : never;

/** A word that a page has a note for, or whose note has more than a text: a number, a link, the state of an object. */
type Word = Keys<(typeof FLASH)[keyof typeof FLASH]> | "given" | "reactivated" | "recovered" | "recovered_part";

/** The address of a page with a note about the finished action. */
export function doneAt(path: string, word: Word): string {
  return `${path}?done=${word}`;
}
