import type { NoticeOf } from "../../core/kernel/notices.ts";
import type { Letter } from "./letter.ts";

/** The most differences that are listed. */
const NAMED = 10;

/** Reports the reconciler's differences to the owner (LAW-11). */
export function ledgerDiffersLetters({ program, differences }: NoticeOf<"ledger_differs">): Letter[] {
  const named = differences.slice(0, NAMED).map(({ check, subject }) => `${subject} (${check})`);
  return [
    {
      to: program.owner_email,
      reader: { audience: "owner" },
      subject: `The ledger of ${program.name} does not add up`,
      program,
      parts: [
        `The daily check of the ledger of your program "${program.name}" has found money that does not add up.`,
        `First found: ${named.join(", ")}.`,
        "We have not changed anything. Check these amounts before you pay them out.",
        "The audit log lists all differences, with the expected and the found amounts, as reconciliation.failed.",
      ],
    },
  ];
}
