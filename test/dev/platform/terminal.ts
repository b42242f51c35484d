import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { ROOT } from "../process.ts";

/** Whether `script` of util-linux is installed, which gives a command a terminal. */
export const HAS_TERMINAL = spawnSync("script", ["--version"]).stdout?.toString().includes("util-linux") ?? false;

export const CTRL_C = "\x03";
export const CTRL_D = "\x04";

/** A person's actions: waits for a text, then types. Return is `\r`. */
export type Typed = [waitsFor: string, types: string];

/**
 * Runs a command of Node in a terminal, and types. Gives its exit code and the text of the screen. A text that does not
 * appear ends in the time-out of the test.
 */
export async function inTerminal(
  command: string,
  env: NodeJS.Dict<string>,
  typed: readonly Typed[],
  /** Receives the function that types at any other moment. */
  start: (press: (keys: string) => void) => void,
): Promise<{ code: number | null; screen: string }> {
  const child = spawn("script", ["-qefc", `exec "${process.execPath}" ${command}`, "/dev/null"], { cwd: ROOT, env });
  start((keys) => void child.stdin.write(keys));
  let screen = "";
  let read = 0;
  const left = [...typed];
  child.stdout.on("data", (data: Buffer) => {
    screen += data.toString();
    for (;;) {
      const [next] = left;
      const at = next ? screen.indexOf(next[0], read) : -1;
      if (!next || at < 0) return;
      read = at + next[0].length;
      left.shift();
      child.stdin.write(next[1]);
    }
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, screen };
}

/** Asserts the exit code of a command. A failure shows the end of the screen. */
export function endsWith({ code, screen }: { code: number | null; screen: string }, wanted: number) {
  assert.equal(code, wanted, `ended with ${code}, not ${wanted}: ${screen.slice(-600)}`);
}
