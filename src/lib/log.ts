/** One line of the Worker's log, as JSON. No secret and nobody's personal data may stand in it. */
export function logLine(level: "info" | "error", line: { what: string; [field: string]: unknown }): void {
  console[level](JSON.stringify({ level, ...line }));
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
