import type { MailReader } from "../../domain/mail.ts";

/** A line of a letter's table. */
export type LetterRow = readonly [label: string, value: string];

/** A letter of a kind, which its reader may switch off. */
export interface Letter extends PlainLetter {
  reader: MailReader;
}

/** What an e-mail says: paragraphs, which may have lines, tables of two columns, and at most one place to go. */
export interface PlainLetter {
  to: string;
  subject: string;
  /** Who it is from. */
  program: { name: string; brand_color: string | null };
  parts: readonly (string | readonly LetterRow[])[];
  action?: { label: string; url: string } | undefined;
}
