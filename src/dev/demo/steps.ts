/** Runs steps in order and prints each on one line: its name, its result, and ✓ or ✗. */
export class Steps {
  #count = 0;
  #failed = 0;

  /** Runs one step: `check` throws or describes its result. A failure is counted; later steps still run. */
  async step(title: string, expected: string, check: () => Promise<string>): Promise<void> {
    const number = String(++this.#count).padStart(2);
    try {
      console.log(`${number} ✓ ${title}: ${await check()}`);
    } catch (error) {
      this.#failed += 1;
      console.log(`${number} ✗ ${title}\n     expected: ${expected}\n     but: ${messageOf(error)}`);
    }
  }

  get count(): number {
    return this.#count;
  }

  get failed(): number {
    return this.#failed;
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message}${cause}`.replaceAll("\n", "\n     ");
}

/** Returns the value that an earlier step made. @throws if that step failed */
export function requireMade<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what}: the step that makes it failed`);
  return value;
}

/** Calls `look` until it returns a value. @throws after `seconds` */
export async function eventually<T>(seconds: number, look: () => Promise<T | undefined>, what: string): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not come within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
