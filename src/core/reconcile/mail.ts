import type { Difference } from "../../domain/reconciliation.ts";
import { escapeHtml, type Mail } from "../../lib/mail.ts";
import type { Program } from "../kernel/rows.ts";

/** So many are named in a mail. */
const NAMED = 10;

/** Reports to a program's owner what the reconciler has found. */
export function mailAboutDifferences(program: Program, differences: readonly Difference[]): Mail {
  const lines = [
    `The daily check of the ledger of your program "${program.name}" has found money that does not add up.`,
    `First found: ${differences
      .slice(0, NAMED)
      .map(({ check, subject }) => `${subject} (${check})`)
      .join(", ")}.`,
    "Nothing was changed. Please pay out nothing that it concerns until you have looked at it.",
    "All differences, with what was expected and what was found, are in the audit log as reconciliation.failed.",
  ];
  return {
    to: program.owner_email,
    subject: `The ledger of ${program.name} does not add up`,
    text: `${lines.join("\n\n")}\n`,
    html: lines.map((line) => `<p>${escapeHtml(line)}</p>`).join("\n"),
  };
}
