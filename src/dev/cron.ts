/**
 * Whether a cron expression (minute, hour, day of month, month, day of week, in UTC; each a number or `*`) is due at a
 * minute. Those are the forms that wrangler.toml uses; any other is an error.
 */
export function isDue(cron: string, at: Date): boolean {
  const fields = cron.split(" ");
  const values = [at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, at.getUTCDay()];
  if (fields.length !== values.length || !fields.every((field) => /^(\*|\d+)$/.test(field))) {
    throw new Error(`Not a cron expression that runs locally: "${cron}".`);
  }
  return fields.every((field, i) => field === "*" || Number(field) === values[i]);
}
