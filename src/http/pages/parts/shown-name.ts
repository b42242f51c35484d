/** Names as pages show them (PAGE-10): people choose their own, and may choose them to mislead. */
import { isVisible } from "../../../domain/visible.ts";
import { oneLine } from "../../../lib/mail.ts";

/** A name as one line, without invisible characters or marks of direction; empty if no visible character is left. */
export function nameText(...parts: readonly (string | null)[]): string {
  const text = oneLine(parts.filter((part) => part !== null).join(" "), Number.POSITIVE_INFINITY);
  return isVisible(text) ? text : "";
}

/** The display name of a program: its id if its name is not visible. */
export function programText({ name, id }: { name: string; id: string }): string {
  return nameText(name) || id;
}

/** The display name of an applicant: the address if the name is not visible; null if both are erased. */
export function applicantText({ name, email }: { name: string | null; email: string | null }): string | null {
  return nameText(name) || email;
}
