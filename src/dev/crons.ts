/** Fires a local service's crons on the minute, and the minutely ones at once. Returns a function that stops them. */
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

/** Returns whether a cron expression of five fields is due at a minute (UTC). Fields are numbers, `*`, ranges, steps and lists. */
export function isDue(cron: string, at: Date): boolean {
  const values = [at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, at.getUTCDay()];
  const fields = cron.trim().split(/\s+/);
  return fields.length === values.length && values.every((value, i) => matches(fields[i] ?? "", value));
}

function matches(field: string, value: number): boolean {
  return field.split(",").some((part) => {
    const [, from, to, step = "1"] = /^(\*|\d+)(?:-(\d+))?(?:\/(\d+))?$/.exec(part) ?? [];
    if (from === undefined) return false;
    const first = from === "*" ? 0 : Number(from);
    const last = to ? Number(to) : from === "*" || part.includes("/") ? Infinity : first;
    return value >= first && value <= last && (value - first) % Number(step) === 0;
  });
}
