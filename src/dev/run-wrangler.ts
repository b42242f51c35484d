import { spawn } from "node:child_process";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";
import { WRANGLER } from "./local-service.ts";

/** Runs a wrangler command as in a terminal. Gives its exit code and what it printed, which is also shown. */
export async function runWrangler(args: string[]): Promise<{ code: number; output: string }> {
  quietWrangler();
  const child = spawn(process.execPath, [WRANGLER, ...args], { cwd: ROOT, stdio: ["inherit", "pipe", "pipe"] });
  let output = "";
  for (const [stream, shown] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    stream.on("data", (data: Buffer) => {
      output += data.toString();
      shown.write(data);
    });
  }
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exit) => resolve(exit ?? 1));
  });
  return { code, output };
}
