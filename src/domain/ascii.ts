/** Lowercases ASCII letters only, as SQLite's `lower()` does, so that code and database compare alike. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
