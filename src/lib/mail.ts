/** An e-mail to one address. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Headers in addition to those of every e-mail: how to unsubscribe. */
  headers?: Record<string, string>;
}

/** A foreign text for a line: no line breaks or control characters, at most `most` characters. */
export function oneLine(text: string, most = 80): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, most)
    .toWellFormed();
}

/** Escapes a text for HTML between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
