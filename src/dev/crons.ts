/**
 * The local runtime fires no cron by itself: this does, on the minute, and at once those of every minute, for what was
 * left due when the service last stopped. Gives a function that ends it.
 */
export function runCrons(url: string, crons: string[], onError: (message: string) => void): () => void {
  const fire = async (due: string[], at: Date) => {
    for (const cron of due) {
      try {
        const query = new URLSearchParams({ cron, time: String(at.getTime()) });
        const response = await fetch(`${url}/cdn-cgi/local/scheduled?${query}`);
        if (!response.ok) onError(`The cron "${cron}" ended with ${response.status}.`);
      } catch (error) {
        onError(`The cron "${cron}" could not be run: ${String(error)}`);
      }
    }
  };
  let last = currentMinute();
  void fire(
    crons.filter((cron) => cron === "* * * * *"),
    new Date(),
  );
  const timer = setInterval(() => {
    const minute = currentMinute();
    if (minute === last) return;
    last = minute;
    const at = new Date(minute * MINUTE);
    void fire(
      crons.filter((cron) => isDue(cron, at)),
      at,
    );
  }, 1000);
  return () => clearInterval(timer);
}

const MINUTE = 60_000;

function currentMinute(): number {
  return Math.floor(Date.now() / MINUTE);
}

/**
 * Whether a cron expression (minute, hour, day of month, month, day of week, in UTC; each a number or `*`) is due at a
 * minute. Those are the forms that wrangler.toml uses; any other is an error.
 */
function isDue(cron: string, at: Date): boolean {
  const fields = cron.split(" ");
  const values = [at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, at.getUTCDay()];
  if (fields.length !== values.length || !fields.every((field) => /^(\*|\d+)$/.test(field))) {
    throw new Error(`Not a cron expression that runs locally: "${cron}".`);
  }
  return fields.every((field, i) => field === "*" || Number(field) === values[i]);
}
