/** Of a line that is written in a request: its `request_id`, which the caller got too (DEP-5). */
export interface LogLine {
  what: string;
  request_id?: string | undefined;
  [field: string]: unknown;
}

/**
 * One line of the Worker's log, as JSON. No secret and nobody's personal data may be in it: who writes a line leaves
 * them out, and what a vendor's or the platform's message brings along is taken out here, and cut where it is long.
 */
export function logLine(level: "info" | "error", line: LogLine): void {
  const clean = (_name: string, value: unknown) => (typeof value === "string" ? redact(value) : value);
  console[level](JSON.stringify({ level, ...line }, clean));
}

/** A line as it is, with what others leave out. For development only, where the log is all that there is. */
export function logInFull(line: LogLine): void {
  console.info(JSON.stringify({ level: "info", ...line }));
}

/** Whatever has the form of a secret of ours or of the vendors: `test/unit/log.test.ts` has one of each provider. */
const SECRETS: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic) [^\s"\\]+/gi, "$1 [secret]"],
  [/\b(?:sk|rk|pk|whsec|pdl_ntfset|pdl)_[\w+/=.-]{6,}/g, "[secret]"],
  // Sealed, as in a column or in a link to unsubscribe, which works for as long as its key is known.
  [/\bv\d\.[\w+/=.~-]{20,}/g, "[secret]"],
  // 256 random bits: API keys, one-time links, sessions, with the digit of their database where it has one.
  [/(?<![\w-])(?:[0-9a-z]_)?[\w-]{43}(?![\w-])/g, "[secret]"],
];

/** What e-mail addresses are among: begun only where no longer one begins, or each of its characters would begin one. */
const AROUND_AT = /(?<![^\s"'<>()[\]{},;:@/\\])[^\s"'<>()[\]{},;:@/\\]+(?:@[^\s"'<>()[\]{},;:@/\\]+)+/g;
const ADDRESS_END = /@[^@]+\.[a-z]{2}/i;

/** Characters that are kept of a text; more of a message helps nobody. */
const MAX_LENGTH = 4_096;

/** What no secret and no address goes across. */
const BREAK = /[\s"\\]/;

/** A text without what the log must not contain, cut to `MAX_LENGTH` characters. */
export function redact(text: string): string {
  const known = cut(text).replace(AROUND_AT, (word) => (ADDRESS_END.test(word) ? "[address]" : word));
  return SECRETS.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), known);
}

/** The beginning of a text, without the word that the cut goes through: half a secret has not the form of one. */
function cut(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  let end = MAX_LENGTH;
  while (end > 0 && !BREAK.test(text.charAt(end - 1))) end--;
  return `${text.slice(0, end)}…`;
}

/**
 * What went wrong, for the log: the message of the innermost cause. A failed query's own message holds the values that
 * were bound to it, which are the customers'; its cause only says what the database did not like.
 */
export function reasonOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  return innermost instanceof Error ? innermost.message : String(innermost);
}
