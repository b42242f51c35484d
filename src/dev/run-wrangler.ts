import { spawn } from "node:child_process";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";
import { WRANGLER } from "./local-service.ts";

/** Runs a wrangler command as in a terminal. Gives its exit code and what it printed, which is also shown unless quiet. */
export async function runWrangler(
  args: string[],
  shown: "shown" | "quiet" = "shown",
): Promise<{ code: number; output: string }> {
  quietWrangler();
  const child = spawn(process.execPath, [WRANGLER, ...args], { cwd: ROOT, stdio: ["inherit", "pipe", "pipe"] });
  let output = "";
  for (const [stream, terminal] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    stream.on("data", (data: Buffer) => {
      output += data.toString();
      if (shown === "shown") terminal.write(data);
    });
  }
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exit) => resolve(exit ?? 1));
  });
  return { code, output };
}
