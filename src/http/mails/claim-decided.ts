import type { NoticeOf } from "../../core/kernel/notices.ts";
import { oneLine } from "../../lib/mail.ts";
import { dayText } from "../pages/locale.ts";
import { ANSWER_TEXTS, CLAIM_TEXTS } from "../pages/parts/claim-words.tsx";
import type { Letter } from "./letter.ts";

/** Reports the decision about a claim to the partner (CLAIM-6). */
export function claimDecidedLetters(
  { program, partner, claim, answer }: NoticeOf<"claim_decided">,
  origin: string | null,
): Letter[] {
  const { order_id, day, status, note } = claim;
  const about =
    order_id !== null ? ` about order ${oneLine(order_id)}` : day !== null ? ` about a sale of ${dayText(day)}` : "";
  return [
    {
      to: partner.email,
      reader: { audience: "partner", partner_id: partner.id },
      subject: `Your claim at ${program.name} was ${CLAIM_TEXTS[status]}`,
      program,
      parts: [
        `Your claim${about} was ${CLAIM_TEXTS[status]}.`,
        ANSWER_TEXTS[answer],
        ...(note === null ? [] : [`${oneLine(program.name)} writes: ${note}`]),
      ],
      action: origin === null ? undefined : { label: "See your claims", url: `${origin}/portal/claims` },
    },
  ];
}
