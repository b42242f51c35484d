import type { BaseCtx, Mailer } from "../../core/kernel/context.ts";
import type { NewMail, Notice, NoticeOf } from "../../core/kernel/notices.ts";
import { MAIL_KINDS, type MailKind } from "../../domain/mail.ts";
import type { Mail } from "../../lib/mail.ts";
import { publicUrl, readPublicUrl, type PublicUrlSettings } from "../../lib/public-url.ts";
import {
  addressLetters,
  approvedLetters,
  declinedLetters,
  invitationLetters,
  receivedLetters,
} from "./applications.ts";
import { claimDecidedLetters } from "./claim-decided.ts";
import { commissionsEarnedLetters } from "./commissions-earned.ts";
import { endpointDisabledLetters } from "./endpoint-disabled.ts";
import { footerFor } from "./footer.ts";
import { renderLetter } from "./frame.ts";
import { ledgerDiffersLetters } from "./ledger-differs.ts";
import type { Letter } from "./letter.ts";
import { memberInvitedLetters } from "./member-invited.ts";
import {
  applicationsWaitingLetters,
  claimsWaitingLetters,
  clicksOverBudgetLetters,
  codesUnknownLetters,
  payoutsHeldLetters,
  webhooksRefusedLetters,
} from "./owner-needs.ts";
import { payoutChangeLinkLetters, payoutDetailsAskedLetters, payoutDetailsLetters } from "./payout-details.ts";
import { payoutFailedLetters, payoutGeneratedLetters, payoutPaidLetters, payoutReturnedLetters } from "./payouts.ts";
import { securityLetters } from "./security.ts";
import { unsubscribeToken } from "./unsubscribe.ts";
import { weeklySummaryLetters } from "./weekly-summary.ts";
import { inEnglish } from "../pages/locale.ts";

/** The writer of each kind of e-mail, for each reader. Links begin with `origin`, and are left out if it is null. */
const LETTERS: { [K in MailKind]: (notice: NoticeOf<K>, origin: string | null) => Letter[] } = {
  payout_details: payoutDetailsLetters,
  payout_change_link: payoutChangeLinkLetters,
  endpoint_disabled: endpointDisabledLetters,
  application_address: addressLetters,
  application_received: receivedLetters,
  application_approved: approvedLetters,
  application_declined: declinedLetters,
  invitation: invitationLetters,
  member_invited: memberInvitedLetters,
  security: securityLetters,
  ledger_differs: ledgerDiffersLetters,
  payout_generated: payoutGeneratedLetters,
  payout_paid: payoutPaidLetters,
  payout_failed: payoutFailedLetters,
  payout_returned: payoutReturnedLetters,
  payout_details_asked: payoutDetailsAskedLetters,
  claim_decided: claimDecidedLetters,
  applications_waiting: applicationsWaitingLetters,
  claims_waiting: claimsWaitingLetters,
  payouts_held: payoutsHeldLetters,
  webhooks_refused: webhooksRefusedLetters,
  codes_unknown: codesUnknownLetters,
  clicks_over_budget: clicksOverBudgetLetters,
  weekly_summary: weeklySummaryLetters,
  commissions_earned: commissionsEarnedLetters,
};

/**
 * Writes e-mails, in English (PAGE-14), with links to `PUBLIC_URL`. @throws `not_configured` if one needs its link
 * (HTTP-25): its commit is not written
 */
export function composeFor(settings: PublicUrlSettings, sealer: BaseCtx["sealer"]): Mailer["compose"] {
  const base = readPublicUrl(settings);
  const origin = "origin" in base ? base.origin : null;
  return async (notice): Promise<NewMail[]> => {
    if (isForItsLink(notice)) publicUrl(settings);
    return Promise.all(
      inEnglish(() => lettersOf(notice, origin)).map(async (letter) => ({
        kind: notice.kind,
        reader: letter.reader,
        mail: await mailOf(notice, letter, origin, sealer),
      })),
    );
  };
}

/** Whether its link signs in or proves an address, once: the e-mail is useless without that link. */
function isForItsLink(notice: Notice): boolean {
  return "link" in notice || ("state" in notice && "token" in notice.state);
}

function lettersOf<K extends MailKind>(notice: Notice & { kind: K }, origin: string | null): Letter[] {
  return LETTERS[notice.kind](notice as unknown as NoticeOf<K>, origin);
}

/** An e-mail that a reader may switch off has a link for that, also for mail programs (RFC 8058). */
async function mailOf(
  { kind, program }: Notice,
  letter: Letter,
  origin: string | null,
  sealer: BaseCtx["sealer"],
): Promise<Mail> {
  const { reader } = letter;
  if (origin === null || !MAIL_KINDS[kind].may_be_off || reader.audience === "applicant") {
    return renderLetter(letter, footerFor(reader, program, null));
  }
  const link = { program_id: program.id, reader, kind, address: letter.to };
  const url = `${origin}/unsubscribe/${await unsubscribeToken(sealer, link)}`;
  return {
    ...renderLetter(letter, footerFor(reader, program, url)),
    headers: { "List-Unsubscribe": `<${url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" },
  };
}
