/** Of a line that is written in a request: its `request_id`, which the caller was told too (contract §2). */
export interface LogLine {
  what: string;
  request_id?: string | undefined;
  [field: string]: unknown;
}

/**
 * One line of the Worker's log, as JSON. No secret and nobody's personal data may stand in it: who writes a line leaves
 * them out, and what a vendor's or the platform's message brings along is taken out here.
 */
export function logLine(level: "info" | "error", line: LogLine): void {
  console[level](redact(JSON.stringify({ level, ...line })));
}

/** A line as it stands, with what others leave out. For development only, where the log is all that there is. */
export function logInFull(line: LogLine): void {
  console.info(JSON.stringify({ level: "info", ...line }));
}

/** E-mail addresses, and whatever has the form of a secret of ours or of the vendors. */
const UNSPEAKABLE: readonly [RegExp, string][] = [
  [/[^\s"'<>()[\]{},;:@/\\]+@[^\s"'<>()[\]{},;:@/\\]+\.[a-z]{2,}/gi, "[address]"],
  [/\b(Bearer|Basic) [^\s"\\]+/gi, "$1 [secret]"],
  [/\b(?:sk|rk|pk|whsec|pdl_ntfset|pdl)_[\w+/=.-]{6,}/g, "[secret]"],
  // 256 random bits: API keys, one-time links, sessions, with the digit of their database where it has one.
  [/(?<![\w-])(?:[0-9a-z]_)?[\w-]{43}(?![\w-])/g, "[secret]"],
];

/** A text without what the log must not tell. */
export function redact(text: string): string {
  return UNSPEAKABLE.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text);
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
