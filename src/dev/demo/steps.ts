/** Runs steps one after the other and prints each on one line: what is done, what came out, and ✓ or ✗. */
export class Steps {
  #count = 0;
  #failed = 0;

  /**
   * Runs one step. `check` throws where something differs from what is expected, and else returns what it saw in a few
   * words. A step that fails is printed and counted; later ones still run.
   */
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

/** What an earlier step should have made. @throws where it failed to. */
export function made<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what}: the step that makes it failed`);
  return value;
}

/** Asks again until `look` gives something. @throws after `seconds`, with what was looked at last. */
export async function eventually<T>(seconds: number, look: () => Promise<T | undefined>, what: string): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not come within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
