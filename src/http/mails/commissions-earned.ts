import type { NoticeOf } from "../../core/kernel/notices.ts";
import { formatMoney } from "../../domain/currency.ts";
import { oneLine } from "../../lib/mail.ts";
import { iso } from "../../lib/time.ts";
import { dayFor, type Letter, type LetterRow } from "./letter.ts";

/** Reports to the partner the earnings since the last such e-mail (MAIL-13). */
export function commissionsEarnedLetters(
  { program, partner, since, until, earned }: NoticeOf<"commissions_earned">,
  origin: string | null,
): Letter[] {
  const [first, last] = [dayFor(program, since), dayFor(program, iso(Date.parse(until) - 1))];
  const name = oneLine(program.name);
  return [
    {
      to: partner.email,
      reader: { audience: "partner", partner_id: partner.id },
      subject: `Your new commissions at ${name}`,
      program,
      parts: [
        first === last ? `On ${first} you earned:` : `From ${first} to ${last} you earned:`,
        earned.map(({ currency, amount_cents }): LetterRow => [currency, formatMoney(amount_cents, currency)]),
        `Amounts taken back on these days, for example after a refund, are deducted. A commission is paid with a payout once ${name} has approved it.`,
      ],
      action: origin === null ? undefined : { label: "See your commissions", url: `${origin}/portal/commissions` },
    },
  ];
}
