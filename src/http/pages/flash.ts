import type { PartnerStatus } from "../../domain/partner.ts";
import { addressOf } from "./filters.ts";

/** The note after a change that applies from an earlier day (FLOW-11). */
const APPLIED =
  "Saved and applied. The newest payments since that day are recalculated, the others follow within minutes.";

/** The note after a code was given to a partner, by the partner's status: only active partners earn (PART-4). */
const CODE_GIVEN: Record<PartnerStatus, string> = {
  active: "Code assigned. Waiting payments with it earn their commissions within minutes.",
  invited: "Code assigned. Waiting payments with it earn their commissions once the partner is active.",
  deactivated:
    "Code assigned. The partner is deactivated: waiting payments earn only if the partner was active at the time.",
};

/** The note about the previous action, by page and by the word of `?done=` in its address. */
export const FLASH = {
  applications: {
    approved: "Application approved. We e-mailed the partner their link and a sign-in link.",
    declined: "Application declined. We notified the applicant by e-mail.",
  },
  claims: {
    granted: "Claim approved. The partner has been notified.",
    declined: "Claim declined. The partner has been notified.",
  },
  codes: CODE_GIVEN,
  commissions: {
    added: "Commission added. It needs approval like any other.",
    approved: "Approved.",
    rejected: "Rejected.",
    pending: "Back to review.",
    flagged: "Flagged: it will not be approved automatically.",
    unflagged: "Flag removed. The same reason will not flag it again.",
  },
  customers: { erased: "Customer erased: we removed the address and the providers' data about it." },
  endpoints: {
    saved: "Saved.",
    deleted: "Endpoint deleted.",
    tested: "A test event is on its way. Reload in a moment to see the result.",
    redelivered: "It is being resent. Reload in a moment to see the result.",
    nothing: "No event failed or was missed since then.",
    on: "Endpoint enabled. You can now resend missed events.",
    off: "Endpoint disabled.",
  },
  flows: {
    added_all: "The flows were added. They apply to new payments only.",
    ordered: "The order was changed. It applies to new payments only.",
    deleted: "Flow deleted. Its commissions stay.",
    active: "The flow is active.",
    inactive: "The flow is switched off.",
  },
  groups: {
    added: "Group added.",
    saved: "Saved. Applies to new payments only.",
    applied: APPLIED,
    default: "New partners belong to this group from now on.",
    deleted: "Group deleted.",
  },
  keys: { deleted: "Key deleted. It no longer works." },
  mails: { saved: "Saved.", again: "It is being resent." },
  partners: {
    added: "Partner added. Send the invitation, or ask them to sign in to become active.",
    added_invited: "Partner added. We sent an invitation with a sign-in link, valid once within seven days.",
    added_alone: "Partner added, but we could not send the invitation. Try again below, or ask them to sign in.",
    invited: "Invitation sent, with a sign-in link that is valid once within seven days.",
    invited_again: "The partner is invited again. Payments in the meantime earned nothing.",
    saved: "Saved.",
    applied: APPLIED,
    forgotten: "Account disconnected. The partner can set up another one in the portal, under Payout details.",
    released: "Hold released. Payouts to this partner can be paid now.",
    deactivated: "Partner deactivated and signed out.",
    activated: "Partner activated. Waiting payments earn their commissions within minutes.",
  },
  partner_codes: {
    removed: "Code removed. Its commissions stay, and so do renewals of subscriptions that began with it.",
  },
  /** A recalculation uses the rules of the payment's own time, not the current ones (PAY-15, PAY-16). */
  payments: {
    reprocessed: "Recalculated with the rules at the time of the payment. The result is below.",
    unchanged: "Recalculated with the rules at the time of the payment: nothing changed.",
  },
  payouts: {
    paid: "Payout paid, with its commissions.",
    processing:
      "The transfer is in progress. The provider has not confirmed it yet; we keep checking, and never send it twice.",
    failed: "The transfer failed. See the reason below.",
    returned: "Payout returned. Its commissions are ready to pay again, and the partner gets an e-mail.",
    canceled: "Payout canceled. Its commissions go into the next payout.",
    results: "Results applied.",
    results_part: "Results applied in part. Read the same file again for the rest.",
  },
  own_claims: {
    made: "Thank you. The program will review it, and the answer appears here.",
    known: "You already sent this claim. Its answer is below.",
  },
  own_links: { added: "Link added. It counts for you from now on." },
  own_details: {
    confirm: "Nothing has changed yet: confirm the change by the link that we e-mailed to you.",
    discarded: "The change was discarded.",
    connected: "Welcome back. It may take a moment until your details are verified.",
  },
  sessions: {
    ended: "Session ended.",
    passkey_added: "Passkey added. You can sign in with it next time.",
    passkey_removed: "Passkey removed. Remove it from your device as well.",
  },
  settings: {
    saved: "Saved.",
    applied: APPLIED,
    secret: "Secret saved.",
    odd: "Secret saved, but it does not begin as this provider's secrets usually do. Compare it with the provider's page.",
    replaced: "Secret saved. The previous one stays valid for 24 hours.",
    cleared: "Secret removed.",
  },
  tax_data: { saved: "Saved. Invoices of payouts that are paid already keep the data of their time." },
  team: {
    added: "Member added.",
    changed: "Role changed. The member has to sign in again.",
    removed: "Member removed and signed out.",
  },
} as const;

type Keys<T> = T extends unknown ? keyof T : never;

/** A word that a page has a note for, or whose note has more than a text: a number, a link, the state of an object. */
type Word = Keys<(typeof FLASH)[keyof typeof FLASH]> | "given" | "reactivated" | "recovered" | "recovered_part";

/** The address of a page with a note about the finished action, and with the query of the list that it was done in. */
export function addressWithNote(path: string, word: Word, query = ""): string {
  return addressOf(path, [...new URLSearchParams(query), ["done", word]]);
}
