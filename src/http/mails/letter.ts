import type { MailReader } from "../../domain/mail.ts";
import { dateText } from "../pages/locale.ts";

/** A line of a letter's table. */
export type LetterRow = readonly [label: string, value: string];

/** A letter of a kind, which its reader may switch off. */
export interface Letter extends PlainLetter {
  reader: MailReader;
}

/** The content of an e-mail: paragraphs, which may have lines, tables of two columns, and at most one button. */
export interface PlainLetter {
  to: string;
  subject: string;
  /** The sender. */
  program: { name: string; brand_color: string | null };
  parts: readonly (string | readonly LetterRow[])[];
  action?: { label: string; url: string } | undefined;
}

/** The day of an instant (ISO 8601) in the zone of the program, as pages write it (PROG-11). */
export function dayFor({ time_zone }: { time_zone: string }, at: string): string {
  return dateText(at, time_zone);
}
