/** A text in lower case as SQLite's `lower()` has it: ASCII letters only, so that code and database compare alike. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
