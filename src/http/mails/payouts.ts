import type { PayoutMail } from "../../domain/mail.ts";
import type { NoticeOf } from "../../core/kernel/notices.ts";
import { formatMoney } from "../../domain/currency.ts";
import { oneLine } from "../../lib/mail.ts";
import { dayFor, type Letter, type LetterRow } from "./letter.ts";

/** Notifies the partner of a new payout and its due date (MAIL-10). */
export function payoutGeneratedLetters(notice: NoticeOf<"payout_generated">, origin: string | null): Letter[] {
  const due: LetterRow = ["Due on", dayFor(notice.program, notice.payout.due_at)];
  const lacks =
    notice.payout.recipient === null ? " Add your payout details in the portal so that it can be paid." : "";
  const text = `A payout was prepared for you.${lacks}`;
  return [letterOf(notice, origin, "", text, [due])];
}

export function payoutPaidLetters(notice: NoticeOf<"payout_paid">, origin: string | null): Letter[] {
  const { reference } = notice.payout;
  const rows: LetterRow[] = reference === null ? [] : [["Reference", oneLine(reference)]];
  return [letterOf(notice, origin, " was paid", "Your payout was paid.", rows)];
}

/** Notifies the partner that a transfer was refused. The reason stays between the owner and the provider. */
export function payoutFailedLetters(notice: NoticeOf<"payout_failed">, origin: string | null): Letter[] {
  const text =
    "Your payout could not be transferred. The program will try again or pay it another way; no money is lost. " +
    "Please check that your payout details are right.";
  return [letterOf(notice, origin, " failed", text, [])];
}

/** Notifies the partner that the payment came back. The reason stays between the owner and the bank. */
export function payoutReturnedLetters(notice: NoticeOf<"payout_returned">, origin: string | null): Letter[] {
  const text =
    "The payment of your payout came back to the program. This can happen if an account number is wrong or an account " +
    "is closed. No money is lost: you will receive it with another payout. Please check that your payout details are right.";
  return [letterOf(notice, origin, " came back", text, [])];
}

/** The subject names the amount: one run can make a payout in each currency. */
function letterOf(
  { program, partner, payout }: NoticeOf<PayoutMail>,
  origin: string | null,
  outcome: string,
  text: string,
  more: readonly LetterRow[],
): Letter {
  const to: LetterRow[] = payout.recipient === null ? [] : [["To", oneLine(payout.recipient)]];
  const earned = (payout.source_amounts ?? []).map((part) => formatMoney(part.amount_cents, part.currency));
  const earnedFor: LetterRow[] = earned.length === 0 ? [] : [["For", earned.join(", ")]];
  const amount = formatMoney(payout.amount_cents, payout.currency);
  return {
    to: partner.email,
    reader: { audience: "partner", partner_id: partner.id },
    subject: `Your payout of ${amount} at ${program.name}${outcome}`,
    program,
    parts: [text, [["Amount", amount], ...earnedFor, ...to, ...more]],
    action: origin === null ? undefined : { label: "See your payouts", url: `${origin}/portal/payouts` },
  };
}
