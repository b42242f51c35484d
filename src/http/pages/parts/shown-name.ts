/** Names as pages show them (PAGE-10): people choose their own, and may choose them to mislead. */
import { isVisible } from "../../../domain/visible.ts";
import { oneLine } from "../../../lib/mail.ts";

/** The whole of a name as one line, without what is invisible or turns the text around it; empty where nothing is left to see. */
export function nameText(...parts: readonly (string | null)[]): string {
  const text = oneLine(parts.filter((part) => part !== null).join(" "), Number.POSITIVE_INFINITY);
  return isVisible(text) ? text : "";
}

/** How a program is called: by its id where its name cannot be seen. */
export function programText({ name, id }: { name: string; id: string }): string {
  return nameText(name) || id;
}

/** How one who applies is called: by the address where the name cannot be seen; null where both are deleted. */
export function applicantText({ name, email }: { name: string | null; email: string | null }): string | null {
  return nameText(name) || email;
}
