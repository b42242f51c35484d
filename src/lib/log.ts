/** A log line; one written in a request has its `request_id`, which the caller received too (DEP-5). */
export interface LogLine {
  what: string;
  request_id?: string | undefined;
  [field: string]: unknown;
}

/**
 * Writes one line of the Worker's log, as JSON. It must not contain a secret or personal data: the caller leaves them
 * out, and this function removes those in messages of a vendor or the platform, and cuts long messages.
 */
export function logLine(level: "info" | "error", line: LogLine): void {
  const clean = (_name: string, value: unknown) => (typeof value === "string" ? redact(value) : value);
  console[level](JSON.stringify({ level, ...line }, clean));
}

/** Writes an unredacted line. For development only, if the log is the only output. */
export function logInFull(line: LogLine): void {
  console.info(JSON.stringify({ level: "info", ...line }));
}

/** Every form of a secret, the service's own and the vendors': `test/unit/log.test.ts` has one of each provider. */
const SECRETS: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic) [^\s"\\]+/gi, "$1 [secret]"],
  [/\b(?:sk|rk|pk|whsec|pdl_ntfset|pdl)_[\w+/=.-]{6,}/g, "[secret]"],
  // A sealed value, as in a column or in an unsubscribe link, which works for as long as its key is known.
  [/\bv\d\.[\w+/=.~-]{20,}/g, "[secret]"],
  // 256 random bits: API keys, one-time links, sessions, with the digit of their database if it has one.
  [/(?<![\w-])(?:[0-9a-z]_)?[\w-]{43}(?![\w-])/g, "[secret]"],
];

/** The surroundings of an e-mail address, matched from its longest start only, as each character would start one. */
const AROUND_AT = /(?<![^\s"'<>()[\]{},;:@/\\])[^\s"'<>()[\]{},;:@/\\]+(?:@[^\s"'<>()[\]{},;:@/\\]+)+/g;
const ADDRESS_END = /@[^@]+\.[a-z]{2}/i;

/** Characters that are kept of a text; more of a message is not useful. */
const MAX_LENGTH = 4_096;

/** A character that is never inside a secret or an address. */
const BREAK = /[\s"\\]/;

/** Redacts a text for the log and cuts it to `MAX_LENGTH` characters. */
export function redact(text: string): string {
  const known = cutText(text).replace(AROUND_AT, (word) => (ADDRESS_END.test(word) ? "[address]" : word));
  return SECRETS.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), known);
}

/** The beginning of a text, without the word that the cut splits: half a secret does not have the form of one. */
function cutText(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  let end = MAX_LENGTH;
  while (end > 0 && !BREAK.test(text.charAt(end - 1))) end--;
  return `${text.slice(0, end)}…`;
}

/** An error's reason for the log, of the innermost cause: a failed query's own message has customers' data. */
export function reasonOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  return innermost instanceof Error ? innermost.message : String(innermost);
}
