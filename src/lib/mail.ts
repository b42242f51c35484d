/** An e-mail to one address. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Beside those that every e-mail has: how to unsubscribe. */
  headers?: Record<string, string>;
}

/** A foreign text fit for a subject or a line: no line breaks or other control characters, at most `most` characters. */
export function oneLine(text: string, most = 80): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, most)
    .toWellFormed();
}

/** A text for a place in HTML between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
